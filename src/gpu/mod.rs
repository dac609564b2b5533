//! Contexts, streams, events, graphs and memory of CUDA devices. The only room that knows CUDA.
//!
//! The driver library is opened at run time: nothing here links against CUDA, and every entry
//! point reports its absence as an ordinary error. The layers of cudarc are used raw, since its
//! safe layer adds event tracking that would stand inside timed regions.
#![allow(unsafe_code)]

mod clock;
mod device;
mod event;
mod gate;
mod graph;
mod memory;
mod spin;
mod stream;

pub use clock::{ClockOffset, DeviceClock};
pub use device::{Context, DeviceFacts, device_count, device_facts, driver_versions};
pub use event::Event;
pub use gate::Gate;
pub use graph::{Graph, capture};
pub use memory::DeviceBuffer;
pub use spin::{SpinKernel, Stamps};
pub use stream::Stream;

use std::ffi::CStr;

use cudarc::driver::sys::{self, CUresult};

use crate::error::{Error, Result};

/// Turns a driver call's status into a result that names the call and the driver's own words.
///
/// # Errors
/// Exit code 3 for every status but success.
pub(crate) fn check(call: &str, status: CUresult) -> Result<()> {
    if status == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut text = std::ptr::null();
    // SAFETY: `text` is a valid place for one pointer; the driver returns static strings.
    let known = unsafe { sys::cuGetErrorString(status, &mut text) } == CUresult::CUDA_SUCCESS;
    let words = if known && !text.is_null() {
        // SAFETY: the driver returned a static, NUL-terminated string.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    } else {
        "unknown error".to_string()
    };
    let error = Error::environment(format!(
        "CUDA call {call} failed with error {}: {words}",
        status as u32
    ));
    Err(match status {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
            error.try_this("free GPU memory (nvidia-smi shows who holds it), or a smaller --bytes")
        }
        CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH | CUresult::CUDA_ERROR_NO_DEVICE => {
            error.try_this("nvidia-smi must list the GPUs first; or --backend host")
        }
        _ => error,
    })
}
