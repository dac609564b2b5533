//! report.html: the run as one page that needs nothing beside it, no network and no other file.
//!
//! Everything is in the page as it is written, the curves among it; the script adds what needs a
//! pointer or a keyboard. Words of the result come from files, servers and libraries: maud escapes
//! them where they stand, [`escape`] takes out what no markup shows, and the page's [`policy`] lets
//! no style or script run but its own.

mod answer;
mod badges;
mod burst;
mod chart;
mod command;
mod conditions;
mod escape;
mod heat;
mod machine;
mod ops;
mod policy;
mod table;
#[cfg(test)]
mod tests;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::curves::{curve_columns, curve_notes, curve_rows, curves, times_of};
use super::lists::{PLAN_COLUMNS, plan_rows};
use super::sizes::{SIZE_COLUMNS, is_over_sizes, size_notes, size_rows};
use super::table::{COLUMNS, footnotes, gap_words, origin, rows, title};
use crate::result::{RunResult, Series};
use table::table;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole page.
pub(crate) fn html(run: &RunResult, series: &[Series]) -> String {
    let sections = sections(run, series);
    let heading = title(run).unwrap_or_else(|| "Nothing was measured".to_string());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy::policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (heading) " – commbench " (run.command.name) }
                // Browsers ask the server for an icon otherwise.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.kicker { "commbench " (run.command.name) }
                    h1 { (heading) }
                    @if let Some(origin) = origin(run) { p.origin { (origin) } }
                    (badges::badges(run))
                    (badges::notices(run))
                    nav aria-label="On this page" {
                        ul {
                            @for section in &sections {
                                li { a href={ "#" (section.id) } { (section.title) } }
                            }
                        }
                    }
                }
                main {
                    @for section in &sections {
                        section id=(section.id) aria-labelledby={ (section.id) "-title" } {
                            h2 id={ (section.id) "-title" } { (section.title) }
                            (section.body)
                        }
                    }
                }
                footer {
                    p {
                        "commbench " (run.command.version) ", started " (run.command.started_at)
                        ", " (format!("{:.1}", run.command.wall_s))
                        " s. The figures are those of result.json, the samples those of samples.csv."
                    }
                }
                (chart::data_block(run))
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    escape::visible(&page.into_string())
}

/// A part of the page with a heading of its own.
struct Section {
    /// Its anchor.
    id: &'static str,
    title: &'static str,
    body: Markup,
}

fn sections(run: &RunResult, series: &[Series]) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut add = |id, title, body| sections.push(Section { id, title, body });
    if !run.results.is_empty() {
        let is_verdict = run.verdict.is_some();
        let heading = if is_verdict { "Verdict" } else { "Result" };
        add("answer", heading, answer::answer(run));
        if is_over_sizes(run) {
            add("sizes", "Sizes", sizes(run));
        } else if curves(run).is_empty() {
            add("samples", "Samples", burst::burst(run, series));
            add("table", "Table", replays(run));
        } else {
            add("curves", "Curves", curves_section(run));
            add("table", "Replays", replays(run));
            add("plans", "Plans", plans(run));
        }
        if let Some(body) = ops::ops(run) {
            add("ops", "Ops", body);
        }
        // A log has no figures of ranks.
        if run.imported.is_none() {
            add("ranks", "Ranks", heat::heat(run));
        }
        add("conditions", "Conditions", conditions::conditions(run));
    }
    add("machine", "Machine", machine::machine(run));
    if !run.warnings.is_empty() {
        add("warnings", "Warnings", conditions::warnings(run));
    }
    add("command", "Command", command::command(run));
    sections
}

fn curves_section(run: &RunResult) -> Markup {
    html! {
        (chart::chart(run))
        (table(times_of(run).title(), &curve_columns(run), &curve_rows(run), 0))
        (notes(&curve_notes(run)))
    }
}

fn sizes(run: &RunResult) -> Markup {
    let columns = SIZE_COLUMNS.map(str::to_string);
    html! {
        (burst::sizes(run))
        (table("Every size", &columns, &size_rows(run), 0))
        (notes(&size_notes(run)))
    }
}

fn replays(run: &RunResult) -> Markup {
    html! {
        (table("Every replay", &COLUMNS.map(str::to_string), &rows(run), 1))
        (notes(&footnotes(run).into_iter().chain(gap_words(run)).collect::<Vec<_>>()))
    }
}

fn plans(run: &RunResult) -> Markup {
    let columns = PLAN_COLUMNS.map(str::to_string);
    table(
        "What was replayed",
        &columns,
        &plan_rows(run),
        columns.len(),
    )
}

fn notes(notes: &[String]) -> Markup {
    html! {
        ul.notes { @for note in notes { li { (note) } } }
    }
}
