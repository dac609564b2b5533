//! Which devices there are, and the context on one of them.

use std::ffi::c_int;

use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute as Attribute};

use super::check;
use crate::error::{Error, Result};

/// Facts of one device as the driver states them.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceFacts {
    pub name: String,
    pub uuid: String,
    pub pci_bus_id: String,
    pub memory_bytes: u64,
    pub l2_bytes: u64,
    /// Major and minor, as in (9, 0).
    pub compute_capability: (u32, u32),
}

/// Number of CUDA devices this process sees.
///
/// # Errors
/// Exit code 3 when there is no driver library, or the driver refuses.
pub fn device_count() -> Result<u32> {
    // SAFETY: only tries to open a library by name. Asked first: cudarc panics where it is absent.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::environment(
            "no NVIDIA driver on this machine (libcuda.so.1 cannot be opened)",
        )
        .try_this("install the NVIDIA driver, or measure host memory with --backend host"));
    }
    let mut count: c_int = 0;
    // SAFETY: plain calls with valid out-pointers; cuInit comes first.
    unsafe {
        check("cuInit", sys::cuInit(0))?;
        check("cuDeviceGetCount", sys::cuDeviceGetCount(&mut count))?;
    }
    Ok(count as u32)
}

/// Version of the kernel driver, and the CUDA version it supports. Call after [`device_count`].
pub fn driver_versions() -> (Option<String>, Option<String>) {
    let driver = std::fs::read_to_string("/sys/module/nvidia/version")
        .ok()
        .or_else(|| {
            // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release …"
            let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
            text.split_whitespace()
                .find(|word| {
                    word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.')
                })
                .map(str::to_string)
        })
        .map(|text| text.trim().to_string());
    let mut version: c_int = 0;
    // SAFETY: a plain call with a valid out-pointer.
    let status = unsafe { sys::cuDriverGetVersion(&mut version) };
    let cuda = check("cuDriverGetVersion", status)
        .ok()
        .map(|()| format!("{}.{}", version / 1000, version % 1000 / 10));
    (driver, cuda)
}

fn device(ordinal: u32) -> Result<CUdevice> {
    let mut device: CUdevice = 0;
    // SAFETY: a plain call with a valid out-pointer.
    let status = unsafe { sys::cuDeviceGet(&mut device, ordinal as c_int) };
    check("cuDeviceGet", status)?;
    Ok(device)
}

fn attribute(device: CUdevice, attribute: Attribute) -> Result<u32> {
    let mut value: c_int = 0;
    // SAFETY: a plain call with a valid out-pointer.
    let status = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) };
    check("cuDeviceGetAttribute", status)?;
    Ok(value as u32)
}

fn text_of(buffer: &[i8]) -> String {
    let bytes: Vec<u8> = buffer
        .iter()
        .take_while(|byte| **byte != 0)
        .map(|byte| *byte as u8)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Facts of the device with this CUDA ordinal. Call after [`device_count`].
///
/// # Errors
/// Exit code 3 when the driver refuses.
pub fn device_facts(ordinal: u32) -> Result<DeviceFacts> {
    let device = device(ordinal)?;
    let mut name = [0i8; 256];
    let mut bus_id = [0i8; 32];
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    let mut memory_bytes = 0usize;
    // SAFETY: each buffer is valid for the length given with it.
    unsafe {
        check(
            "cuDeviceGetName",
            sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device),
        )?;
        check(
            "cuDeviceGetPCIBusId",
            sys::cuDeviceGetPCIBusId(bus_id.as_mut_ptr(), bus_id.len() as c_int, device),
        )?;
        check("cuDeviceGetUuid", sys::cuDeviceGetUuid(&mut uuid, device))?;
        check(
            "cuDeviceTotalMem",
            sys::cuDeviceTotalMem_v2(&mut memory_bytes, device),
        )?;
    }
    let hex: String = uuid
        .bytes
        .iter()
        .map(|byte| format!("{:02x}", *byte as u8))
        .collect();
    // The written form of UUIDs: 8-4-4-4-12 digits.
    let uuid = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &hex[range]);
    Ok(DeviceFacts {
        name: text_of(&name),
        uuid: format!("GPU-{}", uuid.join("-")),
        pci_bus_id: text_of(&bus_id).to_ascii_lowercase(),
        memory_bytes: memory_bytes as u64,
        l2_bytes: u64::from(attribute(
            device,
            Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
        )?),
        compute_capability: (
            attribute(
                device,
                Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            )?,
            attribute(
                device,
                Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )?,
        ),
    })
}

/// The primary context of one device, current on the thread that made it. NCCL's own CUDA
/// runtime uses the same one. Never released: the process ends with it.
#[derive(Debug)]
pub struct Context {
    ordinal: u32,
}

impl Context {
    /// Retains the device's primary context and makes it current on this thread.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn enter(ordinal: u32) -> Result<Context> {
        let mut context = std::ptr::null_mut();
        // SAFETY: plain calls with a valid out-pointer and the handle they returned.
        unsafe {
            check(
                "cuDevicePrimaryCtxRetain",
                sys::cuDevicePrimaryCtxRetain(&mut context, device(ordinal)?),
            )?;
            check("cuCtxSetCurrent", sys::cuCtxSetCurrent(context))?;
        }
        Ok(Context { ordinal })
    }

    /// The CUDA ordinal of its device.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Free memory of the device in bytes, as the driver states it now.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn free_bytes(&self) -> Result<u64> {
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: a plain call with valid out-pointers; a context is current.
        let status = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
        check("cuMemGetInfo", status)?;
        Ok(free as u64)
    }
}
