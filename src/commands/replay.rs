//! `replay`: any list of ops from a plan file.

use super::job::{Job, launched, times_hold_gaps, with_instruments};
use crate::cli::PlanFileArgs;
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::plan::load_plan;

const NAME: &str = "replay";

/// Runs the command on this rank and returns its exit code. What the user reads is printed, by
/// rank 0 alone.
///
/// # Errors
/// The same error on every rank, for rank 0 to print.
pub fn replay(args: &PlanFileArgs) -> Result<i32> {
    let started_ns = monotonic_ns();
    let plan = load_plan(&args.plan)?;
    let site = launched(NAME)?;
    let warnings = times_hold_gaps(&plan).into_iter().collect();
    Job {
        name: NAME,
        model: None,
        plans: with_instruments(plan, &args.inside),
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
