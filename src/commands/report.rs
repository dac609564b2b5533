//! `report`: the report and plots of a result folder, made again from its data.

use super::run::save_but;
use super::stored::stored;
use crate::cli::ReportArgs;
use crate::error::Result;
use crate::report::{OutputFolder, explain, terminal_report};

/// Reads result.json and samples.csv, writes the other files again and returns the text to show.
///
/// # Errors
/// Exit code 3 for files that cannot be read or written, 2 for files that are no result.
pub fn report(args: &ReportArgs) -> Result<String> {
    let remedy = "commbench report FOLDER, with a folder that commbench wrote";
    let (run, series) = stored(&args.folder, remedy)?;
    let folder = OutputFolder::existing(&args.folder);
    // The data itself is never touched.
    let data = ["result.json", "samples.csv"];
    let files = save_but(&folder, &run, &series, &data, &|_| {})?;
    let colour = std::io::IsTerminal::is_terminal(&std::io::stdout())
        && std::env::var_os("NO_COLOR").is_none();
    let mut text = terminal_report(&run, &args.folder.display().to_string(), &files, colour);
    if args.explain {
        text.push_str(&explain(&run));
    }
    Ok(text)
}
