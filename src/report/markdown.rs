//! report.md: the run as a page that can be pasted into an issue.

use super::arrival_words::{arrival_ops, arrival_ranks, arrival_words};
use super::curves::{curve_columns, curve_notes, curve_rows, curves, times_of};
use super::gap_picture::has_gaps;
use super::lists::{
    GPU_COLUMNS, PLAN_COLUMNS, RANKS_TEXT, gpu_rows, plan_rows, rank_columns, rank_rows,
};
use super::ops_words::{ops_table, ops_words};
use super::sizes::{SIZE_COLUMNS, is_over_sizes, size_notes, size_rows};
use super::table::{
    COLUMNS, conditions, footnotes, gap_words, notices, origin, rows, title, verdict_words,
};
use crate::result::RunResult;
use crate::units::printable;

/// The whole report.
pub(crate) fn markdown(run: &RunResult) -> String {
    let mut out = format!("# commbench {}\n\n", run.command.name);
    for notice in notices(run) {
        out.push_str(&format!("> **{}**\n\n", plain(&notice)));
    }
    if let Some(title) = title(run) {
        match origin(run) {
            Some(origin) => out.push_str(&format!("{} ({}).\n\n", plain(&title), plain(origin))),
            None => out.push_str(&format!("{}.\n\n", plain(&title))),
        }
        for line in verdict_words(run) {
            out.push_str(&format!("- {}\n", plain(&line)));
        }
        let is_curves = !curves(run).is_empty();
        if is_curves {
            out.push_str(&format!("\n## Curves\n\n{}\n\n", times_of(run).title()));
            let header: Vec<String> = curve_columns(run);
            out.push_str(&table(&header, &curve_rows(run)));
            out.push('\n');
            for note in curve_notes(run) {
                out.push_str(&format!("- {}\n", plain(&note)));
            }
            out.push_str("\n![Time over tokens per GPU](curve.svg)\n\n## Replays\n\n");
        }
        let notes: Vec<String> = if is_over_sizes(run) {
            out.push_str(&table(&SIZE_COLUMNS.map(str::to_string), &size_rows(run)));
            size_notes(run)
        } else {
            out.push_str(&table(&COLUMNS.map(str::to_string), &rows(run)));
            let notes = footnotes(run).into_iter();
            notes
                .chain(gap_words(run))
                .chain(arrival_words(run))
                .collect()
        };
        out.push('\n');
        for note in notes {
            out.push_str(&format!("- {}\n", plain(note.trim_start())));
        }
        if is_curves {
            out.push_str("\n## Plans\n\n");
            let header = PLAN_COLUMNS.map(str::to_string);
            out.push_str(&table(&header, &plan_rows(run)));
        } else if is_over_sizes(run) {
            out.push_str("\n![Time of a call over its size](sizes.svg)\n");
        } else {
            out.push_str("\n![Burst times](burst.svg)\n");
            if has_gaps(run) {
                out.push_str("\n![What an op adds to the compute before it](gaps.svg)\n");
            }
        }
        for one in &run.results {
            let Some(figures) = &one.per_op else { continue };
            out.push_str("\n## Ops\n\n");
            for line in ops_words(run) {
                out.push_str(&format!("{}\n\n", plain(&line)));
            }
            let (header, rows) = ops_table(figures);
            out.push_str(&table(&header, &rows));
        }
        for one in &run.results {
            let Some(figures) = &one.arrivals else {
                continue;
            };
            out.push_str(&format!("\n## Arrivals, {}\n\n", plain(&one.label)));
            if let Some(why) = &figures.withheld {
                out.push_str(&format!("Withheld: {}.\n", plain(why)));
                continue;
            }
            let (header, rows) = arrival_ranks(figures);
            out.push_str(&table(&header, &rows));
            let (header, rows) = arrival_ops(figures);
            out.push_str(&format!("\n{}", table(&header, &rows)));
        }
        out.push_str("\n## Conditions\n\n");
        for line in conditions(run) {
            out.push_str(&format!("- {}\n", plain(&line)));
        }
        if run.imported.is_none() {
            out.push_str(&format!("\n## Ranks\n\n{RANKS_TEXT}\n\n"));
            out.push_str(&table(&rank_columns(run), &rank_rows(run)));
        }
    }
    if !run.machine.gpus.is_empty() {
        out.push_str("\n## GPUs\n\n");
        let header = GPU_COLUMNS.map(str::to_string);
        out.push_str(&table(&header, &gpu_rows(run)));
    }
    if !run.warnings.is_empty() {
        out.push_str("\n## Notes\n\n");
        for warning in &run.warnings {
            out.push_str(&format!("- {}", plain(&warning.text)));
            if let Some(remedy) = &warning.remedy {
                out.push_str(&format!(" Try: {}", plain(remedy)));
            }
            out.push('\n');
        }
    }
    out.push_str(&format!(
        "\n## Command\n\n```\n{}\n```\n\ncommbench {}, started {}, {:.1} s.\n",
        run.command.argv.join(" ").replace("```", "'''"),
        run.command.version,
        run.command.started_at,
        run.command.wall_s
    ));
    if !run.command.environment.is_empty() {
        out.push_str("\nEnvironment that changes what was measured:\n\n");
        for (name, value) in &run.command.environment {
            out.push_str(&format!(
                "- `{}={}`\n",
                plain(name),
                value.replace('`', "'")
            ));
        }
    }
    printable(&out)
}

/// A Markdown table; cells are escaped.
fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = line(header);
    out.push_str(&format!("|{}\n", " --- |".repeat(header.len())));
    for row in rows {
        out.push_str(&line(row));
    }
    out
}

/// Text that means nothing to Markdown: names of machines come from outside.
fn plain(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
        .replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('*', "\\*")
        .replace('`', "\\`")
}
