//! `allreduce-burst`: the all-reduces of one decode step, replayed as a burst.

use super::job::{Job, launched, times_hold_gaps, with_instruments};
use crate::cli::BurstArgs;
use crate::clock::monotonic_ns;
use crate::error::{Error, Result};
use crate::plan::{self, BurstRequest, Gaps, load_model};
use crate::world::LaunchSite;

const NAME: &str = "allreduce-burst";

/// Runs the command on this rank and returns its exit code. What the user reads is printed, by
/// rank 0 alone.
///
/// # Errors
/// The same error on every rank, for rank 0 to print.
pub fn allreduce_burst(args: &BurstArgs) -> Result<i32> {
    let started_ns = monotonic_ns();
    let model = load_model(&args.plan.model)?;
    let here = LaunchSite::from_environment().unwrap_or(LaunchSite { rank: 0, size: 1 });
    let plan = plan::allreduce_burst(
        &model,
        &BurstRequest {
            ops: args.plan.ops,
            bytes: args.plan.bytes,
            dtype: args.plan.dtype,
            batch: args.plan.batch,
            full_step: args.plan.full_step.then_some(here.size),
        },
    )?;
    let site = launched(NAME)?;
    if let Some(late) = args.plan.late_rank.filter(|late| late.rank >= site.size) {
        return Err(Error::usage(format!(
            "--late-rank {}: there are ranks 0 to {}",
            late.rank,
            site.size - 1
        ))
        .try_this(format!("--late-rank {}:{}", site.size - 1, late.us)));
    }
    let mut plans = Vec::new();
    let mut warnings = Vec::new();
    for every_us in distinct(&args.plan.gap_us) {
        let gaps = Gaps {
            every_us,
            jitter_us: args.plan.gap_jitter_us,
            seed: args.plan.gap_seed,
            late: args.plan.late_rank,
        };
        let mut spread_out = plan.clone();
        gaps.put_into(&mut spread_out, here.rank);
        if args.plan.gap_us.len() > 1 {
            spread_out.name = format!("gap {every_us} µs");
        }
        warnings.extend(times_hold_gaps(&spread_out));
        plans.extend(with_instruments(spread_out, &args.inside));
    }
    if plans.len() > 1 && args.plan.gap_us.len() > 1 {
        if args.inside.per_op {
            return Err(
                Error::usage("--per-op looks at one gap, not at a list of them")
                    .try_this("--gap-us with one number, or --arrivals"),
            );
        }
        // Told once, in the table.
        warnings.clear();
    }
    Job {
        name: NAME,
        model: Some(model),
        plans,
        replay: &args.replay,
        one_mode: false,
        sampling: &args.sampling,
        machine: &args.machine,
        output: &args.output,
        nccl_tests_json: None,
        question: None,
        warnings,
        started_ns,
    }
    .run(site)
}

/// The gaps in ascending order, each once.
fn distinct(gaps_us: &[f64]) -> Vec<f64> {
    let mut sorted = gaps_us.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    sorted
}
