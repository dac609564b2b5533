//! Result folders as they are read back.

use std::path::Path;

use crate::error::{Error, Result};
use crate::files::{ReadError, read_text};
use crate::report::read_samples;
use crate::result::{RunResult, Series};

/// Files larger than these are none of ours: a thousand ranks take a MiB of result.json.
const MAX_RESULT_BYTES: u64 = 64 << 20;
const MAX_SAMPLES_BYTES: u64 = 1 << 30;

/// The result and the samples in `folder`. `remedy` says what to type with a right folder.
///
/// # Errors
/// Exit code 3 for files that cannot be read, 2 for files that are no result.
pub(super) fn stored(folder: &Path, remedy: &str) -> Result<(RunResult, Vec<Series>)> {
    let json = read(&folder.join("result.json"), MAX_RESULT_BYTES, remedy)?;
    let not_a_result = |why: String| {
        Error::usage(format!(
            "{} holds no result of commbench: {why}",
            folder.display()
        ))
        .try_this("a folder that commbench wrote, with result.json and samples.csv")
    };
    let run = RunResult::from_json(&json).map_err(not_a_result)?;
    let csv = read(&folder.join("samples.csv"), MAX_SAMPLES_BYTES, remedy)?;
    let series = read_samples(&csv, run.ranks).map_err(not_a_result)?;
    Ok((run, series))
}

/// A file of at most `limit` bytes.
pub(super) fn read(path: &Path, limit: u64, remedy: &str) -> Result<String> {
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
