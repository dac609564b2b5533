//! `topo`: how the GPUs of a machine are connected.

use std::path::Path;

use crate::cli::{TopoArgs, TopoFormat};
use crate::error::{Error, Result, tell};
use crate::health::driver_gpus;
use crate::report::plot::topology::topology_svg;
use crate::report::{live_text, topology_dot, topology_text};
use crate::topology::{Loaded, live_machine, load_topology, topology_toml, topology_xml};

/// The machine in the format that was asked for.
///
/// # Errors
/// Exit code 2 for an unknown name and for a file that describes no machine, 3 for a file that
/// cannot be read.
pub fn topo(args: &TopoArgs) -> Result<String> {
    let (Loaded { topology, xml }, about) = match &args.from {
        Some(from) => (load_topology(from)?, String::new()),
        None => this_machine(&args.root)?,
    };
    if args.to != TopoFormat::Table && !about.is_empty() {
        tell(about.trim_end());
    }
    match args.to {
        TopoFormat::Table => Ok(topology_text(&topology) + &about),
        TopoFormat::Toml => topology_toml(&topology),
        TopoFormat::NcclXml => Ok(xml.unwrap_or_else(|| topology_xml(&topology)).text()),
        TopoFormat::Dot => Ok(topology_dot(&topology)),
        TopoFormat::Svg => topology_svg(&topology)
            .map_err(|error| Error::other(error.to_string()).try_this("--to table, or --to dot")),
    }
}

/// This machine, and what else was found or could not be read, in sentences.
fn this_machine(root: &Path) -> Result<(Loaded, String)> {
    // The driver knows the machine it runs on, and no other.
    let driver = match root == Path::new("/") {
        true => driver_gpus(),
        false => Ok(Vec::new()),
    };
    let gpus = driver.as_deref().unwrap_or_default();
    let mut machine = live_machine(root, gpus).map_err(|flaw| {
        Error::other(format!("this machine's files describe no machine: {flaw}"))
            .try_this("commbench topo --from FILE, with what `nvidia-smi topo -m` prints")
    })?;
    if let Err(why) = driver {
        machine.waived.push(format!("NVLink: {why}."));
    }
    let about = live_text(&machine);
    let topology = machine.topology;
    Ok((
        Loaded {
            topology,
            xml: None,
        },
        about,
    ))
}
