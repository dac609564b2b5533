//! Trends and outliers of the sample series, in words.

use crate::result::{Measurement, RunResult, Warning};
use crate::units::group_thousands;

/// A change smaller than this share of the median is of no consequence to anybody.
const WORTH_TELLING: f64 = 0.02;

/// Chance of calling noise a drift, over all series of a run together.
const FALSE_ALARMS: f64 = 0.01;

/// Series that are told of one by one.
const TOLD_APART: usize = 3;

/// Series whose times drifted while they were sampled.
pub fn drift_warnings(run: &RunResult) -> Vec<Warning> {
    let level = FALSE_ALARMS / run.results.len().max(1) as f64;
    let mut drifting: Vec<(&Measurement, f64)> = run
        .results
        .iter()
        .filter_map(|one| {
            let steady = one.steadiness.as_ref()?;
            (steady.drift_p < level && steady.drift.abs() >= WORTH_TELLING)
                .then_some((one, steady.drift))
        })
        .collect();
    if drifting.is_empty() {
        return Vec::new();
    }
    drifting.sort_by(|(_, one), (_, other)| other.abs().total_cmp(&one.abs()));
    let each = drifting
        .iter()
        .take(TOLD_APART)
        .map(|(one, drift)| format!("{} by {:+.1} %", one.label, drift * 100.0));
    vec![Warning {
        code: "times-drift".to_string(),
        text: format!(
            "times drifted while they were sampled (first to last sample, Mann-Kendall test): {}{}",
            each.collect::<Vec<_>>().join(", "),
            more(drifting.len())
        ),
        remedy: Some("a longer --warmup, or a machine with nobody else on it".to_string()),
    }]
}

/// How many samples lie far off, and how far; none where none does.
pub(super) fn outlier_words(run: &RunResult) -> Option<String> {
    let mut with: Vec<(&Measurement, u64, Option<f64>)> = run
        .results
        .iter()
        .filter_map(|one| {
            let steady = one.steadiness.as_ref()?;
            (steady.outliers > 0).then_some((one, steady.outliers, steady.largest_outlier))
        })
        .collect();
    if with.is_empty() {
        return None;
    }
    with.sort_by_key(|(_, outliers, _)| std::cmp::Reverse(*outliers));
    let each = with
        .iter()
        .take(TOLD_APART)
        .map(|(one, outliers, largest)| {
            let far = largest.map_or(String::new(), |times| {
                format!(", up to {times:.2} times it")
            });
            format!(
                "{} {} of {}{far}",
                one.label,
                group_thousands(*outliers),
                group_thousands(one.burst_us.n)
            )
        });
    Some(format!(
        "Outliers (over 5 scaled median deviations from the median; in all figures): {}{}.",
        each.collect::<Vec<_>>().join("; "),
        more(with.len())
    ))
}

fn more(all: usize) -> String {
    match all.checked_sub(TOLD_APART) {
        Some(rest @ 1..) => format!(", and {rest} more series"),
        _ => String::new(),
    }
}
