//! Devices and their contexts. `COMMBENCH_STAND_IN_GPUS` is their number (8 by default);
//! `CUDA_VISIBLE_DEVICES` chooses among them as it does for the driver.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::enter;
use crate::status::{INVALID_DEVICE, INVALID_VALUE, SUCCESS, Status};

/// Read by people in every table: no figure of it may pass for a GPU's.
const NAME: &str = "commbench stand-in, NOT A GPU";

pub const TOTAL_BYTES: usize = 2 << 30;

const L2_BYTES: c_int = 4 << 20;

static CURRENT: AtomicI32 = AtomicI32::new(-1);

/// Whether some context is current.
pub fn has_context() -> bool {
    CURRENT.load(Ordering::SeqCst) >= 0
}

/// Physical numbers of the visible devices, in the order of their ordinals.
fn visible() -> &'static [c_int] {
    static VISIBLE: OnceLock<Vec<c_int>> = OnceLock::new();
    VISIBLE.get_or_init(|| {
        let number = |name: &str| std::env::var(name).ok()?.parse::<c_int>().ok();
        let all = number("COMMBENCH_STAND_IN_GPUS").unwrap_or(8);
        match std::env::var("CUDA_VISIBLE_DEVICES") {
            Err(_) => (0..all).collect(),
            // The driver ends the list at the first entry that is no device.
            Ok(list) => list
                .split(',')
                .map_while(|one| one.trim().parse().ok().filter(|one| (0..all).contains(one)))
                .collect(),
        }
    })
}

fn physical(device: c_int) -> Option<c_int> {
    visible().get(usize::try_from(device).ok()?).copied()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuInit(_flags: u32) -> Status {
    enter!("cuInit");
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Status {
    enter!("cuDriverGetVersion");
    unsafe { *version = 12_000 };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Status {
    enter!("cuDeviceGetCount");
    unsafe { *count = visible().len() as c_int };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Status {
    enter!("cuDeviceGet");
    if physical(ordinal).is_none() {
        return INVALID_DEVICE;
    }
    unsafe { *device = ordinal };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    attribute: c_int,
    _device: c_int,
) -> Status {
    enter!("cuDeviceGetAttribute");
    let answer = match attribute {
        38 => L2_BYTES,
        // Compute capability 0.0: no GPU has it.
        75 | 76 => 0,
        _ => return INVALID_VALUE,
    };
    unsafe { *value = answer };
    SUCCESS
}

/// Copies `text` with its NUL into a buffer of `length` bytes.
unsafe fn put(text: &str, buffer: *mut c_char, length: c_int) -> Status {
    let length = length.max(0) as usize;
    if text.len() >= length {
        return INVALID_VALUE;
    }
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), text.len());
        *buffer.add(text.len()) = 0;
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(
    name: *mut c_char,
    length: c_int,
    _device: c_int,
) -> Status {
    enter!("cuDeviceGetName");
    unsafe { put(NAME, name, length) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetPCIBusId(
    id: *mut c_char,
    length: c_int,
    device: c_int,
) -> Status {
    enter!("cuDeviceGetPCIBusId");
    match physical(device) {
        Some(number) => unsafe { put(&format!("0000:{:02x}:00.0", number + 1), id, length) },
        None => INVALID_DEVICE,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) -> Status {
    enter!("cuDeviceGetUuid");
    let Some(number) = physical(device) else {
        return INVALID_DEVICE;
    };
    let mut bytes = *b"stand-in-no-gpu-";
    bytes[15] = number as u8;
    unsafe { *uuid = bytes };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) -> Status {
    enter!("cuDeviceTotalMem_v2");
    unsafe { *bytes = TOTAL_BYTES };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(
    context: *mut *mut c_void,
    device: c_int,
) -> Status {
    enter!("cuDevicePrimaryCtxRetain");
    if physical(device).is_none() {
        return INVALID_DEVICE;
    }
    // A handle that is no address: the ordinal and one, so that it is not null.
    unsafe { *context = std::ptr::without_provenance_mut(device as usize + 1) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> Status {
    enter!("cuCtxSetCurrent");
    CURRENT.store(context.addr() as c_int - 1, Ordering::SeqCst);
    SUCCESS
}
