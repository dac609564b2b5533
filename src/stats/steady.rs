//! Whether a series of samples stays where it is: its trend, and what lies far off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::median_of;

/// Neighbouring samples resemble each other, and a test for trend takes that for one. Medians of
/// consecutive blocks resemble each other less.
const BLOCKS: usize = 48;

/// Fewer samples have no trend worth a test.
const FEWEST: usize = 10;

/// Further from the median than so many scaled median absolute deviations is far off. Under a
/// normal distribution 1 in 1.7 million samples is.
pub const FAR: f64 = 5.0;

/// Scales the median absolute deviation to the standard deviation of a normal distribution.
const MAD_TO_SIGMA: f64 = 1.4826;

/// What the order of the samples tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steadiness {
    /// Change from the first to the last sample, over the median: the Theil-Sen line through the
    /// medians of at most 48 consecutive blocks.
    pub drift: f64,
    /// Two-sided p-value of the Mann-Kendall test for a trend in these medians.
    pub drift_p: f64,
    /// Samples further from the median than five scaled median absolute deviations. They are in
    /// every figure.
    pub outliers: u64,
    /// The largest of these over the median; `null` where there is none above it.
    pub largest_outlier: Option<f64>,
}

impl Steadiness {
    /// Of samples in the order they were taken; `None` for fewer than 10, and for times of nothing.
    pub fn of(samples: &[f64]) -> Option<Steadiness> {
        if samples.len() < FEWEST {
            return None;
        }
        let median = median_of(&mut samples.to_vec());
        if median <= 0.0 {
            return None;
        }
        let blocks = block_medians(samples);
        let mut deviations: Vec<f64> = samples.iter().map(|one| (one - median).abs()).collect();
        let far = FAR * MAD_TO_SIGMA * median_of(&mut deviations);
        // Where most samples are equal to the clock's resolution, nothing can be told apart.
        let is_far = |one: &&f64| far > 0.0 && (**one - median).abs() > far;
        let outliers = samples.iter().filter(is_far);
        let largest = outliers.clone().copied().fold(median, f64::max);
        Some(Steadiness {
            drift: slope(&blocks) * (blocks.len() - 1) as f64 / median,
            drift_p: mann_kendall_p(&blocks),
            outliers: outliers.count() as u64,
            largest_outlier: (largest > median).then(|| largest / median),
        })
    }

    /// Whether the numbers can be those of `n` samples; a sentence where they cannot.
    pub(crate) fn check(&self, n: u64) -> Result<(), String> {
        if self.outliers > n {
            return Err(format!("{} outliers of {n} samples", self.outliers));
        }
        if !(0.0..=1.0).contains(&self.drift_p) {
            return Err(format!("drift_p = {} is no probability", self.drift_p));
        }
        Ok(())
    }
}

/// Medians of at most [`BLOCKS`] consecutive blocks, alike in size to one sample.
fn block_medians(samples: &[f64]) -> Vec<f64> {
    let blocks = samples.len().min(BLOCKS);
    let edge = |block: usize| block * samples.len() / blocks;
    (0..blocks)
        .map(|block| median_of(&mut samples[edge(block)..edge(block + 1)].to_vec()))
        .collect()
}

/// The median of the slopes between all pairs.
/// Source: Sen, Estimates of the Regression Coefficient Based on Kendall's Tau, JASA 1968.
fn slope(values: &[f64]) -> f64 {
    let mut slopes = Vec::with_capacity(values.len() * (values.len() - 1) / 2);
    for (later, value) in values.iter().enumerate() {
        for (earlier, before) in values[..later].iter().enumerate() {
            slopes.push((value - before) / (later - earlier) as f64);
        }
    }
    median_of(&mut slopes)
}

/// The two-sided p-value of Kendall's S against the order, with ties, by its normal approximation
/// with continuity correction. Source: Kendall, Rank Correlation Methods, chapters 4 and 5.
fn mann_kendall_p(values: &[f64]) -> f64 {
    let mut s = 0i64;
    for (later, value) in values.iter().enumerate() {
        for before in &values[..later] {
            s += i64::from(value > before) - i64::from(value < before);
        }
    }
    let of_size = |size: f64| size * (size - 1.0) * (2.0 * size + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted
        .chunk_by(|one, other| one == other)
        .map(|equal| of_size(equal.len() as f64))
        .sum();
    let variance = (of_size(values.len() as f64) - ties) / 18.0;
    if s == 0 || variance <= 0.0 {
        return 1.0;
    }
    let z = (s.abs() - 1) as f64 / variance.sqrt();
    2.0 * Normal::standard().sf(z)
}

#[cfg(test)]
mod tests {
    use super::super::SplitMix64;
    use super::*;

    /// Skewed times around 100 µs, 3 % wide, that drift by `drift` of that in all.
    fn times(seed: u64, n: usize, drift: f64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        (0..n)
            .map(|at| {
                let noise = 3.0 * -random.uniform().ln();
                (100.0 + noise) * (1.0 + drift * at as f64 / (n - 1) as f64)
            })
            .collect()
    }

    #[test]
    fn kendall_by_hand() {
        // 1 2 3 4 5: S = 10, variance 5·4·15/18 = 16.67, z = 9/4.082 = 2.2045, p = 0.0275.
        assert!((mann_kendall_p(&[1.0, 2.0, 3.0, 4.0, 5.0]) - 0.0275).abs() < 1e-4);
        // 1 1 2 2: S = 4, variance (4·3·13 − 2·2·1·9)/18 = 6.667, z = 3/2.582 = 1.1619, p = 0.2453.
        assert!((mann_kendall_p(&[1.0, 1.0, 2.0, 2.0]) - 0.2453).abs() < 1e-4);
        assert_eq!(mann_kendall_p(&[7.0; 12]), 1.0);
    }

    #[test]
    fn noise_alone_is_called_a_trend_as_often_as_the_p_value_says() {
        for n in [10, 25, 400] {
            let below = |seed: &u64| {
                Steadiness::of(&times(*seed, n, 0.0)).is_some_and(|one| one.drift_p < 0.01)
            };
            let called = (0..2000).filter(below).count();
            // 20 expected, deviation 4.4.
            assert!(called <= 37, "{called} of 2000 at n = {n}");
        }
    }

    #[test]
    fn a_drift_is_found_and_its_size_recovered() {
        for seed in 0..50 {
            let found = Steadiness::of(&times(seed, 400, 0.10)).unwrap();
            assert!(found.drift_p < 1e-6, "{found:?}");
            assert!((found.drift - 0.095).abs() < 0.03, "{found:?}");
            let falling = Steadiness::of(&times(seed, 400, -0.10)).unwrap();
            assert!(
                falling.drift < -0.06 && falling.drift_p < 1e-6,
                "{falling:?}"
            );
        }
    }

    #[test]
    fn what_lies_far_off_is_counted_and_its_height_told() {
        let mut all: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i % 5)).collect();
        all[17] = 306.0;
        all[60] = 204.0;
        let found = Steadiness::of(&all).unwrap();
        assert_eq!(found.outliers, 2);
        assert_eq!(found.largest_outlier, Some(3.0));
        assert_eq!(Steadiness::of(&[1.0; 20]).unwrap().outliers, 0);
        assert_eq!(Steadiness::of(&all[..9]), None);
    }
}
