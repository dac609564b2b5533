//! Two plans at the same t: the same global batch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::curve::{Drawn, DrawnPoint};
use super::rules::ERROR_RATE;
use crate::stats::ends_of;

/// Two plans at one t.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Tokens per GPU.
    pub tokens: u64,
    /// Median of the other plan's step over the reference's: above 1, the reference costs less.
    pub ratio: f64,
    /// Interval of `ratio` that holds at all t of the pair together with 95 % confidence, drift
    /// allowed for.
    pub joint_ci95: [f64; 2],
    /// The plan that costs less; `null` where the interval holds 1: no difference shown.
    pub cheaper: Option<String>,
    /// Samples of the reference and of the other plan.
    pub n: [u64; 2],
}

/// Both curves at the t that they share.
pub(super) struct Shared<'a> {
    pub reference: &'a str,
    pub other: &'a str,
    pub points: Vec<(&'a DrawnPoint, &'a DrawnPoint)>,
}

impl<'a> Shared<'a> {
    pub fn new(reference: &'a Drawn, other: &'a Drawn) -> Shared<'a> {
        let points = reference
            .points
            .iter()
            .filter_map(|a| {
                let b = other.points.iter().find(|b| b.tokens == a.tokens)?;
                Some((a, b))
            })
            .collect();
        Shared {
            reference: &reference.plan,
            other: &other.plan,
            points,
        }
    }

    /// Points are independent, so sharing the error rate equally among them loses next to nothing
    /// (Bonferroni against the exact 1 − 0.95^(1/m)).
    pub fn compare(&self) -> Vec<Comparison> {
        let tail = ERROR_RATE / 2.0 / self.points.len() as f64;
        let one = |(a, b): &(&DrawnPoint, &DrawnPoint)| {
            let mut gaps: Vec<f64> = gaps(a, b).collect();
            let joint_ci95 = ends_of(&mut gaps, tail).map(f64::exp);
            let cheaper = match joint_ci95 {
                [lo, _] if lo > 1.0 => Some(self.reference.to_string()),
                [_, hi] if hi < 1.0 => Some(self.other.to_string()),
                _ => None,
            };
            Comparison {
                tokens: a.tokens,
                ratio: (b.ln_median - a.ln_median).exp(),
                joint_ci95,
                cheaper,
                n: [a.n, b.n],
            }
        };
        self.points.iter().map(one).collect()
    }
}

/// Logarithm of other over reference in each resample.
pub(super) fn gaps(a: &DrawnPoint, b: &DrawnPoint) -> impl Iterator<Item = f64> {
    let pairs = a.ln_draws.iter().zip(&b.ln_draws);
    pairs.map(|(reference, other)| other - reference)
}
