//! The answer before the figures: the verdict in sentences, or the headline figures where a run
//! asked nothing.

use maud::{Markup, html};

use crate::report::curves::curves;
use crate::report::sizes::{is_over_sizes, size_headlines};
use crate::report::table::{rows, verdict_words};
use crate::result::{Backend, RunResult, Status};

/// Sentences of a run without a verdict; more stand in the table alone.
const MOST_HEADLINES: usize = 6;

pub(super) fn answer(run: &RunResult) -> Markup {
    let sentences = match &run.verdict {
        Some(_) => verdict_words(run),
        None => headlines(run),
    };
    // The first sentences answer, one for each plan that was compared.
    let answers = run
        .verdict
        .as_ref()
        .map_or(1, |verdict| verdict.pairs.len().max(1));
    let (lead, rest) = sentences.split_at(answers.min(sentences.len()));
    html! {
        div.answer { @for sentence in lead { p { (sentence) } } }
        @if !rest.is_empty() {
            ul.findings { @for sentence in rest { li { (sentence) } } }
        }
    }
}

fn headlines(run: &RunResult) -> Vec<String> {
    if !curves(run).is_empty() {
        return vec![no_verdict(run)];
    }
    let premise = match run.backend {
        Backend::Nccl => "",
        Backend::MpiHost => "On host memory, without GPUs: ",
        Backend::Predicted => "Predicted, not measured: ",
    };
    if is_over_sizes(run) {
        let sentence = |found: String| format!("{premise}{found}");
        return size_headlines(run).into_iter().map(sentence).collect();
    }
    // The figures are the table's, to the letter.
    let mut sentences: Vec<String> = run
        .results
        .iter()
        .zip(rows(run))
        .take(MOST_HEADLINES)
        .map(|(one, row)| {
            let [name, burst_ms, per_op_us, ..] = row.as_slice() else {
                return String::new();
            };
            let caution = if one.verified { "" } else { "Do not use: " };
            format!(
                "{caution}{premise}{} over {} ranks: {burst_ms} ms, {per_op_us} µs an op ({name}; medians with their 95 % intervals, n = {}).",
                one.plan.title, run.ranks, one.burst_us.n
            )
        })
        .collect();
    if run.results.len() > MOST_HEADLINES {
        let more = run.results.len() - MOST_HEADLINES;
        sentences.push(format!("{more} more in the table."));
    }
    sentences
}

fn no_verdict(run: &RunResult) -> String {
    let why = match run.status {
        Status::Partial => "the run did not complete. What was measured stands below.",
        Status::Failed => "data was wrong or not checked. Do not use these times.",
        Status::Complete => "the warnings say why. What was measured stands below.",
    };
    format!("No verdict: {why}")
}
