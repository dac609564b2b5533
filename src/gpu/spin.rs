//! A kernel that keeps its stream busy for a time: compute between ops.

use std::ffi::c_void;

use cudarc::driver::sys::{self, CUfunction, CUmodule};

use super::{Stream, check};
use crate::error::Result;

/// One thread that reads the device's own nanosecond clock until the time is over. PTX of an old
/// version, which every driver compiles for its device; the clock advances in steps of 32 ns on
/// recent GPUs and of 1 µs on older ones.
const PTX: &std::ffi::CStr = c"
.version 6.0
.target sm_50
.address_size 64

.visible .entry commbench_spin(.param .u64 nanoseconds)
{
    .reg .pred %busy;
    .reg .u64 %wanted, %begin, %now;
    ld.param.u64 %wanted, [nanoseconds];
    mov.u64 %begin, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %begin;
    setp.lt.u64 %busy, %now, %wanted;
    @%busy bra again;
    ret;
}
";

/// The kernel, compiled for the current device.
#[derive(Debug)]
pub struct SpinKernel {
    module: CUmodule,
    function: CUfunction,
}

impl SpinKernel {
    /// Compiles the kernel on the current context.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses: it lacks its compiler for PTX, say.
    pub fn new() -> Result<SpinKernel> {
        let mut module = std::ptr::null_mut();
        // SAFETY: a NUL-terminated text and a valid out-pointer; a context is current.
        let status = unsafe { sys::cuModuleLoadData(&mut module, PTX.as_ptr().cast()) };
        check("cuModuleLoadData", status)?;
        let mut function = std::ptr::null_mut();
        // SAFETY: the module was just loaded, and the name is NUL-terminated.
        let status =
            unsafe { sys::cuModuleGetFunction(&mut function, module, c"commbench_spin".as_ptr()) };
        let kernel = SpinKernel { module, function };
        check("cuModuleGetFunction", status).map(|()| kernel)
    }

    /// Enqueues `us` microseconds of work, from its start on the device.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    #[inline]
    pub fn launch(&self, us: f64, stream: &Stream) -> Result<()> {
        let mut nanoseconds = (us * 1e3).round() as u64;
        let mut parameters = [(&raw mut nanoseconds).cast::<c_void>()];
        // SAFETY: the kernel takes one 64-bit parameter, which the driver copies before it returns.
        let status = unsafe {
            sys::cuLaunchKernel(
                self.function,
                1,
                1,
                1,
                1,
                1,
                1,
                0,
                stream.raw(),
                parameters.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        check("cuLaunchKernel", status)
    }
}

impl Drop for SpinKernel {
    fn drop(&mut self) {
        // SAFETY: loaded by `new`, unloaded once.
        let _ = unsafe { sys::cuModuleUnload(self.module) };
    }
}
