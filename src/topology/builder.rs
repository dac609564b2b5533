//! Puts a machine together, and refuses what is none.

use std::collections::HashMap;

use super::graph::{Link, LinkId, LinkKind, Node, NodeId, NodeKind, Topology};
use crate::units::printable;

/// Far above any box: NVIDIA's largest NVLink domain has 72.
pub const MAX_GPUS: usize = 128;

/// Parts of a machine of any kind.
pub const MAX_NODES: usize = 4096;

/// Levels of PCIe between a processor and a GPU.
pub const MAX_DEPTH: usize = 32;

/// Names stand in tables and pictures.
pub const MAX_NAME_CHARS: usize = 80;

/// Models, chips and the like stand beside them.
const MAX_TEXT_CHARS: usize = 200;

/// Of an error.
const MAX_CLAUSE_CHARS: usize = 400;

/// Far above any link, in GB/s.
const MAX_GB_PER_S: f64 = 100_000.0;

/// A second: no link takes as long.
const MAX_LATENCY_US: f64 = 1e6;

/// NVLinks between two nodes. GPUs have at most 18.
const MAX_NVLINKS: u32 = 64;

/// What is wrong with a description, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Line of the file, from 1.
    pub line: Option<usize>,
    /// A clause with the value at fault.
    pub what: String,
}

impl Flaw {
    /// A flaw at a line. What a file says may be of any length, and command terminals: the clause is
    /// one short line of text.
    pub fn at(line: Option<usize>, what: impl Into<String>) -> Flaw {
        let what = printable(&what.into()).replace('\n', " ");
        let what = match what.char_indices().nth(MAX_CLAUSE_CHARS) {
            Some((end, _)) => format!("{}…", &what[..end]),
            None => what,
        };
        Flaw { line, what }
    }
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// A machine in the making. Lines are those of the file, for [`Flaw`]s.
#[derive(Debug, Default)]
pub struct Builder {
    pub name: String,
    pub source: String,
    pub notes: Vec<String>,
    nodes: Vec<Node>,
    links: Vec<Link>,
    node_lines: Vec<Option<usize>>,
    link_lines: Vec<Option<usize>>,
    by_name: HashMap<String, NodeId>,
}

impl Builder {
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Builder {
        Builder {
            name: name.into(),
            source: source.into(),
            ..Builder::default()
        }
    }

    /// Adds a part.
    ///
    /// # Errors
    /// A name that another part has, that is empty or no text, or a part too many.
    pub fn node(&mut self, node: Node, line: Option<usize>) -> Result<NodeId, Flaw> {
        let name = &node.name;
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            return Err(Flaw::at(
                line,
                format!("'{}' is no name", name.escape_debug()),
            ));
        }
        if name.chars().count() > MAX_NAME_CHARS {
            return Err(Flaw::at(
                line,
                format!("a name has more than {MAX_NAME_CHARS} characters"),
            ));
        }
        for text in texts(&node.kind) {
            if text.chars().any(char::is_control) || text.chars().count() > MAX_TEXT_CHARS {
                let what = format!(
                    "'{name}' has a text that is no line of at most {MAX_TEXT_CHARS} characters"
                );
                return Err(Flaw::at(line, what));
            }
        }
        if let Some(before) = self.by_name.get(name) {
            let place = match self.node_lines[before.0] {
                Some(line) => format!(" (the other: line {line})"),
                None => String::new(),
            };
            return Err(Flaw::at(
                line,
                format!("two parts are called '{name}'{place}"),
            ));
        }
        if self.nodes.len() == MAX_NODES {
            return Err(Flaw::at(line, format!("more than {MAX_NODES} parts")));
        }
        let id = NodeId(self.nodes.len());
        self.by_name.insert(name.clone(), id);
        self.nodes.push(node);
        self.node_lines.push(line);
        Ok(id)
    }

    /// Adds a link.
    ///
    /// # Errors
    /// A rate, a latency or a count that cannot be, or ends that do not go together.
    pub fn link(&mut self, link: Link, line: Option<usize>) -> Result<LinkId, Flaw> {
        let [first, second] = link.ends;
        let names = || format!("'{}' and '{}'", self.named(first), self.named(second));
        if let LinkKind::NvLink { count } = link.kind
            && !(1..=MAX_NVLINKS).contains(&count)
        {
            return Err(Flaw::at(
                line,
                format!("{count} NVLinks between {} (1 to {MAX_NVLINKS})", names()),
            ));
        }
        if let LinkKind::InterSocket { name: Some(name) } = &link.kind
            && (name.chars().any(char::is_control) || name.chars().count() > MAX_NAME_CHARS)
        {
            let what = format!("the link of {} has a name that is no short line", names());
            return Err(Flaw::at(line, what));
        }
        if let Some(rate) = link.rate
            && !(rate.gb_per_s > 0.0 && rate.gb_per_s <= MAX_GB_PER_S)
        {
            return Err(Flaw::at(
                line,
                format!(
                    "{} GB/s between {} is no bandwidth (more than 0, at most {MAX_GB_PER_S})",
                    rate.gb_per_s,
                    names()
                ),
            ));
        }
        if let Some(us) = link.latency_us
            && !(0.0..=MAX_LATENCY_US).contains(&us)
        {
            return Err(Flaw::at(
                line,
                format!(
                    "{us} µs between {} is no latency (0 to {MAX_LATENCY_US})",
                    names()
                ),
            ));
        }
        if first == second {
            return Err(Flaw::at(
                line,
                format!("'{}' is linked to itself", self.named(first)),
            ));
        }
        if !fits(&link.kind, &self.nodes[first.0], &self.nodes[second.0]) {
            return Err(Flaw::at(
                line,
                format!(
                    "{} between {} cannot be",
                    match link.kind {
                        LinkKind::Pcie(_) => "PCIe down",
                        LinkKind::Internal => "a processor's own link down",
                        LinkKind::InterSocket { .. } => "a link of sockets",
                        LinkKind::NvLink { .. } => "NVLink",
                    },
                    names()
                ),
            ));
        }
        self.links.push(link);
        self.link_lines.push(line);
        Ok(LinkId(self.links.len() - 1))
    }

    /// The part with this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// What a part is.
    pub fn node_of(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    /// The line that a part stands at.
    pub fn line_of(&self, id: NodeId) -> Option<usize> {
        self.node_lines[id.0]
    }

    /// The parts so far.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    fn named(&self, id: NodeId) -> &str {
        &self.nodes[id.0].name
    }

    /// The machine.
    ///
    /// # Errors
    /// A part that hangs nowhere or twice, a cycle, or processors that do not reach each other.
    pub fn finish(self) -> Result<Topology, Flaw> {
        let mut gpus: Vec<NodeId> = Vec::new();
        for id in self.node_ids() {
            if let NodeKind::Gpu(_) = self.nodes[id.0].kind {
                gpus.push(id);
                if gpus.len() > MAX_GPUS {
                    let line = self.node_lines[id.0];
                    return Err(Flaw::at(line, format!("more than {MAX_GPUS} GPUs")));
                }
            }
        }
        let index = |id: &NodeId| match &self.nodes[id.0].kind {
            NodeKind::Gpu(gpu) => gpu.index,
            _ => u32::MAX,
        };
        gpus.sort_by_key(index);
        if let Some(same) = gpus.windows(2).find(|two| index(&two[0]) == index(&two[1])) {
            let line = self.node_lines[same[1].0];
            let number = index(&same[0]);
            return Err(Flaw::at(line, format!("two GPUs have the number {number}")));
        }
        let topology = Topology {
            name: self.name,
            source: self.source,
            notes: self.notes,
            above: vec![None; self.nodes.len()],
            nodes: self.nodes,
            links: self.links,
            gpus,
        };
        super::check::check(topology, &self.node_lines, &self.link_lines)
    }
}

/// What files say of a part in words.
fn texts(kind: &NodeKind) -> Vec<&str> {
    let texts = match kind {
        NodeKind::Cpu(cpu) => vec![&cpu.model],
        NodeKind::RootPort(port) => vec![&port.host_bridge],
        NodeKind::Switch(switch) => vec![&switch.chip],
        NodeKind::Gpu(gpu) => vec![&gpu.model],
        NodeKind::NvSwitch | NodeKind::Nic | NodeKind::Device => Vec::new(),
    };
    texts
        .into_iter()
        .filter_map(|text| text.as_deref())
        .collect()
}

/// Whether a link of this kind can run from one node (the upper, in the tree) to the other.
fn fits(kind: &LinkKind, first: &Node, second: &Node) -> bool {
    use NodeKind::{Cpu, Device, Gpu, Nic, NvSwitch, RootPort, Switch};
    match kind {
        LinkKind::Pcie(_) => {
            matches!(first.kind, Cpu(_) | RootPort(_) | Switch(_))
                && matches!(second.kind, Switch(_) | Gpu(_) | Nic | Device)
        }
        LinkKind::Internal => {
            matches!(first.kind, Cpu(_)) && matches!(second.kind, RootPort(_) | Nic | Device)
        }
        LinkKind::InterSocket { .. } => {
            matches!(first.kind, Cpu(_)) && matches!(second.kind, Cpu(_))
        }
        LinkKind::NvLink { .. } => {
            matches!(first.kind, Gpu(_)) && matches!(second.kind, Gpu(_) | NvSwitch)
        }
    }
}
