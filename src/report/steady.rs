//! Trends and outliers of the sample series, in words.

use crate::result::{Measurement, RunResult, Warning};
use crate::stats::FAR;
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
                format!(", the largest {times:.2} × the median")
            });
            format!(
                "{} {} of {}{far}",
                one.label,
                group_thousands(*outliers),
                group_thousands(one.burst_us.n)
            )
        });
    Some(format!(
        "Outliers (over {FAR:.0} scaled median deviations from the median; in all figures): {}{}.",
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

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;
    use crate::stats::Steadiness;

    fn with(series: &[(f64, f64, u64)]) -> RunResult {
        let (mut run, _) = run();
        let one = run.results[0].clone();
        let made = series.iter().enumerate().map(|(at, series)| {
            let (drift, drift_p, outliers) = *series;
            let mut made = one.clone();
            made.label = format!("series {at}");
            made.steadiness = Some(Steadiness {
                drift,
                drift_p,
                outliers,
                largest_outlier: (outliers > 0).then_some(2.5),
            });
            made
        });
        run.results = made.collect();
        run
    }

    #[test]
    fn a_proven_drift_is_told_with_its_sign_and_noise_and_trifles_are_not() {
        // Of four series, a p-value must be under 0.25 %.
        let run = with(&[
            (0.03, 0.001, 0),
            (0.5, 0.003, 0),
            (0.01, 1e-9, 0),
            (-0.1, 1e-9, 0),
        ]);
        let told = drift_warnings(&run);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].code, "times-drift");
        assert!(
            told[0]
                .text
                .ends_with(": series 3 by -10.0 %, series 0 by +3.0 %"),
            "{told:?}"
        );
        assert_eq!(drift_warnings(&with(&[(0.5, 0.02, 0)])), Vec::new());
    }

    #[test]
    fn three_series_are_told_apart_and_the_rest_counted() {
        let run = with(&[(0.0, 1.0, 1), (0.0, 1.0, 4), (0.0, 1.0, 0), (0.0, 1.0, 3)]);
        assert!(outlier_words(&run).unwrap().ends_with(
            ": series 1 4 of 120, the largest 2.50 × the median; \
             series 3 3 of 120, the largest 2.50 × the median; \
             series 0 1 of 120, the largest 2.50 × the median."
        ));
        let many = with(&[(0.1, 1e-9, 1); 5]);
        assert!(
            outlier_words(&many)
                .unwrap()
                .ends_with(", and 2 more series.")
        );
        assert!(
            drift_warnings(&many)[0]
                .text
                .ends_with(", and 2 more series")
        );
        assert_eq!(outlier_words(&with(&[(0.0, 1.0, 0)])), None);
    }
}
