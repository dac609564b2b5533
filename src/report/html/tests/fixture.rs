//! A made-up run over tokens per GPU, whose curves cross.

use crate::executor::ExecutorConditions;
use crate::plan::{
    Direction, Exchange, Exchanges, ParallelKind, Payload, Plan, ReplaySize, RoutingRule,
    TokenFormats, exchange_point, load_model, tensor_parallel_point,
};
use crate::report::tests::run;
use crate::report::{Figures, PlanOutline, measurement};
use crate::result::{
    Buffers, Mode, Placement, RankSample, RunResult, Series, StoppedBy, Verification, Warning,
};
use crate::stats::SplitMix64;
use crate::verdict::{Curve, CurvePoint, FiguresKind, Request, Rules, verdict};

const RANKS: u32 = 8;
const TOKENS: [u64; 6] = [1, 2, 4, 8, 16, 32];

/// TP grows slowly from 2 ms, all-to-all from 1 ms in proportion to t. Rank 5 is slow, rank 3
/// starts last.
pub fn curves_run() -> (RunResult, Vec<Series>) {
    let (mut made, _) = run();
    made.ranks = RANKS;
    made.command.name = "feasibility".to_string();
    made.command.argv.push("--model=it's mine".to_string());
    let gpu = made.machine.gpus[0].clone();
    made.machine.gpus = (0..RANKS)
        .map(|rank| crate::result::Gpu {
            rank,
            device: rank,
            pci_bus_id: format!("0000:{rank:02x}:00.0"),
            uuid: format!("GPU-{rank}"),
            ..gpu.clone()
        })
        .collect();
    made.machine.hosts[0].ranks = (0..RANKS).collect();
    let mut all = Vec::new();
    let mut points: [Vec<CurvePoint>; 2] = Default::default();
    made.results.clear();
    for tokens in TOKENS {
        let t = tokens as f64;
        let plans = [
            (tensor_parallel(tokens), 2000.0 + 60.0 * t),
            (all_to_all(tokens), 1000.0 * (1.0 + t / 8.0)),
        ];
        for ((plan, typical_us), points) in plans.into_iter().zip(&mut points) {
            let series = series(&plan, typical_us);
            points.push(CurvePoint {
                tokens,
                step_us: series.burst_us(),
            });
            made.results.push(measured(&plan, &series));
            all.push(series);
        }
    }
    let curve = |kind: ParallelKind, points: Vec<CurvePoint>| Curve::new(kind.name(), points);
    let [tp, ep] = points;
    let curves = [
        curve(ParallelKind::Tp, tp).unwrap(),
        curve(ParallelKind::DpAttentionEpAllToAll, ep).unwrap(),
    ];
    made.verdict = Some(
        verdict(&Request {
            kind: FiguresKind::Measured,
            ranks: RANKS,
            reference: Some(ParallelKind::Tp.name()),
            curves: &curves,
            alone: &[],
            absent: &[],
            tpot_ms: Some(12.5),
            rules: Rules::default(),
        })
        .unwrap(),
    );
    made.warnings.push(Warning {
        code: "precision-not-reached".to_string(),
        text: "TP t=32 eager out-of-place: the time budget ended with ± 8.7 %".to_string(),
        remedy: Some("a larger --budget".to_string()),
    });
    (made, all)
}

fn tensor_parallel(tokens: u64) -> Plan {
    let model = load_model("kimi-k2.5").unwrap();
    tensor_parallel_point(&model, tokens, RANKS, ReplaySize { bytes: u64::MAX }).unwrap()
}

fn all_to_all(tokens: u64) -> Plan {
    let model = load_model("kimi-k2.5").unwrap();
    let exchanges = Exchanges {
        model: &model,
        ranks: RANKS,
        payload: Payload::Routed(RoutingRule { skew: 0.0, seed: 1 }),
        formats: TokenFormats::or_own(&model, None, None),
    };
    let kind = ParallelKind::DpAttentionEpAllToAll;
    let both = [Direction::Dispatch, Direction::Combine];
    let size = ReplaySize { bytes: u64::MAX };
    let names = (kind.name(), kind.short());
    exchange_point(&exchanges, names, tokens, &both, Exchange::Auto, size).unwrap()
}

fn series(plan: &Plan, typical_us: f64) -> Series {
    let random = &mut SplitMix64::named(1, &plan.name, 0);
    let samples = (0..30)
        .map(|_| {
            let us = typical_us * (1.0 + 0.01 * random.normal());
            let rank = |rank: u32| RankSample {
                device_us: us * [1.0, 1.004, 0.98, 0.88, 1.0, 1.06, 0.996, 1.012][rank as usize],
                host_us: us + 10.0,
                issue_us: 900.0,
                arrival_ns: if rank == 3 {
                    2_000
                } else {
                    100 * u64::from(rank)
                },
            };
            (0..RANKS).map(rank).collect()
        })
        .collect();
    Series {
        plan: plan.name.clone(),
        mode: Mode::Eager,
        placement: Placement::OutOfPlace,
        samples,
    }
}

fn measured(plan: &Plan, series: &Series) -> crate::result::Measurement {
    let conditions = ExecutorConditions {
        clock: "cuda-events".into(),
        buffer_slots: 122,
        gate: None,
        nccl_choice: Some("Ring/LL, 1 channel, 512 threads".to_string()),
        calls: "ncclAllReduce".into(),
        issue_is_separate: true,
    };
    let verification = Verification {
        elements: 1_000,
        wrong: 0,
        first_wrong: None,
    };
    let figures = Figures {
        plan: &PlanOutline::of(plan, RANKS),
        buffers: Buffers::Warm,
        precision_asked: 0.02,
        shared_gpu: false,
        one_host: true,
        warmup: 5,
        stopped_by: StoppedBy::Precision,
        conditions: &conditions,
        verification: &verification,
    };
    measurement(series, &figures).unwrap()
}
