use super::*;
use crate::topology::{PathClass, topology_preset, topology_preset_names};
use proptest::prelude::*;

/// What `nvidia-smi topo -m` would print of a machine.
fn printed(machine: &Topology) -> String {
    let name = |id: &crate::topology::NodeId| machine.node(*id).name.clone();
    let names: Vec<String> = machine.gpus().iter().map(name).collect();
    let mut out = format!(
        "\t\u{1b}[4m{}\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m\n",
        names.join("\t")
    );
    for from in machine.gpus() {
        let classes: Vec<String> = machine
            .gpus()
            .iter()
            .map(|to| match machine.class(*from, *to) {
                PathClass::Same => " X ".to_string(),
                class => class.to_string(),
            })
            .collect();
        let cpu = machine.cpu_of(*from).unwrap();
        let numa = machine.cpus().position(|one| one == cpu).unwrap();
        out.push_str(&format!(
            "{}\t{}\t0-63\t{numa}\t\tN/A\n",
            name(from),
            classes.join("\t")
        ));
    }
    out.push_str("\nLegend:\n\n  X    = Self\n");
    out
}

#[test]
fn every_preset_is_read_from_what_nvidia_smi_would_print() {
    for name in topology_preset_names() {
        let machine = topology_preset(name).unwrap().unwrap();
        let text = printed(&machine);
        assert!(is_topo_matrix(&text), "{text}");
        let read = topology_of_matrix(&text, name).unwrap();
        assert_eq!(printed(&read), text, "{name}");
        // A terminal's tabs may have become spaces.
        let spaces = text.replace('\t', "   ");
        assert_eq!(printed(&topology_of_matrix(&spaces, name).unwrap()), text);
    }
}

#[test]
fn pairs_of_bridges_are_links_and_more_than_a_gpu_has_are_switches() {
    let pairs = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n\
        GPU0\t X \tNV4\tPXB\t0-7\t0\nGPU1\tNV4\t X \tSYS\t8-15\t1\nNIC0\tPXB\tSYS\t X \t\t\n";
    let machine = topology_of_matrix(pairs, "pair").unwrap();
    assert_eq!(machine.route(machine.gpus()[0], machine.gpus()[1]).len(), 1);
    assert_eq!(
        machine
            .pcie_route(machine.gpus()[0], machine.gpus()[1])
            .len(),
        7
    );
}

#[test]
fn tables_that_contradict_themselves_are_refused_with_the_line() {
    let text = printed(&topology_preset("two-switches-8g").unwrap().unwrap());
    let row = "GPU1\tPIX\t X \tPIX";
    assert!(text.contains(row), "{text}");
    let cases = [
        (
            "GPU1\tPIX\t X \tPIX",
            "GPU1\tPXB\t X \tPIX",
            "line 2: from GPU0 to GPU1 it is PIX, and back PXB",
        ),
        (
            "GPU1\tPIX\t X \tPIX",
            "GPU1\tPIX\tSYS\tPIX",
            "line 3: from GPU1 to GPU1 it is SYS",
        ),
        (
            "GPU1\tPIX\t X \tPIX",
            "GPU1\tPIX\t X \tPUX",
            "line 3: 'PUX' is none of",
        ),
        (
            "GPU1\tPIX\t X \tPIX",
            "GPU1\tPIX\t X \tNV0",
            "line 3: 'NV0' is none of",
        ),
        (
            "GPU1\tPIX\t X ",
            "GPU9\tPIX\t X ",
            "line 3: the row of GPU1 is missing",
        ),
        ("GPU1\tPIX", "\nGPU1\tPIX", ""),
    ];
    for (from, to, hint) in cases {
        match topology_of_matrix(&text.replacen(from, to, 1), "x") {
            Ok(_) => assert_eq!(hint, ""),
            Err(flaw) => assert!(
                flaw.to_string().contains(hint) && !hint.is_empty(),
                "{to}: {flaw}"
            ),
        }
    }
    let broken = "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tSYS\nGPU1\tPIX\tX\tPIX\nGPU2\tSYS\tPIX\tX\n";
    let flaw = topology_of_matrix(broken, "x").unwrap_err();
    assert!(
        flaw.to_string()
            .contains("line 2: GPU0 and GPU2 cannot be SYS"),
        "{flaw}"
    );
    let short = "\tGPU0\tGPU1\nGPU0\tX\tPIX\n";
    let flaw = topology_of_matrix(short, "x").unwrap_err();
    assert!(flaw.to_string().contains("1 rows for 2 columns"), "{flaw}");
}

#[test]
fn the_shared_print_is_read() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/data/topo/8xrtxpro6000_dual_turin_nvidia-smi-topo.txt");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("waived: no {}", path.display());
        return;
    };
    let machine = topology_of_matrix(&text, "x").unwrap();
    let same = topology_preset("virtual-switches-2socket-8g")
        .unwrap()
        .unwrap();
    for (one, other) in [(0, 1), (0, 2), (0, 7), (5, 4)] {
        let class = |machine: &Topology| machine.class(machine.gpus()[one], machine.gpus()[other]);
        assert_eq!(class(&machine), class(&same));
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "(?s)([GPUNIXBSYV0-3\t\n ]{0,120})|.{0,60}") {
        let _ = topology_of_matrix(&text, "x");
        let _ = topology_of_matrix(&format!("\tGPU0\tGPU1\n{text}"), "x");
    }
}
