//! A machine for Graphviz.

use std::fmt::Write;

use super::words::{link_words, node_words, rate_words, size_words};
use crate::topology::{Link, NodeId, NodeKind, Topology};
use crate::units::printable;

/// Degraded links.
const RED: &str = "#C00000";

/// The machine in Graphviz' language: `dot -Tsvg` draws it.
pub fn topology_dot(topology: &Topology) -> String {
    let mut out = format!(
        "graph topology {{\n  label={};\n  labelloc=t;\n  fontname=\"sans-serif\";\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n",
        quoted(&format!("{}: {}", topology.name, size_words(topology)))
    );
    for id in topology.node_ids() {
        let node = topology.node(id);
        let words = node_words(node);
        let label = match words.is_empty() {
            true => node.name.clone(),
            false => format!("{}\n{words}", node.name),
        };
        let fill = match node.kind {
            NodeKind::Gpu(_) => ", style=\"rounded,filled\", fillcolor=\"#E2F0D9\"",
            NodeKind::Cpu(_) => ", style=\"rounded,filled\", fillcolor=\"#DEEBF7\"",
            _ => "",
        };
        let _ = writeln!(out, "  {} [label={}{fill}];", key(id), quoted(&label));
    }
    for link in topology.links() {
        let [one, other] = link.ends.map(key);
        let _ = writeln!(
            out,
            "  {one} -- {other} [label={}{}];",
            quoted(&label(link)),
            look(link)
        );
    }
    out.push_str("}\n");
    out
}

fn label(link: &Link) -> String {
    let mut words = vec![link_words(link)];
    words.extend(Some(rate_words(link)).filter(|rate| !rate.is_empty()));
    words.extend(link.latency_us.map(|us| format!("{us} µs")));
    words.join(" · ")
}

fn look(link: &Link) -> String {
    if link.is_degraded() {
        return format!(", color=\"{RED}\", fontcolor=\"{RED}\", penwidth=2");
    }
    match link.is_of_tree() {
        true => String::new(),
        // Links beside the tree must not pull parts up or down.
        false => ", style=dashed, constraint=false".to_string(),
    }
}

/// Names may be any text: nodes go by their place.
fn key(id: NodeId) -> String {
    format!("n{}", id.index())
}

/// A text in quotation marks.
fn quoted(text: &str) -> String {
    let text = printable(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}
