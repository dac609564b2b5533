//! Machines that are compiled in.

use super::builder::Flaw;
use super::graph::Topology;
use super::toml_file::parse_topology_toml;

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../configs/topologies/", $name, ".toml")))),+]
    };
}

/// File stem and text.
const PRESETS: &[(&str, &str)] = presets![
    "direct-2socket-8g",
    "virtual-switches-2socket-8g",
    "two-switches-8g",
    "virtual-switches-1socket-8g",
    "four-switches-16g",
    "root-switch-8g",
    "one-switch-8g",
    "hgx-h200-8g",
];

/// Names of the machines that are compiled in.
pub fn topology_preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// The machine of that name; `None` where none is called so.
///
/// # Errors
/// A preset that does not load, which tests rule out.
pub fn topology_preset(name: &str) -> Option<Result<Topology, Flaw>> {
    let (_, text) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
    Some(parse_topology_toml(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::PathClass;

    fn preset(name: &str) -> Topology {
        topology_preset(name).unwrap().unwrap()
    }

    #[test]
    fn every_preset_loads_under_its_own_name_and_says_where_it_comes_from() {
        for name in topology_preset_names() {
            let topology = preset(name);
            assert_eq!(topology.name, name);
            assert!(topology.source.len() > 40, "{name}");
            let count: usize = name
                .rsplit_once('-')
                .and_then(|(_, last)| last.strip_suffix('g'))
                .and_then(|number| number.parse().ok())
                .unwrap();
            assert_eq!(topology.gpus().len(), count, "{name}");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_a_preset() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/topologies");
        let files = std::fs::read_dir(folder).unwrap().count();
        assert_eq!(files, PRESETS.len());
    }

    /// As their owners' `nvidia-smi topo -m` shows them.
    #[test]
    fn classes_are_those_that_owners_see() {
        let cases = [
            (
                "direct-2socket-8g",
                [(1, PathClass::Node), (4, PathClass::Sys)],
            ),
            (
                "virtual-switches-2socket-8g",
                [(1, PathClass::Pix), (2, PathClass::Node)],
            ),
            (
                "two-switches-8g",
                [(3, PathClass::Pix), (4, PathClass::Node)],
            ),
            (
                "four-switches-16g",
                [(4, PathClass::Phb), (8, PathClass::Node)],
            ),
            ("root-switch-8g", [(1, PathClass::Pix), (7, PathClass::Pxb)]),
            ("one-switch-8g", [(1, PathClass::Pix), (7, PathClass::Pix)]),
            (
                "hgx-h200-8g",
                [(1, PathClass::NvLink(18)), (7, PathClass::NvLink(18))],
            ),
        ];
        for (name, classes) in cases {
            let topology = preset(name);
            let gpus = topology.gpus();
            for (other, class) in classes {
                assert_eq!(
                    topology.class(gpus[0], gpus[other]),
                    class,
                    "{name} {other}"
                );
            }
        }
    }
}
