//! The t at which two plans cost the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compare::{Comparison, Shared, gaps};
use super::crossings::{Crossing, crossings};
use super::curve::Drawn;
use super::rules::ERROR_RATE;
use super::{Curve, Rules};
use crate::stats::ends_of;

/// What the curves of two plans say about where they cross.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "found", rename_all = "kebab-case")]
pub enum Crossover {
    /// One plan is shown to cost less at small t, the other at large t.
    At {
        /// Tokens per GPU, interpolated straight in log-log between measured t.
        tokens: f64,
        /// 95 % bootstrap interval of `tokens`, drift allowed for. Never beyond the measured range.
        ci95: [f64; 2],
        /// The measured t, one with each plan shown to cost less, that enclose it: no interpolation
        /// is in this statement.
        between: [u64; 2],
        /// Share of the resamples that cross exactly once, in this direction.
        confidence: f64,
        /// The plan that costs less before it.
        below: String,
        /// The plan that costs less after it.
        above: String,
    },
    /// One plan is shown to cost less at every t measured with both.
    NoneInRange {
        cheaper: String,
        /// The dearer plan's time over the cheaper's: every t lies within, with 95 % confidence.
        factor: [f64; 2],
        /// Share of the resamples that do not cross.
        confidence: f64,
    },
    /// One plan is shown to cost less at some t, and neither at the others: there the curves may
    /// cross or not.
    NoneShown {
        cheaper: String,
        /// The t where it is shown to cost less.
        at: Vec<u64>,
        /// The t where no difference is shown.
        undecided: Vec<u64>,
        /// Share of the resamples that do not cross.
        confidence: f64,
    },
    /// The curves are shown to cross more than once.
    Several {
        crossings: Vec<Enclosed>,
        /// Share of the resamples that cross exactly this often.
        confidence: f64,
    },
    /// The curves lie within noise of each other at every t.
    NoDifferenceShown { why: String },
    /// Nothing to compare.
    NotComparable { why: String },
}

/// One of several crossings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Enclosed {
    /// Measured t that enclose it.
    pub between: [u64; 2],
    /// The plan that costs less before it.
    pub below: String,
    /// The plan that costs less after it.
    pub above: String,
}

/// Compares two curves at the t that both have, and finds where they cross, by the rules that
/// [`Rules`] put in words.
pub fn crossover(reference: &Curve, other: &Curve, rules: &Rules) -> (Crossover, Vec<Comparison>) {
    crossover_of(&Drawn::new(reference, rules), &Drawn::new(other, rules))
}

pub(super) fn crossover_of(reference: &Drawn, other: &Drawn) -> (Crossover, Vec<Comparison>) {
    let shared = Shared::new(reference, other);
    let compared = shared.compare();
    (judge(&shared, &compared), compared)
}

fn judge(shared: &Shared, compared: &[Comparison]) -> Crossover {
    match compared {
        [] => {
            let why = "no t was measured with enough samples for both plans".to_string();
            return Crossover::NotComparable { why };
        }
        [only] => {
            let why = format!("only t = {} has enough samples of both plans", only.tokens);
            return Crossover::NotComparable { why };
        }
        _ => {}
    }
    let shown: Vec<(u64, &str)> = compared
        .iter()
        .filter_map(|one| Some((one.tokens, one.cheaper.as_deref()?)))
        .collect();
    let changes: Vec<Enclosed> = shown
        .windows(2)
        .filter(|pair| pair[0].1 != pair[1].1)
        .map(|pair| Enclosed {
            between: [pair[0].0, pair[1].0],
            below: pair[0].1.to_string(),
            above: pair[1].1.to_string(),
        })
        .collect();
    let resampled = Resampled::new(shared);
    match (shown.as_slice(), changes.as_slice()) {
        ([], _) => Crossover::NoDifferenceShown {
            why: format!(
                "at each of {} t the interval of the ratio holds 1",
                compared.len()
            ),
        },
        ([(_, cheaper), ..], []) => {
            let cheaper = (*cheaper).to_string();
            let confidence = resampled.share(|found| found.is_empty());
            let undecided: Vec<u64> = compared
                .iter()
                .filter(|one| one.cheaper.is_none())
                .map(|one| one.tokens)
                .collect();
            if undecided.is_empty() {
                return Crossover::NoneInRange {
                    factor: factor(compared, cheaper == shared.other),
                    cheaper,
                    confidence,
                };
            }
            Crossover::NoneShown {
                cheaper,
                at: shown.iter().map(|(tokens, _)| *tokens).collect(),
                undecided,
                confidence,
            }
        }
        (_, [once]) => resampled.locate(shared, once),
        (_, several) => Crossover::Several {
            confidence: resampled.share(|found| found.len() == several.len()),
            crossings: several.to_vec(),
        },
    }
}

/// The widest bounds over all t of dearer over cheaper.
fn factor(compared: &[Comparison], other_is_cheaper: bool) -> [f64; 2] {
    let lo = compared.iter().map(|one| one.joint_ci95[0]);
    let hi = compared.iter().map(|one| one.joint_ci95[1]);
    let (lo, hi) = (lo.fold(f64::INFINITY, f64::min), hi.fold(0.0, f64::max));
    if other_is_cheaper {
        [1.0 / hi, 1.0 / lo]
    } else {
        [lo, hi]
    }
}

/// The crossings of every resample.
struct Resampled {
    ln_tokens: Vec<f64>,
    /// Whether the reference costs less at the last t, where a resample does not cross.
    found: Vec<(Vec<Crossing>, bool)>,
}

impl Resampled {
    fn new(shared: &Shared) -> Resampled {
        let ln_tokens: Vec<f64> = shared
            .points
            .iter()
            .map(|(a, _)| (a.tokens as f64).ln())
            .collect();
        let by_point: Vec<Vec<f64>> = shared
            .points
            .iter()
            .map(|(a, b)| gaps(a, b).collect())
            .collect();
        let mut row = vec![0.0; ln_tokens.len()];
        let found = (0..by_point[0].len())
            .map(|r| {
                for (slot, point) in row.iter_mut().zip(&by_point) {
                    *slot = point[r];
                }
                (crossings(&ln_tokens, &row), row[row.len() - 1] > 0.0)
            })
            .collect();
        Resampled { ln_tokens, found }
    }

    fn share(&self, holds: impl Fn(&[Crossing]) -> bool) -> f64 {
        let count = self.found.iter().filter(|(found, _)| holds(found)).count();
        count as f64 / self.found.len() as f64
    }

    /// Place and interval of a crossing that the comparison has shown.
    fn locate(&self, shared: &Shared, once: &Enclosed) -> Crossover {
        // The gap is the other plan's time over the reference's: upward, the reference is the
        // cheaper one afterwards.
        let upward = once.above == shared.reference;
        let (first, last) = (self.ln_tokens[0], self.ln_tokens[self.ln_tokens.len() - 1]);
        let ends = |(found, positive): &(Vec<Crossing>, bool)| {
            let mut places = found
                .iter()
                .filter(|one| one.upward == upward)
                .map(|one| one.x);
            match places.next() {
                Some(x) => [x, places.next_back().unwrap_or(x)],
                // It would lie beyond the range, on the side that the resample's sign says.
                None if *positive == upward => [first, first],
                None => [last, last],
            }
        };
        let end = |side: usize| {
            let mut places: Vec<f64> = self.found.iter().map(|one| ends(one)[side]).collect();
            ends_of(&mut places, ERROR_RATE / 2.0)[side].exp()
        };
        let measured: Vec<f64> = shared
            .points
            .iter()
            .map(|(a, b)| b.ln_median - a.ln_median)
            .collect();
        // The medians of points without a shown difference may cross to and fro: the middle.
        let [lo, hi] = ends(&(
            crossings(&self.ln_tokens, &measured),
            measured[measured.len() - 1] > 0.0,
        ));
        Crossover::At {
            tokens: ((lo + hi) / 2.0).exp(),
            ci95: [end(0), end(1)],
            between: once.between,
            confidence: self.share(|found| matches!(found, [one] if one.upward == upward)),
            below: once.below.clone(),
            above: once.above.clone(),
        }
    }
}
