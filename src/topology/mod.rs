//! The machine: what the operating system says of a host, and its processors, switches, GPUs and
//! links as a graph. Knows neither MPI nor CUDA.

mod address;
mod builder;
mod check;
mod cpu;
mod graph;
mod host;
mod nvlink;
mod pcie;
mod presets;
mod route;
#[cfg(test)]
mod route_tests;
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
pub use nvlink::{nvlink_gb_per_s, nvlink_rate};
pub use pcie::{Generation, PcieMode};
pub use presets::{topology_preset, topology_preset_names};
pub use route::{DirectedLink, PathClass};
pub use switches::{SWITCH_MODELS, SwitchModel};
pub use toml_file::{TOPOLOGY_SCHEMA, parse_topology_toml, topology_toml};

/// What NCCL takes one direction between two processors for: the lower of their families'
/// constants. `None` where a family is not known.
pub fn inter_socket_rate(one: &Node, other: &Node) -> Option<Rate> {
    let constant = |node: &Node| match &node.kind {
        NodeKind::Cpu(cpu) => cpu.family.map(CpuFamily::nccl_inter_socket_gb_per_s),
        _ => None,
    };
    Some(Rate {
        gb_per_s: constant(one)?.min(constant(other)?),
        basis: Basis::Nccl,
    })
}
