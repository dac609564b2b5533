//! From NCCL's file to the graph.

use std::collections::HashMap;

use super::document::{XmlElement, XmlFile};
use crate::topology::address::parse_address;
use crate::topology::builder::{Builder, Flaw};
use crate::topology::cpu::CpuFamily;
use crate::topology::graph::{
    Cpu, Gpu, Link, LinkKind, Node, NodeId, NodeKind, PcieLink, Switch, Topology,
};
use crate::topology::link_all_cpus;
use crate::topology::nvlink::nvlink_rate;
use crate::topology::pcie::{Generation, PcieMode};
use crate::topology::switches::SwitchModel;
use crate::topology::toml_file::NVSWITCH;

/// PCI vendor number of NVIDIA.
const NVIDIA: u16 = 0x10DE;

/// The machine that a topology file describes. Attributes that the graph has no place for stay in
/// the file.
///
/// # Errors
/// The line, and a clause with the value at fault.
pub fn topology_of_xml(file: &XmlFile, name: &str) -> Result<Topology, Flaw> {
    let root = file
        .root()
        .ok_or_else(|| Flaw::at(None, "there is no element"))?;
    if root.name != "system" {
        let what = match root.name.as_str() {
            "graphs" => "it is a graph file of NCCL's (NCCL_GRAPH_DUMP_FILE): channels, no machine"
                .to_string(),
            other => format!("its outermost element is <{}>, not <system>", short(other)),
        };
        return Err(Flaw::at(Some(root.line), what));
    }
    let mut reading = Reading {
        builder: Builder::new(name, "NCCL's topology file"),
        nvlinks: Vec::new(),
        next_gpu: highest_dev(root).map_or(0, |dev| dev.saturating_add(1)),
        gpus_by_address: HashMap::new(),
        left_out: Vec::new(),
    };
    for cpu in root.elements() {
        match cpu.name.as_str() {
            "cpu" => reading.cpu(cpu)?,
            other => reading.leave_out(other),
        }
    }
    link_all_cpus(&mut reading.builder)?;
    reading.link_gpus()?;
    reading.take_notes();
    reading.builder.finish()
}

/// The highest number that the file gives a GPU: those without one come after.
fn highest_dev(element: &XmlElement) -> Option<u32> {
    let own = (element.name == "gpu")
        .then(|| element.get("dev")?.parse().ok())
        .flatten();
    element.elements().map(highest_dev).fold(own, Option::max)
}

struct Reading {
    builder: Builder,
    /// GPU, the other end's address and class, count, line.
    nvlinks: Vec<(NodeId, XmlElement)>,
    next_gpu: u32,
    gpus_by_address: HashMap<String, NodeId>,
    /// Names of elements that the graph has no place for.
    left_out: Vec<String>,
}

impl Reading {
    fn cpu(&mut self, element: &XmlElement) -> Result<(), Flaw> {
        let line = Some(element.line);
        let numa: Option<i64> = number(element, "numaid")?;
        let id = |name| -> Result<u32, Flaw> { Ok(number(element, name)?.unwrap_or(0)) };
        let family = CpuFamily::from_ids(
            element.get("arch").unwrap_or_default(),
            element.get("vendor").unwrap_or_default(),
            id("familyid")?,
            id("modelid")?,
        );
        let node = Node {
            name: match numa {
                Some(numa) => format!("cpu{numa}"),
                None => "cpu".to_string(),
            },
            address: None,
            kind: NodeKind::Cpu(Cpu {
                numa,
                model: None,
                family,
            }),
        };
        let cpu = self.builder.node(node, line)?;
        for child in element.elements() {
            match child.name.as_str() {
                "pci" => self.pci(child, cpu)?,
                // What talks over the processor's own network: no PCIe part of the file.
                "nic" => {}
                other => self.leave_out(other),
            }
        }
        Ok(())
    }

    /// Depth is bounded by the reader of the file.
    fn pci(&mut self, element: &XmlElement, upper: NodeId) -> Result<(), Flaw> {
        let line = Some(element.line);
        let flaw = |what: String| Flaw::at(line, what);
        let text = element
            .get("busid")
            .ok_or_else(|| flaw("<pci> without busid".to_string()))?;
        let address = parse_address(text).map_err(flaw)?;
        let class = hex(element, "class")?;
        let ids = (hex(element, "vendor")?, hex(element, "device")?);
        let gpu = element.elements().find(|child| child.name == "gpu");
        let has = |name| element.elements().any(|child| child.name == name);
        let kind = match class.map(|class| class >> 8) {
            _ if gpu.is_some() => self.gpu(gpu, element)?,
            Some(0x0604) => NodeKind::Switch(switch_of(ids)),
            Some(0x0300 | 0x0302) if ids.0.is_none_or(|vendor| vendor == u32::from(NVIDIA)) => {
                self.gpu(None, element)?
            }
            Some(0x0200 | 0x0207) => NodeKind::Nic,
            _ if has("pci") => NodeKind::Switch(switch_of(ids)),
            _ if has("nic") => NodeKind::Nic,
            _ => NodeKind::Device,
        };
        let name = match &kind {
            NodeKind::Gpu(gpu) => format!("GPU{}", gpu.index),
            _ => address.clone(),
        };
        let is_gpu = matches!(kind, NodeKind::Gpu(_));
        let node = Node {
            name,
            address: Some(address.clone()),
            kind,
        };
        let id = self.builder.node(node, line)?;
        if is_gpu {
            if self.gpus_by_address.insert(address.clone(), id).is_some() {
                return Err(flaw(format!("two GPUs at {address}")));
            }
            let links = gpu.into_iter().flat_map(XmlElement::elements);
            for link in links {
                match link.name.as_str() {
                    "nvlink" => self.nvlinks.push((id, link.clone())),
                    other => self.leave_out(other),
                }
            }
        }
        let pcie = PcieLink {
            now: mode_of(element)?,
            max: None,
            may_idle: false,
        };
        self.builder.link(Link::pcie(upper, id, pcie), line)?;
        for child in element.elements() {
            match child.name.as_str() {
                "pci" => self.pci(child, id)?,
                "gpu" | "nic" => {}
                other => self.leave_out(other),
            }
        }
        Ok(())
    }

    /// A GPU; one without a number of its own gets the next.
    fn gpu(&mut self, gpu: Option<&XmlElement>, pci: &XmlElement) -> Result<NodeKind, Flaw> {
        let dev = match gpu {
            Some(gpu) => number(gpu, "dev")?,
            None => None,
        };
        let sm: Option<u32> = match gpu {
            // AMD counts otherwise.
            Some(gpu) if gpu.get("gcn").is_none() => number(gpu, "sm")?,
            _ => None,
        };
        let index = match dev {
            Some(dev) => dev,
            None => {
                let next = self.next_gpu;
                self.next_gpu = next
                    .checked_add(1)
                    .ok_or_else(|| Flaw::at(Some(pci.line), "GPUs run out of numbers"))?;
                next
            }
        };
        Ok(NodeKind::Gpu(Gpu {
            index,
            model: None,
            sm,
        }))
    }

    fn link_gpus(&mut self) -> Result<(), Flaw> {
        let mut to_switch: Vec<(NodeId, u32, usize)> = Vec::new();
        let mut pairs: Vec<(NodeId, NodeId, u32, usize)> = Vec::new();
        for (gpu, element) in std::mem::take(&mut self.nvlinks) {
            let line = Some(element.line);
            let target = element.get("target").unwrap_or_default();
            let count: u32 = number(&element, "count")?.unwrap_or(1);
            let class = hex(&element, "tclass")?.map(|class| class >> 8);
            let address = parse_address(target).map_err(|why| Flaw::at(line, why))?;
            if class == Some(0x0680) {
                match to_switch.iter_mut().find(|(one, ..)| *one == gpu) {
                    Some((_, sum, _)) => *sum = sum.saturating_add(count),
                    None => to_switch.push((gpu, count, element.line)),
                }
                continue;
            }
            match self.gpus_by_address.get(&address) {
                Some(other) if *other == gpu => self.builder.notes.push(format!(
                    "NVLinks of {} lead back to itself in the file, and are left out.",
                    self.builder.node_of(gpu).name
                )),
                Some(other) => {
                    let (first, second) = (gpu.min(*other), gpu.max(*other));
                    let is_known = pairs.iter().any(|pair| (pair.0, pair.1) == (first, second));
                    if !is_known {
                        pairs.push((first, second, count, element.line));
                    }
                }
                None => self.builder.notes.push(format!(
                    "NVLinks of {} lead to {address}, which is not in the file, and are left out.",
                    self.builder.node_of(gpu).name
                )),
            }
        }
        if let Some(&(_, _, line)) = to_switch.first() {
            let node = Node {
                name: NVSWITCH.to_string(),
                address: None,
                kind: NodeKind::NvSwitch,
            };
            let switch = self.builder.node(node, Some(line))?;
            pairs.extend(
                to_switch
                    .into_iter()
                    .map(|(gpu, count, line)| (gpu, switch, count, line)),
            );
        }
        for (one, other, count, line) in pairs {
            let sm = match &self.builder.node_of(one).kind {
                NodeKind::Gpu(gpu) => gpu.sm,
                _ => None,
            };
            let link = Link {
                ends: [one, other],
                kind: LinkKind::NvLink { count },
                rate: nvlink_rate(sm, count),
                latency_us: None,
            };
            self.builder.link(link, Some(line))?;
        }
        Ok(())
    }

    fn leave_out(&mut self, name: &str) {
        if !self.left_out.iter().any(|one| one == name) {
            self.left_out.push(short(name));
        }
    }

    fn take_notes(&mut self) {
        let left_out = std::mem::take(&mut self.left_out);
        if !left_out.is_empty() {
            self.builder.notes.push(format!(
                "Elements that the graph has no place for stay in the file: {}.",
                left_out.join(", ")
            ));
        }
        let is_gpu = |id| matches!(self.builder.node_of(id).kind, NodeKind::Gpu(_));
        if !self.builder.node_ids().any(is_gpu) {
            self.builder.notes.push(
                "The file does not say which PCI devices are GPUs; NCCL finds out when it reads it."
                    .to_string(),
            );
        }
    }
}

fn switch_of((vendor, device): (Option<u32>, Option<u32>)) -> Switch {
    let ids = || Some((vendor?.try_into().ok()?, device?.try_into().ok()?));
    Switch {
        model: ids().and_then(|(vendor, device)| SwitchModel::from_ids(vendor, device)),
        chip: None,
    }
}

/// The link above a PCI device; `None` where the file leaves speed or width open.
fn mode_of(element: &XmlElement) -> Result<Option<PcieMode>, Flaw> {
    let width: Option<u32> = number(element, "link_width")?;
    let speed = element.get("link_speed").unwrap_or_default();
    let (Some(width), false) = (width.filter(|width| *width > 0), speed.is_empty()) else {
        return Ok(None);
    };
    // NCCL, too, takes what it does not know for unknown.
    let Some(generation) = Generation::from_speed(speed) else {
        return Ok(None);
    };
    let mode = PcieMode::new(generation, width);
    let flaw = || Flaw::at(Some(element.line), format!("no link has width {width}"));
    mode.map(Some).ok_or_else(flaw)
}

fn number<T: std::str::FromStr>(element: &XmlElement, name: &str) -> Result<Option<T>, Flaw> {
    match element.get(name) {
        None | Some("") => Ok(None),
        Some(text) => match text.trim().parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => {
                let what = format!("{name}=\"{}\" is no number", short(text));
                Err(Flaw::at(Some(element.line), what))
            }
        },
    }
}

fn hex(element: &XmlElement, name: &str) -> Result<Option<u32>, Flaw> {
    match element.get(name) {
        None | Some("") => Ok(None),
        Some(text) => {
            let digits = text.trim().trim_start_matches("0x");
            match u32::from_str_radix(digits, 16) {
                Ok(value) => Ok(Some(value)),
                Err(_) => {
                    let what = format!("{name}=\"{}\" is no hexadecimal number", short(text));
                    Err(Flaw::at(Some(element.line), what))
                }
            }
        }
    }
}

/// A text from the file within a message.
fn short(text: &str) -> String {
    let short: String = text.chars().take(60).collect();
    short.escape_debug().to_string()
}
