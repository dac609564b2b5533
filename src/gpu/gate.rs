//! A gate on a stream: work behind it waits until the host opens it.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::sys::{self, CUdeviceptr, CUstreamWaitValue_flags};

use super::{Stream, check};
use crate::error::Result;

/// Flags of `cuMemHostAlloc`: visible to every context, mapped into device addresses.
pub(super) const PORTABLE_AND_MAPPED: u32 = 1 | 2;

/// A value in pinned host memory that a stream waits for. It needs no kernel, so that it holds
/// no multiprocessor while it waits.
#[derive(Debug)]
pub struct Gate {
    host: *mut c_void,
    device: CUdeviceptr,
    closed_until: u32,
}

impl Gate {
    /// A new gate. Nothing waits at it yet.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn new() -> Result<Gate> {
        let mut host = std::ptr::null_mut();
        let mut device = 0;
        // SAFETY: plain calls with valid out-pointers; a context is current.
        unsafe {
            check(
                "cuMemHostAlloc",
                sys::cuMemHostAlloc(&mut host, size_of::<u32>(), PORTABLE_AND_MAPPED),
            )?;
            check(
                "cuMemHostGetDevicePointer",
                sys::cuMemHostGetDevicePointer_v2(&mut device, host, 0),
            )?;
        }
        let gate = Gate {
            host,
            device,
            closed_until: 0,
        };
        gate.value().store(0, Ordering::SeqCst);
        Ok(gate)
    }

    /// Whether streams of the current device can wait for a value in memory at all. Some virtual
    /// GPUs cannot.
    pub fn is_supported() -> bool {
        let try_it = || -> Result<()> {
            let stream = Stream::new()?;
            let gate = Gate::new()?;
            // Already at the value waited for: passes at once.
            gate.wait_for(0, &stream)?;
            stream.synchronize()
        };
        try_it().is_ok()
    }

    fn value(&self) -> &AtomicU32 {
        // SAFETY: 4 bytes of pinned memory, page-aligned, valid until drop; the device only reads.
        unsafe { AtomicU32::from_ptr(self.host.cast()) }
    }

    /// Makes everything enqueued on `stream` from now on wait for the next [`Gate::open`].
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn close(&mut self, stream: &Stream) -> Result<()> {
        self.closed_until = self.closed_until.wrapping_add(1);
        self.wait_for(self.closed_until, stream)
    }

    fn wait_for(&self, value: u32, stream: &Stream) -> Result<()> {
        // SAFETY: the address is this gate's, valid for as long as the gate. GEQ compares
        // cyclically, so that the counter may wrap.
        let status = unsafe {
            sys::cuStreamWaitValue32_v2(
                stream.raw(),
                self.device,
                value,
                CUstreamWaitValue_flags::CU_STREAM_WAIT_VALUE_GEQ as u32,
            )
        };
        check("cuStreamWaitValue32", status)
    }

    /// Lets the waiting work go.
    pub fn open(&self) {
        self.value().store(self.closed_until, Ordering::SeqCst);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // Work that still waits would hang the context's destruction.
        self.open();
        // SAFETY: allocated by `new`, freed once.
        let _ = unsafe { sys::cuMemFreeHost(self.host) };
    }
}
