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
