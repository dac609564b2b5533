//! Device memory.

use cudarc::driver::sys::{self, CUdeviceptr};

use super::{Stream, check};
use crate::error::{Error, Result};

/// A block of device memory on the current context.
#[derive(Debug)]
pub struct DeviceBuffer {
    pointer: CUdeviceptr,
    bytes: usize,
}

impl DeviceBuffer {
    /// Allocates `bytes` (> 0) of plain device memory.
    ///
    /// # Errors
    /// Exit code 3 when the device has no room.
    pub fn new(bytes: usize) -> Result<DeviceBuffer> {
        let mut pointer = 0;
        // SAFETY: a plain call with a valid out-pointer; a context is current.
        let status = unsafe { sys::cuMemAlloc_v2(&mut pointer, bytes) };
        check("cuMemAlloc", status)?;
        Ok(DeviceBuffer { pointer, bytes })
    }

    /// Device address of byte `offset`.
    ///
    /// # Panics
    /// When the offset lies outside the buffer.
    pub fn address(&self, offset: usize) -> CUdeviceptr {
        assert!(offset < self.bytes, "offset outside the device buffer");
        self.pointer + offset as u64
    }

    fn within(&self, offset: usize, length: usize) -> Result<CUdeviceptr> {
        match offset.checked_add(length) {
            Some(end) if end <= self.bytes => Ok(self.pointer + offset as u64),
            _ => Err(Error::other(format!(
                "{length} bytes at {offset} lie outside a device buffer of {} bytes",
                self.bytes
            ))),
        }
    }

    /// Sets every byte to `value`, in order with the stream's other work.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn fill(&self, value: u8, stream: &Stream) -> Result<()> {
        // SAFETY: the range is the whole allocation.
        let status = unsafe { sys::cuMemsetD8Async(self.pointer, value, self.bytes, stream.raw()) };
        check("cuMemsetD8Async", status)
    }

    /// Copies `bytes` to `offset` and waits for it.
    ///
    /// # Errors
    /// Exit code 1 outside the buffer, 3 when the driver refuses.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        let to = self.within(offset, bytes.len())?;
        // SAFETY: the device range was checked; the host range is a slice.
        let status = unsafe { sys::cuMemcpyHtoD_v2(to, bytes.as_ptr().cast(), bytes.len()) };
        check("cuMemcpyHtoD", status)
    }

    /// Copies from `offset` into `bytes` and waits for it.
    ///
    /// # Errors
    /// Exit code 1 outside the buffer, 3 when the driver refuses.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let from = self.within(offset, bytes.len())?;
        // SAFETY: the device range was checked; the host range is a slice.
        let status = unsafe { sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), from, bytes.len()) };
        check("cuMemcpyDtoH", status)
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed once.
        let _ = unsafe { sys::cuMemFree_v2(self.pointer) };
    }
}
