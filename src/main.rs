//! Entry and exit code.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use commbench::cli::{Cli, Command};
use commbench::commands;
use commbench::error::{Error, tell};
use commbench::world::LaunchSite;

/// How long the other ranks leave rank 0 to speak. A launcher ends the whole job when the first
/// rank exits with an error.
const HEAD_START: Duration = Duration::from_millis(700);

fn main() -> ExitCode {
    let speaks = LaunchSite::from_environment().is_none_or(|site| site.rank == 0);
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_env("COMMBENCH_LOG"))
        .with_writer(std::io::stderr)
        .init();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            if speaks {
                let _ = error.print();
            }
            return end(error.exit_code(), speaks);
        }
    };
    let outcome = match &cli.command {
        Command::AllreduceBurst(args) => commands::allreduce_burst(args),
        Command::AlltoallSweep(args) => commands::alltoall_sweep(args),
        Command::Feasibility(args) => commands::feasibility(args),
        Command::Sweep(args) => commands::sweep(args),
        Command::Replay(args) => commands::replay(args),
        // These need no ranks: one of a job's processes is enough.
        Command::Models if speaks => show(commands::models()),
        Command::Plan(args) if speaks => show(commands::plan(args)),
        Command::Report(args) if speaks => show(commands::report(args)),
        Command::Topo(args) if speaks => show(commands::topo(args)),
        Command::Schema(args) if speaks => show(Ok(commands::schema(args))),
        Command::Compare(args) if speaks => commands::compare(args),
        Command::Import(args) if speaks => commands::import(args),
        Command::Models
        | Command::Plan(_)
        | Command::Report(_)
        | Command::Topo(_)
        | Command::Schema(_)
        | Command::Compare(_)
        | Command::Import(_) => Ok(0),
    };
    match outcome {
        Ok(code) => ExitCode::from(code as u8),
        Err(error) => {
            if speaks {
                tell(&error.to_terminal());
            }
            end(error.exit.code(), speaks)
        }
    }
}

fn show(text: Result<String, Error>) -> Result<i32, Error> {
    commands::show(&text?)?;
    Ok(0)
}

fn end(code: i32, speaks: bool) -> ExitCode {
    if !speaks && code != 0 {
        std::thread::sleep(HEAD_START);
    }
    ExitCode::from(code as u8)
}
