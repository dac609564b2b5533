//! Result codes, and what every call does first.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::log;

pub type Status = c_int;

pub const SUCCESS: Status = 0;
pub const UNHANDLED_CUDA_ERROR: Status = 1;
pub const SYSTEM_ERROR: Status = 2;
pub const INTERNAL_ERROR: Status = 3;
pub const INVALID_ARGUMENT: Status = 4;
pub const INVALID_USAGE: Status = 5;
pub const REMOTE_ERROR: Status = 6;
pub const IN_PROGRESS: Status = 7;

/// Version 2.28.9, as NCCL codes it.
const VERSION: c_int = 22_809;

fn words(status: Status) -> &'static CStr {
    match status {
        SUCCESS => c"no error",
        UNHANDLED_CUDA_ERROR => c"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        SYSTEM_ERROR => c"unhandled system error (run with NCCL_DEBUG=INFO for details)",
        INTERNAL_ERROR => c"internal error - please report this issue to the NCCL developers",
        INVALID_ARGUMENT => c"invalid argument (run with NCCL_DEBUG=WARN for details)",
        INVALID_USAGE => c"invalid usage (run with NCCL_DEBUG=WARN for details)",
        REMOTE_ERROR => c"remote process exited or there was a network error",
        IN_PROGRESS => c"NCCL operation in progress",
        _ => c"unknown result code",
    }
}

/// The error that the call is to return at once, if any; logged as NCCL logs its own.
pub fn enter(function: &str) -> Option<Status> {
    let code = stand_in_faults::enter(function)?;
    log::warn(&format!("{function} fails with {code}, as the test asked"));
    Some(code)
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
pub unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> Status {
    enter!("ncclGetVersion");
    let answer = stand_in_faults::strike("answer", "ncclGetVersion");
    unsafe { *version = answer.map_or(VERSION, |answer| answer as c_int) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGetErrorString(status: Status) -> *const c_char {
    words(status).as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGetLastError(_comm: *const c_void) -> *const c_char {
    c"".as_ptr()
}
