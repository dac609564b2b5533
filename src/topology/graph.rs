//! A machine as a graph: processors, root ports, PCIe switches, GPUs, and the links between them.
//!
//! PCIe makes a tree below each processor: [`Link::ends`] of its links are the upper end, then the
//! lower. Processors are joined by links between sockets, GPUs by NVLink besides.

use super::cpu::CpuFamily;
use super::pcie::PcieMode;
use super::switches::SwitchModel;

/// A node's place in [`Topology::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) usize);

impl NodeId {
    /// The node's place in [`Topology::nodes`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// A link's place in [`Topology::links`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(super) usize);

impl LinkId {
    /// The link's place in [`Topology::links`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// A part of the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// No two nodes of a machine have the same.
    pub name: String,
    /// The PCI address, "0000:41:00.0", where it is known.
    pub address: Option<String>,
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// A socket, or one NUMA node of a socket.
    Cpu(Cpu),
    /// Where PCIe leaves a processor.
    RootPort(RootPort),
    /// A PCIe switch, or a virtual switch: a part of a chip that hangs on its own uplink.
    Switch(Switch),
    Gpu(Gpu),
    /// All NVSwitches of a machine.
    NvSwitch,
    Nic,
    /// Another PCI device, or one whose kind nothing says.
    Device,
}

/// A socket, or one NUMA node of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cpu {
    /// The number that the operating system gives the node.
    pub numa: Option<i64>,
    pub model: Option<String>,
    pub family: Option<CpuFamily>,
}

/// Where PCIe leaves a processor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootPort {
    /// The host bridge that the port belongs to. Ports of one host bridge reach each other without
    /// the fabric between host bridges; `None` where nothing says.
    pub host_bridge: Option<String>,
}

/// A PCIe switch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Switch {
    pub model: Option<&'static SwitchModel>,
    /// The chip that a virtual switch is a part of. The PCIe tree does not show it.
    pub chip: Option<String>,
}

/// A GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gpu {
    /// Its number in tables, from 0.
    pub index: u32,
    pub model: Option<String>,
    /// Compute capability, 120 for 12.0.
    pub sm: Option<u32>,
}

/// A link between two nodes. Its two directions carry data independently.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The upper end, then the lower, where the link is one of the PCIe tree.
    pub ends: [NodeId; 2],
    pub kind: LinkKind,
    /// What one direction carries; `None` where nothing says.
    pub rate: Option<Rate>,
    /// What the link adds to the time of one transfer in µs; `None` where nothing says.
    pub latency_us: Option<f64>,
}

/// What a link is.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkKind {
    Pcie(PcieLink),
    /// From a processor to a root port of its own: inside the package. Nobody states what it
    /// carries, and no link of the tree is known to wait for it.
    Internal,
    /// Between two processors; with what it is called, as in "xGMI".
    InterSocket {
        name: Option<String>,
    },
    /// `count` NVLinks between two GPUs, or a GPU and the NVSwitches.
    NvLink {
        count: u32,
    },
}

/// State of a PCIe link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PcieLink {
    /// What it is trained to.
    pub now: Option<PcieMode>,
    /// What both of its ends can do.
    pub max: Option<PcieMode>,
    /// Whether `now` was read from a GPU that may have been idle: idle GPUs slow their link down,
    /// so that a low generation says nothing.
    pub may_idle: bool,
}

impl PcieLink {
    /// Whether the link is less than its two ends can do.
    pub fn is_degraded(&self) -> bool {
        match (self.now, self.max) {
            (Some(now), Some(max)) if self.may_idle => now.width < max.width,
            (Some(now), Some(max)) => now.is_below(max),
            _ => false,
        }
    }

    /// The mode that traffic meets: an idle GPU's link speeds up when it is used.
    pub fn in_use(&self) -> Option<PcieMode> {
        match (self.now, self.max) {
            (Some(now), Some(max)) if self.may_idle => Some(PcieMode {
                generation: now.generation.max(max.generation),
                width: now.width,
            }),
            (now, _) => now,
        }
    }
}

/// What one direction of a link carries, and who says so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// GB/s, 10⁹ bytes, of one direction.
    pub gb_per_s: f64,
    pub basis: Basis,
}

/// Who says what a link carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Transfers a lane × lanes, less the line code: no copy reaches it.
    Wire,
    /// The file that describes the machine.
    Stated,
    /// A constant of NCCL's, by which it chooses.
    Nccl,
}

impl Basis {
    /// As tables say it.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Wire => "wire",
            Basis::Stated => "stated",
            Basis::Nccl => "NCCL's constant",
        }
    }
}

impl Link {
    /// A PCIe link with the rate of its wire, from `upper` down to `lower`.
    pub fn pcie(upper: NodeId, lower: NodeId, pcie: PcieLink) -> Link {
        Link {
            ends: [upper, lower],
            kind: LinkKind::Pcie(pcie),
            rate: pcie.in_use().map(|mode| Rate {
                gb_per_s: mode.wire_gb_per_s(),
                basis: Basis::Wire,
            }),
            latency_us: None,
        }
    }

    /// From a processor to one of its root ports.
    pub fn internal(cpu: NodeId, root_port: NodeId) -> Link {
        Link {
            ends: [cpu, root_port],
            kind: LinkKind::Internal,
            rate: None,
            latency_us: None,
        }
    }

    /// Whether it is one of the tree, and so has an upper and a lower end.
    pub fn is_of_tree(&self) -> bool {
        matches!(self.kind, LinkKind::Pcie(_) | LinkKind::Internal)
    }

    /// Whether it is a PCIe link that is less than its ends can do.
    pub fn is_degraded(&self) -> bool {
        matches!(self.kind, LinkKind::Pcie(pcie) if pcie.is_degraded())
    }
}

/// A machine. Made by a [`Builder`](super::Builder), which lets no other than a sound one through:
/// every GPU hangs on a processor, and has a way to every other.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    /// What the machine is called.
    pub name: String,
    /// Where the description comes from.
    pub source: String,
    /// What a reader must know of how it was read, a sentence each.
    pub notes: Vec<String>,
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Link>,
    /// By node: the link of the tree above it.
    pub(super) above: Vec<Option<LinkId>>,
    /// In the order of their index.
    pub(super) gpus: Vec<NodeId>,
}

impl Topology {
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn links(&self) -> &[Link] {
        &self.links
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.0]
    }

    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    pub fn link_ids(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.links.len()).map(LinkId)
    }

    /// The GPUs, in the order of their index.
    pub fn gpus(&self) -> &[NodeId] {
        &self.gpus
    }

    /// The processors, in the order in which they were described.
    pub fn cpus(&self) -> impl Iterator<Item = NodeId> {
        self.node_ids()
            .filter(|id| matches!(self.node(*id).kind, NodeKind::Cpu(_)))
    }

    /// The node with this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.node_ids().find(|id| self.node(*id).name == name)
    }

    /// The link of the tree above a node, with its upper end; `None` for processors, NVSwitches and
    /// devices that hang nowhere.
    pub fn above(&self, id: NodeId) -> Option<(LinkId, NodeId)> {
        let link = self.above[id.0]?;
        Some((link, self.link(link).ends[0]))
    }

    /// The links of the tree below a node, each with its lower end, in the order in which they were
    /// described.
    pub fn below(&self, id: NodeId) -> impl Iterator<Item = (LinkId, NodeId)> {
        self.link_ids().filter_map(move |link| {
            let one = self.link(link);
            (one.is_of_tree() && one.ends[0] == id).then_some((link, one.ends[1]))
        })
    }

    /// Whether some figure of the graph is NCCL's rather than the machine's.
    pub fn rests_on(&self, basis: Basis) -> bool {
        self.links
            .iter()
            .any(|link| link.rate.is_some_and(|rate| rate.basis == basis))
    }
}
