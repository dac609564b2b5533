//! The whole verdict: every plan's figures, and every plan against the reference.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::stats::{median_ci95_ranks, percentile_sorted};

use super::crossover::crossover_of;
use super::curve::Drawn;
use super::knee::knee_of;
use super::{Comparison, Crossover, CurvePoint, FiguresKind, Knee, Request, StatedRules};

/// What the figures say. Field `verdict` of result.json.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    pub kind: FiguresKind,
    /// Ranks, N.
    pub ranks: u32,
    /// The plan that the others are compared with; `null` where none are.
    pub reference: Option<String>,
    /// The TPOT that shares refer to, in ms.
    pub tpot_ms: Option<f64>,
    /// Every other plan against the reference.
    pub pairs: Vec<Pair>,
    pub plans: Vec<PlanFigures>,
    pub rules: StatedRules,
}

/// A plan against the reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    pub plan: String,
    pub crossover: Crossover,
    /// At each t that both have, ascending.
    pub points: Vec<Comparison>,
    /// The t that were not compared.
    pub left_out: Vec<LeftOut>,
}

/// A t that was not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    pub tokens: u64,
    pub why: String,
}

/// One plan's curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanFigures {
    pub plan: String,
    pub points: Vec<PointFigures>,
    pub knee: Knee,
}

/// One plan at one t.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointFigures {
    /// Tokens per GPU, t.
    pub tokens: u64,
    /// Tokens of the step over all ranks, B = t·N.
    pub batch_tokens: u64,
    /// Samples.
    pub n: u64,
    /// Median of the communication of a step, in ms.
    pub ms_per_step: f64,
    /// 95 % interval of the median from order statistics, in ms; `null` below 6 samples.
    pub ci95_ms: Option<[f64; 2]>,
    /// B over the median: tokens per second of all ranks that communication alone allows.
    pub ceiling_tok_per_s: f64,
    /// The ceiling at the ends of `ci95_ms`.
    pub ceiling_ci95: Option<[f64; 2]>,
    /// The median over the given TPOT. Above 1, communication alone exceeds it.
    pub tpot_share: Option<f64>,
    /// The share at the ends of `ci95_ms`.
    pub tpot_share_ci95: Option<[f64; 2]>,
}

/// Reads the curves.
///
/// # Errors
/// Exit code 2 for a TPOT that is no time, and for rules outside their range; 1 for two curves of
/// one plan and for zero ranks, which no user can ask for.
pub fn verdict(request: &Request) -> Result<Verdict> {
    request.check()?;
    let rules = &request.rules;
    let drawn: Vec<Drawn> = request
        .curves
        .iter()
        .map(|curve| Drawn::new(curve, rules))
        .collect();
    let alone = request.alone.iter();
    let alone: Vec<Drawn> = alone.map(|curve| Drawn::new(curve, rules)).collect();
    let is_reference = |plan: &str| request.reference == Some(plan);
    let reference = drawn.iter().find(|curve| is_reference(&curve.plan));
    let measured = drawn
        .iter()
        .filter(|curve| request.reference.is_some() && !is_reference(&curve.plan));
    let absent = request.absent.iter().filter(|one| !is_reference(&one.plan));
    let pairs = measured
        .map(|other| match reference {
            Some(reference) => pair(reference, other),
            None => not_comparable(&other.plan, request.no_reference()),
        })
        .chain(absent.map(|one| not_comparable(&one.plan, one.why.clone())))
        .collect();
    Ok(Verdict {
        kind: request.kind,
        ranks: request.ranks,
        reference: request.reference.map(str::to_string),
        tpot_ms: request.tpot_ms,
        pairs,
        plans: request
            .curves
            .iter()
            .chain(request.alone)
            .zip(drawn.iter().chain(&alone))
            .map(|(curve, drawn)| PlanFigures {
                plan: curve.plan().to_string(),
                points: curve
                    .points()
                    .iter()
                    .map(|point| figures(point, request))
                    .collect(),
                knee: knee_of(drawn, rules),
            })
            .collect(),
        rules: rules.stated(),
    })
}

fn not_comparable(plan: &str, why: String) -> Pair {
    Pair {
        plan: plan.to_string(),
        crossover: Crossover::NotComparable { why },
        points: Vec::new(),
        left_out: Vec::new(),
    }
}

fn pair(reference: &Drawn, other: &Drawn) -> Pair {
    let (crossover, points) = crossover_of(reference, other);
    let mut left_out = Vec::new();
    for (one, counterpart) in [(reference, other), (other, reference)] {
        for (tokens, n) in &one.too_few {
            let why = format!("{} has {n} samples", one.plan);
            left_out.push(LeftOut {
                tokens: *tokens,
                why,
            });
        }
        let everything = one.tokens();
        let missing = everything
            .iter()
            .filter(|t| !counterpart.tokens().contains(t));
        left_out.extend(missing.map(|tokens| LeftOut {
            tokens: *tokens,
            why: format!("{} was not measured there", counterpart.plan),
        }));
    }
    left_out.sort_by_key(|one| one.tokens);
    Pair {
        plan: other.plan.clone(),
        crossover,
        points,
        left_out,
    }
}

fn figures(point: &CurvePoint, request: &Request) -> PointFigures {
    let sorted = &point.step_us;
    let ms = percentile_sorted(sorted, 50.0) / 1e3;
    let ci95_ms =
        median_ci95_ranks(sorted.len()).map(|(lo, hi)| [sorted[lo] / 1e3, sorted[hi] / 1e3]);
    let batch_tokens = point.tokens.saturating_mul(u64::from(request.ranks));
    let ceiling = |ms: f64| batch_tokens as f64 / (ms / 1e3);
    PointFigures {
        tokens: point.tokens,
        batch_tokens,
        n: sorted.len() as u64,
        ms_per_step: ms,
        ci95_ms,
        ceiling_tok_per_s: ceiling(ms),
        ceiling_ci95: ci95_ms.map(|[lo, hi]| [ceiling(hi), ceiling(lo)]),
        tpot_share: request.tpot_ms.map(|tpot| ms / tpot),
        tpot_share_ci95: request
            .tpot_ms
            .and_then(|tpot| ci95_ms.map(|ends| ends.map(|end| end / tpot))),
    }
}
