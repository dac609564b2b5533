//! `alltoall-sweep`: the all-to-all of MoE layers over tokens per GPU.

use super::curve::{exchanges, replay_size, unused_skew};
use super::job::{Job, launched};
use super::question::Question;
use crate::cli::{ImplArg, PayloadArg, SweepArgs};
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::plan::{Direction, Exchange, Exchanges, Plan, exchange_point, load_model};

const NAME: &str = "alltoall-sweep";

/// Runs the command on this rank and returns its exit code. What the user reads is printed, by
/// rank 0 alone.
///
/// # Errors
/// The same error on every rank, for rank 0 to print.
pub fn alltoall_sweep(args: &SweepArgs) -> Result<i32> {
    let started_ns = monotonic_ns();
    let model = load_model(&args.curve.model)?;
    let site = launched(NAME)?;
    let exchanges = exchanges(&model, &args.curve, args.payload, site.size);
    exchanges.check()?;
    let plans = plans(args, &exchanges)?;
    Job {
        name: NAME,
        model: Some(model.clone()),
        plans,
        replay: &args.replay,
        one_mode: false,
        sampling: &args.sampling,
        machine: &args.machine,
        output: &args.output,
        nccl_tests_json: None,
        question: Some(Question::default()),
        warnings: unused_skew(&args.curve, args.payload).into_iter().collect(),
        started_ns,
    }
    .run(site)
}

/// A plan for each t, direction and implementation.
fn plans(args: &SweepArgs, exchanges: &Exchanges<'_>) -> Result<Vec<Plan>> {
    let mut implementations = args.implementation.clone();
    implementations.dedup();
    let mut plans = Vec::new();
    for (name, direction) in directions(args.payload, exchanges) {
        for implementation in &implementations {
            let (curve, exchange) = match implementation {
                ImplArg::Auto => (name.to_string(), Exchange::Auto),
                ImplArg::Native => (format!("{name} (native)"), Exchange::Native),
                ImplArg::Grouped => (format!("{name} (grouped)"), Exchange::Grouped),
            };
            for tokens in &args.curve.tokens.0 {
                let size = replay_size(&args.curve);
                let directions = [direction];
                plans.push(exchange_point(
                    exchanges,
                    (&curve, &curve),
                    *tokens,
                    &directions,
                    exchange,
                    size,
                )?);
            }
        }
    }
    Ok(plans)
}

/// The directions that differ, with the names of their curves: evenly split tokens of one type
/// travel back as they came.
fn directions(payload: PayloadArg, exchanges: &Exchanges<'_>) -> Vec<(&'static str, Direction)> {
    if payload == PayloadArg::Uniform && exchanges.formats.dispatch == exchanges.formats.combine {
        return vec![("all-to-all", Direction::Dispatch)];
    }
    [Direction::Dispatch, Direction::Combine]
        .map(|direction| (direction.name(), direction))
        .to_vec()
}
