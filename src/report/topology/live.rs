//! What stands beside the graph of this machine: ACS, IOMMU groups, and what could not be read.

use crate::topology::{LiveMachine, PciDevice};
use crate::units::printable;

/// One line each.
pub fn live_text(machine: &LiveMachine) -> String {
    let mut lines: Vec<String> = Vec::new();
    let redirects = |device: &&PciDevice| {
        let acs = device.acs.flatten();
        acs.is_some_and(|acs| acs.redirects())
    };
    let redirecting: Vec<&str> = machine
        .devices
        .iter()
        .filter(redirects)
        .map(|device| device.address.as_str())
        .collect();
    let bridges = || machine.devices.iter().filter(|device| device.is_bridge());
    if !redirecting.is_empty() {
        lines.push(format!(
            "ACS redirect is ON at {}: transfers between GPUs below go up to the CPU.",
            redirecting.join(", ")
        ));
    } else if bridges().next().is_some() && bridges().all(|device| device.acs.is_some()) {
        lines.push("ACS redirect is off at every port between the GPUs.".to_string());
    }
    let groups: Vec<String> = machine
        .topology
        .gpus()
        .iter()
        .filter_map(|id| {
            let group = machine.device(*id)?.iommu_group?;
            Some(format!("{} {group}", machine.topology.node(*id).name))
        })
        .collect();
    if !groups.is_empty() {
        lines.push(format!("IOMMU groups: {}.", groups.join(", ")));
    }
    lines.extend(machine.waived.iter().map(|what| format!("waived: {what}")));
    let out: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    printable(&out)
}
