//! One file a subcommand. Each reads like the README's description of it.

mod burst;
mod compare;
mod curve;
mod environment;
mod estate;
mod feasibility;
mod import;
mod job;
mod machine;
mod plan;
mod question;
mod replay;
mod report;
mod run;
mod sizes;
mod stored;
mod sweep;
mod topo;
mod variants;

pub use burst::allreduce_burst;
pub use compare::compare;
pub use feasibility::feasibility;
pub use import::import;
pub use plan::{models, plan};
pub use replay::replay;
pub use report::report;
pub use sizes::sweep;
pub use sweep::alltoall_sweep;
pub use topo::topo;

use std::io::{ErrorKind, Write};

use crate::cli::{SchemaArg, SchemaArgs};
use crate::compare::Comparison;
use crate::error::{Error, Result};
use crate::result::RunResult;

/// Prints to standard output. A reader that has seen enough (head, less) is no error.
///
/// # Errors
/// Exit code 3 where it cannot be written to, as on a full disk.
pub fn show(text: &str) -> Result<()> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::environment(format!(
            "cannot write to standard output: {error}"
        ))
        .try_this("more room where it goes to")),
        _ => Ok(()),
    }
}

/// `schema`: the JSON schema of a file, made from the types.
pub fn schema(args: &SchemaArgs) -> String {
    let schema = match args.of {
        SchemaArg::Result => schemars::schema_for!(RunResult),
        SchemaArg::Comparison => schemars::schema_for!(Comparison),
    };
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
