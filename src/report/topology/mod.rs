//! Tables and graphs of a machine.

mod dot;
mod table;
mod words;

pub use dot::topology_dot;
pub use table::topology_text;
pub use words::{link_words, rate_words};
pub(super) use words::{node_words, size_words};
