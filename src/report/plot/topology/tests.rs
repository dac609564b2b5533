use super::layout::Places;
use super::*;
use crate::topology::{parse_topology_toml, topology_preset, topology_preset_names};

const DEGRADED: &str = r#"
schema = "commbench/topology/1"
name = "one <bad> link & more"
link = "Gen5 x16"
cpu = [{ name = "cpu0" }]
gpus = [
  { under = "cpu0", ids = [0, 1] },
  { under = "cpu0", ids = [2], link = "Gen3 x8", max = "Gen5 x16" },
]
"#;

#[test]
fn every_preset_has_a_picture_with_all_its_parts() {
    for name in topology_preset_names() {
        let machine = topology_preset(name).unwrap().unwrap();
        let svg = topology_svg(&machine).unwrap();
        for node in machine.nodes() {
            assert!(svg.contains(&node.name), "{name}: {}", node.name);
        }
        assert!(svg.contains("63.0 GB/s"), "{name}");
        assert!(!svg.contains("#C00000"), "{name}");
    }
}

#[test]
fn only_degraded_links_are_red() {
    let machine = parse_topology_toml(DEGRADED).unwrap();
    let svg = topology_svg(&machine).unwrap();
    assert!(svg.contains("#C00000"), "{svg}");
    assert!(svg.contains("Gen3 x8"), "{svg}");
    // The line, its label's, and the footer's: the name is text.
    assert!(!svg.contains("<bad>"), "{svg}");
    let sound = DEGRADED.replace("Gen3 x8", "Gen5 x16");
    let sound = topology_svg(&parse_topology_toml(&sound).unwrap()).unwrap();
    assert!(!sound.contains("#C00000"), "{sound}");
}

#[test]
fn no_two_boxes_overlap_and_none_leaves_the_page() {
    for name in topology_preset_names() {
        let machine = topology_preset(name).unwrap().unwrap();
        let places = Places::new(&machine);
        let boxes: Vec<_> = places.boxes.iter().flatten().collect();
        for (place, one) in boxes.iter().enumerate() {
            assert!(
                one.left >= 0.0 && one.right <= places.width,
                "{name}: {one:?}"
            );
            assert!(
                one.top >= 0.0 && one.bottom <= places.height,
                "{name}: {one:?}"
            );
            for other in &boxes[place + 1..] {
                let apart = one.right <= other.left
                    || other.right <= one.left
                    || one.bottom <= other.top
                    || other.bottom <= one.top;
                assert!(apart, "{name}: {one:?} {other:?}");
            }
        }
    }
}

#[test]
fn links_of_each_to_each_share_a_line_and_others_do_not() {
    let mut text = String::from("schema = \"commbench/topology/1\"\nname = \"four\"\n");
    for cpu in 0..4 {
        text.push_str(&format!("[[cpu]]\nname = \"c{cpu}\"\nfamily = \"amd\"\n"));
    }
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for one in 0..4 {
        pairs.extend((one + 1..4).map(|other| (one, other)));
    }
    for (one, other) in &pairs {
        text.push_str(&format!(
            "[[cpu_link]]\nbetween = [\"c{one}\", \"c{other}\"]\n"
        ));
    }
    let all = topology_svg(&parse_topology_toml(&text).unwrap()).unwrap();
    assert_eq!(all.matches("16.0 GB/s").count(), 1, "{all}");
    assert!(all.contains("each to each"), "{all}");
    let faster = text.replacen("c3\"]\n", "c3\"]\ngb_per_s = 20.0\n", 1);
    let apart = topology_svg(&parse_topology_toml(&faster).unwrap()).unwrap();
    assert_eq!(apart.matches("16.0 GB/s").count(), 5, "{apart}");
    assert!(apart.contains("20.0 GB/s"), "{apart}");
}
