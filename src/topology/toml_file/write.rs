//! From the graph to a file.

use toml::Spanned;

use super::{
    CpuEntry, CpuLinkEntry, DeviceEntry, File, GpusEntry, LinkFields, NvLinkEntry, NvSwitchEntry,
    RootPortEntry, SwitchEntry, TOPOLOGY_SCHEMA,
};
use crate::error::{Error, Result};
use crate::topology::graph::{
    Basis, Gpu, LinkId, LinkKind, NodeId, NodeKind, PcieLink, Rate, Topology,
};

/// The text of a topology file. What the graph was read from may hold more than the graph does.
///
/// # Errors
/// Exit code 1 for a graph that does not become TOML, which tests rule out.
pub fn topology_toml(topology: &Topology) -> Result<String> {
    let file = Writing::new(topology).file();
    let text = toml::to_string(&file)
        .map_err(|error| Error::other(format!("the topology does not become TOML: {error}")))?;
    let notes = topology.notes.iter().map(|note| format!("# {note}\n"));
    Ok(notes.collect::<String>() + &text)
}

/// Entries that are written have no place in a text yet.
fn entry<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

struct Writing<'a> {
    topology: &'a Topology,
    /// What all PCIe links are that are no exception.
    link: Option<String>,
    gpu_model: Option<String>,
    gpu_sm: Option<u32>,
}

/// The value that all share.
fn common<T: PartialEq>(mut values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = values.next()??;
    values
        .all(|one| one.as_ref() == Some(&first))
        .then_some(first)
}

impl<'a> Writing<'a> {
    fn new(topology: &'a Topology) -> Self {
        let gpus = || topology.gpus().iter().map(|id| gpu_of(topology, *id));
        let modes: Vec<Option<String>> = topology
            .links()
            .iter()
            .filter_map(|link| match &link.kind {
                LinkKind::Pcie(pcie) => Some(pcie.in_use().map(|mode| mode.to_string())),
                _ => None,
            })
            .collect();
        // The most frequent, where every link is known: one that is not must not be taken for it.
        let count = |mode: &&Option<String>| modes.iter().filter(|one| one == mode).count();
        let link = if modes.contains(&None) {
            None
        } else {
            modes.iter().rev().max_by_key(count).cloned().flatten()
        };
        Writing {
            link,
            gpu_model: common(gpus().map(|gpu| gpu?.model.clone())),
            gpu_sm: common(gpus().map(|gpu| gpu?.sm)),
            topology,
        }
    }

    fn file(&self) -> File {
        let mut file = File {
            schema: TOPOLOGY_SCHEMA.to_string(),
            name: self.topology.name.clone(),
            source: self.topology.source.clone(),
            link: self.link.clone().map(entry),
            gpu_model: self.gpu_model.clone(),
            gpu_sm: self.gpu_sm,
            ..File::default()
        };
        for id in self.topology.node_ids() {
            self.part(id, &mut file);
        }
        for id in self.topology.gpus() {
            self.gpu(*id, &mut file);
        }
        for id in self.topology.link_ids() {
            self.sideways(id, &mut file);
        }
        shorten_nvlinks(&mut file);
        file
    }

    fn part(&self, id: NodeId, file: &mut File) {
        let node = self.topology.node(id);
        let (name, address) = (node.name.clone(), node.address.clone());
        let device = || DeviceEntry {
            name: name.clone(),
            under: self.under(id),
            address: address.clone(),
            link: self.fields(id).link,
            max: self.fields(id).max,
            gb_per_s: self.fields(id).gb_per_s,
            latency_us: self.fields(id).latency_us,
        };
        match &node.kind {
            NodeKind::Cpu(cpu) => file.cpu.push(entry(CpuEntry {
                name,
                numa: cpu.numa,
                model: cpu.model.clone(),
                family: cpu.family.map(|family| family.name().to_string()),
            })),
            NodeKind::RootPort(port) => file.root_port.push(entry(RootPortEntry {
                name,
                cpu: self.under(id),
                host_bridge: port.host_bridge.clone(),
                address,
            })),
            NodeKind::Switch(switch) => {
                let fields = self.fields(id);
                file.switch.push(entry(SwitchEntry {
                    name,
                    under: self.under(id),
                    model: switch.model.map(|model| model.name.to_string()),
                    chip: switch.chip.clone(),
                    address,
                    link: fields.link,
                    max: fields.max,
                    gb_per_s: fields.gb_per_s,
                    latency_us: fields.latency_us,
                }));
            }
            NodeKind::Nic => file.nic.push(entry(device())),
            NodeKind::Device => file.device.push(entry(device())),
            // NVSwitches are said with their links.
            NodeKind::Gpu(_) | NodeKind::NvSwitch => {}
        }
    }

    /// Adds a GPU to the group before it where that is like it.
    fn gpu(&self, id: NodeId, file: &mut File) {
        let Some(gpu) = gpu_of(self.topology, id) else {
            return;
        };
        let fields = self.fields(id);
        let own = |value: &Option<String>| value.clone().filter(|_| self.gpu_model.is_none());
        let group = GpusEntry {
            under: self.under(id),
            ids: vec![gpu.index],
            model: own(&gpu.model),
            sm: gpu.sm.filter(|_| self.gpu_sm.is_none()),
            addresses: self.topology.node(id).address.iter().cloned().collect(),
            link: fields.link.clone(),
            max: fields.max.clone(),
            gb_per_s: fields.gb_per_s,
            latency_us: fields.latency_us,
        };
        if let Some(last) = file.gpus.last_mut() {
            let last = last.get_mut();
            let is_alike = last.under == group.under
                && last.model == group.model
                && last.sm == group.sm
                && last.link_fields() == fields
                && last.addresses.is_empty() == group.addresses.is_empty();
            if is_alike {
                last.ids.extend(group.ids);
                last.addresses.extend(group.addresses);
                return;
            }
        }
        file.gpus.push(entry(group));
    }

    fn sideways(&self, id: LinkId, file: &mut File) {
        let link = self.topology.link(id);
        let between = link.ends.map(|end| self.topology.node(end).name.clone());
        let gb_per_s = stated(link.rate);
        match &link.kind {
            LinkKind::InterSocket { name } => file.cpu_link.push(entry(CpuLinkEntry {
                between,
                name: name.clone(),
                gb_per_s,
                latency_us: link.latency_us,
            })),
            LinkKind::NvLink { count } => file.nvlink.push(entry(NvLinkEntry {
                between,
                count: *count,
                gb_per_s,
                latency_us: link.latency_us,
            })),
            LinkKind::Pcie(_) | LinkKind::Internal => {}
        }
    }

    fn under(&self, id: NodeId) -> String {
        let above = self.topology.above(id);
        above.map_or_else(String::new, |(_, upper)| {
            self.topology.node(upper).name.clone()
        })
    }

    fn fields(&self, id: NodeId) -> LinkFields {
        let Some((link, _)) = self.topology.above(id) else {
            return LinkFields::default();
        };
        let link = self.topology.link(link);
        let pcie = match link.kind {
            LinkKind::Pcie(pcie) => pcie,
            _ => PcieLink::default(),
        };
        let now = pcie.in_use().map(|mode| mode.to_string());
        LinkFields {
            link: now.filter(|mode| Some(mode) != self.link.as_ref()),
            max: pcie.max.map(|mode| mode.to_string()),
            gb_per_s: stated(link.rate),
            latency_us: link.latency_us,
        }
    }
}

fn gpu_of(topology: &Topology, id: NodeId) -> Option<&Gpu> {
    match &topology.node(id).kind {
        NodeKind::Gpu(gpu) => Some(gpu),
        _ => None,
    }
}

/// What a reader of the file does not work out by itself.
fn stated(rate: Option<Rate>) -> Option<f64> {
    rate.filter(|rate| rate.basis == Basis::Stated)
        .map(|rate| rate.gb_per_s)
}

/// Says in one line that every GPU has the same links to the NVSwitches, where that is so.
fn shorten_nvlinks(file: &mut File) {
    let gpus: usize = file
        .gpus
        .iter()
        .map(|group| group.get_ref().ids.len())
        .sum();
    let Some(first) = file.nvlink.first().map(Spanned::get_ref) else {
        return;
    };
    let short = NvSwitchEntry {
        links_per_gpu: first.count,
        gb_per_s: first.gb_per_s,
        latency_us: first.latency_us,
    };
    let is_alike = |one: &Spanned<NvLinkEntry>| {
        let one = one.get_ref();
        one.between[1] == super::NVSWITCH
            && one.count == short.links_per_gpu
            && one.gb_per_s == short.gb_per_s
            && one.latency_us == short.latency_us
    };
    if file.nvlink.len() == gpus && file.nvlink.iter().all(is_alike) {
        file.nvlink.clear();
        file.nvswitch = Some(entry(short));
    }
}
