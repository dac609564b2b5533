//! What a reader must know before any figure.

use maud::{Markup, html};

use crate::report::table;
use crate::result::{Backend, RunResult, Status};

/// Reasons not to take the figures for what they seem to be, in two words each.
pub(super) fn labels(run: &RunResult) -> Vec<&'static str> {
    let unverified = || run.results.iter().filter(|one| !one.verified);
    let wrong = unverified().any(|one| one.verification.wrong > 0)
        || run.status == Status::Failed && unverified().next().is_none();
    let all = [
        (run.backend == Backend::MpiHost, "HOST MEMORY"),
        (
            run.results.iter().any(|one| one.conditions.shared_gpu),
            "SHARED GPU",
        ),
        (run.backend == Backend::Predicted, "PREDICTED"),
        (run.imported.is_some(), "IMPORTED"),
        (
            run.status == Status::Partial || run.failure.is_some(),
            "PARTIAL",
        ),
        (wrong, "WRONG DATA"),
        (
            unverified().any(|one| one.verification.wrong == 0),
            "NOT VERIFIED",
        ),
    ];
    all.into_iter()
        .filter_map(|(applies, text)| applies.then_some(text))
        .collect()
}

/// The labels as badges.
pub(super) fn badges(run: &RunResult) -> Markup {
    let labels = labels(run);
    html! {
        @if !labels.is_empty() {
            ul.badges aria-label="Labels" { @for label in labels { li { (label) } } }
        }
    }
}

/// The sentences behind them, as the terminal and report.md have them.
pub(super) fn notices(run: &RunResult) -> Markup {
    let notices = table::notices(run);
    html! {
        @if !notices.is_empty() {
            ul.notices aria-label="Notices" { @for notice in &notices { li { (notice) } } }
        }
    }
}
