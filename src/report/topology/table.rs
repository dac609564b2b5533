//! A machine as text: every part with the link above it, then what lies between each two GPUs.

use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::words::{link_words, node_words, size_words};
use crate::report::table::STYLE;
use crate::topology::{Basis, Link, LinkId, NodeId, NodeKind, PathClass, Topology};
use crate::units::printable;

/// Beyond this many GPUs a matrix is wider than any terminal, and is left out.
const MOST_IN_MATRIX: usize = 32;

/// The machine for a terminal.
pub fn topology_text(topology: &Topology) -> String {
    let mut out = format!("{}: {}\n", topology.name, size_words(topology));
    if !topology.source.is_empty() {
        out.push_str(&format!("  {}\n", topology.source));
    }
    out.push_str(&parts(topology));
    let degraded = topology
        .links()
        .iter()
        .filter(|link| link.is_degraded())
        .count();
    if degraded > 0 {
        out.push_str(&format!(
            "  DEGRADED: {degraded} of the links run{} below what both ends can do.\n",
            if degraded == 1 { "s" } else { "" }
        ));
    }
    out.push_str("  GB/s of one direction; the other carries as much at the same time.");
    for (basis, words) in [
        (
            Basis::Wire,
            " Wire: lanes × transfers less the line code, which no copy reaches.",
        ),
        (
            Basis::Nccl,
            " NCCL's constant: what NCCL chooses by, not what the machine does.",
        ),
    ] {
        if topology.rests_on(basis) {
            out.push_str(words);
        }
    }
    out.push('\n');
    match topology.gpus().len() {
        0 | 1 => {}
        count if count > MOST_IN_MATRIX => out.push_str(&format!(
            "  {count} GPUs: what lies between each two is left out.\n"
        )),
        _ => out.push_str(&matrix(topology)),
    }
    for note in &topology.notes {
        out.push_str(&format!("  {note}\n"));
    }
    printable(&out)
}

/// The tree, a part a row, and the links beside it.
fn parts(topology: &Topology) -> String {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["part", "", "link above", "GB/s", "figure", "µs"]);
    for cpu in topology.cpus() {
        add(topology, cpu, None, 0, &mut table);
    }
    for id in topology.link_ids() {
        let link = topology.link(id);
        if !link.is_of_tree() {
            let [one, other] = link.ends.map(|end| topology.node(end).name.as_str());
            let mut row = vec![format!("{one} – {other}"), String::new()];
            row.extend(figures(link));
            table.add_row(row);
        }
    }
    for column in [3, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{table}\n")
}

/// A part and those below it. Depth is that of a machine.
fn add(topology: &Topology, id: NodeId, link: Option<LinkId>, level: usize, table: &mut Table) {
    let node = topology.node(id);
    let mut row = vec![
        format!("{}{}", "  ".repeat(level), node.name),
        node_words(node),
    ];
    match link {
        Some(link) => row.extend(figures(topology.link(link))),
        None => row.extend(std::iter::repeat_n(String::new(), 4)),
    }
    table.add_row(row);
    for (link, child) in topology.below(id) {
        add(topology, child, Some(link), level + 1, table);
    }
}

fn figures(link: &Link) -> [String; 4] {
    let what = match link.is_degraded() {
        true => format!("{}, DEGRADED", link_words(link)),
        false => link_words(link),
    };
    [
        what,
        link.rate
            .map_or_else(String::new, |rate| format!("{:.1}", rate.gb_per_s)),
        link.rate
            .map_or_else(String::new, |rate| rate.basis.name().to_string()),
        link.latency_us
            .map_or_else(String::new, |us| us.to_string()),
    ]
}

/// What lies between each two GPUs, as `nvidia-smi topo -m` prints it, and what the words mean.
fn matrix(topology: &Topology) -> String {
    let gpus = topology.gpus();
    let name = |id: &NodeId| topology.node(*id).name.clone();
    let mut table = Table::new();
    let header = std::iter::once(String::new()).chain(gpus.iter().map(name));
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    let mut seen = Vec::new();
    for from in gpus {
        let classes = gpus.iter().map(|to| topology.class(*from, *to));
        let classes: Vec<PathClass> = classes.collect();
        seen.extend(classes.iter().copied());
        let cells = classes.iter().map(PathClass::to_string);
        table.add_row(std::iter::once(name(from)).chain(cells));
    }
    seen.sort();
    seen.dedup();
    let mut out = format!("{table}\n");
    let is_nvlink = |class: &PathClass| matches!(class, PathClass::NvLink(_));
    let mut legend: Vec<String> = Vec::new();
    if seen.iter().any(is_nvlink) {
        legend.push("NV#: so many NVLinks".to_string());
    }
    legend.extend(seen.iter().filter_map(|class| meaning(*class, topology)));
    out.push_str(&format!("  {}.\n", legend.join(". ")));
    out
}

fn meaning(class: PathClass, topology: &Topology) -> Option<String> {
    let words = match class {
        PathClass::Same | PathClass::NvLink(_) => return None,
        PathClass::Pix => "one PCIe switch",
        PathClass::Pxb => "several PCIe switches, no CPU",
        PathClass::Phb if topology.nodes().iter().any(has_bridge) => "a host bridge of the CPU",
        PathClass::Phb => "the CPU (which host bridges is not said: nvidia-smi may call it NODE)",
        PathClass::Node => "several host bridges of one CPU",
        PathClass::Sys => "the link between CPUs",
    };
    Some(format!("{class}: {words}"))
}

fn has_bridge(node: &crate::topology::Node) -> bool {
    matches!(&node.kind, NodeKind::RootPort(port) if port.host_bridge.is_some())
}
