use super::*;
use crate::topology::{PathClass, Topology, topology_preset, topology_preset_names};
use proptest::prelude::*;

const BY_HAND: &str = r#"
schema = "commbench/topology/1"
name = "four GPUs"
link = "Gen5 x16"

[[cpu]]
name = "cpu0"
family = "amd"

[[cpu]]
name = "cpu1"
family = "intel-skylake"

[[cpu_link]]
between = ["cpu0", "cpu1"]

[[switch]]
name = "SW"
under = "cpu0"
model = "Broadcom PEX890xx"

[[gpus]]
under = "SW"
ids = [0, 1]

[[gpus]]
under = "cpu1"
ids = [2, 3]
link = "Gen3 x8"
max = "Gen5 x16"
latency_us = 0.5
"#;

fn refused(text: &str) -> String {
    parse_topology_toml(text).unwrap_err().to_string()
}

#[test]
fn a_file_by_hand_is_read() {
    let four = parse_topology_toml(BY_HAND).unwrap();
    let gpus = four.gpus().to_vec();
    assert_eq!(four.class(gpus[0], gpus[1]), PathClass::Pix);
    assert_eq!(four.class(gpus[2], gpus[3]), PathClass::Phb);
    assert_eq!(four.class(gpus[0], gpus[3]), PathClass::Sys);
    let link = four.link(four.above(gpus[3]).unwrap().0);
    assert!(link.is_degraded());
    assert_eq!(link.latency_us, Some(0.5));
    assert!((link.rate.unwrap().gb_per_s - 7.877).abs() < 1e-3);
    // The lower of the two constants.
    let between = four.links().iter().find(|link| !link.is_of_tree()).unwrap();
    assert_eq!(between.rate.unwrap().gb_per_s, 10.0);
}

#[test]
fn presets_are_written_and_read_back_the_same() {
    for name in topology_preset_names() {
        let once = topology_preset(name).unwrap().unwrap();
        let text = topology_toml(&once).unwrap();
        let again = parse_topology_toml(&text).unwrap();
        assert_eq!(once, again, "{text}");
        assert_eq!(topology_toml(&again).unwrap(), text);
    }
}

#[test]
fn what_is_no_machine_is_refused_with_the_line() {
    let cases = [
        ("topology/1", "topology/9", "line 1: its schema is"),
        (
            "name = \"cpu1\"",
            "name = \"cpu0\"",
            "line 10: two parts are called 'cpu0' (the other: line 6)",
        ),
        (
            "under = \"SW\"\n",
            "under = \"WS\"\n",
            "line 22: nothing is called 'WS'",
        ),
        (
            "under = \"cpu0\"",
            "under = \"SW\"",
            "line 17: 'SW' is linked to itself",
        ),
        (
            "under = \"cpu0\"",
            "under = \"GPU0\"",
            "line 17: PCIe down between 'GPU0' and 'SW' cannot be",
        ),
        (
            "PEX890xx",
            "PEX1",
            "line 17: unknown switch model 'Broadcom PEX1'",
        ),
        (
            "family = \"amd\"",
            "family = \"vax\"",
            "line 6: unknown CPU family 'vax'",
        ),
        (
            "ids = [2, 3]",
            "ids = [2, 2]",
            "line 26: two parts are called 'GPU2'",
        ),
        ("ids = [2, 3]", "ids = []", "line 26: 0 ids"),
        ("ids = [2, 3]", "ids = [-2]", "line 28: "),
        ("Gen3 x8", "Gen9 x8", "line 26: 'Gen9 x8'"),
        ("Gen5 x16\"\n\n[[cpu", "x\"\n\n[[cpu", "line 4: 'x'"),
        ("latency_us = 0.5", "latency_us = -1.0", "line 26: -1 µs"),
        ("latency_us = 0.5", "latency_us = nan", "line 26: NaN µs"),
        ("latency_us = 0.5", "gb_per_s = 0.0", "line 26: 0 GB/s"),
        ("latency_us = 0.5", "gb_per_s = -3.0", "line 26: -3 GB/s"),
        ("latency_us = 0.5", "gb_per_s = nan", "line 26: NaN GB/s"),
        ("latency_us = 0.5", "gb_per_s = inf", "line 26: inf GB/s"),
        (
            "latency_us = 0.5",
            "bandwidth = 3",
            "line 31: unknown field `bandwidth`",
        ),
        (
            "[\"cpu0\", \"cpu1\"]",
            "[\"cpu0\", \"cpu0\"]",
            "line 14: 'cpu0' is linked to itself",
        ),
        (
            "[\"cpu0\", \"cpu1\"]",
            "[\"cpu0\", \"SW\"]",
            "line 14: a link of sockets between",
        ),
        (
            "[[cpu_link]]\nbetween = [\"cpu0\", \"cpu1\"]",
            "",
            "line 10: nothing links 'cpu1' to 'cpu0'",
        ),
        (
            "name = \"four GPUs\"",
            "name = \"four\\nGPUs\"",
            "name is no line",
        ),
    ];
    for (from, to, hint) in cases {
        assert!(BY_HAND.contains(from), "{from}");
        let said = refused(&BY_HAND.replacen(from, to, 1));
        assert!(said.contains(hint), "{from} -> {to}: {said}");
    }
}

#[test]
fn a_cycle_of_switches_and_a_gpu_that_hangs_on_it_are_refused() {
    let text = "schema = \"commbench/topology/1\"\nname = \"x\"\ncpu = [{ name = \"c\" }]\n\
        switch = [\n{ name = \"A\", under = \"B\" },\n{ name = \"B\", under = \"A\" }]\n\
        gpus = [{ under = \"A\", ids = [0] }]\n";
    assert_eq!(
        refused(text),
        "line 5: 'A' hangs on itself, by way of a cycle"
    );
    let deep: String = (0..40)
        .map(|n| match n {
            0 => "[[switch]]\nname = \"S0\"\nunder = \"c\"\n".to_string(),
            n => format!("[[switch]]\nname = \"S{n}\"\nunder = \"S{}\"\n", n - 1),
        })
        .collect();
    let said = refused(&format!(
        "schema = \"commbench/topology/1\"\nname = \"x\"\ncpu = [{{ name = \"c\" }}]\n{deep}"
    ));
    assert!(said.contains("more than 32 parts above it"), "{said}");
}

#[test]
fn more_than_can_be_is_refused() {
    let head = "schema = \"commbench/topology/1\"\nname = \"x\"\ncpu = [{ name = \"c\" }]\n";
    let ids: Vec<String> = (0..129).map(|n| n.to_string()).collect();
    let many = format!(
        "{head}gpus = [{{ under = \"c\", ids = [{}] }}]",
        ids.join(",")
    );
    assert!(refused(&many).contains("129 ids"), "{}", refused(&many));
    let (one, other) = (ids[..100].join(","), ids[100..].join(","));
    let halves = format!(
        "{head}gpus = [{{ under = \"c\", ids = [{one}] }}, {{ under = \"c\", ids = [{other}] }}]"
    );
    assert!(refused(&halves).contains("more than 128 GPUs"));
    // 7 x16 ports and an uplink on a chip of 100 lanes.
    let lanes = format!(
        "{head}link = \"Gen5 x16\"\nswitch = [{{ name = \"S\", under = \"c\", model = \"microchip switchtec pm50100\" }}]\n\
         gpus = [{{ under = \"S\", ids = [0, 1, 2, 3, 4, 5, 6] }}]"
    );
    assert!(
        refused(&lanes).contains("line 5: the ports of 'S' take 128 lanes"),
        "{}",
        refused(&lanes)
    );
}

/// Any machine of a few parts.
fn machine() -> impl Strategy<Value = Topology> {
    let gpu = (0usize..6, 1u32..=6, 0usize..3, any::<bool>(), 0.1f64..900.0);
    (1usize..4, 0usize..4, prop::collection::vec(gpu, 1..9)).prop_map(|(cpus, switches, gpus)| {
        let mut text = String::from("schema = \"commbench/topology/1\"\nname = \"any\"\nsource = \"dice\"\n");
        for cpu in 0..cpus {
            text.push_str(&format!("[[cpu]]\nname = \"c{cpu}\"\nnuma = {cpu}\nfamily = \"arm\"\n"));
        }
        for cpu in 1..cpus {
            text.push_str(&format!("[[cpu_link]]\nbetween = [\"c0\", \"c{cpu}\"]\n"));
        }
        for switch in 0..switches {
            text.push_str(&format!(
                "[[switch]]\nname = \"s{switch}\"\nunder = \"c{}\"\nlink = \"Gen4 x8\"\nchip = \"x\"\n",
                switch % cpus
            ));
        }
        for (index, (place, generation, width, stated, rate)) in gpus.into_iter().enumerate() {
            let under = match place % (cpus + switches) {
                place if place < cpus => format!("c{place}"),
                place => format!("s{}", place - cpus),
            };
            let width = [4, 8, 16][width];
            text.push_str(&format!(
                "[[gpus]]\nunder = \"{under}\"\nids = [{index}]\nlink = \"Gen{generation} x{width}\"\nmax = \"Gen5 x16\"\n"
            ));
            if stated {
                text.push_str(&format!("gb_per_s = {rate}\n"));
            }
        }
        parse_topology_toml(&text).unwrap()
    })
}

proptest! {
    #[test]
    fn any_machine_is_written_and_read_back_the_same(machine in machine()) {
        let text = topology_toml(&machine).unwrap();
        prop_assert_eq!(parse_topology_toml(&text), Ok(machine));
    }

    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        let _ = parse_topology_toml(&text);
    }

    /// Damage to a file that was sound.
    #[test]
    fn no_damage_panics(place in 0usize..700, length in 0usize..30, with in "[\"a-z0-9={}\\[\\]\n.-]{0,6}") {
        let mut text = BY_HAND.to_string();
        let start = place.min(text.len());
        let end = (start + length).min(text.len());
        text.replace_range(start..end, &with);
        let _ = parse_topology_toml(&text);
    }
}
