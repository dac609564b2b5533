//! What `nvidia-smi topo -m` prints: what lies between each two GPUs, and nothing of widths. The
//! least machine that shows the same is built from it.

mod build;
mod read;
#[cfg(test)]
mod tests;

pub use read::is_topo_matrix;

use super::builder::Flaw;
use super::graph::Topology;

/// Reads what `nvidia-smi topo -m` printed.
///
/// # Errors
/// The line, and a clause: for a table that is damaged, or that no machine can show.
pub fn topology_of_matrix(text: &str, name: &str) -> Result<Topology, Flaw> {
    build::build(&read::read(text)?, name)
}
