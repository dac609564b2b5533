//! From the graph to a file for `NCCL_TOPO_FILE`.

use super::document::{XmlElement, XmlFile, XmlNode};
use crate::topology::graph::{LinkKind, Node, NodeId, NodeKind, Topology};

/// NVIDIA's numbers in class attributes.
const BRIDGE: &str = "0x060400";
const GPU: &str = "0x030200";
const NIC: &str = "0x020000";
const NVSWITCH_CLASS: &str = "0x068000";

/// The machine as NCCL describes machines. Root ports do not stand in such files, neither do rates
/// and latencies. Parts without a PCI address get one that no part of a real machine has; a comment
/// says so.
pub fn topology_xml(topology: &Topology) -> XmlFile {
    let writing = Writing {
        topology,
        addresses: addresses(topology),
    };
    let mut system = XmlElement::new("system").with("version", "1");
    for cpu in topology.cpus() {
        system.children.push(XmlNode::Element(writing.cpu(cpu)));
    }
    indent(&mut system, 0);
    let mut nodes = Vec::new();
    if topology
        .node_ids()
        .any(|id| is_pci(topology.node(id)) && topology.node(id).address.is_none())
    {
        let note = "<!-- Addresses of domain ffff stand for addresses that are not known. -->\n";
        nodes.push(XmlNode::Verbatim(note.to_string()));
    }
    nodes.push(XmlNode::Element(system));
    nodes.push(XmlNode::Text("\n".to_string()));
    XmlFile { nodes }
}

fn is_pci(node: &Node) -> bool {
    !matches!(node.kind, NodeKind::Cpu(_) | NodeKind::RootPort(_))
}

/// By node: its own address, or one in domain ffff, as clouds' files have for virtual switches.
fn addresses(topology: &Topology) -> Vec<String> {
    let of = |id: NodeId| {
        let own = topology.node(id).address.clone();
        own.unwrap_or_else(|| format!("ffff:{:02x}:{:02x}.0", id.0 / 256, id.0 % 256))
    };
    topology.node_ids().map(of).collect()
}

struct Writing<'a> {
    topology: &'a Topology,
    addresses: Vec<String>,
}

impl Writing<'_> {
    fn cpu(&self, id: NodeId) -> XmlElement {
        let mut element = XmlElement::new("cpu");
        if let NodeKind::Cpu(cpu) = &self.topology.node(id).kind {
            let place = self.topology.cpus().position(|one| one == id);
            let numa = cpu.numa.unwrap_or(place.unwrap_or_default() as i64);
            element = element.with("numaid", numa.to_string());
            if let Some(nccl) = cpu.family.map(|family| family.nccl()) {
                element = element.with("arch", nccl.arch);
                if let Some(vendor) = nccl.vendor {
                    element = element.with("vendor", vendor);
                }
                if let Some((family, model)) = nccl.ids {
                    element = element
                        .with("familyid", family.to_string())
                        .with("modelid", model.to_string());
                }
            }
        }
        element.children = self.below(id);
        element
    }

    /// What hangs on a node, with root ports passed over.
    fn below(&self, id: NodeId) -> Vec<XmlNode> {
        let children =
            self.topology
                .below(id)
                .flat_map(|(_, child)| match self.topology.node(child).kind {
                    NodeKind::RootPort(_) => self.below(child),
                    _ => vec![XmlNode::Element(self.pci(child))],
                });
        children.collect()
    }

    fn pci(&self, id: NodeId) -> XmlElement {
        let node = self.topology.node(id);
        let mut element = XmlElement::new("pci").with("busid", &self.addresses[id.0]);
        let class = match node.kind {
            NodeKind::Switch(_) => Some(BRIDGE),
            NodeKind::Gpu(_) => Some(GPU),
            NodeKind::Nic => Some(NIC),
            _ => None,
        };
        if let Some(class) = class {
            element = element.with("class", class);
        }
        let ids = match &node.kind {
            NodeKind::Switch(switch) => switch.model.and_then(|model| model.ids.first()),
            NodeKind::Gpu(_) => None,
            _ => None,
        };
        if let Some((vendor, device)) = ids {
            element = element
                .with("vendor", format!("0x{vendor:04x}"))
                .with("device", format!("0x{device:04x}"));
        }
        if let Some((link, _)) = self.topology.above(id)
            && let LinkKind::Pcie(pcie) = self.topology.link(link).kind
            && let Some(mode) = pcie.in_use()
        {
            element = element
                .with("link_speed", mode.generation.speed())
                .with("link_width", mode.width.to_string());
        }
        element.children = self.below(id);
        if let NodeKind::Gpu(gpu) = &node.kind {
            let mut inner = XmlElement::new("gpu").with("dev", gpu.index.to_string());
            if let Some(sm) = gpu.sm {
                inner = inner.with("sm", sm.to_string());
            }
            inner = inner.with("rank", gpu.index.to_string());
            inner.children = self.nvlinks(id);
            element.children.push(XmlNode::Element(inner));
        }
        element
    }

    /// NCCL has each link of two GPUs with both of them.
    fn nvlinks(&self, id: NodeId) -> Vec<XmlNode> {
        let links = self.topology.links().iter().filter_map(|link| {
            let LinkKind::NvLink { count } = link.kind else {
                return None;
            };
            let other = match link.ends {
                [one, other] if one == id => other,
                [other, one] if one == id => other,
                _ => return None,
            };
            let class = match self.topology.node(other).kind {
                NodeKind::NvSwitch => NVSWITCH_CLASS,
                _ => GPU,
            };
            Some(XmlNode::Element(
                XmlElement::new("nvlink")
                    .with("target", &self.addresses[other.0])
                    .with("count", count.to_string())
                    .with("tclass", class),
            ))
        });
        links.collect()
    }
}

/// Puts each element on a line of its own, two spaces a level.
fn indent(element: &mut XmlElement, level: usize) {
    if element.children.is_empty() {
        return;
    }
    let line = |level: usize| XmlNode::Text(format!("\n{}", "  ".repeat(level)));
    let mut children = Vec::with_capacity(2 * element.children.len() + 1);
    for mut child in std::mem::take(&mut element.children) {
        if let XmlNode::Element(inner) = &mut child {
            indent(inner, level + 1);
        }
        children.push(line(level + 1));
        children.push(child);
    }
    children.push(line(level));
    element.children = children;
}
