//! Where a curve leaves its flat, latency-bound part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::curve::Drawn;
use super::rules::{ERROR_RATE, percent};
use super::{Curve, Rules};
use crate::stats::{ends_of, median_of};

/// Points on either side of a knee: one point is neither a flat part nor a rise that lasts.
const SIDE: usize = 2;

/// The knee of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "found", rename_all = "kebab-case")]
pub enum Knee {
    /// The curve has left its flat part from `tokens` on.
    At {
        /// Tokens per GPU of the first point beyond the flat part.
        tokens: u64,
        /// Tokens per GPU of the last point of the flat part: the curve leaves it between the two.
        flat_until: u64,
        /// Median of the flat part's medians, in µs per step.
        flat_us: f64,
        /// 95 % bootstrap interval of `flat_us`, in µs, drift allowed for.
        flat_ci95_us: [f64; 2],
        /// Median at `tokens`, in µs per step.
        value_us: f64,
        /// Share of the resamples whose medians alone put the knee at this t.
        confidence: f64,
        /// Where most resamples put the knee; before `tokens` where the rise there is not sure
        /// enough to be shown. `None` where none of them has one, and in older files.
        #[serde(default)]
        likeliest: Option<LikeliestKnee>,
        /// Samples of the point with the fewest.
        least_n: u64,
    },
    /// None is shown.
    None { reason: NoKnee, why: String },
}

/// The t at which most resamples have the knee.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LikeliestKnee {
    /// Tokens per GPU.
    pub tokens: u64,
    /// Share of the resamples.
    pub share: f64,
}

/// Why no knee is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoKnee {
    /// No lasting rise is shown in the range.
    StaysFlat,
    /// The curve lies above its first point from the second on.
    NoFlatPart,
    /// A rise is shown at the last point alone.
    OnlyLastPoint,
    /// Too few points with enough samples.
    TooFewPoints,
}

/// Finds the knee of a curve by the rule that [`Rules`] put in words.
pub fn knee(curve: &Curve, rules: &Rules) -> Knee {
    knee_of(&Drawn::new(curve, rules), rules)
}

/// Candidates are tried from the second point on. A knee before point `k` asks that every point
/// from `k` on is shown above the level of the points before `k`. All of them have to be, so one
/// candidate needs no correction for their number; the candidates share the error rate.
pub(super) fn knee_of(curve: &Drawn, rules: &Rules) -> Knee {
    let points = &curve.points;
    let count = points.len();
    if count < 2 * SIDE {
        return none(
            NoKnee::TooFewPoints,
            format!("a knee needs {} points with enough samples", 2 * SIDE),
        );
    }
    let levels = Levels::new(curve);
    let tail = ERROR_RATE / (count - 1) as f64;
    let rise = rules.min_rise.ln_1p();
    let shown_above = |point: usize, before: usize| {
        let mut gaps: Vec<f64> = points[point]
            .ln_draws
            .iter()
            .zip(&levels.draws[before - 1])
            .map(|(value, level)| value - level)
            .collect();
        ends_of(&mut gaps, tail)[0] > rise
    };
    // From the end: the last point rules most candidates out.
    let candidate = (1..count).find(|&k| (k..count).rev().all(|point| shown_above(point, k)));
    match candidate {
        None => none(
            NoKnee::StaysFlat,
            format!(
                "no lasting rise of more than {} is shown up to t = {}",
                percent(rules.min_rise),
                points[count - 1].tokens
            ),
        ),
        Some(1) => none(
            NoKnee::NoFlatPart,
            format!(
                "no flat part in the range: every point lies more than {} above the one at t = {}",
                percent(rules.min_rise),
                points[0].tokens
            ),
        ),
        Some(k) if count - k < SIDE => none(
            NoKnee::OnlyLastPoint,
            format!(
                "only the last point, t = {}, lies above the flat part: measure beyond it to see whether that lasts",
                points[k].tokens
            ),
        ),
        Some(k) => {
            let mut draws = levels.draws[k - 1].clone();
            let shares = levels.shares(curve, rise);
            Knee::At {
                tokens: points[k].tokens,
                flat_until: points[k - 1].tokens,
                flat_us: levels.estimates[k - 1].exp(),
                flat_ci95_us: ends_of(&mut draws, ERROR_RATE / 2.0).map(f64::exp),
                value_us: points[k].ln_median.exp(),
                confidence: shares[k],
                likeliest: likeliest(curve, &shares),
                least_n: points.iter().map(|point| point.n).min().unwrap_or(0),
            }
        }
    }
}

fn none(reason: NoKnee, why: String) -> Knee {
    Knee::None { reason, why }
}

/// Levels of the first 1, 2, … points, in logarithms of µs. The median of the points' medians: one
/// disturbed point does not move it.
struct Levels {
    estimates: Vec<f64>,
    /// `draws[k − 1][r]`: level of the first k points in resample r.
    draws: Vec<Vec<f64>>,
}

impl Levels {
    fn new(curve: &Drawn) -> Levels {
        let points = &curve.points;
        let mut first = Vec::with_capacity(points.len());
        let mut level = |k: usize, of: &dyn Fn(usize) -> f64| {
            first.clear();
            first.extend((0..k).map(of));
            median_of(&mut first)
        };
        let resamples = points[0].ln_draws.len();
        Levels {
            estimates: (1..points.len())
                .map(|k| level(k, &|i| points[i].ln_median))
                .collect(),
            draws: (1..points.len())
                .map(|k| {
                    (0..resamples)
                        .map(|r| level(k, &|i| points[i].ln_draws[r]))
                        .collect()
                })
                .collect(),
        }
    }

    /// Share of resamples in which each point is the first candidate whose later points all lie
    /// above.
    fn shares(&self, curve: &Drawn, rise: f64) -> Vec<f64> {
        let points = &curve.points;
        let resamples = points[0].ln_draws.len();
        let leaves = |r: usize, before: usize| {
            let limit = self.draws[before - 1][r] + rise;
            points[before..]
                .iter()
                .all(|point| point.ln_draws[r] > limit)
        };
        let mut shares = vec![0.0; points.len()];
        for r in 0..resamples {
            if let Some(knee) = (1..points.len()).find(|&before| leaves(r, before)) {
                shares[knee] += 1.0 / resamples as f64;
            }
        }
        shares
    }
}

/// The point with the largest share, the first one of equals; a rise from the second point on, or
/// at the last alone, is no knee.
fn likeliest(curve: &Drawn, shares: &[f64]) -> Option<LikeliestKnee> {
    let knees = SIDE..=shares.len() - SIDE;
    let most = knees
        .rev()
        .max_by(|&one, &other| shares[one].total_cmp(&shares[other]))?;
    (shares[most] > 0.0).then(|| LikeliestKnee {
        tokens: curve.points[most].tokens,
        share: shares[most],
    })
}
