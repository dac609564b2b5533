//! The machine: what the operating system says of a host, and its processors, switches, GPUs and
//! links as a graph. Knows neither MPI nor CUDA.

mod address;
mod builder;
mod check;
mod cpu;
mod graph;
mod host;
mod live;
mod load;
mod nccl_xml;
mod nvlink;
mod pcie;
mod presets;
mod route;
#[cfg(test)]
mod route_tests;
mod smi;
mod sockets;
mod switches;
mod toml_file;

pub use address::parse_address;
pub use builder::{Builder, Flaw, MAX_GPUS, MAX_NODES};
pub use cpu::{CpuFamily, NcclCpu};
pub use graph::{
    Basis, Cpu, Gpu, Link, LinkId, LinkKind, Node, NodeId, NodeKind, PcieLink, Rate, RootPort,
    Switch, Topology,
};
pub use host::{HostFacts, host_facts};
pub use live::{Acs, DriverGpu, LiveMachine, PciDevice, live_machine};
pub(crate) use load::parse_topology;
pub use load::{Loaded, load_topology};
pub use nccl_xml::{XmlElement, XmlFile, XmlNode, parse_xml, topology_of_xml, topology_xml};
pub use nvlink::{nvlink_gb_per_s, nvlink_rate};
pub use pcie::{Generation, PcieMode};
pub use presets::{topology_preset, topology_preset_names};
pub use route::{DirectedLink, PathClass};
pub use smi::topology_of_matrix;
pub use sockets::{inter_socket_rate, link_all_cpus};
pub use switches::{SWITCH_MODELS, SwitchModel};
pub use toml_file::{TOPOLOGY_SCHEMA, parse_topology_toml, topology_toml};
