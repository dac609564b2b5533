//! Topologies through the binary: from names, from files, and from captured trees of this machine.

mod common;

use commbench::topology::{DriverGpu, PathClass, live_machine};
use common::tree::plant;
use common::{Output, Scratch, alone, run};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/topology");

fn topo(scratch: &Scratch, arguments: &[&str]) -> Output {
    let mut all = vec!["topo"];
    all.extend_from_slice(arguments);
    run(alone(&scratch.0, &all))
}

/// Standard output of a call that succeeds without a word on standard error.
fn shown(scratch: &Scratch, arguments: &[&str]) -> String {
    let output = topo(scratch, arguments).expect_code(0);
    assert_eq!(output.stderr, "");
    output.stdout
}

#[track_caller]
fn refused(scratch: &Scratch, text: impl AsRef<[u8]>, hint: &str) {
    std::fs::write(scratch.0.join("bad"), text).unwrap();
    let output = topo(scratch, &["--from", "bad"]).expect_code(2);
    assert_eq!(output.stdout, "");
    let said = &output.stderr;
    assert!(said.contains(hint), "{hint}: {said}");
    assert!(said.len() < 1000, "{said}");
    assert_eq!(said.matches("try:").count(), 1, "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn a_built_in_machine_is_shown_with_its_links_and_classes() {
    let scratch = Scratch::new();
    let table = shown(&scratch, &["--from", "virtual-switches-2socket-8g"]);
    for words in [
        "8 GPUs, 4 switches",
        "Gen5 x16",
        "63.0",
        "xGMI",
        "55.0",
        "stated",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let row = |name: &str| -> Vec<String> {
        let line = table
            .lines()
            .rev()
            .find(|line| line.trim().starts_with(name));
        line.unwrap()
            .split_whitespace()
            .map(str::to_string)
            .collect()
    };
    assert_eq!(
        row("GPU2"),
        [
            "GPU2", "NODE", "NODE", "X", "PIX", "SYS", "SYS", "SYS", "SYS"
        ]
    );
}

#[test]
fn toml_that_was_written_is_read_and_shows_the_same() {
    let scratch = Scratch::new();
    for name in ["two-switches-8g", "hgx-h200-8g", "direct-2socket-8g"] {
        let toml = shown(&scratch, &["--from", name, "--to", "toml"]);
        std::fs::write(scratch.0.join("box.toml"), &toml).unwrap();
        let again = shown(&scratch, &["--from", "box.toml", "--to", "toml"]);
        assert_eq!(toml, again);
        let tables = ["box.toml", name].map(|from| shown(&scratch, &["--from", from]));
        assert_eq!(tables[0], tables[1]);
    }
}

#[test]
fn a_file_of_nccl_comes_out_as_it_went_in() {
    let scratch = Scratch::new();
    let path = format!("{FIXTURES}/two-switches.xml");
    let out = shown(&scratch, &["--from", &path, "--to", "nccl-xml"]);
    assert_eq!(out, std::fs::read_to_string(&path).unwrap());
    let table = shown(&scratch, &["--from", &path]);
    // Sapphire Rapids and Emerald Rapids: the lower of NCCL's constants.
    for words in [
        "3 GPUs, 2 switches, 2 CPUs",
        "22.0",
        "Gen4 x8",
        "15.8",
        "gizmo",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
}

#[test]
fn a_matrix_of_nvidia_smi_becomes_the_machine_that_shows_it() {
    let scratch = Scratch::new();
    let path = format!("{FIXTURES}/matrix.txt");
    let table = shown(&scratch, &["--from", &path]);
    for words in ["4 GPUs", "1 NIC", "PXB", "no figures"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let toml = shown(&scratch, &["--from", &path, "--to", "toml"]);
    std::fs::write(scratch.0.join("box.toml"), toml).unwrap();
    let matrix = |table: &str| {
        let lines = table.lines().filter(|line| line.contains("SYS"));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let again = shown(&scratch, &["--from", "box.toml"]);
    assert_eq!(matrix(&again), matrix(&table));
}

#[test]
fn pictures_and_graphs_mark_degraded_links() {
    let scratch = Scratch::new();
    let toml = shown(&scratch, &["--from", "two-switches-8g", "--to", "toml"]);
    let sound = shown(&scratch, &["--from", "two-switches-8g", "--to", "svg"]);
    assert!(
        sound.starts_with("<svg") && !sound.contains("#C00000"),
        "{sound}"
    );
    let worse = toml.replace(
        "ids = [4, 5, 6, 7]",
        "ids = [4, 5, 6, 7]\nlink = \"Gen3 x8\"\nmax = \"Gen5 x16\"",
    );
    assert_ne!(worse, toml);
    std::fs::write(scratch.0.join("worse.toml"), worse).unwrap();
    let table = shown(&scratch, &["--from", "worse.toml"]);
    assert!(table.contains("DEGRADED: 4 of the links"), "{table}");
    let svg = shown(&scratch, &["--from", "worse.toml", "--to", "svg"]);
    assert!(svg.contains("#C00000") && svg.contains("Gen3 x8"), "{svg}");
    let dot = shown(&scratch, &["--from", "worse.toml", "--to", "dot"]);
    assert!(dot.starts_with("graph topology {"), "{dot}");
    assert_eq!(dot.matches("penwidth=2").count(), 4, "{dot}");
    assert_eq!(dot.matches(" -- ").count(), 2 + 2 + 8, "{dot}");
}

#[test]
fn what_is_no_machine_ends_with_code_2_and_the_line() {
    let scratch = Scratch::new();
    let toml = shown(&scratch, &["--from", "two-switches-8g", "--to", "toml"]);
    refused(&scratch, "", "missing field `schema`");
    refused(&scratch, b"\xff\xfe\x00", "is no text");
    refused(&scratch, "<system", "line 1");
    refused(&scratch, "<graphs version=\"1\"/>", "graph file");
    refused(&scratch, "<a>".repeat(50_000), "deep");
    refused(&scratch, vec![b'a'; 5 << 20], "at most 4194304 are read");
    refused(
        &scratch,
        "\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tSYS\tX\n",
        "line 2: from GPU0 to GPU1",
    );
    refused(
        &scratch,
        toml.replace("PM50100", "PM1"),
        "unknown switch model",
    );
    refused(
        &scratch,
        toml.replace("under = \"SW2\"", "under = \"SW9\""),
        "nothing is called 'SW9'",
    );
    let cycle = toml
        .replace("under = \"20:01.1\"", "under = \"SW2\"")
        .replace("under = \"40:01.1\"", "under = \"SW1\"");
    refused(&scratch, cycle, "cycle");
    for rate in ["0.0", "-1.0", "nan", "inf"] {
        let text = toml.replace(
            "under = \"SW1\"",
            &format!("under = \"SW1\"\ngb_per_s = {rate}"),
        );
        refused(&scratch, text, "no bandwidth");
    }
}

#[test]
fn an_unknown_name_lists_the_known_and_an_unreadable_file_is_the_machines_fault() {
    let scratch = Scratch::new();
    let output = topo(&scratch, &["--from", "no-such-box"]).expect_code(2);
    assert!(
        output.stderr.contains("four-switches-16g"),
        "{}",
        output.stderr
    );
    let folder = scratch.0.display().to_string();
    let output = topo(&scratch, &["--from", &folder]).expect_code(3);
    assert!(output.stderr.contains("cannot read"), "{}", output.stderr);
}

#[test]
fn this_machine_is_shown_whatever_it_lacks() {
    let scratch = Scratch::new();
    for to in ["table", "toml", "nccl-xml", "dot", "svg"] {
        let output = topo(&scratch, &["--to", to]).expect_code(0);
        assert!(!output.stdout.is_empty());
    }
    // A machine of which nothing can be read.
    let output = topo(&scratch, &["--root", "/nonexistent"]).expect_code(0);
    assert!(
        output.stdout.contains("waived: PCI devices"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_captured_machine_is_read_below_its_root() {
    let scratch = Scratch::new();
    let root = scratch.0.join("root");
    plant("two-sockets-one-switch", &root);
    let table = shown(&scratch, &["--root", &root.display().to_string()]);
    for words in [
        "fixture: 4 GPUs, 1 switch, 3 root ports, 2 CPUs, 1 NIC",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "Broadcom PEX890xx",
        "Gen5 x8 of Gen5 x16, DEGRADED",
        "DEGRADED: 1 of the links runs",
        "ACS redirect is ON at 0000:10:01.1, 0000:12:00.0",
        "GPU2 21",
        "Links of idle GPUs slow down",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    assert!(!table.contains("e1:00.0"), "{table}");

    let driver = DriverGpu {
        address: "0000:13:00.0".to_string(),
        model: None,
        sm: Some(120),
        nvlinks: Vec::new(),
    };
    let machine = live_machine(&root, &[driver]).unwrap();
    let graph = &machine.topology;
    let gpus = graph.gpus();
    let class = |one: usize, other: usize| graph.class(gpus[one], gpus[other]);
    assert_eq!(class(0, 1), PathClass::Pix);
    assert_eq!(class(0, 2), PathClass::Sys);
    assert_eq!(class(2, 3), PathClass::Node);
    // GPU0 idles at Gen1, its link counts as what it can do; GPU3 hangs on a Gen4 port.
    let rate = |gpu: usize| {
        graph
            .link(graph.above(gpus[gpu]).unwrap().0)
            .rate
            .unwrap()
            .gb_per_s
    };
    assert!((rate(0) - 63.0).abs() < 0.1 && (rate(3) - 31.5).abs() < 0.1);
    assert_eq!(machine.device(gpus[3]).unwrap().iommu_group, Some(23));
    assert!(machine.waived.is_empty(), "{:?}", machine.waived);
}

#[test]
fn nvlinks_of_the_driver_join_gpus_and_switches() {
    let scratch = Scratch::new();
    plant("two-sockets-one-switch", &scratch.0);
    let gpu = |address: &str, targets: &[&str]| DriverGpu {
        address: address.to_string(),
        model: Some("A100".to_string()),
        sm: Some(80),
        nvlinks: targets.iter().map(|target| target.to_string()).collect(),
    };
    let (one, other) = ("0000:13:00.0", "0000:14:00.0");
    let pair = [gpu(one, &[other, other]), gpu(other, &[one, one])];
    let graph = live_machine(&scratch.0, &pair).unwrap().topology;
    let gpus = graph.gpus().to_vec();
    assert_eq!(graph.class(gpus[0], gpus[1]), PathClass::NvLink(2));
    assert_eq!(graph.class(gpus[0], gpus[2]), PathClass::Sys);
    let (first, second) = ("0000:d0:00.0", "0000:d1:00.0");
    let switched = [
        gpu(one, &[first, second]),
        gpu("0000:81:00.0", &[second, first]),
    ];
    let graph = live_machine(&scratch.0, &switched).unwrap().topology;
    assert_eq!(graph.class(gpus[0], gpus[2]), PathClass::NvLink(2));
    assert_eq!(graph.class(gpus[0], gpus[1]), PathClass::Pix);
    assert_eq!(graph.route(gpus[2], gpus[0]).len(), 2);
}

#[test]
fn a_full_disk_under_standard_output_is_an_error() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let scratch = Scratch::new();
    let mut command = common::alone(
        &scratch.0,
        &["topo", "--from", "hgx-h200-8g", "--to", "svg"],
    );
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot write to standard output"), "{said}");
}
