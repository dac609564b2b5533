//! The verdict in sentences. Each figure stands with its interval and samples; no sentence goes
//! beyond what the rules have shown.

mod answer;

use crate::units::{group_thousands, median_and_interval, significant};

use super::rules::percent;
use super::{FiguresKind, Knee, Pair, PlanFigures, PointFigures, Verdict};
use answer::answer;

/// The verdict in plain sentences. The first ones answer, one for each plan, whether it would cost
/// less communication than the reference (TP) and from how many tokens per GPU.
pub fn words(verdict: &Verdict) -> Vec<String> {
    let mut said = answers(verdict);
    said.extend(verdict.plans.iter().map(ceiling));
    said.extend(
        verdict
            .tpot_ms
            .iter()
            .flat_map(|tpot| shares(verdict, *tpot)),
    );
    said.push(format!(
        "Error rates of these findings: {}.",
        verdict.rules.error_rates
    ));
    said.push(
        "Communication alone: compute, memory and uneven load of experts are not in these times."
            .to_string(),
    );
    said
}

/// The first sentences of [`words`]: what is asked, and the knees.
pub fn answers(verdict: &Verdict) -> Vec<String> {
    let mut said: Vec<String> = verdict
        .pairs
        .iter()
        .map(|pair| labelled(verdict.kind, &answer(verdict, pair)))
        .collect();
    if let (true, Some(reference)) = (said.is_empty(), &verdict.reference) {
        let alone = format!("there is no other plan to compare {reference} with.");
        said.push(labelled(verdict.kind, &alone));
    }
    said.extend(caveat(verdict.kind).map(str::to_string));
    said.extend(verdict.pairs.iter().filter_map(left_out));
    let min_rise = verdict.rules.numbers.min_rise;
    said.extend(verdict.plans.iter().map(|plan| knee(plan, min_rise)));
    said
}

/// An answer with the kind of its figures before it: a sentence is often quoted alone.
fn labelled(kind: FiguresKind, answer: &str) -> String {
    let label = match kind {
        FiguresKind::Measured => {
            let mut letters = answer.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            return first.into_iter().chain(letters).collect();
        }
        FiguresKind::HostMemory => "On host memory, without GPUs",
        FiguresKind::SharedGpu => "On shared GPUs",
        FiguresKind::Predicted => "Predicted, not measured",
    };
    format!("{label}: {answer}")
}

fn caveat(kind: FiguresKind) -> Option<&'static str> {
    match kind {
        FiguresKind::Measured => None,
        FiguresKind::HostMemory => {
            Some("These times are of MPI on host memory: they say nothing about a box with GPUs.")
        }
        FiguresKind::SharedGpu => Some(
            "Several ranks shared a GPU: these times say nothing about a box with a GPU for each rank.",
        ),
        FiguresKind::Predicted => Some(
            "These times are computed from a model of the machine: the intervals hold what its samples hold, not the model's own error.",
        ),
    }
}

fn left_out(pair: &Pair) -> Option<String> {
    let each: Vec<String> = pair
        .left_out
        .iter()
        .map(|one| format!("t = {} ({})", one.tokens, one.why))
        .collect();
    (!each.is_empty()).then(|| format!("Not compared for {}: {}.", pair.plan, each.join(", ")))
}

fn knee(plan: &PlanFigures, min_rise: f64) -> String {
    let name = &plan.plan;
    match &plan.knee {
        Knee::At {
            tokens,
            flat_until,
            flat_us,
            flat_ci95_us,
            value_us,
            confidence,
            likeliest,
            least_n,
        } => {
            let agreeing = match likeliest {
                Some(other) if other.tokens != *tokens => format!(
                    "not shown before, though {} of resamples put it at t = {}",
                    confidence_text(other.share),
                    other.tokens
                ),
                _ => format!("{} of resamples put it there", confidence_text(*confidence)),
            };
            let (flat, ends) =
                median_and_interval(flat_us / 1e3, Some(flat_ci95_us.map(|us| us / 1e3)));
            format!(
                "{name} has a knee by t = {tokens}: {} ms {} up to t = {flat_until}, {} ms at t = {tokens}, and more than {} above the part before from there on ({agreeing}; {least_n} samples or more a point).",
                flat,
                ends.unwrap_or_default(),
                significant(value_us / 1e3),
                percent(min_rise),
            )
        }
        Knee::None { why, .. } => format!("No knee shown for {name}: {why}."),
    }
}

fn ceiling(plan: &PlanFigures) -> String {
    let one = |point: &PointFigures| {
        let (ms, ms_ci) = median_and_interval(point.ms_per_step, point.ci95_ms);
        let tok_per_s = |value: f64| group_thousands(value.round() as u64);
        let tok_ci = point
            .ceiling_ci95
            .map(|[lo, hi]| format!("[{}, {}]", tok_per_s(lo), tok_per_s(hi)));
        format!(
            "{ms} ms{} a step at t = {}, at most {} tok/s{} (n = {})",
            spaced(ms_ci),
            point.tokens,
            tok_per_s(point.ceiling_tok_per_s),
            spaced(tok_ci),
            point.n
        )
    };
    let ends: Vec<String> = match plan.points.as_slice() {
        [first, .., last] => vec![one(first), one(last)],
        points => points.iter().map(one).collect(),
    };
    format!("Communication of {} takes {}.", plan.plan, ends.join("; "))
}

fn shares(verdict: &Verdict, tpot_ms: f64) -> Vec<String> {
    let one = |plan: &PlanFigures| {
        let share = |point: &PointFigures| {
            let ends = point.tpot_share_ci95.map_or(String::new(), |[lo, hi]| {
                format!(" [{}, {}]", percent(lo), percent(hi))
            });
            let share = percent(point.tpot_share.unwrap_or(f64::NAN));
            format!("{share}{ends} at t = {} (n = {})", point.tokens, point.n)
        };
        let ends: Vec<String> = match plan.points.as_slice() {
            [first, .., last] => vec![share(first), share(last)],
            points => points.iter().map(share).collect(),
        };
        let exceeds: Vec<u64> = plan
            .points
            .iter()
            .filter(|point| point.tpot_share.is_some_and(|share| share > 1.0))
            .map(|point| point.tokens)
            .collect();
        let exceeds = if exceeds.is_empty() {
            String::new()
        } else {
            format!(
                "; at t = {} the communication alone exceeds it",
                list(&exceeds)
            )
        };
        format!(
            "Of the given TPOT of {tpot_ms} ms, taken as the same at every t, communication of {} is {}{exceeds}.",
            plan.plan,
            ends.join(", ")
        )
    };
    verdict.plans.iter().map(one).collect()
}

fn spaced(interval: Option<String>) -> String {
    interval.map_or(String::new(), |text| format!(" {text}"))
}

fn list(tokens: &[u64]) -> String {
    tokens
        .iter()
        .map(u64::to_string)
        .collect::<Vec<String>>()
        .join(", ")
}

/// A share of resamples: a few that differ are not rounded away.
fn confidence_text(share: f64) -> String {
    if share < 1.0 && share > 0.999 {
        "more than 99.9 %".to_string()
    } else if share > 0.0 && share < 0.001 {
        "less than 0.1 %".to_string()
    } else {
        percent(share)
    }
}
