//! This machine, from the files of the kernel and, where there is a driver, from what it says of
//! GPUs. All files are read below a root that tests replace.

mod acs;
mod build;
mod sysfs;

use std::path::Path;

use super::builder::Flaw;
use super::graph::{NodeId, Topology};

pub use acs::Acs;
pub use sysfs::PciDevice;

/// What a driver says of a GPU, beyond what the kernel says of the device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriverGpu {
    /// PCI address, in the form of [`parse_address`](super::parse_address).
    pub address: String,
    pub model: Option<String>,
    /// Compute capability, 120 for 12.0.
    pub sm: Option<u32>,
    /// PCI addresses of the other ends of its active NVLinks, one for each link.
    pub nvlinks: Vec<String>,
}

/// This machine as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveMachine {
    pub topology: Topology,
    /// State of every PCI device that the graph is made of, ports of switches among them.
    pub devices: Vec<PciDevice>,
    /// What could not be read, a sentence each, with how to get it.
    pub waived: Vec<String>,
}

impl LiveMachine {
    /// The device behind a node of the graph.
    pub fn device(&self, id: NodeId) -> Option<&PciDevice> {
        let address = self.topology.node(id).address.as_ref()?;
        self.devices.iter().find(|one| one.address == *address)
    }
}

/// Reads the machine below `root`, which is "/" but in tests. `driver` is what a driver says of its
/// GPUs; nothing where there is none.
///
/// # Errors
/// Files that describe no machine. What is missing is no error, and is waived.
pub fn live_machine(root: &Path, driver: &[DriverGpu]) -> Result<LiveMachine, Flaw> {
    let (all, waived) = sysfs::devices(root);
    build::build(root, all, waived, driver)
}
