//! Tables and graphs of a machine.

mod dot;
mod live;
mod table;
mod words;

pub use dot::topology_dot;
pub use live::live_text;
pub use table::topology_text;
pub(in crate::report) use words::{link_words, node_words, rate_words, size_words};
