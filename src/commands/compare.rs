//! `compare`: result folders against each other.

use std::path::Path;

use super::show;
use super::stored::stored;
use crate::cli::CompareArgs;
use crate::compare::{Comparison, Rules, Side, StoredRun, compare as compare_sides};
use crate::error::{Error, Exit, Result, tell};
use crate::report::{comparison_explained, comparison_text};

/// More sides than anybody reads a table of.
const MOST_SIDES: usize = 26;

/// Prints what changed from the first side to each other one, and returns the exit code.
///
/// # Errors
/// Exit code 2 for folders without a result and for things that are not alike, 3 for files that
/// cannot be read or written.
pub fn compare(args: &CompareArgs) -> Result<i32> {
    if args.sides.len() > MOST_SIDES {
        return Err(Error::usage(format!(
            "{} sides are more than {MOST_SIDES}",
            args.sides.len()
        ))
        .try_this("fewer folders, or a comma between runs of the same thing: A1,A2,A3"));
    }
    let sides: Vec<Side> = ('A'..='Z')
        .zip(&args.sides)
        .map(|(letter, folders)| side(letter, folders))
        .collect::<Result<_>>()?;
    let found = compare_sides(
        &sides,
        &Rules {
            drift: args.drift,
            gate: args.gate,
            modes: args.modes(),
            unlike: args.unlike,
        },
    )?;
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => show(&json(&found)?)?,
        Some(path) => {
            std::fs::write(path, json(&found)?).map_err(|error| {
                Error::environment(format!("cannot write {}: {error}", path.display()))
                    .try_this("--json FILE in a folder that can be written to, or --json -")
            })?;
            show(&text(&found, args.explain))?;
        }
        None => show(&text(&found, args.explain))?,
    }
    Ok(gate_code(&found))
}

fn text(found: &Comparison, explains: bool) -> String {
    let mut text = comparison_text(found);
    if explains {
        text.push_str(&comparison_explained(found));
    }
    text
}

fn json(found: &Comparison) -> Result<String> {
    let mut text = serde_json::to_string_pretty(found)
        .map_err(|error| Error::other(format!("the comparison does not become JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// Says on standard error why a gate failed, so that it stands in a log whatever is printed.
fn gate_code(found: &Comparison) -> i32 {
    let Some(gate) = found.gate.as_ref().filter(|gate| !gate.passed()) else {
        return 0;
    };
    let limit = (gate.limit * 1e4).round() / 1e2;
    let mut why = Vec::new();
    if !gate.failed.is_empty() {
        why.push(format!(
            "shown to be more than {limit} % slower: {}",
            gate.failed.join(", ")
        ));
    }
    if !gate.missing.is_empty() {
        why.push(format!("not compared: {}", gate.missing.join("; ")));
    }
    let error = Error::new(Exit::Gate, format!("the gate failed, {}", why.join("; ")));
    tell(&error.to_terminal());
    error.exit.code()
}

/// The runs of one side: folders with commas between, or one folder with a comma in its name.
fn side(letter: char, folders: &str) -> Result<Side> {
    let each: Vec<&str> = match Path::new(folders).is_dir() {
        true => vec![folders],
        false => folders.split(',').filter(|one| !one.is_empty()).collect(),
    };
    if each.is_empty() {
        return Err(Error::usage(format!("'{folders}' names no folder"))
            .try_this("commbench compare A B, with folders that commbench wrote"));
    }
    let run = |folder: &&str| -> Result<StoredRun> {
        let remedy = "commbench compare A B, with folders that commbench wrote";
        let (run, series) = stored(Path::new(folder), remedy)?;
        Ok(StoredRun {
            folder: (*folder).to_string(),
            run,
            series,
        })
    };
    Ok(Side {
        name: letter.to_string(),
        runs: each.iter().map(run).collect::<Result<_>>()?,
    })
}
