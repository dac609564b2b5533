//! One plan against the reference, in a sentence.

use crate::units::{group_thousands, median_and_interval, significant};

use super::{confidence_text, list};
use crate::verdict::{Comparison, Crossover, Pair, Verdict};

/// Whether the plan costs less communication than the reference, and from which t.
pub(super) fn answer(verdict: &Verdict, pair: &Pair) -> String {
    let plan = &pair.plan;
    let reference = verdict.reference.as_deref().unwrap_or_default();
    let range = range(&pair.points);
    let samples = samples(&pair.points);
    let resamples = group_thousands(u64::from(verdict.rules.numbers.resamples));
    let less_or_more = |cheaper: &str| if cheaper == plan { "less" } else { "more" };
    match &pair.crossover {
        Crossover::At {
            tokens,
            ci95,
            between,
            confidence,
            below,
            ..
        } => {
            let (place, interval) = median_and_interval(*tokens, Some(*ci95));
            let (side, rest) = if below == plan {
                ("up to", "above")
            } else {
                ("from", "below")
            };
            let undecided: Vec<u64> = pair
                .points
                .iter()
                .filter(|one| one.cheaper.is_none())
                .map(|one| one.tokens)
                .collect();
            let (as_shown, open) = if undecided.is_empty() {
                ("", String::new())
            } else {
                (
                    ", as far as a difference is shown",
                    format!(
                        ", for at t = {} none is shown and they may cross there again",
                        list(&undecided)
                    ),
                )
            };
            format!(
                "{plan} costs less communication than {reference} {side} about t = {place} tokens per GPU, and more {rest}{as_shown} (95 % interval {}; shown at t = {} and t = {}, interpolated between; {} of {resamples} resamples cross exactly once{open}; {samples}).",
                interval.unwrap_or_default(),
                between[0],
                between[1],
                confidence_text(*confidence),
            )
        }
        Crossover::NoneInRange {
            cheaper,
            factor,
            confidence,
        } => format!(
            "{plan} costs {} communication than {reference} at every t measured, {range}, by a factor within {} (95 % for all these t together; {} of {resamples} resamples do not cross; {samples}): no crossover in this range.",
            less_or_more(cheaper),
            interval(*factor),
            confidence_text(*confidence),
        ),
        Crossover::NoneShown {
            cheaper,
            at,
            undecided,
            confidence,
        } => format!(
            "{plan} costs {} communication than {reference} at t = {}; at t = {} no difference is shown: whether they cross there is open ({} of {resamples} resamples do not cross; {samples}).",
            less_or_more(cheaper),
            list(at),
            list(undecided),
            confidence_text(*confidence),
        ),
        Crossover::Several {
            crossings,
            confidence,
        } => {
            let each: Vec<String> = crossings
                .iter()
                .map(|one| {
                    format!(
                        "{} before and {} after the one between t = {} and {}",
                        one.below, one.above, one.between[0], one.between[1]
                    )
                })
                .collect();
            format!(
                "{plan} and {reference} cross {} times: the plan that costs less communication is {} ({} of {resamples} resamples cross exactly this often; {samples}).",
                crossings.len(),
                each.join("; "),
                confidence_text(*confidence),
            )
        }
        Crossover::NoDifferenceShown { .. } => {
            let ends = |side: usize| pair.points.iter().map(move |one| one.joint_ci95[side]);
            let (lo, hi) = (
                ends(0).fold(f64::INFINITY, f64::min),
                ends(1).fold(0.0, f64::max),
            );
            format!(
                "no difference shown between the communication of {plan} and of {reference} at t = {range}: every interval of their ratio holds 1, and all lie within {} (95 % for all these t together; {samples}).",
                interval([lo, hi])
            )
        }
        Crossover::NotComparable { why } => match pair.points.as_slice() {
            [only] => at_one(pair, reference, only),
            _ => format!("{plan} was not compared with {reference}: {why}."),
        },
    }
}

fn at_one(pair: &Pair, reference: &str, only: &Comparison) -> String {
    let plan = &pair.plan;
    let ratio = format!(
        "{} over {}: {} {}, 95 %; {}",
        plan,
        reference,
        significant(only.ratio),
        interval(only.joint_ci95),
        samples(std::slice::from_ref(only))
    );
    let found = match &only.cheaper {
        Some(cheaper) if cheaper == plan => {
            format!("{plan} costs less communication than {reference}")
        }
        Some(_) => format!("{plan} costs more communication than {reference}"),
        None => {
            format!("no difference shown between the communication of {plan} and of {reference}")
        }
    };
    format!(
        "{found} at t = {}, the only t with enough samples of both ({ratio}): whether they cross elsewhere is open.",
        only.tokens
    )
}

fn range(points: &[Comparison]) -> String {
    match points {
        [first, .., last] => format!("{} to {}", first.tokens, last.tokens),
        points => list(&points.iter().map(|one| one.tokens).collect::<Vec<u64>>()),
    }
}

fn samples(points: &[Comparison]) -> String {
    let least = points.iter().flat_map(|one| one.n).min().unwrap_or(0);
    let most = points.iter().flat_map(|one| one.n).max().unwrap_or(0);
    if least == most {
        format!("{} samples a point", group_thousands(least))
    } else {
        format!(
            "{} to {} samples a point",
            group_thousands(least),
            group_thousands(most)
        )
    }
}

fn interval([lo, hi]: [f64; 2]) -> String {
    format!("[{}, {}]", significant(lo), significant(hi))
}
