//! From a table of classes to the least machine that shows it.

use super::read::Matrix;
use crate::topology::builder::{Builder, Flaw};
use crate::topology::graph::{
    Cpu, Gpu, Link, LinkKind, Node, NodeId, NodeKind, PcieLink, RootPort, Switch, Topology,
};
use crate::topology::link_all_cpus;
use crate::topology::route::PathClass;
use crate::topology::toml_file::NVSWITCH;

/// Links of one GPU; those of a GPU that seems to have more lead to NVSwitches, where each pair sees
/// all of them. H100 to B200 have 18.
const MOST_NVLINKS: u32 = 18;

pub(super) fn build(matrix: &Matrix, name: &str) -> Result<Topology, Flaw> {
    symmetric(matrix)?;
    let mut building = Building {
        matrix,
        builder: Builder::new(name, "nvidia-smi topo -m"),
        ids: vec![None; matrix.ends.len()],
        count: 0,
    };
    building.builder.notes.push(
        "nvidia-smi says what lies between GPUs, not how wide or fast it is: links have no figures, and switches are the fewest that show the same."
            .to_string(),
    );
    let all: Vec<usize> = (0..matrix.ends.len()).collect();
    for (number, group) in building.cpus(&all).into_iter().enumerate() {
        building.cpu(number, &group)?;
    }
    link_all_cpus(&mut building.builder)?;
    building.nvlinks()?;
    let ids = building.ids;
    let topology = building.builder.finish()?;
    shows_the_same(&topology, matrix, &ids)?;
    Ok(topology)
}

fn symmetric(matrix: &Matrix) -> Result<(), Flaw> {
    for (row, end) in matrix.ends.iter().enumerate() {
        for (column, other) in matrix.ends.iter().enumerate() {
            let (there, back) = (matrix.classes[row][column], matrix.classes[column][row]);
            let is_self = there == PathClass::Same;
            if there != back || is_self != (row == column) {
                let what = format!(
                    "from {} to {} it is {there}, and back {back}",
                    end.name, other.name
                );
                return Err(Flaw::at(Some(end.line), what));
            }
        }
    }
    Ok(())
}

struct Building<'a> {
    matrix: &'a Matrix,
    builder: Builder,
    /// By row.
    ids: Vec<Option<NodeId>>,
    /// Parts that were given a name so far.
    count: usize,
}

/// Members in groups: two are in one where a chain of `joined` leads from one to the other.
fn groups(members: &[usize], joined: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &member in members {
        let (mut with, without): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group| group.iter().any(|one| joined(*one, member)));
        let mut merged: Vec<usize> = with.drain(..).flatten().collect();
        merged.push(member);
        merged.sort_unstable();
        groups = without;
        groups.push(merged);
    }
    groups.sort();
    groups
}

impl Building<'_> {
    fn class(&self, one: usize, other: usize) -> PathClass {
        self.matrix.classes[one][other]
    }

    /// NVLink hides what PCIe has; NUMA nodes say it then.
    fn cpus(&self, all: &[usize]) -> Vec<Vec<usize>> {
        groups(all, |one, other| match self.class(one, other) {
            PathClass::NvLink(_) => self.matrix.ends[one].numa == self.matrix.ends[other].numa,
            class => class < PathClass::Sys,
        })
    }

    fn add(&mut self, name: String, kind: NodeKind, line: usize) -> Result<NodeId, Flaw> {
        let node = Node {
            name,
            address: None,
            kind,
        };
        self.builder.node(node, Some(line))
    }

    fn hang(&mut self, upper: NodeId, lower: NodeId, line: usize) -> Result<(), Flaw> {
        let link = match self.builder.node_of(lower).kind {
            NodeKind::RootPort(_) => Link::internal(upper, lower),
            _ => Link::pcie(upper, lower, PcieLink::default()),
        };
        self.builder.link(link, Some(line)).map(|_| ())
    }

    fn cpu(&mut self, number: usize, group: &[usize]) -> Result<(), Flaw> {
        let line = self.matrix.ends[group[0]].line;
        let numa = group
            .iter()
            .find_map(|end| self.matrix.ends[*end].numa.as_ref()?.parse().ok());
        let kind = NodeKind::Cpu(Cpu {
            numa,
            ..Cpu::default()
        });
        let cpu = self.add(format!("cpu{number}"), kind, line)?;
        let bridges = groups(group, |one, other| {
            self.class(one, other) >= PathClass::Pix && self.class(one, other) <= PathClass::Phb
        });
        for bridge in bridges {
            self.count += 1;
            let host_bridge = format!("bridge{}", self.count);
            let ports = groups(&bridge, |one, other| {
                matches!(self.class(one, other), PathClass::Pix | PathClass::Pxb)
            });
            for port in ports {
                self.count += 1;
                let kind = NodeKind::RootPort(RootPort {
                    host_bridge: Some(host_bridge.clone()),
                });
                let line = self.matrix.ends[port[0]].line;
                let id = self.add(format!("port{}", self.count), kind, line)?;
                self.hang(cpu, id, line)?;
                self.below_port(id, &port)?;
            }
        }
        Ok(())
    }

    /// One switch for what is PIX; another above where there are several such groups.
    fn below_port(&mut self, port: NodeId, members: &[usize]) -> Result<(), Flaw> {
        let leaves = groups(members, |one, other| {
            self.class(one, other) == PathClass::Pix
        });
        let upper = match (leaves.len(), members) {
            (1, [alone]) => return self.end(port, *alone),
            (1, _) => port,
            _ => self.switch(port, members)?,
        };
        for leaf in leaves {
            let switch = self.switch(upper, &leaf)?;
            for end in leaf {
                self.end(switch, end)?;
            }
        }
        Ok(())
    }

    fn switch(&mut self, upper: NodeId, members: &[usize]) -> Result<NodeId, Flaw> {
        self.count += 1;
        let line = self.matrix.ends[members[0]].line;
        let kind = NodeKind::Switch(Switch::default());
        let id = self.add(format!("switch{}", self.count), kind, line)?;
        self.hang(upper, id, line)?;
        Ok(id)
    }

    fn end(&mut self, upper: NodeId, place: usize) -> Result<(), Flaw> {
        let end = &self.matrix.ends[place];
        let kind = match end.gpu_index() {
            Some(index) => NodeKind::Gpu(Gpu {
                index,
                ..Gpu::default()
            }),
            None => NodeKind::Nic,
        };
        let id = self.add(end.name.clone(), kind, end.line)?;
        self.ids[place] = Some(id);
        self.hang(upper, id, end.line)
    }

    fn nvlinks(&mut self) -> Result<(), Flaw> {
        let rows = self.matrix.ends.len();
        let count = |one: usize, other: usize| match self.class(one, other) {
            PathClass::NvLink(count) => count,
            _ => 0,
        };
        let of_gpu: Vec<Vec<u32>> = (0..rows)
            .map(|one| (0..rows).map(|other| count(one, other)).collect())
            .collect();
        let is_switched = of_gpu
            .iter()
            .any(|counts| counts.iter().sum::<u32>() > MOST_NVLINKS);
        let mut links: Vec<(NodeId, NodeId, u32, usize)> = Vec::new();
        if is_switched {
            let switch = self.add(NVSWITCH.to_string(), NodeKind::NvSwitch, 1)?;
            for (place, counts) in of_gpu.iter().enumerate() {
                let most = counts.iter().copied().max().unwrap_or_default();
                if let (Some(id), 1..) = (self.ids[place], most) {
                    links.push((id, switch, most, place));
                }
            }
        } else {
            for (place, counts) in of_gpu.iter().enumerate() {
                for (other, &count) in counts.iter().enumerate().skip(place + 1) {
                    if let (Some(id), Some(end), 1..) = (self.ids[place], self.ids[other], count) {
                        links.push((id, end, count, place));
                    }
                }
            }
        }
        for (one, other, count, place) in links {
            let link = Link {
                ends: [one, other],
                kind: LinkKind::NvLink { count },
                rate: None,
                latency_us: None,
            };
            let line = self.matrix.ends[place].line;
            self.builder.link(link, Some(line))?;
        }
        Ok(())
    }
}

/// A table that no tree shows has rows that contradict each other.
fn shows_the_same(
    topology: &Topology,
    matrix: &Matrix,
    ids: &[Option<NodeId>],
) -> Result<(), Flaw> {
    for (row, end) in matrix.ends.iter().enumerate() {
        for (column, other) in matrix.ends.iter().enumerate() {
            let (Some(one), Some(two)) = (ids[row], ids[column]) else {
                continue;
            };
            let (said, built) = (matrix.classes[row][column], topology.class(one, two));
            if said != built {
                let what = format!(
                    "{} and {} cannot be {said}: by what the other rows say, they are {built}",
                    end.name, other.name
                );
                return Err(Flaw::at(Some(end.line), what));
            }
        }
    }
    Ok(())
}
