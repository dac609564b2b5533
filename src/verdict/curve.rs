//! A plan's step time over tokens per GPU, and its resampled medians.

use crate::error::{Error, Result};
use crate::stats::{SplitMix64, bootstrap_medians, percentile_sorted};

use super::{MIN_SAMPLES, Rules};

/// The step times of one plan with one number of tokens per GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePoint {
    /// Tokens per GPU, t.
    pub tokens: u64,
    /// Times of the communication of a whole step, in µs.
    pub step_us: Vec<f64>,
}

/// One plan over ascending tokens per GPU. Every sample in it is a finite time above zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    plan: String,
    /// Ascending t; ascending samples.
    points: Vec<CurvePoint>,
}

impl Curve {
    /// Checks and sorts. `points` may come in any order.
    ///
    /// # Errors
    /// Names the plan, the t and the value at fault: no points, t = 0, a t that stands twice, a
    /// point without samples, a sample that is zero, negative, infinite or not a number.
    pub fn new(plan: impl Into<String>, mut points: Vec<CurvePoint>) -> Result<Curve> {
        let plan = plan.into();
        let refuse = |what: String| Err(Error::other(format!("the curve of {plan} {what}")));
        if points.is_empty() {
            return refuse("has no points".to_string());
        }
        points.sort_by_key(|point| point.tokens);
        for pair in points.windows(2) {
            if pair[0].tokens == pair[1].tokens {
                return refuse(format!("has t = {} twice", pair[0].tokens));
            }
        }
        for point in &mut points {
            if point.tokens == 0 {
                return refuse("has a point with 0 tokens per GPU".to_string());
            }
            if point.step_us.is_empty() {
                return refuse(format!("has no samples at t = {}", point.tokens));
            }
            let usable = |us: &f64| us.is_finite() && *us > 0.0;
            if let Some(bad) = point.step_us.iter().find(|us| !usable(us)) {
                return refuse(format!("has a step of {bad} µs at t = {}", point.tokens));
            }
            point.step_us.sort_by(f64::total_cmp);
        }
        Ok(Curve { plan, points })
    }

    /// The plan's name.
    pub fn plan(&self) -> &str {
        &self.plan
    }

    /// In ascending t, each with ascending samples.
    pub fn points(&self) -> &[CurvePoint] {
        &self.points
    }
}

/// A point with enough samples, as the rules see it. In logarithms, because the rules ask for
/// ratios.
#[derive(Debug)]
pub(super) struct DrawnPoint {
    pub tokens: u64,
    /// Samples behind it.
    pub n: u64,
    /// Logarithm of the samples' median in µs.
    pub ln_median: f64,
    /// Logarithms of the resampled medians, each moved by a draw of the drift between points.
    pub ln_draws: Vec<f64>,
}

/// A curve ready for the rules.
#[derive(Debug)]
pub(super) struct Drawn {
    pub plan: String,
    pub points: Vec<DrawnPoint>,
    /// (t, samples) of the points that have too few samples for the rules.
    pub too_few: Vec<(u64, u64)>,
}

impl Drawn {
    pub fn new(curve: &Curve, rules: &Rules) -> Drawn {
        let (usable, few): (Vec<_>, Vec<_>) = curve
            .points
            .iter()
            .partition(|point| point.step_us.len() as u64 >= MIN_SAMPLES);
        Drawn {
            plan: curve.plan.clone(),
            points: usable
                .into_iter()
                .map(|point| DrawnPoint::new(&curve.plan, point, rules))
                .collect(),
            too_few: few
                .into_iter()
                .map(|point| (point.tokens, point.step_us.len() as u64))
                .collect(),
        }
    }

    /// Every t of the curve, whether the rules read it or not.
    pub fn tokens(&self) -> Vec<u64> {
        let read = self.points.iter().map(|point| point.tokens);
        read.chain(self.too_few.iter().map(|(tokens, _)| *tokens))
            .collect()
    }
}

impl DrawnPoint {
    fn new(plan: &str, point: &CurvePoint, rules: &Rules) -> DrawnPoint {
        let mut random = SplitMix64::named(rules.seed, plan, point.tokens);
        let mut draws = bootstrap_medians(&point.step_us, rules.resamples(), &mut random);
        for draw in &mut draws {
            *draw = draw.ln() + rules.drift * random.normal();
        }
        DrawnPoint {
            tokens: point.tokens,
            n: point.step_us.len() as u64,
            ln_median: percentile_sorted(&point.step_us, 50.0).ln(),
            ln_draws: draws,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(tokens: u64, step_us: &[f64]) -> CurvePoint {
        let step_us = step_us.to_vec();
        CurvePoint { tokens, step_us }
    }

    #[test]
    fn points_and_samples_are_sorted() {
        let curve = Curve::new("TP", vec![point(4, &[3.0, 1.0]), point(1, &[2.0])]).unwrap();
        assert_eq!(
            curve.points(),
            [point(1, &[2.0]), point(4, &[1.0, 3.0])].as_slice()
        );
    }

    #[test]
    fn what_is_no_time_is_refused_with_plan_and_place() {
        for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            let error = Curve::new("TP", vec![point(8, &[1.0, bad])]).unwrap_err();
            let text = error.to_terminal();
            assert!(text.contains("TP") && text.contains("t = 8"), "{text}");
        }
        let refused = |points: Vec<CurvePoint>| Curve::new("TP", points).is_err();
        assert!(refused(vec![]));
        assert!(refused(vec![point(1, &[])]));
        assert!(refused(vec![point(0, &[1.0])]));
        assert!(refused(vec![point(1, &[1.0]), point(1, &[1.0])]));
    }

    #[test]
    fn draws_do_not_depend_on_the_other_points() {
        let rules = Rules::default();
        let samples: Vec<f64> = (1..=20).map(f64::from).collect();
        let alone = Curve::new("TP", vec![point(4, &samples)]).unwrap();
        let both = Curve::new("TP", vec![point(2, &samples), point(4, &samples)]).unwrap();
        let (alone, both) = (Drawn::new(&alone, &rules), Drawn::new(&both, &rules));
        assert_eq!(alone.points[0].ln_draws, both.points[1].ln_draws);
        assert_ne!(both.points[0].ln_draws, both.points[1].ln_draws);
    }
}
