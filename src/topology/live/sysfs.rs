//! PCI devices as the kernel lists them in /sys/bus/pci/devices.

use std::io::Read;
use std::path::Path;

use super::acs::{Acs, acs_of};
use crate::topology::address::parse_address;
use crate::topology::builder::MAX_DEPTH;
use crate::topology::pcie::{Generation, PcieMode};

/// Devices beyond these are not looked at.
const MAX_DEVICES: usize = 16_384;

/// Files of sysfs hold a line.
const MAX_FILE_BYTES: u64 = 4096;

/// A PCI device and the state of the link above it.
#[derive(Debug, Clone, PartialEq)]
pub struct PciDevice {
    pub address: String,
    /// The host bridge it is below: "0000:e0".
    pub host_bridge: String,
    /// Addresses of the bridges above it, from the root port down.
    pub above: Vec<String>,
    /// Class and subclass: 0x0302 for a GPU without a display.
    pub class: u16,
    pub vendor: u16,
    pub device: u16,
    /// What the link is trained to, and what this end of it can do.
    pub now: Option<PcieMode>,
    pub max: Option<PcieMode>,
    /// NUMA node; `None` where the kernel does not know.
    pub numa: Option<i64>,
    pub iommu_group: Option<u32>,
    /// `None` where configuration space could not be read, `Some(None)` without ACS.
    pub acs: Option<Option<Acs>>,
}

impl PciDevice {
    pub fn is_bridge(&self) -> bool {
        self.class == 0x0604
    }

    pub fn is_gpu(&self) -> bool {
        self.vendor == 0x10DE && matches!(self.class, 0x0300 | 0x0302)
    }

    pub fn is_nic(&self) -> bool {
        matches!(self.class, 0x0200 | 0x0207)
    }
}

/// All devices below a root, in the order of their addresses, and what could not be read.
pub(super) fn devices(root: &Path) -> (Vec<PciDevice>, Vec<String>) {
    let folder = root.join("sys/bus/pci/devices");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) => {
            let waived = format!(
                "PCI devices: {} cannot be read ({error}); it needs Linux with sysfs mounted.",
                folder.display()
            );
            return (Vec::new(), vec![waived]);
        }
    };
    let names = entries
        .flatten()
        .take(MAX_DEVICES)
        .map(|entry| entry.path());
    let mut devices: Vec<PciDevice> = names.filter_map(|path| device(&path)).collect();
    devices.sort_by(|one, other| one.address.cmp(&other.address));
    (devices, Vec::new())
}

fn device(path: &Path) -> Option<PciDevice> {
    let address = parse_address(&path.file_name()?.to_string_lossy()).ok()?;
    // The real folder lies within those of the bridges above.
    let real = std::fs::canonicalize(path).ok()?;
    let mut above: Vec<String> = Vec::new();
    let mut host_bridge = String::new();
    for part in real.components() {
        let part = part.as_os_str().to_string_lossy();
        if let Some(bus) = part.strip_prefix("pci").filter(|bus| bus.contains(':')) {
            // A bridge may make a domain of its own: what is above belongs to another.
            above.clear();
            host_bridge = bus.to_string();
        } else if let Ok(bridge) = parse_address(&part) {
            above.push(bridge);
        }
    }
    above.pop();
    if above.len() > MAX_DEPTH {
        return None;
    }
    let text = |name: &str| read(&path.join(name));
    let hex = |name: &str| {
        let text = text(name)?;
        u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
    };
    let mode = |which: &str| {
        let generation = Generation::from_speed(&text(&format!("{which}_link_speed"))?)?;
        let width = text(&format!("{which}_link_width"))?.trim().parse().ok()?;
        PcieMode::new(generation, width)
    };
    let numa = text("numa_node").and_then(|text| text.trim().parse::<i64>().ok());
    let group = std::fs::read_link(path.join("iommu_group")).ok();
    let mut config = Vec::new();
    if let Ok(file) = std::fs::File::open(path.join("config")) {
        let _ = file.take(MAX_FILE_BYTES).read_to_end(&mut config);
    }
    Some(PciDevice {
        address,
        host_bridge,
        above,
        class: (hex("class")? >> 8) as u16,
        vendor: hex("vendor")? as u16,
        device: hex("device")? as u16,
        now: mode("current"),
        max: mode("max"),
        numa: numa.filter(|node| *node >= 0),
        iommu_group: group.and_then(|link| link.file_name()?.to_str()?.parse().ok()),
        acs: acs_of(&config).ok(),
    })
}

/// A file of the kernel as text. /proc/cpuinfo of the largest machines has a megabyte.
pub(super) fn read(path: &Path) -> Option<String> {
    crate::files::read_text(path, 4 << 20).ok()
}
