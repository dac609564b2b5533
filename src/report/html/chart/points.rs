//! The points of all curves, with the words that the page shows of them.

use serde::Serialize;

use crate::report::curves::{Of, RunCurve, curves, times_of};
use crate::report::html::escape::visible;
use crate::result::{Measurement, RunResult};
use crate::units::{group_thousands, median_and_interval};
use crate::verdict::Crossover;

/// Times beyond these, in the unit that is shown, are broken clocks: no axis should span them.
const DRAWN: std::ops::RangeInclusive<f64> = 1e-6..=1e12;

/// A point that can be drawn.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// Index of its curve.
    pub curve: usize,
    pub tokens: f64,
    pub value: f64,
    /// The interval of the median.
    pub ci95: Option<[f64; 2]>,
    pub verified: bool,
}

/// The figures of a point as the tables have them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct PointWords {
    pub curve: String,
    /// "t = 4, batch 32"
    pub place: String,
    /// "1.23 ms [1.20, 1.25]"
    pub value: String,
    /// "95 % interval of the median, n = 21"
    pub basis: String,
}

/// Where two plans cost the same, as the verdict has it.
#[derive(Debug, Clone)]
pub(super) struct Crossing {
    pub tokens: f64,
    pub ci95: [f64; 2],
    /// "5.66 [5.49, 5.83]"
    pub text: String,
    plan: String,
}

/// Everything that is drawn.
pub(super) struct Points {
    points: Vec<Point>,
    words: Vec<PointWords>,
    pub crossings: Vec<Crossing>,
    reference: String,
    left_out: usize,
}

impl Points {
    pub fn of(run: &RunResult) -> Points {
        let of = times_of(run);
        let mut points = Vec::new();
        let mut words = Vec::new();
        let mut left_out = 0;
        for (index, curve) in curves(run).iter().enumerate() {
            for one in &curve.points {
                match point(index, one, of) {
                    Some(point) => {
                        points.push(point);
                        words.push(point_words(curve, one, of, run.ranks));
                    }
                    None => left_out += 1,
                }
            }
        }
        let verdict = run.verdict.as_ref();
        Points {
            points,
            words,
            crossings: crossings(run),
            reference: verdict
                .and_then(|verdict| verdict.reference.clone())
                .unwrap_or_default(),
            left_out,
        }
    }

    pub fn all(&self) -> &[Point] {
        &self.points
    }

    /// In the order of [`Points::all`].
    pub fn words(&self) -> &[PointWords] {
        &self.words
    }

    /// The points of each curve, in ascending t.
    pub fn by_curve(&self) -> impl Iterator<Item = &[Point]> {
        self.points.chunk_by(|one, next| one.curve == next.curve)
    }

    /// What must be said below the picture.
    pub fn captions(&self) -> Vec<String> {
        let mut captions =
            vec!["Points are medians; bars and bands are their 95 % intervals.".to_string()];
        captions.extend(self.crossings.iter().map(|crossing| {
            format!(
                "Dashed: {} and {} cost the same at about t = {}.",
                crossing.plan, self.reference, crossing.text
            )
        }));
        if self.left_out > 0 {
            captions.push(format!("{} points cannot be drawn.", self.left_out));
        }
        captions
    }
}

fn point(curve: usize, one: &Measurement, of: Of) -> Option<Point> {
    let summary = of.summary(one);
    let tokens = one.tokens_per_gpu.filter(|tokens| *tokens > 0)? as f64;
    let is_drawn = |value: &f64| DRAWN.contains(value);
    Some(Point {
        curve,
        tokens,
        value: Some(summary.median).filter(is_drawn)?,
        ci95: summary.ci95.filter(|ends| ends.iter().all(is_drawn)),
        verified: one.verified,
    })
}

fn point_words(curve: &RunCurve<'_>, one: &Measurement, of: Of, ranks: u32) -> PointWords {
    let summary = of.summary(one);
    let tokens = one.tokens_per_gpu.unwrap_or_default();
    let (median, interval) = median_and_interval(summary.median, summary.ci95);
    let unit = match of {
        Of::Op => "µs an op",
        Of::Step => "ms a step",
    };
    let mut value = format!("{median} {unit}");
    let mut basis = match interval {
        Some(interval) => {
            value.push_str(&format!(" {interval}"));
            format!("95 % interval of the median, n = {}", summary.n)
        }
        None => format!("no interval, n = {}", summary.n),
    };
    if !one.verified {
        basis.push_str(": WRONG DATA");
    }
    PointWords {
        curve: visible(&curve.name),
        place: format!(
            "t = {}, batch {}",
            group_thousands(tokens),
            group_thousands(tokens.saturating_mul(u64::from(ranks)))
        ),
        value,
        basis,
    }
}

fn crossings(run: &RunResult) -> Vec<Crossing> {
    let pairs = run.verdict.iter().flat_map(|verdict| &verdict.pairs);
    pairs
        .filter_map(|pair| match &pair.crossover {
            Crossover::At { tokens, ci95, .. } => {
                let (place, interval) = median_and_interval(*tokens, Some(*ci95));
                Some(Crossing {
                    tokens: *tokens,
                    ci95: *ci95,
                    text: format!("{place} {}", interval.unwrap_or_default()),
                    plan: pair.plan.clone(),
                })
            }
            _ => None,
        })
        .collect()
}
