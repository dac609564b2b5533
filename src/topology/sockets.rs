//! Links between processors, where a description has none of its own.

use super::builder::{Builder, Flaw};
use super::cpu::CpuFamily;
use super::graph::{Basis, Link, LinkKind, Node, NodeId, NodeKind, Rate};

/// Far above any box, and few enough to link each to each.
const MAX_CPUS: usize = 64;

/// What NCCL takes one direction between two processors for: the lower of their families'
/// constants. `None` where a family is not known.
pub fn inter_socket_rate(one: &Node, other: &Node) -> Option<Rate> {
    let constant = |node: &Node| match &node.kind {
        NodeKind::Cpu(cpu) => cpu.family.map(CpuFamily::nccl_inter_socket_gb_per_s),
        _ => None,
    };
    Some(Rate {
        gb_per_s: constant(one)?.min(constant(other)?),
        basis: Basis::Nccl,
    })
}

/// Links every processor to every other, as NCCL does, at the rate that NCCL takes them for.
///
/// # Errors
/// More processors than any machine has.
pub fn link_all_cpus(builder: &mut Builder) -> Result<(), Flaw> {
    let is_cpu = |id: &NodeId| matches!(builder.node_of(*id).kind, NodeKind::Cpu(_));
    let cpus: Vec<NodeId> = builder.node_ids().filter(is_cpu).collect();
    if let Some(one_too_many) = cpus.get(MAX_CPUS) {
        let line = builder.line_of(*one_too_many);
        return Err(Flaw::at(line, format!("more than {MAX_CPUS} CPUs")));
    }
    for (place, one) in cpus.iter().enumerate() {
        for other in &cpus[place + 1..] {
            let link = Link {
                ends: [*one, *other],
                kind: LinkKind::InterSocket { name: None },
                rate: inter_socket_rate(builder.node_of(*one), builder.node_of(*other)),
                latency_us: None,
            };
            builder.link(link, builder.line_of(*other))?;
        }
    }
    Ok(())
}
