//! A kernel that keeps its stream busy for a time: compute between ops. It can write down when it
//! began and ended, which tells when the ops around it did.

use std::ffi::c_void;
use std::marker::PhantomData;

use cudarc::driver::sys::{self, CUdeviceptr, CUfunction, CUmodule};

use super::{DeviceBuffer, Stream, check};
use crate::error::Result;

/// One thread that reads the device's own nanosecond clock until the time is over. PTX of an old
/// version, which every driver compiles for its device; the clock advances in steps of 32 ns on
/// recent GPUs and of 1 µs on older ones.
const PTX: &std::ffi::CStr = c"
.version 6.0
.target sm_50
.address_size 64

.visible .entry commbench_spin(.param .u64 nanoseconds, .param .u64 stamps)
{
    .reg .pred %busy, %silent;
    .reg .u64 %wanted, %to, %begin, %now, %passed;
    ld.param.u64 %wanted, [nanoseconds];
    ld.param.u64 %to, [stamps];
    mov.u64 %begin, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %passed, %now, %begin;
    setp.lt.u64 %busy, %passed, %wanted;
    @%busy bra again;
    setp.eq.u64 %silent, %to, 0;
    @%silent bra done;
    st.u64 [%to], %begin;
    st.u64 [%to+8], %now;
done:
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
        self.launch_at(us, 0, stream)
    }

    /// The same, and writes the device's clock at its start and at its end to the two words at
    /// `stamps`: ns, of a zero that differs from device to device.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    #[inline]
    pub fn launch_stamping(&self, us: f64, stamps: Stamps<'_>, stream: &Stream) -> Result<()> {
        self.launch_at(us, stamps.address, stream)
    }

    fn launch_at(&self, us: f64, stamps: CUdeviceptr, stream: &Stream) -> Result<()> {
        let mut nanoseconds = (us * 1e3).round() as u64;
        let mut to = stamps;
        let mut parameters = [
            (&raw mut nanoseconds).cast::<c_void>(),
            (&raw mut to).cast::<c_void>(),
        ];
        // SAFETY: the kernel takes two 64-bit parameters, which the driver copies before it
        // returns; the second is null or an address of two words of a live buffer ([`Stamps`]).
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

/// Two words of device memory that a kernel writes stamps to.
#[derive(Debug, Clone, Copy)]
pub struct Stamps<'a> {
    address: CUdeviceptr,
    buffer: PhantomData<&'a ()>,
}

impl<'a> Stamps<'a> {
    /// Bytes of a pair of stamps.
    pub const BYTES: usize = 16;

    /// The `index`-th pair of `buffer`.
    ///
    /// # Panics
    /// When the buffer does not hold it.
    pub fn of(buffer: &'a DeviceBuffer, index: usize) -> Stamps<'a> {
        let begin = index * Self::BYTES;
        // Both ends lie inside.
        let _ = buffer.address(begin + Self::BYTES - 1);
        Stamps {
            address: buffer.address(begin),
            buffer: PhantomData,
        }
    }

    /// A pair in memory of the host that the device can reach.
    pub(super) fn at(address: CUdeviceptr) -> Stamps<'a> {
        Stamps {
            address,
            buffer: PhantomData,
        }
    }
}

impl Drop for SpinKernel {
    fn drop(&mut self) {
        // SAFETY: loaded by `new`, unloaded once.
        let _ = unsafe { sys::cuModuleUnload(self.module) };
    }
}
