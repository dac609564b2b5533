//! What the driver says of every GPU: its model, and where its NVLinks lead.

use nvml_wrapper::Nvml;

use crate::topology::{DriverGpu, parse_address};

/// GPUs have at most 18 NVLinks (H100 to B200).
const MOST_NVLINKS: u32 = 18;

/// Every GPU that NVML knows.
///
/// # Errors
/// A sentence where there is no NVML.
pub fn driver_gpus() -> Result<Vec<DriverGpu>, String> {
    let nvml = Nvml::init().map_err(|error| format!("NVML cannot be used: {error}"))?;
    let count = nvml
        .device_count()
        .map_err(|error| format!("NVML does not count its GPUs: {error}"))?;
    let gpus = (0..count).filter_map(|index| {
        let device = nvml.device_by_index(index).ok()?;
        let address = parse_address(&device.pci_info().ok()?.bus_id).ok()?;
        let capability = device.cuda_compute_capability().ok();
        let number = |major: i32, minor: i32| u32::try_from(major * 10 + minor).ok();
        let remote = |link: u32| {
            let link = device.link_wrapper_for(link);
            if !link.is_active().ok()? {
                return None;
            }
            parse_address(&link.remote_pci_info().ok()?.bus_id).ok()
        };
        Some(DriverGpu {
            nvlinks: (0..MOST_NVLINKS).filter_map(remote).collect(),
            model: device.name().ok(),
            sm: capability.and_then(|found| number(found.major, found.minor)),
            address,
        })
    });
    Ok(gpus.collect())
}
