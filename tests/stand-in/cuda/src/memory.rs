//! "Device" memory: host memory whose bounds are kept, so that an access outside of it is the
//! error that it would be on a device.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::ffi::{c_uint, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::device::{TOTAL_BYTES, has_context};
use crate::enter;
use crate::status::{INVALID_CONTEXT, INVALID_VALUE, OUT_OF_MEMORY, SUCCESS, Status};
use crate::stream::{Stream, Work};

/// Blocks by address, with their length in bytes.
static BLOCKS: Mutex<BTreeMap<u64, usize>> = Mutex::new(BTreeMap::new());

const ALIGNMENT: usize = 256;

fn blocks() -> MutexGuard<'static, BTreeMap<u64, usize>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether all of `length` bytes at `address` lie in one block.
pub fn is_inside(address: u64, length: usize) -> bool {
    blocks()
        .range(..=address)
        .next_back()
        .is_some_and(|(start, bytes)| address + length as u64 <= start + *bytes as u64)
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, ALIGNMENT).ok()
}

fn take(bytes: usize) -> Result<u64, Status> {
    if !has_context() {
        return Err(INVALID_CONTEXT);
    }
    let mut blocks = blocks();
    let used: usize = blocks.values().sum();
    let layout = match layout(bytes) {
        Some(layout) if bytes > 0 && used + bytes <= TOTAL_BYTES => layout,
        Some(_) if bytes == 0 => return Err(INVALID_VALUE),
        _ => return Err(OUT_OF_MEMORY),
    };
    // SAFETY: the layout is not empty.
    let address = unsafe { alloc(layout) } as u64;
    if address == 0 {
        return Err(OUT_OF_MEMORY);
    }
    blocks.insert(address, bytes);
    Ok(address)
}

fn give_back(address: u64) -> Status {
    let Some(layout) = blocks().remove(&address).and_then(layout) else {
        return INVALID_VALUE;
    };
    // SAFETY: it was in the list of what `take` allocated with this layout.
    unsafe { dealloc(address as *mut u8, layout) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) -> Status {
    enter!("cuMemAlloc_v2");
    match take(bytes) {
        Ok(address) => {
            unsafe { *pointer = address };
            SUCCESS
        }
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFree_v2(pointer: u64) -> Status {
    enter!("cuMemFree_v2");
    give_back(pointer)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Status {
    enter!("cuMemGetInfo_v2");
    let used: usize = blocks().values().sum();
    unsafe {
        *free = TOTAL_BYTES - used;
        *total = TOTAL_BYTES;
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(
    pointer: *mut *mut c_void,
    bytes: usize,
    _flags: c_uint,
) -> Status {
    enter!("cuMemHostAlloc");
    match take(bytes) {
        Ok(address) => {
            unsafe { *pointer = address as *mut c_void };
            SUCCESS
        }
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostGetDevicePointer_v2(
    device: *mut u64,
    host: *mut c_void,
    _flags: c_uint,
) -> Status {
    enter!("cuMemHostGetDevicePointer_v2");
    unsafe { *device = host as u64 };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> Status {
    enter!("cuMemFreeHost");
    give_back(pointer as u64)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> Status {
    enter!("cuMemcpyHtoD_v2");
    if !is_inside(to, bytes) {
        return INVALID_VALUE;
    }
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to as *mut u8, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> Status {
    enter!("cuMemcpyDtoH_v2");
    if !is_inside(from, bytes) {
        return INVALID_VALUE;
    }
    unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to.cast::<u8>(), bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD8Async(
    to: u64,
    value: u8,
    bytes: usize,
    stream: *const Stream,
) -> Status {
    enter!("cuMemsetD8Async");
    if !is_inside(to, bytes) {
        return INVALID_VALUE;
    }
    unsafe { Stream::of(stream) }.push(Work::Fill { to, value, bytes })
}
