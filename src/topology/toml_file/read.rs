//! From the file to the graph.

use toml::Spanned;

use super::{
    CpuEntry, CpuLinkEntry, DeviceEntry, File, GpusEntry, LinkFields, MAX_SOURCE_CHARS, NVSWITCH,
    NvLinkEntry, TOPOLOGY_SCHEMA,
};
use crate::topology::address::parse_address;
use crate::topology::builder::{Builder, Flaw, MAX_GPUS};
use crate::topology::cpu::CpuFamily;
use crate::topology::graph::{
    Basis, Cpu, Gpu, Link, LinkKind, Node, NodeId, NodeKind, PcieLink, Rate, RootPort, Switch,
    Topology,
};
use crate::topology::inter_socket_rate;
use crate::topology::nvlink::nvlink_rate;
use crate::topology::pcie::PcieMode;
use crate::topology::switches::SwitchModel;
use crate::units::printable;

/// Reads the text of a topology file.
///
/// # Errors
/// The line, and a clause with the value at fault.
pub fn parse_topology_toml(text: &str) -> Result<Topology, Flaw> {
    let file: File = toml::from_str(text).map_err(|error| {
        let message = error.message().replace('\n', " ");
        Flaw::at(error.span().map(|span| line_at(text, span.start)), message)
    })?;
    if file.schema != TOPOLOGY_SCHEMA {
        return Err(Flaw::at(
            Some(1),
            format!(
                "its schema is '{}', this version reads '{TOPOLOGY_SCHEMA}'",
                printable(&file.schema).replace('\n', " ")
            ),
        ));
    }
    for (field, value) in [("name", &file.name), ("source", &file.source)] {
        if value.chars().any(char::is_control) || value.chars().count() > MAX_SOURCE_CHARS {
            return Err(Flaw::at(
                None,
                format!("{field} is no line of at most {MAX_SOURCE_CHARS} characters"),
            ));
        }
    }
    Reading {
        text,
        builder: Builder::new(&file.name, &file.source),
        file: &file,
    }
    .graph()
}

/// Line of a place in the text, from 1.
fn line_at(text: &str, place: usize) -> usize {
    let before = &text.as_bytes()[..place.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// A file on its way to a graph.
struct Reading<'a> {
    text: &'a str,
    file: &'a File,
    builder: Builder,
}

impl Reading<'_> {
    fn graph(mut self) -> Result<Topology, Flaw> {
        let file = self.file;
        for cpu in &file.cpu {
            let line = self.line(cpu);
            self.cpu(cpu.get_ref(), line)?;
        }
        for port in &file.root_port {
            let (line, entry) = (self.line(port), port.get_ref());
            let kind = NodeKind::RootPort(RootPort {
                host_bridge: entry.host_bridge.clone(),
            });
            self.add(&entry.name, entry.address.as_deref(), kind, line)?;
        }
        for switch in &file.switch {
            let (line, entry) = (self.line(switch), switch.get_ref());
            let model = match &entry.model {
                Some(name) => Some(SwitchModel::parse(name).map_err(|why| Flaw::at(line, why))?),
                None => None,
            };
            let kind = NodeKind::Switch(Switch {
                model,
                chip: entry.chip.clone(),
            });
            self.add(&entry.name, entry.address.as_deref(), kind, line)?;
        }
        for gpus in &file.gpus {
            let line = self.line(gpus);
            self.gpus(gpus.get_ref(), line)?;
        }
        for (entries, kind) in [(&file.nic, NodeKind::Nic), (&file.device, NodeKind::Device)] {
            for entry in entries {
                let (line, entry) = (self.line(entry), entry.get_ref());
                self.add(&entry.name, entry.address.as_deref(), kind.clone(), line)?;
            }
        }
        self.tree()?;
        for link in &file.cpu_link {
            let line = self.line(link);
            self.cpu_link(link.get_ref(), line)?;
        }
        self.nvlinks()?;
        self.builder.finish()
    }

    fn line<T>(&self, entry: &Spanned<T>) -> Option<usize> {
        Some(line_at(self.text, entry.span().start))
    }

    fn cpu(&mut self, entry: &CpuEntry, line: Option<usize>) -> Result<(), Flaw> {
        let family = match &entry.family {
            Some(name) => Some(CpuFamily::parse(name).map_err(|why| Flaw::at(line, why))?),
            None => None,
        };
        let kind = NodeKind::Cpu(Cpu {
            numa: entry.numa,
            model: entry.model.clone(),
            family,
        });
        self.add(&entry.name, None, kind, line)
    }

    fn gpus(&mut self, entry: &GpusEntry, line: Option<usize>) -> Result<(), Flaw> {
        if entry.ids.is_empty() || entry.ids.len() > MAX_GPUS {
            let count = entry.ids.len();
            return Err(Flaw::at(
                line,
                format!("{count} ids in one group of GPUs (1 to {MAX_GPUS})"),
            ));
        }
        if !entry.addresses.is_empty() && entry.addresses.len() != entry.ids.len() {
            return Err(Flaw::at(
                line,
                format!(
                    "{} addresses for {} GPUs",
                    entry.addresses.len(),
                    entry.ids.len()
                ),
            ));
        }
        for (place, &index) in entry.ids.iter().enumerate() {
            let kind = NodeKind::Gpu(Gpu {
                index,
                model: entry.model.clone().or_else(|| self.file.gpu_model.clone()),
                sm: entry.sm.or(self.file.gpu_sm),
            });
            let address = entry.addresses.get(place).map(String::as_str);
            self.add(&format!("GPU{index}"), address, kind, line)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        name: &str,
        address: Option<&str>,
        kind: NodeKind,
        line: Option<usize>,
    ) -> Result<(), Flaw> {
        let address = match address {
            Some(text) => Some(parse_address(text).map_err(|why| Flaw::at(line, why))?),
            None => None,
        };
        let node = Node {
            name: name.to_string(),
            address,
            kind,
        };
        self.builder.node(node, line).map(|_| ())
    }

    /// Hangs everything on what it says.
    fn tree(&mut self) -> Result<(), Flaw> {
        let file = self.file;
        for port in &file.root_port {
            let (line, entry) = (self.line(port), port.get_ref());
            let ends = (
                self.named(&entry.cpu, line)?,
                self.named(&entry.name, line)?,
            );
            self.builder.link(Link::internal(ends.0, ends.1), line)?;
        }
        for switch in &file.switch {
            let (line, entry) = (self.line(switch), switch.get_ref());
            self.pcie(&entry.under, &entry.name, &entry.link_fields(), line)?;
        }
        for gpus in &file.gpus {
            let (line, entry) = (self.line(gpus), gpus.get_ref());
            for index in &entry.ids {
                let name = format!("GPU{index}");
                self.pcie(&entry.under, &name, &entry.link_fields(), line)?;
            }
        }
        for entry in file.nic.iter().chain(&file.device) {
            let line = self.line(entry);
            let entry: &DeviceEntry = entry.get_ref();
            self.pcie(&entry.under, &entry.name, &entry.link_fields(), line)?;
        }
        Ok(())
    }

    fn pcie(
        &mut self,
        upper: &str,
        lower: &str,
        fields: &LinkFields,
        line: Option<usize>,
    ) -> Result<(), Flaw> {
        let mode = |text: &str, line| PcieMode::parse(text).map_err(|why| Flaw::at(line, why));
        let now = match (&fields.link, &self.file.link) {
            (Some(text), _) => Some(mode(text, line)?),
            (None, Some(text)) => Some(mode(text.get_ref(), self.line(text))?),
            (None, None) => None,
        };
        let max = match &fields.max {
            Some(text) => Some(mode(text, line)?),
            None => None,
        };
        let pcie = PcieLink {
            now,
            max,
            may_idle: false,
        };
        let ends = (self.named(upper, line)?, self.named(lower, line)?);
        let mut link = Link::pcie(ends.0, ends.1, pcie);
        link.rate = stated(fields.gb_per_s).or(link.rate);
        link.latency_us = fields.latency_us;
        self.builder.link(link, line).map(|_| ())
    }

    fn cpu_link(&mut self, entry: &CpuLinkEntry, line: Option<usize>) -> Result<(), Flaw> {
        let [one, other] = &entry.between;
        let ends = [self.named(one, line)?, self.named(other, line)?];
        let [one, other] = ends.map(|id| self.builder.node_of(id));
        let link = Link {
            rate: stated(entry.gb_per_s).or_else(|| inter_socket_rate(one, other)),
            ends,
            kind: LinkKind::InterSocket {
                name: entry.name.clone(),
            },
            latency_us: entry.latency_us,
        };
        self.builder.link(link, line).map(|_| ())
    }

    fn nvlinks(&mut self) -> Result<(), Flaw> {
        let file = self.file;
        let mut entries: Vec<(NvLinkEntry, Option<usize>)> = Vec::new();
        if let Some(switch) = &file.nvswitch {
            let (line, entry) = (self.line(switch), switch.get_ref());
            for id in self.builder.node_ids() {
                let node = self.builder.node_of(id);
                if let NodeKind::Gpu(_) = node.kind {
                    let link = NvLinkEntry {
                        between: [node.name.clone(), NVSWITCH.to_string()],
                        count: entry.links_per_gpu,
                        gb_per_s: entry.gb_per_s,
                        latency_us: entry.latency_us,
                    };
                    entries.push((link, line));
                }
            }
        }
        let through_switch = |entry: &Spanned<NvLinkEntry>| {
            entry.get_ref().between.iter().any(|end| end == NVSWITCH)
        };
        let nvswitch_line = match &file.nvswitch {
            Some(switch) => Some(self.line(switch)),
            None => file
                .nvlink
                .iter()
                .find(|entry| through_switch(entry))
                .map(|entry| self.line(entry)),
        };
        if let Some(line) = nvswitch_line {
            self.add(NVSWITCH, None, NodeKind::NvSwitch, line)?;
        }
        for entry in &file.nvlink {
            let (line, entry) = (self.line(entry), entry.get_ref());
            entries.push((
                NvLinkEntry {
                    between: entry.between.clone(),
                    ..*entry
                },
                line,
            ));
        }
        for (entry, line) in entries {
            let [one, other] = &entry.between;
            let mut ends = [self.named(one, line)?, self.named(other, line)?];
            if self.builder.node_of(ends[0]).kind == NodeKind::NvSwitch {
                ends.swap(0, 1);
            }
            let sm = match &self.builder.node_of(ends[0]).kind {
                NodeKind::Gpu(gpu) => gpu.sm,
                _ => None,
            };
            let link = Link {
                ends,
                kind: LinkKind::NvLink { count: entry.count },
                rate: stated(entry.gb_per_s).or_else(|| nvlink_rate(sm, entry.count)),
                latency_us: entry.latency_us,
            };
            self.builder.link(link, line)?;
        }
        Ok(())
    }

    fn named(&self, name: &str, line: Option<usize>) -> Result<NodeId, Flaw> {
        self.builder.find(name).ok_or_else(|| {
            let name: String = name.chars().take(80).collect();
            Flaw::at(line, format!("nothing is called '{}'", name.escape_debug()))
        })
    }
}

fn stated(gb_per_s: Option<f64>) -> Option<Rate> {
    gb_per_s.map(|gb_per_s| Rate {
        gb_per_s,
        basis: Basis::Stated,
    })
}
