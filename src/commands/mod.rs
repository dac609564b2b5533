//! One file a subcommand. Each reads like the README's description of it.

mod burst;
mod curve;
mod environment;
mod estate;
mod feasibility;
mod job;
mod machine;
mod plan;
mod question;
mod replay;
mod report;
mod run;
mod sizes;
mod sweep;
mod variants;

pub use burst::allreduce_burst;
pub use feasibility::feasibility;
pub use plan::{models, plan};
pub use replay::replay;
pub use report::report;
pub use sizes::sweep;
pub use sweep::alltoall_sweep;

use std::io::Write;

use crate::result::RunResult;

/// Prints to standard output. A reader that has seen enough (head, less) is no error.
pub fn show(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// `schema`: the JSON schema of result.json, made from the types.
pub fn schema() -> String {
    let schema = schemars::schema_for!(RunResult);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
