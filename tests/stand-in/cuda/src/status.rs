//! Status codes, and what every call does first.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};

pub type Status = c_int;

pub const SUCCESS: Status = 0;
pub const INVALID_VALUE: Status = 1;
pub const OUT_OF_MEMORY: Status = 2;
pub const INVALID_DEVICE: Status = 101;
pub const INVALID_CONTEXT: Status = 201;
pub const INVALID_HANDLE: Status = 400;
pub const NOT_FOUND: Status = 500;
pub const NOT_READY: Status = 600;
pub const STREAM_CAPTURE_INVALID: Status = 901;

/// What the lost device answers to every call; 0 while it is well.
static LOST: AtomicI32 = AtomicI32::new(0);

/// The device answers every later call with `code`.
pub fn lose(code: Status) {
    LOST.store(code, Ordering::SeqCst);
}

/// The code of a lost device.
pub fn lost() -> Option<Status> {
    match LOST.load(Ordering::SeqCst) {
        SUCCESS => None,
        code => Some(code),
    }
}

/// The error that the call is to return at once, if any.
pub fn enter(function: &str) -> Option<Status> {
    lost().or_else(|| stand_in_faults::enter(function))
}

/// Returns from the calling function where a fault says so.
#[macro_export]
macro_rules! enter {
    ($function:literal) => {
        if let Some(code) = $crate::status::enter($function) {
            return code;
        }
    };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(status: Status, text: *mut *const c_char) -> Status {
    let words = match status {
        SUCCESS => c"no error",
        INVALID_VALUE => c"invalid argument",
        OUT_OF_MEMORY => c"out of memory",
        100 => c"no CUDA-capable device is detected",
        INVALID_DEVICE => c"invalid device ordinal",
        INVALID_CONTEXT => c"invalid device context",
        214 => c"uncorrectable ECC error encountered",
        INVALID_HANDLE => c"invalid resource handle",
        NOT_FOUND => c"named symbol not found",
        NOT_READY => c"device not ready",
        700 => c"an illegal memory access was encountered",
        719 => c"unspecified launch failure",
        STREAM_CAPTURE_INVALID => c"operation failed due to a previous error during capture",
        999 => c"unknown error",
        _ => return INVALID_VALUE,
    };
    // SAFETY: the caller gives a valid place for one pointer.
    unsafe { *text = words.as_ptr() };
    SUCCESS
}
