//! How each figure of a run was obtained, with the numbers that went into it: what `--explain`
//! prints. Whoever doubts a figure can make it again from samples.csv.

use crate::result::{Backend, Measurement, RankShare, RunResult};
use crate::stats::{Summary, median_ci95_ranks};
use crate::units::{group_thousands, printable, significant};

/// A block a measurement, a line a figure.
pub fn explain(run: &RunResult) -> String {
    let mut out = String::from("How each figure was obtained\n");
    for one in &run.results {
        out.push_str(&format!("{}: {}\n", one.label, one.plan.title));
        let lines = match &run.imported {
            Some(imported) => vec![format!(
                "time: {} µs, a {}, taken from {}; over {} calls",
                significant(one.per_op_us.median),
                imported.figure,
                imported.file,
                group_thousands(one.plan.ops)
            )],
            None => measured(run, one),
        };
        for line in lines.into_iter().chain(computed(run, one)) {
            out.push_str(&format!("  {line}\n"));
        }
    }
    printable(&out)
}

fn measured(run: &RunResult, one: &Measurement) -> Vec<String> {
    let times = &one.burst_us;
    let n = group_thousands(times.n);
    let mut lines = vec![
        format!(
            "sample: one replay of {} ops on {} ranks, as long as the slowest rank's ({}); {} replays before the first one",
            group_thousands(one.plan.ops),
            run.ranks,
            clock(run, one),
            one.conditions.warmup
        ),
        format!(
            "samples: {n}, ended by {}; rows of samples.csv with plan '{}', {}, {}",
            one.conditions.stopped_by.name(),
            one.plan.name,
            one.mode.name(),
            one.placement.name()
        ),
        format!(
            "burst: {} µs, the median of {n} samples{}",
            significant(times.median),
            interval(times)
        ),
        format!(
            "per op: {} µs = burst / {} ops",
            significant(one.per_op_us.median),
            group_thousands(one.plan.ops)
        ),
        format!(
            "p5, p95, p99, max: {}, {}, {}, {} µs of a burst, interpolated between the two nearest samples",
            significant(times.p5),
            significant(times.p95),
            significant(times.p99),
            significant(times.max)
        ),
    ];
    if let Some(share) = &one.slowest_rank {
        lines.push(format!(
            "slowest rank: {}, had the longest time in {}",
            share.rank,
            share_of(share, times.n)
        ));
    }
    if let Some(share) = &one.last_to_arrive {
        lines.push(format!(
            "last to arrive: rank {}, started last in {}",
            share.rank,
            share_of(share, times.n)
        ));
    }
    if let Some(spread) = &one.arrival_spread_us {
        lines.push(format!(
            "arrival spread: {} µs, the median over samples of the last start less the first, CLOCK_MONOTONIC of the host{}",
            significant(spread.median),
            interval(spread)
        ));
    }
    if let Some(issue) = &one.issue_per_op_us {
        lines.push(format!(
            "issue: {} µs an op, host time in the calls over the ops, the middle rank's, median over samples{}",
            significant(issue.median),
            interval(issue)
        ));
    }
    if let Some(left) = &one.without_gaps_us {
        lines.push(format!(
            "without gaps: {} µs an op = (burst − the gaps of the rank that has most of them) / ops; a gap is {} µs on the middle rank",
            significant(left.median),
            significant(one.plan.gap_us)
        ));
    }
    if let Some(steady) = &one.steadiness {
        lines.push(format!(
            "steadiness: {} of {n} samples lie over 5 scaled median deviations from the median and are in every figure",
            group_thousands(steady.outliers)
        ));
    }
    if let Some(ops) = &one.per_op {
        lines.push(format!(
            "what each op adds: {}: differences of the medians of replays of the first k and k − 1 ops, in turns; intervals by bootstrap",
            ops.method
        ));
    }
    if let Some(arrivals) = &one.arrivals {
        lines.push(format!(
            "arrivals: {} stamped replays, clock {}, ± {} µs between ranks; stamped over plain {} [{}, {}]",
            group_thousands(arrivals.replays),
            arrivals.clock,
            significant(arrivals.clock_error_us),
            significant(arrivals.perturbation),
            significant(arrivals.perturbation_ci95[0]),
            significant(arrivals.perturbation_ci95[1])
        ));
    }
    lines
}

/// What follows from a time.
fn computed(run: &RunResult, one: &Measurement) -> Vec<String> {
    let mut lines = Vec::new();
    // Bytes over µs are MB/s.
    let bytes = one.algbw_gb_per_s * one.burst_us.median * 1e3;
    lines.push(format!(
        "algbw: {} GB/s = {} B / {} µs",
        significant(one.algbw_gb_per_s),
        group_thousands(bytes.round() as u64),
        significant(one.burst_us.median)
    ));
    if one.algbw_gb_per_s > 0.0 {
        lines.push(format!(
            "busbw: {} GB/s = algbw × {}, the bus factor over {} ranks",
            significant(one.busbw_gb_per_s),
            significant(one.busbw_gb_per_s / one.algbw_gb_per_s),
            run.ranks
        ));
    }
    if let Some(step) = &one.step {
        lines.push(format!(
            "step: {} µs = burst × {}, the ops of a step over those of the replay",
            significant(step.step_us.median),
            significant(step.scale)
        ));
    }
    let checked = &one.verification;
    lines.push(match (run.imported.is_some(), checked.elements) {
        (true, _) if one.verified => "data: checked by nccl-tests, 0 wrong".to_string(),
        (true, _) if checked.wrong > 0 => format!(
            "data: checked by nccl-tests, {} wrong",
            group_thousands(checked.wrong)
        ),
        (true, _) | (false, 0) => "data: not checked".to_string(),
        (false, elements) => format!(
            "data: {} of {} elements wrong, compared with what the op must deliver, on every rank, before and after sampling",
            group_thousands(checked.wrong),
            group_thousands(elements)
        ),
    });
    lines
}

fn clock(run: &RunResult, one: &Measurement) -> String {
    match (one.conditions.clock.as_str(), run.backend) {
        ("cuda-events", _) => "CUDA events around the plan".to_string(),
        (_, Backend::Predicted) => "computed".to_string(),
        (clock, _) => format!("clock {clock}"),
    }
}

/// Where an interval is from.
fn interval(summary: &Summary) -> String {
    let ranks = median_ci95_ranks(usize::try_from(summary.n).unwrap_or(usize::MAX));
    match (summary.ci95, ranks) {
        (Some([lo, hi]), Some((first, last))) => format!(
            "; 95 % interval [{}, {}], the {} and {} smallest of {} (binomial order statistics)",
            significant(lo),
            significant(hi),
            ordinal(first + 1),
            ordinal(last + 1),
            group_thousands(summary.n)
        ),
        _ => format!("; no interval from {}", group_thousands(summary.n)),
    }
}

fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{}{ending}", group_thousands(number as u64))
}

fn share_of(share: &RankShare, n: u64) -> String {
    format!(
        "{} of {} samples",
        group_thousands((share.share * n as f64).round() as u64),
        group_thousands(n)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const EAGER: &str = include_str!("../../fuzz/corpus/result_json/eager.json");

    #[test]
    fn numbers_are_those_of_the_result() {
        let run = RunResult::from_json(EAGER).unwrap();
        let one = &run.results[0];
        let text = explain(&run);
        let n = group_thousands(one.burst_us.n);
        for part in [
            format!("{}: {}", one.label, one.plan.title),
            format!("the median of {n} samples"),
            format!("= burst / {} ops", group_thousands(one.plan.ops)),
            format!("ended by {}", one.conditions.stopped_by.name()),
        ] {
            assert!(text.contains(&part), "{part}: {text}");
        }
    }

    #[test]
    fn ordinals_read_as_english() {
        let all = [1, 2, 3, 4, 11, 12, 13, 21, 112, 1002].map(ordinal);
        assert_eq!(
            all,
            [
                "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th", "1,002nd"
            ]
        );
    }
}
