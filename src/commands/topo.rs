//! `topo`: how the GPUs of a machine are connected.

use crate::cli::{TopoArgs, TopoFormat};
use crate::error::Result;
use crate::report::{topology_dot, topology_text};
use crate::topology::{Loaded, load_topology, topology_toml, topology_xml};

/// The machine in the format that was asked for.
///
/// # Errors
/// Exit code 2 for an unknown name and for a file that describes no machine, 3 for a file that
/// cannot be read.
pub fn topo(args: &TopoArgs) -> Result<String> {
    let Loaded { topology, xml } = match &args.from {
        Some(from) => load_topology(from)?,
        None => load_topology("two-switches-8g")?,
    };
    match args.to {
        TopoFormat::Table => Ok(topology_text(&topology)),
        TopoFormat::Toml => topology_toml(&topology),
        TopoFormat::NcclXml => Ok(xml.unwrap_or_else(|| topology_xml(&topology)).text()),
        TopoFormat::Dot => Ok(topology_dot(&topology)),
        TopoFormat::Svg => Ok(String::new()),
    }
}
