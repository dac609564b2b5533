//! From PCI devices to the graph: what leads to a GPU or a NIC, and the processors.

use std::collections::HashMap;
use std::path::Path;

use super::sysfs::{PciDevice, read};
use super::{DriverGpu, LiveMachine};
use crate::topology::builder::{Builder, Flaw};
use crate::topology::cpu::CpuFamily;
use crate::topology::graph::{
    Cpu, Gpu, Link, LinkKind, Node, NodeId, NodeKind, PcieLink, RootPort, Switch,
};
use crate::topology::link_all_cpus;
use crate::topology::nvlink::nvlink_rate;
use crate::topology::switches::SwitchModel;
use crate::topology::toml_file::NVSWITCH;

pub(super) fn build(
    root: &Path,
    all: Vec<PciDevice>,
    waived: Vec<String>,
    driver: &[DriverGpu],
) -> Result<LiveMachine, Flaw> {
    let name = read(&root.join("proc/sys/kernel/hostname"))
        .map(|name| line_of(name.trim()))
        .filter(|name| !name.is_empty());
    let places = all
        .iter()
        .enumerate()
        .map(|(place, device)| (device.address.clone(), place))
        .collect();
    let mut building = Building {
        root,
        builder: Builder::new(
            name.unwrap_or_else(|| "this machine".to_string()),
            "this machine: sysfs and, for NVLink, the driver",
        ),
        all,
        places,
        used: Vec::new(),
        nodes: HashMap::new(),
        driver,
        waived,
    };
    building.cpus()?;
    building.ends()?;
    building.nvlinks()?;
    link_all_cpus(&mut building.builder)?;
    building.take_stock();
    let mut used = building.used;
    used.sort_unstable();
    used.dedup();
    Ok(LiveMachine {
        topology: building.builder.finish()?,
        devices: used
            .into_iter()
            .map(|at| building.all[at].clone())
            .collect(),
        waived: building.waived,
    })
}

struct Building<'a> {
    root: &'a Path,
    builder: Builder,
    all: Vec<PciDevice>,
    /// Of `all`, by address.
    places: HashMap<String, usize>,
    /// Places in `all` of what the graph is made of.
    used: Vec<usize>,
    /// By address, and processors by the name of their NUMA node.
    nodes: HashMap<String, NodeId>,
    driver: &'a [DriverGpu],
    waived: Vec<String>,
}

impl Building<'_> {
    /// Every NUMA node with processors, and those that devices name.
    fn cpus(&mut self) -> Result<(), Flaw> {
        let facts = CpuFacts::read(self.root);
        let mut nodes: Vec<i64> = self.all.iter().filter_map(|device| device.numa).collect();
        let folder = self.root.join("sys/devices/system/node");
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix("node").and_then(|rest| rest.parse().ok());
            let cpus = read(&entry.path().join("cpulist")).unwrap_or_default();
            if let (Some(number), false) = (number, cpus.trim().is_empty()) {
                nodes.push(number);
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.is_empty() {
            nodes.push(0);
        }
        for numa in nodes {
            let node = Node {
                name: format!("cpu{numa}"),
                address: None,
                kind: NodeKind::Cpu(Cpu {
                    numa: Some(numa),
                    model: facts.model.clone(),
                    family: facts.family,
                }),
            };
            let name = node.name.clone();
            let id = self.builder.node(node, None)?;
            self.nodes.insert(name, id);
        }
        Ok(())
    }

    /// GPUs, and the NICs that share a switch with one.
    fn ends(&mut self) -> Result<(), Flaw> {
        let gpus: Vec<usize> = (0..self.all.len())
            .filter(|at| self.all[*at].is_gpu())
            .collect();
        for (index, at) in gpus.iter().enumerate() {
            let device = self.all[*at].clone();
            let seen = self.driver.iter().find(|one| one.address == device.address);
            let kind = NodeKind::Gpu(Gpu {
                index: index as u32,
                model: seen
                    .and_then(|one| one.model.clone())
                    .or_else(|| self.model_of(&device.address))
                    .map(|text| line_of(&text)),
                sm: seen.and_then(|one| one.sm),
            });
            self.end(*at, format!("GPU{index}"), kind)?;
        }
        for at in 0..self.all.len() {
            let device = &self.all[at];
            // The first bridge is the root port, and two more make a switch.
            let shares = device
                .above
                .iter()
                .skip(1)
                .any(|one| self.nodes.contains_key(one));
            if device.is_nic() && shares {
                let name = device.address.clone();
                self.end(at, name, NodeKind::Nic)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, at: usize, name: String, kind: NodeKind) -> Result<(), Flaw> {
        let device = self.all[at].clone();
        let mut upper = self.cpu_of(&device)?;
        let bridges: Vec<usize> = device
            .above
            .iter()
            .filter_map(|address| self.places.get(address).copied())
            .collect();
        let mut bridges = bridges.as_slice();
        let mut port: Option<usize> = None;
        if let [root_port, rest @ ..] = bridges {
            upper = self.root_port(upper, *root_port)?;
            port = Some(*root_port);
            bridges = rest;
        }
        // Of a switch the path sees the port towards the processor, then one towards the device.
        while let [upstream, rest @ ..] = bridges {
            upper = self.switch(upper, *upstream, port)?;
            port = Some(*upstream);
            bridges = rest;
            if let [downstream, rest @ ..] = bridges {
                self.used.push(*downstream);
                port = Some(*downstream);
                bridges = rest;
            }
        }
        let node = Node {
            name,
            address: Some(device.address.clone()),
            kind,
        };
        self.used.push(at);
        let id = self.builder.node(node, None)?;
        let link = self.link(&device, port);
        self.builder.link(Link::pcie(upper, id, link), None)?;
        self.nodes.insert(device.address, id);
        Ok(())
    }

    fn cpu_of(&self, device: &PciDevice) -> Result<NodeId, Flaw> {
        let ports = device.above.iter().filter_map(|one| self.places.get(one));
        let numa = device
            .numa
            .or_else(|| ports.filter_map(|at| self.all[*at].numa).next());
        let own = numa.and_then(|numa| self.nodes.get(&format!("cpu{numa}")));
        let first = || self.builder.node_ids().next();
        own.copied()
            .or_else(first)
            .ok_or_else(|| Flaw::at(None, "there is no CPU"))
    }

    fn root_port(&mut self, cpu: NodeId, at: usize) -> Result<NodeId, Flaw> {
        let device = self.all[at].clone();
        if let Some(known) = self.nodes.get(&device.address) {
            return Ok(*known);
        }
        let kind = NodeKind::RootPort(RootPort {
            host_bridge: Some(device.host_bridge.clone()),
        });
        let id = self.part(&device, kind, at)?;
        self.builder.link(Link::internal(cpu, id), None)?;
        Ok(id)
    }

    fn switch(&mut self, upper: NodeId, at: usize, port: Option<usize>) -> Result<NodeId, Flaw> {
        let device = self.all[at].clone();
        if let Some(known) = self.nodes.get(&device.address) {
            return Ok(*known);
        }
        let kind = NodeKind::Switch(Switch {
            model: SwitchModel::from_ids(device.vendor, device.device),
            chip: None,
        });
        let id = self.part(&device, kind, at)?;
        let link = self.link(&device, port);
        self.builder.link(Link::pcie(upper, id, link), None)?;
        Ok(id)
    }

    fn part(&mut self, device: &PciDevice, kind: NodeKind, at: usize) -> Result<NodeId, Flaw> {
        let node = Node {
            name: device.address.clone(),
            address: Some(device.address.clone()),
            kind,
        };
        let id = self.builder.node(node, None)?;
        self.nodes.insert(device.address.clone(), id);
        self.used.push(at);
        Ok(id)
    }

    /// The link above a device: it can do what both of its ends can.
    fn link(&self, device: &PciDevice, port: Option<usize>) -> PcieLink {
        let port = port.and_then(|at| self.all[at].max);
        PcieLink {
            now: device.now,
            max: match (device.max, port) {
                (Some(own), Some(port)) => Some(own.common(port)),
                (own, _) => own,
            },
            may_idle: device.is_gpu(),
        }
    }

    /// As NVIDIA's kernel module says it.
    fn model_of(&self, address: &str) -> Option<String> {
        let path = format!("proc/driver/nvidia/gpus/{address}/information");
        let text = read(&self.root.join(path))?;
        let model = text.lines().find_map(|line| line.strip_prefix("Model:"))?;
        Some(model.trim().to_string())
    }

    fn nvlinks(&mut self) -> Result<(), Flaw> {
        let mut switch = None;
        for gpu in self.driver {
            let Some(&from) = self.nodes.get(&gpu.address) else {
                continue;
            };
            let mut counts: Vec<(NodeId, u32)> = Vec::new();
            for target in &gpu.nvlinks {
                let to = match (self.nodes.get(target), switch) {
                    (Some(to), _) => *to,
                    (None, Some(known)) => known,
                    (None, None) => {
                        let node = Node {
                            name: NVSWITCH.to_string(),
                            address: None,
                            kind: NodeKind::NvSwitch,
                        };
                        *switch.insert(self.builder.node(node, None)?)
                    }
                };
                match counts.iter_mut().find(|(one, _)| *one == to) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((to, 1)),
                }
            }
            for (to, count) in counts {
                // Two GPUs both name their links: those of the first are taken.
                let is_gpu = Some(to) != switch;
                if is_gpu && to <= from {
                    continue;
                }
                let link = Link {
                    ends: [from, to],
                    kind: LinkKind::NvLink { count },
                    rate: nvlink_rate(gpu.sm, count),
                    latency_us: None,
                };
                self.builder.link(link, None)?;
            }
        }
        Ok(())
    }

    /// Says what is missing, and how to get it.
    fn take_stock(&mut self) {
        let used = || self.used.iter().map(|at| &self.all[*at]);
        if !self.all.iter().any(PciDevice::is_gpu) && !self.all.is_empty() {
            self.waived.push(format!(
                "GPUs: none of NVIDIA's among {} PCI devices; --from NAME|FILE shows other machines.",
                self.all.len()
            ));
        }
        let lost = used().filter(|device| device.is_gpu() && device.numa.is_none());
        let lost: Vec<&str> = lost.map(|device| device.address.as_str()).collect();
        if !lost.is_empty() && self.nodes.contains_key("cpu1") {
            self.waived.push(format!(
                "NUMA node of {}: the kernel does not tell; they are shown below the first CPU.",
                lost.join(", ")
            ));
        }
        let silent = used().filter(|device| device.now.is_none() && !device.is_bridge());
        let silent: Vec<&str> = silent.map(|device| device.address.as_str()).collect();
        if !silent.is_empty() {
            self.waived.push(format!(
                "Link speed of {}: the kernel does not tell (a virtual machine hides it).",
                silent.join(", ")
            ));
        }
        if used().any(|device| device.is_bridge() && device.acs.is_none()) {
            self.waived.push(
                "ACS of the ports: configuration space is cut short for users that are not root; run with sudo."
                    .to_string(),
            );
        }
        let idle = used().any(|device| {
            let below = |now: crate::topology::PcieMode| {
                device
                    .max
                    .is_some_and(|max| now.generation < max.generation)
            };
            device.is_gpu() && device.now.is_some_and(below)
        });
        if idle {
            self.builder.notes.push(
                "Links of idle GPUs slow down: their generation is what they can do, their width what they have."
                    .to_string(),
            );
        }
    }
}

/// A text as it can stand in a table.
fn line_of(text: &str) -> String {
    let letters = text.chars().filter(|c| !c.is_control());
    letters.take(80).collect()
}

/// What /proc/cpuinfo says of the first processor.
struct CpuFacts {
    model: Option<String>,
    family: Option<CpuFamily>,
}

impl CpuFacts {
    fn read(root: &Path) -> CpuFacts {
        let text = read(&root.join("proc/cpuinfo")).unwrap_or_default();
        let field = |name: &str| {
            text.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                (key.trim() == name).then(|| value.trim().to_string())
            })
        };
        let number = |name| field(name).and_then(|text| text.parse().ok()).unwrap_or(0);
        let vendor = field("vendor_id");
        // ARM's cpuinfo has no vendor_id, but "CPU implementer".
        let arch = match (&vendor, field("CPU implementer")) {
            (None, Some(_)) => "arm64",
            _ => "x86_64",
        };
        CpuFacts {
            model: field("model name").map(|name| line_of(&name)),
            family: CpuFamily::from_ids(
                arch,
                vendor.as_deref().unwrap_or_default(),
                number("cpu family"),
                number("model"),
            ),
        }
    }
}
