//! `feasibility`: what a decode step's communication costs under each parallel plan, over tokens per
//! GPU, and where Expert Parallelism would cost less.

use super::curve::{exchanges, replay_size, unused_skew};
use super::job::{Job, launched};
use super::question::Question;
use crate::cli::{FeasibilityArgs, PlacementArg, ReplayArgs};
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::plan::{
    BurstRequest, Direction, Exchange, Exchanges, ModelFacts, ParallelKind, Plan, all_gather_point,
    allreduce_burst, exchange_point, load_model, tensor_parallel_point,
};
use crate::result::Warning;
use crate::verdict::{Absent, check_tpot};

const NAME: &str = "feasibility";

/// The plans that are compared with TP.
const COMPARED: [ParallelKind; 2] = [
    ParallelKind::DpAttentionEpAllToAll,
    ParallelKind::DpAttentionEpAllGather,
];

/// Runs the command on this rank and returns its exit code. What the user reads is printed, by
/// rank 0 alone.
///
/// # Errors
/// The same error on every rank, for rank 0 to print.
pub fn feasibility(args: &FeasibilityArgs) -> Result<i32> {
    let started_ns = monotonic_ns();
    let model = load_model(&args.curve.model)?;
    check_tpot(args.tpot_ms)?;
    let site = launched(NAME)?;
    let exchanges = exchanges(&model, &args.curve, args.payload, site.size);
    let mut warnings: Vec<Warning> = unused_skew(&args.curve, args.payload).into_iter().collect();
    warnings.push(same_as_tensor_parallel(&model));
    // A model whose experts cannot be spread still has its TP curve.
    let absent = match exchanges.check() {
        Ok(()) => Vec::new(),
        Err(error) => {
            let absent = |kind: ParallelKind| Absent {
                plan: kind.name().to_string(),
                why: error.what.clone(),
            };
            COMPARED.map(absent).to_vec()
        }
    };
    let plans = plans(args, &model, &exchanges, absent.is_empty())?;
    let replay = ReplayArgs {
        mode: args.mode.into_iter().collect(),
        placement: PlacementArg::Out,
        buffers: args.buffers,
    };
    Job {
        name: NAME,
        model: Some(model.clone()),
        plans,
        replay: &replay,
        one_mode: true,
        sampling: &args.sampling,
        machine: &args.machine,
        output: &args.output,
        nccl_tests_json: None,
        question: Some(Question {
            reference: Some(ParallelKind::Tp.name().to_string()),
            compared: COMPARED.map(|kind| kind.name().to_string()).to_vec(),
            absent,
            tpot_ms: args.tpot_ms,
        }),
        warnings,
        started_ns,
    }
    .run(site)
}

/// At each t: the step of every plan, and the two all-to-alls apart.
fn plans(
    args: &FeasibilityArgs,
    model: &ModelFacts,
    exchanges: &Exchanges<'_>,
    with_experts: bool,
) -> Result<Vec<Plan>> {
    let size = replay_size(&args.curve);
    let both = [Direction::Dispatch, Direction::Combine];
    let mut plans = vec![batch_one(model)?];
    for tokens in &args.curve.tokens.0 {
        let ranks = exchanges.ranks;
        plans.push(tensor_parallel_point(model, *tokens, ranks, size)?);
        if !with_experts {
            continue;
        }
        let point = |curve: (&str, &str), directions: &[Direction]| {
            let exchange = Exchange::Auto;
            exchange_point(exchanges, curve, *tokens, directions, exchange, size)
        };
        let kind = ParallelKind::DpAttentionEpAllToAll;
        plans.push(point((kind.name(), kind.short()), &both)?);
        for direction in both {
            plans.push(point((direction.name(), direction.name()), &[direction])?);
        }
        plans.push(all_gather_point(model, *tokens, ranks, size)?);
    }
    Ok(plans)
}

/// The burst that `allreduce-burst` measures: the step of one token, which no plan with data-parallel
/// attention has on all ranks.
fn batch_one(model: &ModelFacts) -> Result<Plan> {
    let request = BurstRequest {
        batch: 1,
        ..BurstRequest::default()
    };
    Ok(Plan {
        name: "TP at batch 1".to_string(),
        ..allreduce_burst(model, &request)?
    })
}

fn same_as_tensor_parallel(model: &ModelFacts) -> Warning {
    Warning {
        code: "tp-attention-ep-equals-tp".to_string(),
        text: if model.moe_layers == 0 {
            "a step is counted as 2 all-reduces a layer; the embedding's all-reduce and the logits' gather are not in it".to_string()
        } else {
            "TP attention + EP (vLLM and SGLang without data-parallel attention) sends what TP sends: its curve is TP's. A step is counted as 2 all-reduces a layer; the embedding's all-reduce and the logits' gather are not in it".to_string()
        },
        remedy: None,
    }
}
