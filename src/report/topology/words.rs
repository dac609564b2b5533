//! What parts and links of a machine are called.

use crate::topology::{Link, LinkKind, Node, NodeKind, PcieLink, Topology};

/// What a link is: "Gen5 x16", "Gen3 x8 of Gen5 x16" for a degraded one, "4 × NVLink".
pub fn link_words(link: &Link) -> String {
    match &link.kind {
        LinkKind::Pcie(PcieLink { now: None, .. }) => "PCIe".to_string(),
        LinkKind::Pcie(pcie) => {
            let mode = pcie.in_use().map_or(String::new(), |mode| mode.to_string());
            match pcie.max {
                Some(max) if pcie.is_degraded() => format!("{mode} of {max}"),
                _ => mode,
            }
        }
        LinkKind::Internal => "in the CPU".to_string(),
        LinkKind::InterSocket { name } => name.clone().unwrap_or_else(|| "CPU to CPU".to_string()),
        LinkKind::NvLink { count } => format!("{count} × NVLink"),
    }
}

/// What one direction of a link carries: "63.0 GB/s"; empty where nothing says.
pub fn rate_words(link: &Link) -> String {
    link.rate
        .map_or_else(String::new, |rate| format!("{:.1} GB/s", rate.gb_per_s))
}

/// What a part is, besides its name.
pub fn node_words(node: &Node) -> String {
    let words: Vec<Option<String>> = match &node.kind {
        NodeKind::Cpu(cpu) => {
            let family = || cpu.family.map(|family| family.name().to_string());
            let numa = cpu.numa.filter(|numa| *numa >= 0);
            vec![
                cpu.model.clone().or_else(family),
                numa.map(|numa| format!("NUMA {numa}")),
            ]
        }
        NodeKind::RootPort(port) => vec![
            Some("root port".to_string()),
            port.host_bridge
                .as_ref()
                .map(|bridge| format!("host bridge {bridge}")),
        ],
        NodeKind::Switch(switch) => vec![
            Some(match switch.model {
                Some(model) if model.name != "other" => model.name.to_string(),
                _ => "switch".to_string(),
            }),
            switch.chip.as_ref().map(|chip| format!("chip {chip}")),
        ],
        NodeKind::Gpu(gpu) => vec![gpu.model.clone(), node.address.clone()],
        NodeKind::NvSwitch => Vec::new(),
        NodeKind::Nic => vec![Some("NIC".to_string())],
        NodeKind::Device => vec![Some("PCI device".to_string())],
    };
    let words: Vec<String> = words.into_iter().flatten().collect();
    words.join(", ")
}

/// How many parts there are: "8 GPUs, 2 switches, 1 CPU".
pub fn size_words(topology: &Topology) -> String {
    let count = |is: fn(&NodeKind) -> bool, one: &str, many: &str| {
        let count = topology
            .nodes()
            .iter()
            .filter(|node| is(&node.kind))
            .count();
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
    };
    let gpus = topology.gpus().len();
    let mut words = vec![format!("{gpus} {}", if gpus == 1 { "GPU" } else { "GPUs" })];
    words.extend(
        [
            count(
                |kind| matches!(kind, NodeKind::Switch(_)),
                "switch",
                "switches",
            ),
            count(
                |kind| matches!(kind, NodeKind::RootPort(_)),
                "root port",
                "root ports",
            ),
            count(|kind| matches!(kind, NodeKind::Cpu(_)), "CPU", "CPUs"),
            count(|kind| matches!(kind, NodeKind::Nic), "NIC", "NICs"),
            count(
                |kind| matches!(kind, NodeKind::Device),
                "other device",
                "other devices",
            ),
        ]
        .into_iter()
        .flatten(),
    );
    words.join(", ")
}
