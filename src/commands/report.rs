//! `report`: the report and plots of a result folder, made again from its data.

use std::path::Path;

use super::run::save_but;
use crate::cli::ReportArgs;
use crate::error::{Error, Result};
use crate::report::{OutputFolder, read_samples, terminal_report};
use crate::result::{RunResult, SCHEMA};

/// A result larger than this is none of ours.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Reads result.json and samples.csv, writes the other files again and returns the text to show.
///
/// # Errors
/// Exit code 3 for files that cannot be read or written, 2 for files that are no result.
pub fn report(args: &ReportArgs) -> Result<String> {
    let json = read(&args.folder.join("result.json"))?;
    let not_a_result = |why: String| {
        Error::usage(format!(
            "{} holds no result of commbench: {why}",
            args.folder.display()
        ))
        .try_this("a folder that commbench wrote, with result.json and samples.csv")
    };
    let run: RunResult =
        serde_json::from_str(&json).map_err(|error| not_a_result(error.to_string()))?;
    if run.schema != SCHEMA {
        return Err(not_a_result(format!(
            "its schema is '{}', this version reads '{SCHEMA}'",
            run.schema
        )));
    }
    let csv = read(&args.folder.join("samples.csv"))?;
    let series = read_samples(&csv, run.ranks).map_err(not_a_result)?;
    let folder = OutputFolder::existing(&args.folder);
    // The data itself is never touched.
    let files = save_but(&folder, &run, &series, &["result.json", "samples.csv"])?;
    let colour = std::io::IsTerminal::is_terminal(&std::io::stdout())
        && std::env::var_os("NO_COLOR").is_none();
    Ok(terminal_report(
        &run,
        &args.folder.display().to_string(),
        &files,
        colour,
    ))
}

fn read(path: &Path) -> Result<String> {
    let fail = |error: std::io::Error| {
        Error::environment(format!("cannot read {}: {error}", path.display()))
            .try_this("commbench report FOLDER, with a folder that commbench wrote")
    };
    let size = std::fs::metadata(path).map_err(fail)?.len();
    if size > MAX_FILE_BYTES {
        return Err(Error::usage(format!(
            "{} has {size} bytes: too large for a result",
            path.display()
        )));
    }
    std::fs::read_to_string(path).map_err(fail)
}
