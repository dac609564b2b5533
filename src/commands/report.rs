//! `report`: the report and plots of a result folder, made again from its data.

use std::path::Path;

use super::run::save_but;
use crate::cli::ReportArgs;
use crate::error::{Error, Result};
use crate::files::{ReadError, read_text};
use crate::report::{OutputFolder, read_samples, terminal_report};
use crate::result::RunResult;

/// Files larger than these are none of ours: a thousand ranks take a MiB of result.json.
const MAX_RESULT_BYTES: u64 = 64 << 20;
const MAX_SAMPLES_BYTES: u64 = 1 << 30;

/// Reads result.json and samples.csv, writes the other files again and returns the text to show.
///
/// # Errors
/// Exit code 3 for files that cannot be read or written, 2 for files that are no result.
pub fn report(args: &ReportArgs) -> Result<String> {
    let json = read(&args.folder.join("result.json"), MAX_RESULT_BYTES)?;
    let not_a_result = |why: String| {
        Error::usage(format!(
            "{} holds no result of commbench: {why}",
            args.folder.display()
        ))
        .try_this("a folder that commbench wrote, with result.json and samples.csv")
    };
    let run = RunResult::from_json(&json).map_err(not_a_result)?;
    let csv = read(&args.folder.join("samples.csv"), MAX_SAMPLES_BYTES)?;
    let series = read_samples(&csv, run.ranks).map_err(not_a_result)?;
    let folder = OutputFolder::existing(&args.folder);
    // The data itself is never touched.
    let data = ["result.json", "samples.csv"];
    let files = save_but(&folder, &run, &series, &data, &|_| {})?;
    let colour = std::io::IsTerminal::is_terminal(&std::io::stdout())
        && std::env::var_os("NO_COLOR").is_none();
    Ok(terminal_report(
        &run,
        &args.folder.display().to_string(),
        &files,
        colour,
    ))
}

fn read(path: &Path, limit: u64) -> Result<String> {
    let remedy = "commbench report FOLDER, with a folder that commbench wrote";
    let fail = |error: std::io::Error| {
        Error::environment(format!("cannot read {}: {error}", path.display())).try_this(remedy)
    };
    // A pipe that nobody writes to would be waited for forever.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(Error::usage(format!("{} is no file", path.display())).try_this(remedy));
    }
    read_text(path, limit).map_err(|error| match error {
        ReadError::Io(error) => fail(error),
        other => Error::usage(format!("{} {other}", path.display())).try_this(remedy),
    })
}
