//! Time stamps on a stream.

use cudarc::driver::sys::{self, CUevent};

use super::{Stream, check};
use crate::error::Result;

/// A timing event.
#[derive(Debug)]
pub struct Event {
    raw: CUevent,
}

impl Event {
    /// A new event with timing.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn new() -> Result<Event> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: a plain call with a valid out-pointer; a context is current.
        check("cuEventCreate", unsafe { sys::cuEventCreate(&mut raw, 0) })?;
        Ok(Event { raw })
    }

    /// Enqueues the time stamp on `stream`.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both handles are valid for as long as their owners.
        check("cuEventRecord", unsafe {
            sys::cuEventRecord(self.raw, stream.raw())
        })
    }

    /// Device time from `start` to `self` in µs; both must be done. Resolution about 0.5 µs.
    ///
    /// # Errors
    /// Exit code 3 when one of them is not done or was never recorded.
    pub fn us_since(&self, start: &Event) -> Result<f64> {
        let mut ms = 0f32;
        // SAFETY: both handles are valid; the out-pointer is too.
        let status = unsafe { sys::cuEventElapsedTime(&mut ms, start.raw, self.raw) };
        check("cuEventElapsedTime", status)?;
        Ok(f64::from(ms) * 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created by `new`, destroyed once.
        let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
    }
}
