//! Ways between GPUs: which links a transfer crosses, and what the field calls such a way.

use std::collections::{HashMap, VecDeque};
use std::fmt;

use super::graph::{LinkId, LinkKind, NodeId, NodeKind, Topology};

/// A link in one direction. The two directions of a link are resources of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DirectedLink {
    pub link: LinkId,
    /// From the first of the link's ends to the second.
    pub forward: bool,
}

impl DirectedLink {
    /// A number of its own for each direction of each link: below twice the number of links.
    pub fn resource(self) -> usize {
        2 * self.link.index() + usize::from(!self.forward)
    }

    /// Where it comes from and where it leads.
    pub fn ends(self, topology: &Topology) -> [NodeId; 2] {
        let [first, second] = topology.link(self.link).ends;
        if self.forward {
            [first, second]
        } else {
            [second, first]
        }
    }
}

/// What lies between two GPUs, from near to far, as `nvidia-smi topo -m` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathClass {
    /// The GPU itself.
    Same,
    /// So many NVLinks, straight or through NVSwitches.
    NvLink(u32),
    /// One PCIe switch.
    Pix,
    /// Several PCIe switches, no processor.
    Pxb,
    /// A host bridge of a processor. Where nothing says which host bridge a port belongs to, any
    /// way through one processor counts as this, as in NCCL.
    Phb,
    /// Several host bridges of one processor (NUMA node).
    Node,
    /// The link between processors.
    Sys,
}

impl fmt::Display for PathClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathClass::Same => f.pad("X"),
            PathClass::NvLink(count) => f.pad(&format!("NV{count}")),
            PathClass::Pix => f.pad("PIX"),
            PathClass::Pxb => f.pad("PXB"),
            PathClass::Phb => f.pad("PHB"),
            PathClass::Node => f.pad("NODE"),
            PathClass::Sys => f.pad("SYS"),
        }
    }
}

impl Topology {
    /// The links that a transfer from `from` to `to` crosses, in order: over NVLink where there is
    /// one, straight or through NVSwitches, else over PCIe. Empty from a node to itself.
    pub fn route(&self, from: NodeId, to: NodeId) -> Vec<DirectedLink> {
        self.nvlink_route(from, to)
            .unwrap_or_else(|| self.pcie_route(from, to))
    }

    /// The links that a transfer crosses where it uses no NVLink: up to what both ends share, or
    /// over the links between processors, and down again. Empty from a node to itself.
    pub fn pcie_route(&self, from: NodeId, to: NodeId) -> Vec<DirectedLink> {
        let up = self.chain(from);
        let down = self.chain(to);
        let shared = up
            .iter()
            .position(|(_, node)| down.iter().any(|(_, other)| other == node));
        let (up_end, across, down_end) = match shared {
            Some(place) => {
                let top = up[place].1;
                let end = down.iter().position(|(_, node)| *node == top);
                (place, Vec::new(), end.unwrap_or_default())
            }
            None => match (up.last(), down.last()) {
                (Some(&(_, one)), Some(&(_, other))) => {
                    (up.len() - 1, self.between_cpus(one, other), down.len() - 1)
                }
                _ => return Vec::new(),
            },
        };
        let mut route: Vec<DirectedLink> = Vec::new();
        let links = |chain: &[(Option<LinkId>, NodeId)]| -> Vec<LinkId> {
            chain.iter().filter_map(|(link, _)| *link).collect()
        };
        for link in links(&up[..up_end]) {
            route.push(DirectedLink {
                link,
                forward: false,
            });
        }
        route.extend(across);
        for link in links(&down[..down_end]).into_iter().rev() {
            route.push(DirectedLink {
                link,
                forward: true,
            });
        }
        route
    }

    /// What lies between two nodes.
    pub fn class(&self, from: NodeId, to: NodeId) -> PathClass {
        if from == to {
            return PathClass::Same;
        }
        if let Some(route) = self.nvlink_route(from, to) {
            let counts = route.iter().map(|hop| match self.link(hop.link).kind {
                LinkKind::NvLink { count } => count,
                _ => 0,
            });
            return PathClass::NvLink(counts.min().unwrap_or_default());
        }
        let route = self.pcie_route(from, to);
        let kind = |hop: &DirectedLink| &self.link(hop.link).kind;
        if route
            .iter()
            .any(|hop| matches!(kind(hop), LinkKind::InterSocket { .. }))
        {
            return PathClass::Sys;
        }
        let inner: Vec<NodeId> = route.iter().skip(1).map(|hop| hop.ends(self)[0]).collect();
        let through_cpu = inner
            .iter()
            .any(|id| matches!(self.node(*id).kind, NodeKind::Cpu(_)));
        if through_cpu {
            return match (self.host_bridge(from), self.host_bridge(to)) {
                (Some(one), Some(other)) if one != other => PathClass::Node,
                _ => PathClass::Phb,
            };
        }
        let switches = inner
            .iter()
            .filter(|id| matches!(self.node(**id).kind, NodeKind::Switch(_)));
        if switches.count() <= 1 {
            PathClass::Pix
        } else {
            PathClass::Pxb
        }
    }

    /// The processor that a node hangs on: itself, for a processor.
    pub fn cpu_of(&self, id: NodeId) -> Option<NodeId> {
        let &(_, top) = self.chain(id).last()?;
        matches!(self.node(top).kind, NodeKind::Cpu(_)).then_some(top)
    }

    /// The host bridge that a node hangs on, where that is known.
    pub fn host_bridge(&self, id: NodeId) -> Option<&str> {
        self.chain(id)
            .into_iter()
            .find_map(|(_, at)| match &self.node(at).kind {
                NodeKind::RootPort(port) => port.host_bridge.as_deref(),
                _ => None,
            })
    }

    /// A node and those above it, each with the link that leads up from it.
    fn chain(&self, id: NodeId) -> Vec<(Option<LinkId>, NodeId)> {
        let mut chain = Vec::new();
        let mut at = id;
        loop {
            match self.above(at) {
                Some((link, upper)) => {
                    chain.push((Some(link), at));
                    at = upper;
                }
                None => {
                    chain.push((None, at));
                    return chain;
                }
            }
        }
    }

    /// Over as few links between processors as can be.
    fn between_cpus(&self, from: NodeId, to: NodeId) -> Vec<DirectedLink> {
        let mut came_by: HashMap<NodeId, DirectedLink> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for id in self.link_ids() {
                let link = self.link(id);
                let LinkKind::InterSocket { .. } = link.kind else {
                    continue;
                };
                let forward = link.ends[0] == at;
                if !forward && link.ends[1] != at {
                    continue;
                }
                let next = link.ends[usize::from(forward)];
                if next != from && !came_by.contains_key(&next) {
                    came_by.insert(next, DirectedLink { link: id, forward });
                    queue.push_back(next);
                }
            }
        }
        let mut route = Vec::new();
        let mut at = to;
        while let Some(&hop) = came_by.get(&at) {
            route.push(hop);
            at = hop.ends(self)[0];
        }
        route.reverse();
        route
    }

    /// Straight, or by way of the NVSwitches.
    fn nvlink_route(&self, from: NodeId, to: NodeId) -> Option<Vec<DirectedLink>> {
        if from == to {
            return None;
        }
        let reached = |at: NodeId| {
            self.link_ids().filter_map(move |id| {
                let link = self.link(id);
                let LinkKind::NvLink { .. } = link.kind else {
                    return None;
                };
                let forward = link.ends[0] == at;
                (forward || link.ends[1] == at).then_some((
                    DirectedLink { link: id, forward },
                    link.ends[usize::from(forward)],
                ))
            })
        };
        if let Some((hop, _)) = reached(from).find(|(_, next)| *next == to) {
            return Some(vec![hop]);
        }
        reached(from)
            .filter(|(_, next)| self.node(*next).kind == NodeKind::NvSwitch)
            .find_map(|(up, switch)| {
                let (down, _) = reached(switch).find(|(_, next)| *next == to)?;
                Some(vec![up, down])
            })
    }
}
