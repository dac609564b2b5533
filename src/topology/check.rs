//! What makes links and nodes a machine.

use std::collections::{HashMap, HashSet, VecDeque};

use super::builder::{Flaw, MAX_DEPTH};
use super::graph::{LinkId, LinkKind, NodeId, NodeKind, Topology};

/// Lets a sound machine through, with [`Topology::above`] filled in.
pub(super) fn check(
    mut topology: Topology,
    node_lines: &[Option<usize>],
    link_lines: &[Option<usize>],
) -> Result<Topology, Flaw> {
    hang(&mut topology, link_lines)?;
    for id in topology.node_ids() {
        reaches_a_cpu(&topology, id, node_lines)?;
    }
    pairs_are_linked_once(&topology, link_lines)?;
    cpus_reach_each_other(&topology, node_lines)?;
    lanes_suffice(&topology, node_lines)?;
    Ok(topology)
}

/// Notes what each node hangs on.
fn hang(topology: &mut Topology, link_lines: &[Option<usize>]) -> Result<(), Flaw> {
    for (place, link) in topology.links.iter().enumerate() {
        if !link.is_of_tree() {
            continue;
        }
        let [upper, lower] = link.ends;
        if let Some(LinkId(before)) = topology.above[lower.0] {
            let other = topology.links[before].ends[0];
            return Err(Flaw::at(
                link_lines[place],
                format!(
                    "'{}' hangs on both '{}' and '{}'",
                    topology.node(lower).name,
                    topology.node(other).name,
                    topology.node(upper).name
                ),
            ));
        }
        topology.above[lower.0] = Some(LinkId(place));
    }
    Ok(())
}

/// Whether going up from a node ends at a processor.
fn reaches_a_cpu(
    topology: &Topology,
    id: NodeId,
    node_lines: &[Option<usize>],
) -> Result<(), Flaw> {
    let flaw = |what: String| Err(Flaw::at(node_lines[id.0], what));
    let name = &topology.node(id).name;
    if matches!(
        topology.node(id).kind,
        NodeKind::Cpu(_) | NodeKind::NvSwitch
    ) {
        return Ok(());
    }
    let mut at = id;
    for _ in 0..=MAX_DEPTH {
        match topology.above(at) {
            Some((_, upper)) if upper == id => {
                return flaw(format!("'{name}' hangs on itself, by way of a cycle"));
            }
            Some((_, upper)) => at = upper,
            None if matches!(topology.node(at).kind, NodeKind::Cpu(_)) => return Ok(()),
            None if at == id => return flaw(format!("'{name}' is connected to nothing")),
            None => {
                return flaw(format!(
                    "'{name}' hangs on '{}', which is connected to no CPU",
                    topology.node(at).name
                ));
            }
        }
    }
    flaw(format!(
        "'{name}' has more than {MAX_DEPTH} parts above it, or hangs on a cycle"
    ))
}

/// Sockets and GPUs have one link to each other at most; NVLinks are counted in it.
fn pairs_are_linked_once(topology: &Topology, link_lines: &[Option<usize>]) -> Result<(), Flaw> {
    let mut seen = HashSet::new();
    for (place, link) in topology.links.iter().enumerate() {
        let [first, second] = link.ends;
        let pair = (first.min(second), first.max(second));
        if !link.is_of_tree() && !seen.insert(pair) {
            return Err(Flaw::at(
                link_lines[place],
                format!(
                    "'{}' and '{}' are linked twice",
                    topology.node(first).name,
                    topology.node(second).name
                ),
            ));
        }
    }
    Ok(())
}

/// Every processor reaches every other over links of sockets.
fn cpus_reach_each_other(topology: &Topology, node_lines: &[Option<usize>]) -> Result<(), Flaw> {
    let Some(first) = topology.cpus().next() else {
        return Err(Flaw::at(None, "there is no CPU"));
    };
    let mut reached = HashSet::from([first]);
    let mut queue = VecDeque::from([first]);
    while let Some(at) = queue.pop_front() {
        for link in &topology.links {
            let [one, other] = link.ends;
            let next = match link.kind {
                LinkKind::InterSocket { .. } if one == at => other,
                LinkKind::InterSocket { .. } if other == at => one,
                _ => continue,
            };
            if reached.insert(next) {
                queue.push_back(next);
            }
        }
    }
    match topology.cpus().find(|cpu| !reached.contains(cpu)) {
        None => Ok(()),
        Some(cpu) => Err(Flaw::at(
            node_lines[cpu.0],
            format!(
                "nothing links '{}' to '{}'",
                topology.node(cpu).name,
                topology.node(first).name
            ),
        )),
    }
}

/// A chip's ports take no more lanes than it has, over all its virtual switches.
fn lanes_suffice(topology: &Topology, node_lines: &[Option<usize>]) -> Result<(), Flaw> {
    let mut used: HashMap<&str, u32> = HashMap::new();
    for id in topology.node_ids() {
        let NodeKind::Switch(switch) = &topology.node(id).kind else {
            continue;
        };
        let Some((model, lanes)) = switch.model.and_then(|model| Some((model, model.lanes?)))
        else {
            continue;
        };
        let name = switch.chip.as_ref().unwrap_or(&topology.node(id).name);
        let ports = topology.above(id).into_iter().chain(topology.below(id));
        let width = |link: LinkId| match topology.link(link).kind {
            LinkKind::Pcie(pcie) => pcie.max.or(pcie.now).map_or(0, |mode| mode.width),
            _ => 0,
        };
        let of_chip = used.entry(name).or_default();
        *of_chip += ports.map(|(link, _)| width(link)).sum::<u32>();
        if *of_chip > lanes {
            return Err(Flaw::at(
                node_lines[id.0],
                format!(
                    "the ports of '{name}' take {of_chip} lanes, and a {} has {lanes}",
                    model.name
                ),
            ));
        }
    }
    Ok(())
}
