//! report.md: the run as a page that can be pasted into an issue.

use super::curves::{curve_columns, curve_notes, curve_rows, curves, times_of};
use super::ops_words::{ops_table, ops_words};
use super::table::{COLUMNS, conditions, footnotes, notices, origin, rows, title, verdict_words};
use crate::result::RunResult;
use crate::units::{format_bytes, printable, significant};

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
        out.push_str(&table(&COLUMNS.map(str::to_string), &rows(run)));
        out.push('\n');
        for note in footnotes(run) {
            out.push_str(&format!("- {}\n", plain(&note)));
        }
        if is_curves {
            out.push_str("\n## Plans\n\n");
            out.push_str(&plans_table(run));
        } else {
            out.push_str("\n![Burst times](burst.svg)\n");
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
        out.push_str("\n## Conditions\n\n");
        for line in conditions(run) {
            out.push_str(&format!("- {}\n", plain(&line)));
        }
        out.push_str("\n## Ranks\n\nMedian time of the plan on each rank, in µs. A rank that starts late makes the others wait: its own time is the shortest.\n\n");
        let mut header = vec!["mode".to_string()];
        header.extend((0..run.ranks).map(|rank| format!("rank {rank}")));
        header.push("last to arrive".to_string());
        let ranks: Vec<Vec<String>> = run
            .results
            .iter()
            .map(|one| {
                let mut row = vec![one.label.clone()];
                row.extend(one.per_rank_us.iter().map(|us| significant(*us)));
                row.push(one.last_to_arrive.as_ref().map_or("–".to_string(), |last| {
                    format!("rank {} ({:.0} %)", last.rank, last.share * 100.0)
                }));
                row
            })
            .collect();
        out.push_str(&table(&header, &ranks));
    }
    if !run.machine.gpus.is_empty() {
        out.push_str("\n## GPUs\n\n");
        let header = ["rank", "host", "device", "GPU", "PCI bus", "memory"].map(str::to_string);
        let gpus: Vec<Vec<String>> = run
            .machine
            .gpus
            .iter()
            .map(|gpu| {
                vec![
                    gpu.rank.to_string(),
                    gpu.host.clone(),
                    gpu.device.to_string(),
                    gpu.name.clone(),
                    gpu.pci_bus_id.clone(),
                    format_bytes(gpu.memory_bytes),
                ]
            })
            .collect();
        out.push_str(&table(&header, &gpus));
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

/// What each plan of a run sends, and how its numbers came about.
fn plans_table(run: &RunResult) -> String {
    let mut seen: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for one in &run.results {
        if !seen.contains(&one.plan.name.as_str()) {
            seen.push(&one.plan.name);
            lines.push(vec![
                one.plan.name.clone(),
                one.plan.title.clone(),
                one.plan.origin.clone(),
            ]);
        }
    }
    let header = ["plan", "ops of a replay", "origin"].map(str::to_string);
    table(&header, &lines)
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
