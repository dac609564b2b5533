//! From stamps of ops to who came late and what waiting for it cost.

use crate::result::{ArrivalFigures, OpArrival, OpStamp, RankArrival, RankStamps, Series};
use crate::stats::{SplitMix64, Summary, bootstrap_medians, ends_of, percentile_sorted};

/// Stamps may make a plan so many times as long; beyond it they change what they are to measure.
const MOST_PERTURBATION: f64 = 1.10;

/// Bootstrap resamples of a median.
const RESAMPLES: usize = 2_000;

/// The same samples give the same intervals.
const SEED: u64 = 1;

/// A rank is called late when the interval of its lateness lies above this share of what moving
/// the data of an op takes, and above what clocks can be off by.
const LATE_SHARE: f64 = 0.05;

/// What the replays of a plan with stamps tell about it. `stamps[replay][rank]`; `plain` are the
/// samples of the plan without stamps. `None` where there is nothing to tell.
pub fn arrival_figures(
    plain: &Series,
    stamped: &Series,
    stamps: &[Vec<RankStamps>],
) -> Option<ArrivalFigures> {
    let first = stamps.first()?;
    let (perturbation, perturbation_ci95) = perturbation(plain, stamped)?;
    let one_clock = first.iter().all(|rank| rank.clock == first[0].clock);
    let replays: Vec<Replay> = stamps
        .iter()
        .map(|ranks| Replay::new(ranks, one_clock))
        .collect::<Option<_>>()?;
    let kind = first[0].clock.split(' ').next().unwrap_or_default();
    let mut figures = ArrivalFigures {
        replays: replays.len() as u64,
        perturbation,
        perturbation_ci95,
        clock: kind.to_string(),
        clock_error_us: replays.iter().map(|one| one.error_us).fold(0.0, f64::max),
        withheld: None,
        ranks: Vec::new(),
        ops: Vec::new(),
        late_rank: None,
    };
    if perturbation > MOST_PERTURBATION {
        figures.withheld = Some(format!(
            "stamps made the plan {perturbation:.2} times as long, more than {MOST_PERTURBATION:.2}: what they tell is not the plan's own"
        ));
        return Some(figures);
    }
    figures.ranks = (0..first.len())
        .map(|rank| rank_arrival(&replays, rank))
        .collect::<Option<_>>()?;
    let ops = replays[0].ops.len();
    figures.ops = (0..ops)
        .map(|op| op_arrival(&replays, op))
        .collect::<Option<_>>()?;
    figures.late_rank = late_rank(&figures);
    Some(figures)
}

/// Median of the stamped over that of the plain samples, and its interval.
fn perturbation(plain: &Series, stamped: &Series) -> Option<(f64, [f64; 2])> {
    let side = |series: &Series, name: &str| -> Option<(f64, Vec<f64>)> {
        let mut us = series.burst_us();
        if us.is_empty() || us.iter().any(|us| *us <= 0.0) {
            return None;
        }
        us.sort_by(f64::total_cmp);
        let mut random = SplitMix64::named(SEED, name, 0);
        let medians = bootstrap_medians(&us, RESAMPLES, &mut random);
        Some((percentile_sorted(&us, 50.0), medians))
    };
    let (plain_us, plain) = side(plain, "plain")?;
    let (stamped_us, stamped) = side(stamped, "stamped")?;
    let mut ratios: Vec<f64> = stamped.iter().zip(&plain).map(|(s, p)| s / p).collect();
    Some((stamped_us / plain_us, ends_of(&mut ratios, 0.025)))
}

/// One stamped replay on one clock.
struct Replay {
    /// `ops[op][rank]`, in µs of a common clock.
    ops: Vec<Vec<Times>>,
    /// How far two ranks' times can be apart for the same moment.
    error_us: f64,
}

#[derive(Clone, Copy)]
struct Times {
    free_us: f64,
    ready_us: f64,
    end_us: f64,
}

impl Replay {
    /// `None` where ranks tell of different numbers of ops.
    fn new(ranks: &[RankStamps], one_clock: bool) -> Option<Replay> {
        let count = ranks.first()?.ops.len();
        if ranks.iter().any(|rank| rank.ops.len() != count) {
            return None;
        }
        let on_host = |rank: &RankStamps, ns: u64| match one_clock {
            true => ns,
            false => ns.wrapping_add_signed(rank.to_host_ns),
        };
        let zero = ranks
            .iter()
            .filter_map(|rank| Some(on_host(rank, rank.ops.first()?.free_ns)))
            .min()
            .unwrap_or(0);
        let times = |rank: &RankStamps, op: &OpStamp| {
            // Signed: clocks that differ may put an end before the zero.
            let us = |ns: u64| on_host(rank, ns).wrapping_sub(zero) as i64 as f64 / 1e3;
            Times {
                free_us: us(op.free_ns),
                ready_us: us(op.ready_ns),
                end_us: us(op.end_ns),
            }
        };
        let mut errors: Vec<u64> = ranks.iter().map(|rank| rank.error_ns).collect();
        errors.sort_unstable();
        Some(Replay {
            ops: (0..count)
                .map(|op| {
                    ranks
                        .iter()
                        .map(|rank| times(rank, &rank.ops[op]))
                        .collect()
                })
                .collect(),
            error_us: match (one_clock, errors.as_slice()) {
                (false, [.., one, other]) => (*one as f64 + *other as f64) / 1e3,
                _ => 0.0,
            },
        })
    }
}

/// When the last rank was ready.
fn last_ready_us(ranks: &[Times]) -> f64 {
    ranks
        .iter()
        .map(|one| one.ready_us)
        .fold(f64::MIN, f64::max)
}

/// What a rank waits for the last one: not longer than the op lasts for it, since the root of a
/// broadcast waits for nobody.
fn waiting_us(ranks: &[Times], rank: usize) -> f64 {
    let own = ranks[rank];
    (last_ready_us(ranks).min(own.end_us) - own.ready_us).max(0.0)
}

/// How much later than the middle of the others a rank is ready.
fn late_us(ranks: &[Times], rank: usize) -> f64 {
    let others = ranks.iter().enumerate().filter(|(other, _)| *other != rank);
    let mut ready: Vec<f64> = others.map(|(_, one)| one.ready_us).collect();
    ready.sort_by(f64::total_cmp);
    match ready.is_empty() {
        true => 0.0,
        false => ranks[rank].ready_us - percentile_sorted(&ready, 50.0),
    }
}

fn rank_arrival(replays: &[Replay], rank: usize) -> Option<RankArrival> {
    let of_replays =
        |of: &dyn Fn(&Replay) -> f64| Summary::of(&replays.iter().map(of).collect::<Vec<_>>());
    let sum = |of: &dyn Fn(&[Times]) -> f64| {
        of_replays(&|replay| replay.ops.iter().map(|ranks| of(ranks)).sum())
    };
    let late = |replay: &Replay| {
        let mut all: Vec<f64> = replay
            .ops
            .iter()
            .map(|ranks| late_us(ranks, rank))
            .collect();
        all.sort_by(f64::total_cmp);
        percentile_sorted(&all, 50.0)
    };
    let all: Vec<&Vec<Times>> = replays.iter().flat_map(|replay| &replay.ops).collect();
    let is_last = |ranks: &&&Vec<Times>| ranks[rank].ready_us == last_ready_us(ranks);
    let last = all.iter().filter(is_last).count();
    Some(RankArrival {
        rank: rank as u32,
        late_us: of_replays(&late)?,
        last_share: last as f64 / all.len() as f64,
        compute_us: sum(&|ranks| ranks[rank].ready_us - ranks[rank].free_us)?,
        waiting_us: sum(&|ranks| waiting_us(ranks, rank))?,
        moving_us: sum(&|ranks| {
            let own = ranks[rank];
            own.end_us - own.ready_us - waiting_us(ranks, rank)
        })?,
    })
}

fn op_arrival(replays: &[Replay], op: usize) -> Option<OpArrival> {
    let of_replays = |of: &dyn Fn(&[Times]) -> f64| -> Vec<f64> {
        replays.iter().map(|replay| of(&replay.ops[op])).collect()
    };
    let ranks = replays.first()?.ops[op].len();
    let waiting = (0..ranks).map(|rank| {
        let mut all = of_replays(&|ranks| waiting_us(ranks, rank));
        all.sort_by(f64::total_cmp);
        percentile_sorted(&all, 50.0)
    });
    Some(OpArrival {
        op: op as u64,
        spread_us: Summary::of(&of_replays(&|ranks| {
            let first = ranks
                .iter()
                .map(|one| one.ready_us)
                .fold(f64::MAX, f64::min);
            last_ready_us(ranks) - first
        }))?,
        moving_us: Summary::of(&of_replays(&|ranks| {
            let end = ranks.iter().map(|one| one.end_us).fold(f64::MIN, f64::max);
            end - last_ready_us(ranks)
        }))?,
        waiting_us: waiting.collect(),
    })
}

/// The latest rank, if it is shown to be late.
fn late_rank(figures: &ArrivalFigures) -> Option<u32> {
    let mut moving: Vec<f64> = figures.ops.iter().map(|op| op.moving_us.median).collect();
    moving.sort_by(f64::total_cmp);
    if moving.is_empty() {
        return None;
    }
    let least = figures
        .clock_error_us
        .max(LATE_SHARE * percentile_sorted(&moving, 50.0));
    let latest = figures
        .ranks
        .iter()
        .max_by(|one, other| one.late_us.median.total_cmp(&other.late_us.median))?;
    let [lo, _] = latest.late_us.ci95?;
    (lo > least).then_some(latest.rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::assemble::tests::series;

    /// Replays of ops that move data for 10 µs, each after 5 µs of compute and `late(rank)` more.
    fn replay(
        ranks: u64,
        ops: u64,
        late_ns: &dyn Fn(u64, u64) -> u64,
        clock: bool,
    ) -> Vec<RankStamps> {
        let mut free = 1_000_000u64;
        let mut all: Vec<Vec<OpStamp>> = vec![Vec::new(); ranks as usize];
        for op in 0..ops {
            let ready: Vec<u64> = (0..ranks)
                .map(|rank| free + 5_000 + late_ns(rank, op))
                .collect();
            let end = ready.iter().max().unwrap() + 10_000;
            for (stamps, ready) in all.iter_mut().zip(ready) {
                stamps.push(OpStamp {
                    free_ns: free,
                    ready_ns: ready,
                    end_ns: end,
                });
            }
            free = end;
        }
        all.into_iter()
            .enumerate()
            .map(|(rank, ops)| {
                // Each rank's own clock is so far behind the host's.
                let behind = if clock { 0 } else { 40_000 * rank as u64 };
                let mine = |ns: u64| ns - behind;
                RankStamps {
                    clock: if clock {
                        "globaltimer of GPU-0".into()
                    } else {
                        format!("globaltimer of GPU-{rank}")
                    },
                    to_host_ns: behind as i64,
                    error_ns: 700,
                    ops: ops
                        .iter()
                        .map(|op| OpStamp {
                            free_ns: mine(op.free_ns),
                            ready_ns: mine(op.ready_ns),
                            end_ns: mine(op.end_ns),
                        })
                        .collect(),
                }
            })
            .collect()
    }

    fn figures(late_ns: &dyn Fn(u64, u64) -> u64, clock: bool, factor: f64) -> ArrivalFigures {
        let stamps: Vec<_> = (0..12).map(|_| replay(4, 6, late_ns, clock)).collect();
        let plain = series(&vec![vec![100.0; 4]; 12]);
        let stamped = series(&vec![vec![100.0 * factor; 4]; 12]);
        arrival_figures(&plain, &stamped, &stamps).unwrap()
    }

    #[test]
    fn a_late_rank_is_named_with_its_delay_on_any_clocks() {
        for one_clock in [true, false] {
            let found = figures(
                &|rank, _| if rank == 2 { 30_000 } else { 0 },
                one_clock,
                1.03,
            );
            assert_eq!(found.late_rank, Some(2));
            assert_eq!(found.withheld, None);
            let late = &found.ranks[2];
            assert!((late.late_us.median - 30.0).abs() < 1e-6);
            assert_eq!(late.last_share, 1.0);
            assert!((late.compute_us.median - 6.0 * 35.0).abs() < 1e-6);
            assert!(late.waiting_us.median.abs() < 1e-6);
            for other in [0, 1, 3] {
                let rank = &found.ranks[other];
                assert!((rank.waiting_us.median - 6.0 * 30.0).abs() < 1e-6);
                assert!((rank.moving_us.median - 60.0).abs() < 1e-6);
                assert_eq!(rank.last_share, 0.0);
            }
            let op = &found.ops[3];
            assert!((op.spread_us.median - 30.0).abs() < 1e-6);
            assert!((op.moving_us.median - 10.0).abs() < 1e-6);
            assert!((op.waiting_us[0] - 30.0).abs() < 1e-6);
            let error = if one_clock { 0.0 } else { 1.4 };
            assert!((found.clock_error_us - error).abs() < 1e-9);
        }
    }

    #[test]
    fn ranks_that_take_turns_and_lateness_within_the_clocks_error_name_nobody() {
        let turns = figures(
            &|rank, op| if op % 4 == rank { 3_000 } else { 0 },
            true,
            1.0,
        );
        assert_eq!(turns.late_rank, None);
        let late = |rank: u64, _: u64| if rank == 1 { 1_000 } else { 0 };
        assert_eq!(figures(&late, false, 1.0).late_rank, None);
        assert_eq!(figures(&late, true, 1.0).late_rank, Some(1));
    }

    #[test]
    fn stamps_that_perturb_are_withheld_with_their_cost() {
        let found = figures(&|_, _| 0, true, 1.25);
        assert!(found.withheld.unwrap().contains("1.25 times"));
        assert!(found.ranks.is_empty() && found.ops.is_empty());
        assert_eq!(found.perturbation, 1.25);
    }

    #[test]
    fn a_root_that_waits_for_nobody_does_not_wait() {
        let ranks = [
            Times {
                free_us: 0.0,
                ready_us: 0.0,
                end_us: 4.0,
            },
            Times {
                free_us: 0.0,
                ready_us: 50.0,
                end_us: 60.0,
            },
        ];
        assert_eq!(waiting_us(&ranks, 0), 4.0);
    }

    #[test]
    fn ranks_that_tell_of_different_plans_tell_nothing() {
        let mut stamps = vec![replay(2, 3, &|_, _| 0, true)];
        stamps[0][1].ops.pop();
        let plain = series(&[vec![1.0, 1.0]]);
        assert_eq!(arrival_figures(&plain, &plain, &stamps), None);
    }
}
