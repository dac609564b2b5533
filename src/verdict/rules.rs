//! The numbers that the rules use, and the rules in words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::units::group_thousands;

/// Chance of a false finding that the rules allow themselves: for a curve's knee, and for all
/// comparisons of a pair of curves together. 1 − this is the confidence of every interval.
pub const ERROR_RATE: f64 = 0.05;

/// Fewest bootstrap resamples: with fewer, the tails that the rules read are a resample or two.
pub const MIN_RESAMPLES: u32 = 1_000;

/// Fewest samples of a point that the rules read. A median has a 95 % interval from 6 on, but the
/// rules compare up to ten points at once and read further tails: 10 samples is where the stated
/// rate holds in simulation.
pub const MIN_SAMPLES: u64 = 10;

/// What a knee, a comparison and a crossover are found with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rules {
    /// How far above the flat part a knee must lie, relative: 0.1 is 10 %.
    pub min_rise: f64,
    /// Standard deviation, relative, by which the level of one point may be off because it was
    /// measured at another moment than its neighbours: clocks, temperature, other traffic. No
    /// number of samples within a point shows it, so it is an allowance, not a measurement.
    pub drift: f64,
    /// Bootstrap resamples; at least 1,000 are drawn. 4,000 reach the tails of
    /// 100 points a pair.
    pub resamples: u32,
    /// Seed of the resamples: the same samples and seed give the same verdict.
    pub seed: u64,
}

impl Default for Rules {
    /// Levels of points measured minutes apart differ by 2 to 3 % on a quiet machine. The price of
    /// allowing for 3 % is that of nine points, differences below about 12 % are not shown however
    /// precise the samples; whoever measures the plans in turn may allow for less.
    fn default() -> Self {
        Rules {
            min_rise: 0.1,
            drift: 0.03,
            resamples: 4_000,
            seed: 1,
        }
    }
}

impl Rules {
    pub(super) fn resamples(&self) -> usize {
        self.resamples.max(MIN_RESAMPLES) as usize
    }

    /// # Errors
    /// Exit code 2 for a rise or drift that is negative, infinite or not a number.
    pub(super) fn check(&self) -> Result<()> {
        for (name, value) in [("rise", self.min_rise), ("drift", self.drift)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::usage(format!("a {name} of {value} is no share")));
            }
        }
        Ok(())
    }

    pub(super) fn stated(&self) -> StatedRules {
        let resampled = format!(
            "{} bootstrap resamples of each point's median (seed {}), each moved by a random drift of {} (standard deviation) that is independent from point to point",
            group_thousands(self.resamples() as u64),
            self.seed,
            percent(self.drift)
        );
        StatedRules {
            numbers: Rules {
                resamples: self.resamples() as u32,
                ..self.clone()
            },
            min_samples: MIN_SAMPLES,
            knee: format!(
                "the smallest t from which this and every later point lies more than {} above the median of all points before it, at least two points on either side; each with one-sided confidence such that a flat curve shows a knee in at most {} of cases, over all t; {resampled}",
                percent(self.min_rise),
                percent(ERROR_RATE)
            ),
            comparison: format!(
                "ratio of the medians at the same t, with an interval that holds for all t of a pair of curves together at {} confidence; where it holds 1, no difference is shown; {resampled}",
                percent(1.0 - ERROR_RATE)
            ),
            crossover: format!(
                "one plan shown to cost less at one t and the other at a later t, by the rule of the comparison; the place by interpolation, straight between measured t in log-log; its {} interval from the resamples' first and last crossing; confidence is the share of resamples that cross exactly once, in this direction",
                percent(1.0 - ERROR_RATE)
            ),
            error_rates: format!(
                "two equal curves show a difference at any t in at most {rate} of cases, and a flat curve a knee in at most {rate}; this holds for samples that are independent within a point, {MIN_SAMPLES} or more of them, and for drift between points of up to {drift}",
                rate = percent(ERROR_RATE),
                drift = percent(self.drift)
            ),
        }
    }
}

/// The rules as applied, so that a reader of the verdict can judge it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatedRules {
    pub numbers: Rules,
    /// Points with fewer samples are reported but not read by the rules.
    pub min_samples: u64,
    pub knee: String,
    pub comparison: String,
    pub crossover: String,
    /// How often the rules find what is not there.
    pub error_rates: String,
}

/// A share as a percentage: one decimal, none where it is whole.
pub(super) fn percent(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    if tenths.fract() == 0.0 {
        format!("{tenths:.0} %")
    } else {
        format!("{tenths:.1} %")
    }
}
