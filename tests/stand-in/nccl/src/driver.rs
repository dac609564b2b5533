//! The driver's streams, through the library that the program has loaded under the driver's name.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

pub type RawStream = *mut c_void;

type HostFunction = unsafe extern "C" fn(*mut c_void);
type LaunchHostFunc = unsafe extern "C" fn(RawStream, HostFunction, *mut c_void) -> c_int;
type IsCapturing = unsafe extern "C" fn(RawStream, *mut c_int) -> c_int;

struct Driver {
    launch_host_func: LaunchHostFunc,
    is_capturing: IsCapturing,
}

fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: opens the library that is loaded already, or finds none.
    let address = unsafe {
        let library = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null(), "the stand-in for NCCL needs a driver");
        libc::dlsym(library, name.as_ptr())
    };
    assert!(!address.is_null(), "the driver lacks {name:?}");
    address
}

fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    // SAFETY: the driver's functions of these names have these types.
    DRIVER.get_or_init(|| unsafe {
        Driver {
            launch_host_func: std::mem::transmute::<*mut c_void, LaunchHostFunc>(symbol(
                c"cuLaunchHostFunc",
            )),
            is_capturing: std::mem::transmute::<*mut c_void, IsCapturing>(symbol(
                c"cuStreamIsCapturing",
            )),
        }
    })
}

/// Whether the stream is being captured.
pub fn is_capturing(stream: RawStream) -> bool {
    let mut status = 0;
    // SAFETY: the caller's stream, and a valid out-pointer.
    unsafe { (driver().is_capturing)(stream, &mut status) == 0 && status != 0 }
}

/// Enqueues a call; returns the driver's status.
pub fn launch(stream: RawStream, function: HostFunction, data: *mut c_void) -> c_int {
    // SAFETY: the caller vouches for `data` until the call has run.
    unsafe { (driver().launch_host_func)(stream, function, data) }
}
