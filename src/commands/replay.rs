//! `replay`: any list of ops from a plan file.

use super::job::{Job, launched};
use crate::cli::PlanFileArgs;
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::plan::{Plan, load_plan};
use crate::result::Warning;
use crate::units::format_us;

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
    let warnings = gaps(&plan).into_iter().collect();
    Job {
        name: NAME,
        model: None,
        plans: vec![plan],
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

/// Says that times hold the plan's gaps.
fn gaps(plan: &Plan) -> Option<Warning> {
    let gaps_us: f64 = plan.ops.iter().map(|op| op.gap_us).sum();
    (gaps_us > 0.0).then(|| Warning {
        code: "times-hold-gaps".to_string(),
        text: format!(
            "the times hold the plan's own gaps, {} in all",
            format_us(gaps_us)
        ),
        remedy: None,
    })
}
