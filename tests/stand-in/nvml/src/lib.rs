//! NVML for tests: every UUID is a GPU, whose state the environment tells.
//!
//! `COMMBENCH_STAND_IN_SM_MHZ=1980,1400` are the SM clocks of one reading after the other, the last
//! one from then on; `COMMBENCH_STAND_IN_THROTTLE` the bits of what holds them down;
//! `COMMBENCH_STAND_IN_OTHER=PID` a process beside the caller's own, with 1 GiB;
//! `COMMBENCH_STAND_IN_NVML=gone` an NVML that fails.
#![allow(clippy::missing_safety_doc)]

use std::ffi::{c_char, c_uint, c_ulonglong, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

type Status = c_uint;
const SUCCESS: Status = 0;
const NOT_SUPPORTED: Status = 3;
const INSUFFICIENT_SIZE: Status = 7;
const DRIVER_NOT_LOADED: Status = 9;
const SM: c_uint = 1;
const MEMORY: c_uint = 2;

#[repr(C)]
pub struct ProcessInfo {
    pid: c_uint,
    used_bytes: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

fn setting(name: &str) -> Option<String> {
    std::env::var(format!("COMMBENCH_STAND_IN_{name}")).ok()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> Status {
    match setting("NVML") {
        Some(_) => DRIVER_NOT_LOADED,
        None => SUCCESS,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> Status {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(
    _uuid: *const c_char,
    device: *mut *mut c_void,
) -> Status {
    unsafe { *device = std::ptr::without_provenance_mut(1) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(
    _device: *mut c_void,
    clock: c_uint,
    mhz: *mut c_uint,
) -> Status {
    static READ: AtomicUsize = AtomicUsize::new(0);
    let value = match clock {
        SM => {
            let list = setting("SM_MHZ").unwrap_or("1980".to_string());
            let values: Vec<c_uint> = list.split(',').filter_map(|one| one.parse().ok()).collect();
            values[READ.fetch_add(1, Ordering::SeqCst).min(values.len() - 1)]
        }
        MEMORY => 2619,
        _ => return NOT_SUPPORTED,
    };
    unsafe { *mhz = value };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPowerUsage(_device: *mut c_void, mw: *mut c_uint) -> Status {
    unsafe { *mw = 123_400 };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(
    _device: *mut c_void,
    _sensor: c_uint,
    celsius: *mut c_uint,
) -> Status {
    unsafe { *celsius = 41 };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(
    _device: *mut c_void,
    bits: *mut c_ulonglong,
) -> Status {
    let set = setting("THROTTLE").and_then(|text| text.parse().ok());
    unsafe { *bits = set.unwrap_or(0) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    _device: *mut c_void,
    count: *mut c_uint,
    infos: *mut ProcessInfo,
) -> Status {
    let other = setting("OTHER").and_then(|text| text.parse().ok());
    let pids: Vec<c_uint> = std::iter::once(std::process::id()).chain(other).collect();
    unsafe {
        let room = *count as usize;
        *count = pids.len() as c_uint;
        if infos.is_null() || room < pids.len() {
            return INSUFFICIENT_SIZE;
        }
        for (at, pid) in pids.into_iter().enumerate() {
            infos.add(at).write(ProcessInfo {
                pid,
                used_bytes: 1 << 30,
                gpu_instance: c_uint::MAX,
                compute_instance: c_uint::MAX,
            });
        }
    }
    SUCCESS
}
