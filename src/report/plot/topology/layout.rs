//! Where the parts of a machine stand, in logical pixels.

use std::collections::HashSet;

use crate::topology::{Link, LinkId, LinkKind, NodeId, NodeKind, Topology};

use super::super::layout::Rect;

/// Widths of the page: that of all pictures, more where parts would not fit.
const PAGE: f64 = 1200.0;
pub const MARGIN: f64 = 24.0;
/// Least width of a part at the bottom with the space beside it: "63.0 GB/s" fits.
const LEAST_SLOT: f64 = 68.0;
/// Few parts must not stand far apart.
const MOST_SLOT: f64 = 210.0;
const BETWEEN: f64 = 10.0;
/// Space for title, source and what follows.
const HEAD: f64 = 100.0;
pub const BOX: f64 = 42.0;
/// From one row to the next: a box, and a link with two lines of text.
const ROW: f64 = BOX + 68.0;
/// A link beside the tree has a line of its own.
pub const LANE: f64 = 22.0;
/// More links than these between processors or GPUs are not drawn one by one.
const MOST_LANES: usize = 12;
const FOOT: f64 = 74.0;

/// Where everything stands.
pub struct Places {
    pub width: f64,
    pub height: f64,
    /// By node; `None` for what is not drawn as a box.
    pub boxes: Vec<Option<Rect>>,
    /// Links between processors, and between GPUs.
    pub sockets: Vec<LinkId>,
    pub nvlinks: Vec<LinkId>,
    /// Tops of the processors and bottoms of the lowest row.
    pub top: f64,
    pub bottom: f64,
}

/// Whether one line stands for all these links: they are alike and join each to each, or they are
/// too many.
pub fn share_a_line(topology: &Topology, links: &[LinkId]) -> bool {
    links.len() > MOST_LANES || (links.len() > 2 && join_each_to_each(topology, links))
}

/// Whether links are alike, and there is one between each two of the parts that they join.
pub fn join_each_to_each(topology: &Topology, links: &[LinkId]) -> bool {
    let links: Vec<&Link> = links.iter().map(|id| topology.link(*id)).collect();
    let ends: HashSet<NodeId> = links.iter().flat_map(|link| link.ends).collect();
    let first = links.first();
    let is_alike = |link: &&Link| {
        first.is_some_and(|first| (&first.kind, first.rate) == (&link.kind, link.rate))
    };
    links.iter().all(is_alike) && links.len() == ends.len() * ends.len().saturating_sub(1) / 2
}

/// Lines that these links take.
fn lanes(topology: &Topology, links: &[LinkId]) -> usize {
    match share_a_line(topology, links) {
        true => 1,
        false => links.len(),
    }
}

impl Places {
    pub fn new(topology: &Topology) -> Places {
        let of_kind = |is: fn(&LinkKind) -> bool| -> Vec<LinkId> {
            let links = topology.link_ids();
            links.filter(|id| is(&topology.link(*id).kind)).collect()
        };
        let sockets = of_kind(|kind| matches!(kind, LinkKind::InterSocket { .. }));
        let nvlinks = of_kind(|kind| matches!(kind, LinkKind::NvLink { .. }));
        let leaves: usize = topology.cpus().map(|cpu| leaves(topology, cpu)).sum();
        let gaps = topology.cpus().count().saturating_sub(1) as f64 * 2.0 * BETWEEN;
        let room = PAGE - 2.0 * MARGIN - gaps;
        let slot = (room / leaves.max(1) as f64).clamp(LEAST_SLOT, MOST_SLOT);
        let used = slot * leaves.max(1) as f64 + gaps;
        let width = (used + 2.0 * MARGIN).max(PAGE);
        let depth = topology
            .node_ids()
            .map(|id| depth(topology, id))
            .max()
            .unwrap_or_default();
        let top = HEAD + lanes(topology, &sockets) as f64 * LANE + 8.0;
        let mut placing = Placing {
            topology,
            slot,
            top,
            bottom_row: depth,
            boxes: vec![None; topology.nodes().len()],
        };
        let mut left = (width - used) / 2.0;
        for cpu in topology.cpus() {
            left += placing.place(cpu, left, 0) + 2.0 * BETWEEN;
        }
        let mut boxes = placing.boxes;
        let bottom = top + depth as f64 * ROW + BOX;
        let mut height = bottom;
        let switch = topology
            .node_ids()
            .find(|id| topology.node(*id).kind == NodeKind::NvSwitch);
        if let Some(switch) = switch {
            let edges = topology.gpus().iter().filter_map(|id| boxes[id.index()]);
            let (left, right) = edges.fold((width, 0.0f64), |(left, right), area| {
                (left.min(area.left), right.max(area.right))
            });
            let area = Rect::new(left, bottom + 50.0, right.max(left + 80.0), bottom + 80.0);
            boxes[switch.index()] = Some(area);
            height = area.bottom;
        } else if !nvlinks.is_empty() {
            height += lanes(topology, &nvlinks) as f64 * LANE + 8.0;
        }
        Places {
            width,
            height: height + FOOT,
            boxes,
            sockets,
            nvlinks,
            top,
            bottom,
        }
    }
}

struct Placing<'a> {
    topology: &'a Topology,
    slot: f64,
    top: f64,
    bottom_row: usize,
    boxes: Vec<Option<Rect>>,
}

impl Placing<'_> {
    /// Places a part and those below it; returns the width that they take. Depth is that of a
    /// machine.
    fn place(&mut self, id: NodeId, left: f64, row: usize) -> f64 {
        let mut width = 0.0;
        let below: Vec<NodeId> = self.topology.below(id).map(|(_, child)| child).collect();
        for child in &below {
            width += self.place(*child, left + width, row + 1);
        }
        let is_end = ends_a_branch(&self.topology.node(id).kind);
        let row = if is_end { self.bottom_row } else { row };
        let width = width.max(self.slot);
        let y = self.top + row as f64 * ROW;
        let inset = BETWEEN / 2.0;
        self.boxes[id.index()] = Some(Rect::new(left + inset, y, left + width - inset, y + BOX));
        width
    }
}

/// What stands in the lowest row, however few parts are above it.
fn ends_a_branch(kind: &NodeKind) -> bool {
    matches!(kind, NodeKind::Gpu(_) | NodeKind::Nic | NodeKind::Device)
}

fn leaves(topology: &Topology, id: NodeId) -> usize {
    let below = topology.below(id).map(|(_, child)| leaves(topology, child));
    below.sum::<usize>().max(1)
}

fn depth(topology: &Topology, id: NodeId) -> usize {
    std::iter::successors(topology.above(id), |(_, upper)| topology.above(*upper)).count()
}
