//! NCCL's topology files: what `NCCL_TOPO_DUMP_FILE` writes and `NCCL_TOPO_FILE` reads.
//!
//! [`XmlFile`] holds a file as it stands, whatever is in it, and writes it out again byte for byte
//! but for the spaces and quotation marks within tags and the form of empty elements. The graph is
//! read from it beside.

mod document;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use document::{XmlElement, XmlFile, XmlNode, parse_xml};
pub use read::topology_of_xml;
pub use write::topology_xml;
