//! A comparison as text for a terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::table::STYLE;
use crate::compare::{Comparison, Figure, Found, Gate, IntervalBy, Pair};
use crate::result::Placement;
use crate::units::{group_thousands, median_and_interval, printable, significant};

/// Lines of one kind that are shown; the JSON has all.
const MOST_LINES: usize = 8;

/// Labels first, then what the sides are, the table, and how it was made.
pub fn comparison_text(found: &Comparison) -> String {
    let mut out = String::new();
    for notice in &found.notices {
        out.push_str(&format!("{notice}\n"));
    }
    for side in &found.sides {
        out.push_str(&format!("{}: {}\n", side.name, side.folders.join(", ")));
    }
    out.push_str(&table(found));
    out.push('\n');
    lines(&mut out, "not alike", &found.unlike);
    lines(&mut out, "differs", &found.differences);
    lines(&mut out, "left out", &found.left_out);
    out.push_str(&format!("  {}\n", found.rules));
    if let Some(gate) = &found.gate {
        gate_lines(&mut out, gate);
    }
    printable(&out)
}

fn table(found: &Comparison) -> String {
    let placements_differ = found
        .pairs
        .windows(2)
        .any(|pair| pair[0].placement != pair[1].placement);
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header([
            "plan and mode",
            "before ms\n[95 % CI]",
            "after ms\n[95 % CI]",
            "after / before\n[95 %, all]",
            "found",
        ]);
    for pair in &found.pairs {
        table.add_row(row(pair, placements_differ));
    }
    for column in table.column_iter_mut().skip(1).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn row(pair: &Pair, placements_differ: bool) -> Vec<String> {
    let mut name = pair.label.clone();
    if !placements_differ {
        for placement in [Placement::OutOfPlace, Placement::InPlace] {
            name = name.replace(&format!(" {}", placement.name()), "");
        }
    }
    vec![
        name,
        figure(&pair.base),
        figure(&pair.other),
        ratio_text(pair.ratio, pair.joint_ci95),
        change(pair),
    ]
}

/// How each ratio was obtained, a line a pair, with the numbers that went into it.
pub fn comparison_explained(found: &Comparison) -> String {
    let mut out = String::from("How each ratio was obtained\n");
    for pair in &found.pairs {
        let side = |figure: &Figure| {
            let of = match figure.runs {
                1 => "the median".to_string(),
                runs => format!("the median of the medians of {runs} runs"),
            };
            format!(
                "{} µs, {of} of {} samples in {}",
                significant(figure.median_us),
                group_thousands(figure.n),
                figure.side
            )
        };
        let by = match pair.by {
            IntervalBy::Runs => "Welch's interval of the logarithms of the runs' medians",
            IntervalBy::Drift => {
                "bootstrap of each run's median, moved by the drift allowed between runs"
            }
            IntervalBy::Nothing => "none: imported figures, fewer than three a side",
        };
        let fold = match found.pairs.len() {
            1 => String::new(),
            pairs => format!(
                ", widened to hold for all {} pairs at once",
                group_thousands(pairs as u64)
            ),
        };
        out.push_str(&format!(
            "{}: {} = ({}) / ({}); interval: {by}{}\n",
            pair.label,
            ratio_text(pair.ratio, pair.joint_ci95),
            side(&pair.other),
            side(&pair.base),
            if pair.by == IntervalBy::Nothing {
                String::new()
            } else {
                fold
            }
        ));
    }
    printable(&out)
}

/// A ratio with as many digits as tell it from 1.
fn ratio_text(ratio: f64, ends: Option<[f64; 2]>) -> String {
    let (value, interval) = median_and_interval(ratio, ends);
    format!(
        "{value} {}",
        interval.unwrap_or("[no interval]".to_string())
    )
}

fn figure(figure: &Figure) -> String {
    let scaled = figure.ci95_us.map(|ends| ends.map(|us| us / 1e3));
    let many = match figure.runs {
        1 => format!("n = {}", group_thousands(figure.n)),
        runs => format!("{runs} runs, n = {}", group_thousands(figure.n)),
    };
    match median_and_interval(figure.median_us / 1e3, scaled) {
        (median, Some(interval)) => format!("{median} {interval} {many}"),
        (median, None) => format!("{median} ({many})"),
    }
}

/// "slower by 7.1 % to 22 %".
fn change(pair: &Pair) -> String {
    let percent = |value: f64| significant((value * 100.0).abs());
    let Some([lo, hi]) = pair.joint_ci95 else {
        return pair.found.words().to_string();
    };
    match pair.found {
        Found::Slower => format!(
            "slower by {} % to {} %",
            percent(lo - 1.0),
            percent(hi - 1.0)
        ),
        Found::Faster => format!(
            "faster by {} % to {} %",
            percent(1.0 - hi),
            percent(1.0 - lo)
        ),
        Found::NoDifferenceShown | Found::NothingShown => pair.found.words().to_string(),
    }
}

fn lines(out: &mut String, what: &str, all: &[String]) {
    for line in all.iter().take(MOST_LINES) {
        out.push_str(&format!("  {what}: {line}\n"));
    }
    if all.len() > MOST_LINES {
        let more = all.len() - MOST_LINES;
        out.push_str(&format!("  {what}: {more} more (--json - has all)\n"));
    }
}

fn gate_lines(out: &mut String, gate: &Gate) {
    let limit = (gate.limit * 1e4).round() / 1e2;
    let word = if gate.passed() { "passed" } else { "FAILED" };
    out.push_str(&format!("  gate of {limit} %: {word}\n"));
    lines(out, "slower than the gate allows", &gate.failed);
    lines(out, "the gate cannot pass what is missing", &gate.missing);
    if !gate.not_excluded.is_empty() {
        out.push_str(&format!(
            "  {} of the figures leave room for a regression beyond the gate: {}. Three runs or more a side, in turns, narrow them: compare A1,A2,A3 B1,B2,B3\n",
            gate.not_excluded.len(),
            gate.not_excluded
                .iter()
                .take(MOST_LINES)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        ));
    }
}
