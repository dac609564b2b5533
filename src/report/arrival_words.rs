//! Who came late and what waiting for it cost, in words and as tables.

use crate::result::{ArrivalFigures, Measurement, RankArrival, RunResult};
use crate::stats::{Summary, percentile_sorted};
use crate::units::{group_thousands, median_and_interval, significant};

/// Sentences for each measurement whose ops were stamped.
pub(super) fn arrival_words(run: &RunResult) -> Vec<String> {
    let stamped = run
        .results
        .iter()
        .filter_map(|one| Some((one, one.arrivals.as_ref()?)));
    stamped
        .flat_map(|(one, figures)| words(one, figures))
        .collect()
}

fn words(one: &Measurement, figures: &ArrivalFigures) -> Vec<String> {
    let (perturbation, interval) =
        median_and_interval(figures.perturbation, Some(figures.perturbation_ci95));
    let mut head = format!(
        "Arrivals ({}; {} replays of their own with each op stamped on each rank, {perturbation} {} times as long as plain ones",
        one.label,
        group_thousands(figures.replays),
        interval.unwrap_or_default()
    );
    if figures.clock_error_us > 0.0 {
        head.push_str(&format!(
            "; clocks of two ranks agree to {} µs",
            significant(figures.clock_error_us)
        ));
    }
    head.push_str("): ");
    if let Some(why) = &figures.withheld {
        return vec![format!(
            "{head}withheld, {why}. --per-op puts nothing into a replay."
        )];
    }
    head.push_str(&late_words(figures));
    let mut said = vec![head];
    if let Some(spent) = spent_words(figures) {
        said.push(spent);
    }
    said
}

fn late_words(figures: &ArrivalFigures) -> String {
    let of_rank = |rank: u32| figures.ranks.iter().find(|one| one.rank == rank);
    match figures.late_rank.and_then(of_rank) {
        Some(late) => format!(
            "rank {} is late: ready {} µs after the middle of the others, and the last at {:.0} % of the ops.",
            late.rank,
            value(&late.late_us),
            late.last_share * 100.0
        ),
        None => "no rank is shown to be late.".to_string(),
    }
}

/// Where the time of the rank that waits longest goes, and what moving an op's data takes.
fn spent_words(figures: &ArrivalFigures) -> Option<String> {
    let most = figures
        .ranks
        .iter()
        .max_by(|one, other| one.waiting_us.median.total_cmp(&other.waiting_us.median))?;
    let mut moving: Vec<f64> = figures.ops.iter().map(|op| op.moving_us.median).collect();
    moving.sort_by(f64::total_cmp);
    let op_us = (!moving.is_empty()).then(|| percentile_sorted(&moving, 50.0))?;
    Some(format!(
        "  Rank {} waits longest: of a replay, {} ms are compute, {} ms waiting for ranks that come later, {} ms moving data. From the last rank's arrival on, an op takes {} µs in the middle.",
        most.rank,
        milliseconds(&most.compute_us),
        milliseconds(&most.waiting_us),
        milliseconds(&most.moving_us),
        significant(op_us)
    ))
}

fn value(us: &Summary) -> String {
    match median_and_interval(us.median, us.ci95) {
        (median, Some(interval)) => format!("{median} {interval}"),
        (median, None) => format!("{median} (n = {}: no interval)", us.n),
    }
}

fn milliseconds(us: &Summary) -> String {
    value(&us.scaled(1e-3))
}

/// Columns and rows of the ranks.
pub(super) fn arrival_ranks(figures: &ArrivalFigures) -> (Vec<String>, Vec<Vec<String>>) {
    let header = [
        "rank",
        "ready after the middle of the others, µs an op",
        "last at",
        "compute ms",
        "waiting ms",
        "moving ms",
    ];
    let row = |rank: &RankArrival| {
        vec![
            rank.rank.to_string(),
            value(&rank.late_us),
            format!("{:.0} % of ops", rank.last_share * 100.0),
            milliseconds(&rank.compute_us),
            milliseconds(&rank.waiting_us),
            milliseconds(&rank.moving_us),
        ]
    };
    (
        header.map(str::to_string).to_vec(),
        figures.ranks.iter().map(row).collect(),
    )
}

/// Columns and rows of the ops, with each rank's waiting.
pub(super) fn arrival_ops(figures: &ArrivalFigures) -> (Vec<String>, Vec<Vec<String>>) {
    let mut header: Vec<String> = ["op", "arrival spread µs", "moving µs"]
        .map(str::to_string)
        .to_vec();
    header.extend(
        figures
            .ranks
            .iter()
            .map(|rank| format!("rank {} waits", rank.rank)),
    );
    let rows = figures.ops.iter().map(|op| {
        let mut row = vec![
            format!("op {}", op.op),
            value(&op.spread_us),
            value(&op.moving_us),
        ];
        row.extend(op.waiting_us.iter().map(|us| significant(*us)));
        row
    });
    (header, rows.collect())
}
