//! `import`: a log of nccl-tests as a result folder.

use std::time::Instant;

use super::run::{exit_code, save_but};
use super::show;
use super::sizes::swept;
use super::stored::read;
use crate::cli::ImportArgs;
use crate::clock::utc_now;
use crate::error::{Error, Result};
use crate::import::{Refused, Wanted, imported, read_log};
use crate::report::{OutputFolder, explain, terminal_report};
use crate::result::CommandInfo;

const NAME: &str = "import";

/// A whole log of a thousand ranks with NCCL_DEBUG=INFO stays below this.
const MAX_LOG_BYTES: u64 = 256 << 20;

/// Writes the result folder, prints what a run of commbench's own would, and returns the exit code.
///
/// # Errors
/// Exit code 2 for files that are no log of nccl-tests, 3 for what cannot be read or written.
pub fn import(args: &ImportArgs) -> Result<i32> {
    let started = Instant::now();
    let (started_at, folder_time) = utc_now();
    let file = args.file.display().to_string();
    let text = read(
        &args.file,
        MAX_LOG_BYTES,
        "commbench import FILE, with what all_reduce_perf printed",
    )?;
    let refuse = |refused: Refused| {
        let error = Error::usage(format!("{file} {}", refused.what));
        match refused.remedy {
            Some(remedy) => error.try_this(remedy),
            None => error,
        }
    };
    let log = read_log(&text, args.table).map_err(refuse)?;
    let wanted = Wanted {
        file: file.clone(),
        op: args.op.map(swept),
        ranks: args.ranks,
        datatype: args.datatype,
        redop: args.redop.clone(),
    };
    let command = CommandInfo {
        name: NAME.to_string(),
        argv: std::iter::once("commbench".to_string())
            .chain(std::env::args().skip(1))
            .collect(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        started_at,
        wall_s: 0.0,
        environment: std::collections::BTreeMap::new(),
    };
    let mut run = imported(&log, &wanted, command).map_err(refuse)?;
    run.command.wall_s = started.elapsed().as_secs_f64();
    let folder = OutputFolder::create(args.output.out.as_deref(), &folder_time, NAME)?;
    let files = save_but(&folder, &run, &[], &[], &|_| {})?;
    if args.output.json.is_some() {
        let json = serde_json::to_string_pretty(&run).unwrap_or_default();
        show(&format!("{json}\n"))?;
    } else {
        let colour = std::io::IsTerminal::is_terminal(&std::io::stdout())
            && std::env::var_os("NO_COLOR").is_none();
        let folder = folder.path().display().to_string();
        show(&terminal_report(&run, &folder, &files, colour))?;
        if args.output.explain {
            show(&explain(&run))?;
        }
    }
    Ok(exit_code(&run))
}
