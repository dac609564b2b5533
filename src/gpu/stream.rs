//! A stream of device work.

use cudarc::driver::sys::{self, CUstream, CUstream_flags};

use super::check;
use crate::error::Result;

/// A non-blocking stream on the current context.
#[derive(Debug)]
pub struct Stream {
    raw: CUstream,
}

impl Stream {
    /// A new stream that does not synchronise with the default stream.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn new() -> Result<Stream> {
        let mut raw = std::ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: a plain call with a valid out-pointer; a context is current.
        let status = unsafe { sys::cuStreamCreate(&mut raw, flags) };
        check("cuStreamCreate", status)?;
        Ok(Stream { raw })
    }

    /// The driver's handle, for NCCL.
    pub(crate) fn raw(&self) -> CUstream {
        self.raw
    }

    /// Waits until everything enqueued so far is done.
    ///
    /// # Errors
    /// Exit code 3 with the driver's words when some of it failed.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the handle is valid for as long as `self`.
        check("cuStreamSynchronize", unsafe {
            sys::cuStreamSynchronize(self.raw)
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: created by `new`, destroyed once.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.raw) };
    }
}
