//! The curves of a run over tokens per GPU, as tables have them.

use crate::plan::OpKind;
use crate::result::{Measurement, RunResult};
use crate::stats::Summary;
use crate::units::{group_thousands, median_and_interval, significant};

/// One curve of a run.
#[derive(Debug)]
pub(super) struct RunCurve<'a> {
    /// Name of the curve, with the mode where the run has several.
    pub name: String,
    /// In ascending t.
    pub points: Vec<&'a Measurement>,
}

/// What a curve's times are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// One op, in µs.
    Op,
    /// A decode step, in ms.
    Step,
}

/// The curves of a run in the order they first occur; empty where its plans are no points of any.
pub(super) fn curves(run: &RunResult) -> Vec<RunCurve<'_>> {
    let mut curves: Vec<RunCurve<'_>> = Vec::new();
    for one in &run.results {
        let Some(name) = run.curve_name(one) else {
            continue;
        };
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(one),
            None => curves.push(RunCurve {
                name,
                points: vec![one],
            }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by_key(|one| one.tokens_per_gpu);
    }
    curves
}

/// What the times of a run's curves are of: of all-to-alls alone people speak one by one.
pub(super) fn times_of(run: &RunResult) -> Of {
    let is_exchange = |one: &Measurement| one.plan.kind == Some(OpKind::AllToAll);
    if run.results.iter().all(is_exchange) {
        Of::Op
    } else {
        Of::Step
    }
}

impl Of {
    /// The summary that a cell shows, in the unit that it is shown in.
    pub fn summary(self, one: &Measurement) -> Summary {
        match (self, &one.step) {
            (Of::Step, Some(step)) => step.step_us.scaled(1e-3),
            _ => one.per_op_us.clone(),
        }
    }

    /// Above the table.
    pub fn title(self) -> &'static str {
        match self {
            Of::Op => "µs an op [95 % CI]",
            Of::Step => "ms of communication a decode step [95 % CI]",
        }
    }
}

/// Column titles of [`curve_rows`].
pub(super) fn curve_columns(run: &RunResult) -> Vec<String> {
    let fixed = ["t, tokens\nper GPU", "batch\nB = t·N"].map(str::to_string);
    let names = curves(run).into_iter().map(|curve| curve.name);
    fixed.into_iter().chain(names).collect()
}

/// One row a t, one column a curve.
pub(super) fn curve_rows(run: &RunResult) -> Vec<Vec<String>> {
    let curves = curves(run);
    let of = times_of(run);
    let mut tokens: Vec<u64> = run
        .results
        .iter()
        .filter_map(|one| one.tokens_per_gpu)
        .collect();
    tokens.sort_unstable();
    tokens.dedup();
    let cell = |curve: &RunCurve<'_>, t: u64| {
        let at = |one: &&&Measurement| one.tokens_per_gpu == Some(t);
        curve
            .points
            .iter()
            .find(at)
            .map_or("–".to_string(), |one| cell(one, of))
    };
    tokens
        .into_iter()
        .map(|t| {
            let batch = t.saturating_mul(u64::from(run.ranks));
            let fixed = [group_thousands(t), group_thousands(batch)];
            let cells = curves.iter().map(|curve| cell(curve, t));
            fixed.into_iter().chain(cells).collect()
        })
        .collect()
}

fn cell(one: &Measurement, of: Of) -> String {
    let summary = of.summary(one);
    let mut text = match median_and_interval(summary.median, summary.ci95) {
        (median, Some(interval)) => format!("{median} {interval}"),
        (median, None) => format!("{median} [n = {}]", summary.n),
    };
    if let (Of::Step, Some(step)) = (of, &one.step)
        && step.scale > 1.0
    {
        text.push_str(&format!(" ×{}", significant(step.scale)));
    }
    if !one.verified {
        text.push_str(" WRONG");
    }
    text
}

/// What the cells mean, for under the table.
pub(super) fn curve_notes(run: &RunResult) -> Vec<String> {
    let mut notes = Vec::new();
    let ns = run.results.iter().map(|one| one.burst_us.n);
    let (least, most) = (ns.clone().min().unwrap_or(0), ns.max().unwrap_or(0));
    let clock = match run.results.first() {
        Some(first) if first.conditions.clock == "cuda-events" => "CUDA events around the plan",
        _ => "host clock",
    };
    let samples = if least == most {
        group_thousands(least)
    } else {
        format!("{} to {}", group_thousands(least), group_thousands(most))
    };
    notes.push(format!(
        "Each figure is a median of {samples} samples; a sample is the slowest rank's time of one replay ({clock}). Data of every point {}.",
        if run.results.iter().all(|one| one.verified) {
            "checked: ok"
        } else {
            "checked: see WRONG"
        }
    ));
    for one in run.results.iter().filter(|one| one.step.is_none()) {
        let ms = one.burst_us.scaled(1e-3);
        let (median, interval) = median_and_interval(ms.median, ms.ci95);
        notes.push(format!(
            "For comparison, {} ({}): {median} ms{}.",
            one.plan.name,
            one.plan.title,
            interval.map_or(String::new(), |interval| format!(" {interval}"))
        ));
    }
    let is_scaled = |one: &Measurement| one.step.as_ref().is_some_and(|step| step.scale > 1.0);
    if times_of(run) == Of::Step && run.results.iter().any(is_scaled) {
        notes.push(
            "×k: as many layers as fit --replay-bytes were replayed, and their time was multiplied by k."
                .to_string(),
        );
    }
    notes
}
