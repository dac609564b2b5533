//! A machine by name or from any file that describes one.

use std::path::Path;

use super::builder::Flaw;
use super::graph::Topology;
use super::nccl_xml::{XmlFile, parse_xml, topology_of_xml};
use super::presets::{topology_preset, topology_preset_names};
use super::smi::{is_topo_matrix, topology_of_matrix};
use super::toml_file::parse_topology_toml;
use crate::error::{Error, Result};
use crate::files::{ReadError, read_text};

/// NCCL's files of the largest boxes have some tens of KB.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// A machine, and the file that it was read from where that holds more than the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    pub topology: Topology,
    /// NCCL's topology file as it was.
    pub xml: Option<XmlFile>,
}

/// Loads a machine by the name of a preset, or from a file: NCCL's topology file, what
/// `nvidia-smi topo -m` printed, or TOML, told apart by how their texts begin.
///
/// # Errors
/// Exit code 2 for an unknown name and for a file that describes no machine, with the line; 3 for a
/// file that cannot be read.
pub fn load_topology(name_or_path: &str) -> Result<Loaded> {
    let remedy = "commbench topo --from NAME|FILE; docs/TOPOLOGY.md describes the files";
    if let Some(preset) = topology_preset(name_or_path) {
        let topology = preset.map_err(|flaw| {
            Error::usage(format!("the built-in topology '{name_or_path}': {flaw}"))
        })?;
        return Ok(Loaded {
            topology,
            xml: None,
        });
    }
    let path = Path::new(name_or_path);
    if !path.exists() {
        return Err(Error::usage(format!(
            "'{name_or_path}' is neither a built-in topology nor a file"
        ))
        .try_this(format!(
            "--from with one of {}",
            topology_preset_names().join(", ")
        )));
    }
    let text = read_text(path, MAX_FILE_BYTES).map_err(|error| match error {
        ReadError::Io(error) => {
            Error::environment(format!("cannot read {name_or_path}: {error}")).try_this(remedy)
        }
        other => Error::usage(format!("{name_or_path} {other}")).try_this(remedy),
    })?;
    let stem = path
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    parse_topology(&text, &stem).map_err(|flaw| {
        Error::usage(format!("{name_or_path} describes no machine: {flaw}")).try_this(remedy)
    })
}

/// Reads the text of any file that describes a machine; `name` is for those that have none.
///
/// # Errors
/// The line, and a clause with the value at fault.
pub(crate) fn parse_topology(text: &str, name: &str) -> std::result::Result<Loaded, Flaw> {
    if text
        .trim_start_matches(['\u{FEFF}', ' ', '\n', '\r', '\t'])
        .starts_with('<')
    {
        let xml = parse_xml(text)?;
        return Ok(Loaded {
            topology: topology_of_xml(&xml, name)?,
            xml: Some(xml),
        });
    }
    let topology = match is_topo_matrix(text) {
        true => topology_of_matrix(text, name)?,
        false => parse_topology_toml(text)?,
    };
    Ok(Loaded {
        topology,
        xml: None,
    })
}
