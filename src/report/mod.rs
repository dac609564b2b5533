//! Turns samples into figures, and figures into tables, plots and files. Knows neither MPI nor
//! CUDA.

mod arrival_words;
mod arrivals;
mod assemble;
mod comparison;
mod curve_picture;
mod curves;
mod explain;
mod exporters;
mod folder;
mod gap_picture;
mod html;
mod lists;
mod markdown;
mod nccl_tests_json;
mod ops_words;
mod per_op;
mod plans;
pub mod plot;
mod samples;
mod sizes;
mod steady;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod topology;

pub use arrivals::arrival_figures;
pub use assemble::{Figures, PlanOutline, measurement};
pub use comparison::{comparison_explained, comparison_text};
pub use explain::explain;
pub use exporters::{Exporter, exporters};
pub use folder::OutputFolder;
pub(crate) use folder::write_error;
pub(crate) use html::html;
pub(crate) use markdown::markdown;
pub use nccl_tests_json::nccl_tests_json;
pub use per_op::{Beginning, ops_figures};
pub use plans::{models_table, plans_text};
pub use samples::read_samples;
pub(crate) use samples::write_samples;
pub use steady::drift_warnings;
pub use table::{notices, terminal_report};
pub use topology::{live_text, topology_dot, topology_text};
