//! Modules and kernels: any module has the kernel that keeps its stream busy for the nanoseconds
//! of its first parameter and writes its begin and end to the address in the second, and no other.

use std::ffi::{CStr, c_char, c_uint, c_void};
use std::time::Duration;

use crate::device::has_context;
use crate::enter;
use crate::memory::is_inside;
use crate::status::{INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, SUCCESS, Status};
use crate::stream::{Stream, Work};

const MODULE: usize = 0x4D4F_4455;
const KERNEL: usize = 0x5350_494E;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut usize, _image: *const c_void) -> Status {
    enter!("cuModuleLoadData");
    if !has_context() {
        return INVALID_CONTEXT;
    }
    unsafe { *module = MODULE };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: *mut usize,
    module: usize,
    name: *const c_char,
) -> Status {
    enter!("cuModuleGetFunction");
    if module != MODULE {
        return INVALID_HANDLE;
    }
    if unsafe { CStr::from_ptr(name) } != c"commbench_spin" {
        return NOT_FOUND;
    }
    unsafe { *function = KERNEL };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(_module: usize) -> Status {
    enter!("cuModuleUnload");
    SUCCESS
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // The driver's own list.
pub unsafe extern "C" fn cuLaunchKernel(
    function: usize,
    _grid_x: c_uint,
    _grid_y: c_uint,
    _grid_z: c_uint,
    _block_x: c_uint,
    _block_y: c_uint,
    _block_z: c_uint,
    _shared: c_uint,
    stream: *const Stream,
    parameters: *const *const c_void,
    _extra: *const *const c_void,
) -> Status {
    enter!("cuLaunchKernel");
    if function != KERNEL {
        return INVALID_HANDLE;
    }
    let parameter = |index| unsafe { *(*parameters.add(index)).cast::<u64>() };
    let stamps = parameter(1);
    if stamps != 0 && !is_inside(stamps, 2 * size_of::<u64>()) {
        return INVALID_VALUE;
    }
    let time = Duration::from_nanos(parameter(0));
    unsafe { Stream::of(stream) }.push(Work::Spin { time, stamps })
}
