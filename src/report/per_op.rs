//! What each op adds to the ops before it.

use crate::result::{OpFigures, OpsFigures, Series};
use crate::stats::{SplitMix64, bootstrap_medians, percentile_sorted};

/// Bootstrap resamples of each beginning's median.
const RESAMPLES: usize = 2_000;

/// The same samples give the same intervals.
const SEED: u64 = 1;

/// A beginning of the plan, or all of it: its number of ops and its samples.
pub struct Beginning<'a> {
    pub ops: u64,
    pub series: &'a Series,
}

/// The medians of one beginning.
struct Medians {
    ops: u64,
    us: f64,
    resampled: Vec<f64>,
    per_rank_us: Vec<f64>,
}

/// The figures of each op, from `beginnings` in any order, the whole plan among them. `None` for
/// fewer than two, and where one has no samples.
pub fn ops_figures(beginnings: &[Beginning<'_>]) -> Option<OpsFigures> {
    let mut medians: Vec<Medians> = beginnings.iter().map(medians).collect::<Option<_>>()?;
    medians.sort_by_key(|one| one.ops);
    if medians.len() < 2 {
        return None;
    }
    let first = &medians[0];
    let nothing = Medians {
        ops: 0,
        us: 0.0,
        resampled: vec![0.0; RESAMPLES],
        per_rank_us: vec![0.0; first.per_rank_us.len()],
    };
    let before = std::iter::once(&nothing).chain(&medians);
    let ops = before.zip(&medians).map(|(one, next)| added(one, next));
    Some(OpsFigures {
        method: "prefix-plans".to_string(),
        ops: ops.collect(),
    })
}

fn medians(beginning: &Beginning<'_>) -> Option<Medians> {
    let samples = &beginning.series.samples;
    let ranks = samples.first()?.len();
    let mut bursts = beginning.series.burst_us();
    bursts.sort_by(f64::total_cmp);
    let mut random = SplitMix64::named(SEED, "per-op", beginning.ops);
    let of_rank = |rank: usize| {
        let mut times: Vec<f64> = samples.iter().map(|one| one[rank].device_us).collect();
        times.sort_by(f64::total_cmp);
        percentile_sorted(&times, 50.0)
    };
    Some(Medians {
        ops: beginning.ops,
        us: percentile_sorted(&bursts, 50.0),
        resampled: bootstrap_medians(&bursts, RESAMPLES, &mut random),
        per_rank_us: (0..ranks).map(of_rank).collect(),
    })
}

/// What lies between two beginnings, an op's share of it.
fn added(before: &Medians, after: &Medians) -> OpFigures {
    let ops = (after.ops - before.ops).max(1) as f64;
    let mut draws: Vec<f64> = before
        .resampled
        .iter()
        .zip(&after.resampled)
        .map(|(before, after)| (after - before) / ops)
        .collect();
    draws.sort_by(f64::total_cmp);
    let per_rank = before.per_rank_us.iter().zip(&after.per_rank_us);
    OpFigures {
        first_op: before.ops,
        ops: after.ops - before.ops,
        us: (after.us - before.us) / ops,
        ci95_us: [
            percentile_sorted(&draws, 2.5),
            percentile_sorted(&draws, 97.5),
        ],
        per_rank_us: per_rank
            .map(|(before, after)| (after - before) / ops)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::assemble::tests::series;

    /// 30 samples of a plan whose ops take these times, on two ranks, with a little noise.
    fn plan(op_us: &[f64]) -> Vec<Series> {
        (1..=op_us.len())
            .map(|length| {
                let total: f64 = op_us[..length].iter().sum();
                let sample = |i: usize| {
                    let noise = (i * 7 % 11) as f64 / 100.0;
                    vec![total + noise, total - 1.0 + noise]
                };
                series(&(0..30).map(sample).collect::<Vec<_>>())
            })
            .collect()
    }

    fn figures(op_us: &[f64], lengths: &[usize]) -> OpsFigures {
        let all = plan(op_us);
        let beginnings: Vec<Beginning<'_>> = lengths
            .iter()
            .map(|length| Beginning {
                ops: *length as u64,
                series: &all[length - 1],
            })
            .collect();
        ops_figures(&beginnings).unwrap()
    }

    #[test]
    fn each_op_gets_the_time_that_it_adds() {
        let times = [20.0, 8.0, 8.0, 40.0, 8.0];
        let found = figures(&times, &[3, 1, 5, 2, 4]);
        assert_eq!(found.ops.len(), 5);
        for (op, us) in found.ops.iter().zip(times) {
            assert!((op.us - us).abs() < 0.1, "{op:?}, not {us}");
            assert!(op.ci95_us[0] <= us + 0.1 && op.ci95_us[1] >= us - 0.1);
        }
        // Rank 1 is 1 µs ahead at every length: that is in its first op alone.
        assert!((found.ops[0].per_rank_us[1] - 19.0).abs() < 0.1);
        assert!((found.ops[3].per_rank_us[1] - 40.0).abs() < 0.1);
    }

    #[test]
    fn groups_of_ops_share_what_they_add() {
        let found = figures(&[20.0, 8.0, 10.0, 40.0, 8.0], &[2, 4, 5]);
        let told: Vec<(u64, u64)> = found.ops.iter().map(|op| (op.first_op, op.ops)).collect();
        assert_eq!(told, [(0, 2), (2, 2), (4, 1)]);
        assert!((found.ops[1].us - 25.0).abs() < 0.1);
    }

    #[test]
    fn one_beginning_tells_nothing() {
        let all = plan(&[5.0]);
        let only = Beginning {
            ops: 1,
            series: &all[0],
        };
        assert_eq!(ops_figures(&[only]), None);
    }
}
