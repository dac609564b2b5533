//! `allreduce-burst`: the all-reduces of one decode step, replayed as a burst.

use super::job::{Job, launched, times_hold_gaps, with_beginnings};
use crate::cli::BurstArgs;
use crate::clock::monotonic_ns;
use crate::error::Result;
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
    let mut plan = plan::allreduce_burst(
        &model,
        &BurstRequest {
            ops: args.plan.ops,
            bytes: args.plan.bytes,
            dtype: args.plan.dtype,
            batch: args.plan.batch,
            full_step: args.plan.full_step.then_some(here.size),
        },
    )?;
    let gaps = Gaps {
        every_us: args.plan.gap_us,
        jitter_us: args.plan.gap_jitter_us,
        seed: args.plan.gap_seed,
    };
    gaps.put_into(&mut plan, here.rank);
    let site = launched(NAME)?;
    let warnings = times_hold_gaps(&plan).into_iter().collect();
    Job {
        name: NAME,
        model: Some(model),
        plans: with_beginnings(plan, args.per_op),
        replay: &args.replay,
        one_mode: false,
        sampling: &args.sampling,
        machine: &args.machine,
        output: &args.output,
        question: None,
        warnings,
        started_ns,
    }
    .run(site)
}
