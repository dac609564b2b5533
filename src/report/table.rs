//! The table of a run, and what stands around it on a terminal.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::arrival_words::arrival_words;
use super::curves::{curve_columns, curve_notes, curve_rows, curves, times_of};
use super::ops_words::ops_words;
use super::sizes::{SIZE_COLUMNS, is_over_sizes, size_notes, size_rows, size_title};
use super::steady::outlier_words;
use crate::health::health_words;
use crate::result::{Backend, Imported, Measurement, RankShare, RunResult, Status};
use crate::stats::Summary;
use crate::units::{format_bytes, group_thousands, median_and_interval, printable, significant};
use crate::verdict::{answers, words};

/// Below this, a 99th percentile rests on one or two samples.
pub(super) const SAMPLES_FOR_P99: u64 = 100;

/// What a reader must know before any figure. Each is one sentence.
pub fn notices(run: &RunResult) -> Vec<String> {
    let mut notices = Vec::new();
    match run.backend {
        Backend::MpiHost => notices.push(
            "HOST MEMORY: MPI moved this data between processes on the processor. These are not GPU figures."
                .to_string(),
        ),
        Backend::Predicted => {
            notices.push("PREDICTED: computed from a model, not measured.".to_string());
        }
        Backend::Nccl => {}
    }
    if run.results.iter().any(|one| one.conditions.shared_gpu) {
        notices.push(
            "SHARED GPU: several ranks ran on one GPU. These figures say nothing about a real box."
                .to_string(),
        );
    }
    if let Some(imported) = &run.imported {
        notices.push(imported_words(imported));
    }
    if let Some(failure) = &run.failure {
        notices.push(format!("INCOMPLETE: {}.", failure.text));
    }
    notices.extend(unchecked(run));
    for one in run.results.iter().filter(|one| one.verification.wrong > 0) {
        notices.push(match &one.verification.first_wrong {
            Some(wrong) => format!(
                "WRONG DATA in {}: {} of {} elements; first on rank {}, op {}, element {}: got {}, expected {}. Do not use these times.",
                one.label,
                group_thousands(one.verification.wrong),
                group_thousands(one.verification.elements),
                wrong.rank,
                wrong.op,
                wrong.element,
                wrong.got,
                wrong.expected
            ),
            None => format!(
                "WRONG DATA in {}: {} elements. Do not use these times.",
                one.label,
                group_thousands(one.verification.wrong)
            ),
        });
    }
    notices
}

/// Whose figures they are.
fn imported_words(imported: &Imported) -> String {
    let version = imported.tool_version.as_deref();
    format!(
        "IMPORTED from {} ({}{}): not measured by commbench. Each figure is a {}: one figure, no interval.",
        imported.file,
        imported.format,
        version.map_or(String::new(), |version| format!(", version {version}")),
        imported.figure
    )
}

/// Says whose data nobody looked at.
fn unchecked(run: &RunResult) -> Option<String> {
    let unchecked: Vec<&str> = run
        .results
        .iter()
        .filter(|one| !one.verified && one.verification.wrong == 0)
        .map(|one| one.label.as_str())
        .collect();
    if unchecked.is_empty() {
        return None;
    }
    Some(match unchecked.len() == run.results.len() {
        true => "NOT VERIFIED: the data was not checked.".to_string(),
        false => format!(
            "NOT VERIFIED: the data of {} was not checked.",
            few(&unchecked)
        ),
    })
}

/// Column titles of [`rows`], in two lines: a terminal is not wide.
pub(super) const COLUMNS: [&str; 11] = [
    "mode",
    "burst ms\n[95 % CI]",
    "per op µs\n[95 % CI]",
    "algbw\nGB/s",
    "busbw\nGB/s",
    "p99\nms",
    "slowest\nrank",
    "arrival\nspread µs",
    "issue\nµs/op",
    "samples,\nended by",
    "data",
];

/// Lines above, below and under the header; rows need none between them.
pub(super) const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// One row a measurement, as text.
pub(super) fn rows(run: &RunResult) -> Vec<Vec<String>> {
    let placements_differ = run
        .results
        .windows(2)
        .any(|pair| pair[0].placement != pair[1].placement);
    run.results
        .iter()
        .map(|one| row(one, placements_differ))
        .collect()
}

fn row(one: &Measurement, with_placement: bool) -> Vec<String> {
    let mut name = one.mode.name().to_string();
    if with_placement {
        name = format!("{name} {}", one.placement.name());
    }
    if !one.plan.name.is_empty() {
        name = format!("{}, {name}", one.plan.name);
    }
    let p99 = significant(one.burst_us.p99 / 1e3);
    vec![
        name,
        with_interval(&one.burst_us.scaled(1e-3)),
        with_interval(&one.per_op_us),
        significant(one.algbw_gb_per_s),
        significant(one.busbw_gb_per_s),
        if one.burst_us.n < SAMPLES_FOR_P99 {
            format!("{p99}*")
        } else {
            p99
        },
        one.slowest_rank.as_ref().map_or("–".to_string(), share),
        median_or_dash(one.arrival_spread_us.as_ref()),
        median_or_dash(one.issue_per_op_us.as_ref()),
        format!("{}, {}", one.burst_us.n, one.conditions.stopped_by.name()),
        if one.verified { "ok" } else { "WRONG" }.to_string(),
    ]
}

pub(super) fn with_interval(summary: &Summary) -> String {
    match median_and_interval(summary.median, summary.ci95) {
        (median, Some(interval)) => format!("{median} {interval}"),
        (median, None) => format!("{median} [n = {}: no interval]", summary.n),
    }
}

fn share(share: &RankShare) -> String {
    format!("{} ({:.0} %)", share.rank, share.share * 100.0)
}

fn median_or_dash(summary: Option<&Summary>) -> String {
    summary.map_or("–".to_string(), |summary| significant(summary.median))
}

/// What the columns mean, for under the table.
pub(super) fn footnotes(run: &RunResult) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(first) = run.results.first() else {
        return notes;
    };
    let several = run.results.iter().any(|one| one.plan.ops != first.plan.ops);
    let ops = if several {
        "all of a plan's ops".to_string()
    } else {
        format!("all {} ops", first.plan.ops)
    };
    notes.push(format!(
        "A sample is one replay of {ops}; its time is the slowest rank's ({}).",
        clock_words(first)
    ));
    notes.push(format!(
        "Slowest rank: the one with the longest time most often (chance alone gives {:.0} %). It may only have waited: report.md names the rank that starts last.",
        100.0 / f64::from(run.ranks.max(1))
    ));
    if run
        .results
        .iter()
        .any(|one| one.burst_us.n < SAMPLES_FOR_P99)
    {
        notes.push(format!(
            "* p99 of fewer than {SAMPLES_FOR_P99} samples rests on the largest one or two."
        ));
    }
    notes.extend(outlier_words(run));
    notes
}

/// The clock of a figure.
pub(super) fn clock_words(one: &Measurement) -> &'static str {
    match one.conditions.clock.as_str() {
        "cuda-events" => "CUDA events around the plan",
        _ => "host clock",
    }
}

/// What is left of an op without the compute before it, where there is any.
pub(super) fn gap_words(run: &RunResult) -> Vec<String> {
    let left: Vec<String> = run
        .results
        .iter()
        .filter_map(|one| {
            let us = with_interval(one.without_gaps_us.as_ref()?);
            Some(format!("{} {us}", one.label))
        })
        .collect();
    match left.as_slice() {
        [] => Vec::new(),
        all => vec![format!(
            "What an op adds to the compute before it (the time beyond the gaps of the rank with most of them), µs: {}.",
            all.join("; ")
        )],
    }
}

/// The conditions in words, one line each.
pub(super) fn conditions(run: &RunResult) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(first) = run.results.first() else {
        return lines;
    };
    let slots = if run.results.iter().all(|one| one.plan == first.plan) {
        format!(
            " ({} of {})",
            first.conditions.buffer_slots,
            format_bytes(first.plan.bytes)
        )
    } else {
        String::new()
    };
    let mut setting = format!(
        "{}, {} buffers{slots}, {} warm-up replays",
        first.placement.name(),
        match first.conditions.buffers {
            crate::result::Buffers::Warm => "warm",
            crate::result::Buffers::Cold => "cold",
        },
        first.conditions.warmup
    );
    if run
        .results
        .iter()
        .any(|one| one.placement != first.placement)
    {
        setting = setting.replacen(first.placement.name(), "in place and out of place", 1);
    }
    lines.push(match run.imported {
        // The rest of it is not known.
        Some(_) => format!(
            "{}, {} calls a figure, {} warm-up calls",
            setting.split(',').next().unwrap_or_default(),
            group_thousands(first.plan.ops),
            first.conditions.warmup
        ),
        None => setting,
    });
    let mut calls: Vec<&str> = Vec::new();
    for one in &run.results {
        if !calls.contains(&one.conditions.calls.as_str()) {
            calls.push(&one.conditions.calls);
        }
    }
    if run.imported.is_none() {
        lines.push(format!("calls: {}", calls.join("; ")));
    }
    if let Some(version) = &run.machine.nccl_version {
        let mut choices: Vec<(String, Vec<&str>)> = Vec::new();
        for one in &run.results {
            let choice = one
                .conditions
                .nccl_choice
                .clone()
                .unwrap_or_else(|| "what it does not report".to_string());
            match choices.iter_mut().find(|(known, _)| *known == choice) {
                Some((_, labels)) => labels.push(&one.label),
                None => choices.push((choice, vec![&one.label])),
            }
        }
        let said = if choices.len() == 1 {
            choices[0].0.clone()
        } else {
            let each = choices
                .iter()
                .map(|(choice, labels)| format!("{choice} ({})", few(labels)));
            each.collect::<Vec<_>>().join("; ")
        };
        lines.push(match run.imported {
            Some(_) => format!("NCCL {version}"),
            None => format!("NCCL {version} chose {said}"),
        });
    }
    if !run.machine.transports.is_empty() {
        lines.push(format!("transports: {}", run.machine.transports.join(", ")));
    }
    lines.extend(Some(machine_line(run)).filter(|line| !line.is_empty()));
    lines.extend(health_words(&run.machine.health));
    lines
}

/// The labels, or the first of them and how many more there are.
fn few(labels: &[&str]) -> String {
    const SHOWN: usize = 2;
    match labels.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", labels[..SHOWN].join(", ")),
        _ => labels.join(", "),
    }
}

/// What a run replayed, as a title: its plan, or its question where it had several.
pub(super) fn title(run: &RunResult) -> Option<String> {
    let first = run.results.first()?;
    let what = if is_over_sizes(run) {
        size_title(run)?
    } else if run
        .results
        .iter()
        .all(|one| one.plan.title == first.plan.title)
    {
        first.plan.title.clone()
    } else {
        let model = run.model.as_ref().map_or("", |model| &model.name);
        match run.command.name.as_str() {
            "feasibility" => format!("Communication of a decode step of {model}"),
            "alltoall-sweep" => format!("All-to-all of {model}'s MoE layers"),
            name => name.to_string(),
        }
    };
    Some(format!("{what}, {} ranks", run.ranks))
}

/// How the numbers of the only plan came about; `None` where there are several.
pub(super) fn origin(run: &RunResult) -> Option<&str> {
    let first = run.results.first()?;
    let alone = run.results.iter().all(|one| one.plan == first.plan);
    alone.then_some(first.plan.origin.as_str())
}

/// The verdict in sentences; none where the run asked nothing.
pub(super) fn verdict_words(run: &RunResult) -> Vec<String> {
    run.verdict.as_ref().map_or(Vec::new(), words)
}

/// A table for a terminal: the first `words` columns on the left, figures on the right.
fn text_table(header: Vec<String>, rows: Vec<Vec<String>>, words: usize) -> String {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        if index >= words {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    printable(&format!("{table}\n"))
}

fn machine_line(run: &RunResult) -> String {
    let mut words = Vec::new();
    let mut gpus: Vec<(&str, usize)> = Vec::new();
    let mut seen: Vec<(&str, &str, &str)> = Vec::new();
    for gpu in &run.machine.gpus {
        // A log has no UUIDs.
        let this = (
            gpu.host.as_str(),
            gpu.uuid.as_str(),
            gpu.pci_bus_id.as_str(),
        );
        if seen.contains(&this) {
            continue;
        }
        seen.push(this);
        match gpus.iter_mut().find(|(name, _)| *name == gpu.name) {
            Some((_, count)) => *count += 1,
            None => gpus.push((&gpu.name, 1)),
        }
    }
    for (name, count) in gpus {
        words.push(format!("{count} × {name}"));
    }
    if let Some(driver) = &run.machine.driver {
        words.push(format!("driver {driver}"));
    }
    if let Some(cuda) = &run.machine.cuda {
        words.push(format!("CUDA {cuda}"));
    }
    for host in &run.machine.hosts {
        words.push(match host.cpu.is_empty() {
            true => host.name.clone(),
            false => format!("{} ({}, {} CPUs)", host.name, host.cpu, host.logical_cpus),
        });
    }
    words.join(", ")
}

/// Everything a user sees of a run on a terminal. `colour` allows escape sequences.
pub fn terminal_report(run: &RunResult, folder: &str, files: &[&str], colour: bool) -> String {
    let bold = |text: &str| paint(text, "1", colour);
    let loud = |text: &str| paint(text, "1;33", colour);
    let mut out = String::new();
    if let Some(title) = title(run) {
        out.push_str(&bold(&title));
        out.push('\n');
    }
    if let Some(origin) = origin(run) {
        out.push_str(&format!("  {}\n", printable(origin)));
    }
    for notice in notices(run) {
        out.push_str(&format!("  {}\n", loud(&notice)));
    }
    if run.results.is_empty() {
        out.push_str("  nothing was measured\n");
    } else {
        // The rest of it is in the report.
        for line in run.verdict.as_ref().map_or(Vec::new(), answers) {
            out.push_str(&format!("  {}\n", printable(&line)));
        }
        let is_curves = !curves(run).is_empty();
        let notes = if is_curves {
            out.push_str(&format!("{}\n", bold(times_of(run).title())));
            out.push_str(&text_table(curve_columns(run), curve_rows(run), 1));
            curve_notes(run)
        } else if is_over_sizes(run) {
            let header = SIZE_COLUMNS.map(str::to_string).to_vec();
            out.push_str(&text_table(header, size_rows(run), 0));
            size_notes(run)
        } else {
            let header = COLUMNS.map(str::to_string).to_vec();
            out.push_str(&text_table(header, rows(run), 1));
            let mut notes = footnotes(run);
            notes.extend(gap_words(run));
            notes.extend(ops_words(run));
            notes.extend(arrival_words(run));
            notes
        };
        for line in notes {
            out.push_str(&format!("  {}\n", printable(&line)));
        }
        for line in conditions(run) {
            out.push_str(&format!("  {}\n", printable(&line)));
        }
    }
    for warning in &run.warnings {
        out.push_str(&format!("  {}\n", loud(&format!("note: {}", warning.text))));
        if let Some(remedy) = &warning.remedy {
            out.push_str(&format!("    try: {}\n", printable(remedy)));
        }
    }
    if run.status == Status::Complete {
        out.push_str(&format!("  took {:.1} s", run.command.wall_s));
    } else {
        out.push_str("  not complete");
    }
    if !files.is_empty() {
        out.push_str(&format!("; files in {folder}: {}", files.join(", ")));
    }
    out.push('\n');
    out
}

fn paint(text: &str, code: &str, colour: bool) -> String {
    if colour {
        format!("\x1b[{code}m{}\x1b[0m", printable(text))
    } else {
        printable(text)
    }
}
