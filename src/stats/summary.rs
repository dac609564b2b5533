//! What is reported of a series of times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::median_ci95_ranks;

/// Order statistics of `n` values of one quantity. The unit is that of the field that holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The middle value.
    pub median: f64,
    /// 95 % confidence interval of the median from order statistics. `null` below 6 samples,
    /// which cannot carry one.
    pub ci95: Option<[f64; 2]>,
    pub min: f64,
    pub p5: f64,
    pub p95: f64,
    /// 99th percentile. Below 100 samples it rests on the largest one or two of them.
    pub p99: f64,
    pub max: f64,
    /// Number of samples.
    pub n: u64,
}

impl Summary {
    /// Summarises `values` (any order). `None` when there are none, or one is not finite.
    ///
    /// ```
    /// use commbench::stats::Summary;
    ///
    /// let few = Summary::of(&[3.0, 1.0, 2.0]).unwrap();
    /// assert_eq!((few.median, few.ci95), (2.0, None)); // 3 samples carry no interval
    /// ```
    pub fn of(values: &[f64]) -> Option<Summary> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Summary {
            median: percentile_sorted(&sorted, 50.0),
            ci95: median_ci95_ranks(sorted.len()).map(|(lo, hi)| [sorted[lo], sorted[hi]]),
            min: sorted[0],
            p5: percentile_sorted(&sorted, 5.0),
            p95: percentile_sorted(&sorted, 95.0),
            p99: percentile_sorted(&sorted, 99.0),
            max: sorted[sorted.len() - 1],
            n: sorted.len() as u64,
        })
    }

    /// The same quantity in another unit: every value times `factor` (> 0).
    pub fn scaled(&self, factor: f64) -> Summary {
        Summary {
            median: self.median * factor,
            ci95: self.ci95.map(|[lo, hi]| [lo * factor, hi * factor]),
            min: self.min * factor,
            p5: self.p5 * factor,
            p95: self.p95 * factor,
            p99: self.p99 * factor,
            max: self.max * factor,
            n: self.n,
        }
    }

    /// The same quantity from another zero: every value plus `by`.
    pub fn shifted(&self, by: f64) -> Summary {
        Summary {
            median: self.median + by,
            ci95: self.ci95.map(|[lo, hi]| [lo + by, hi + by]),
            min: self.min + by,
            p5: self.p5 + by,
            p95: self.p95 + by,
            p99: self.p99 + by,
            max: self.max + by,
            n: self.n,
        }
    }

    /// Half the width of the confidence interval over the median; infinite where there is none.
    pub fn relative_half_width(&self) -> f64 {
        match self.ci95 {
            Some([lo, hi]) if self.median > 0.0 => (hi - lo) / 2.0 / self.median,
            _ => f64::INFINITY,
        }
    }
}

/// The `percent`-th percentile of ascending, non-empty values, interpolated linearly between the
/// two nearest ranks (type 7 of Hyndman and Fan, the default of NumPy and R).
pub fn percentile_sorted(sorted: &[f64], percent: f64) -> f64 {
    let position = percent / 100.0 * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = position.ceil() as usize;
    sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
}

/// The middle of non-empty values in any order, without sorting all of them.
pub(crate) fn median_of(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (before, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return upper;
    }
    let lower = before.iter().copied().max_by(f64::total_cmp);
    (lower.unwrap_or(upper) + upper) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_match_numpy() {
        // numpy.percentile([1, 2, 3, 4, 10], [5, 50, 95, 99])
        let sorted = [1.0, 2.0, 3.0, 4.0, 10.0];
        let expected = [(5.0, 1.2), (50.0, 3.0), (95.0, 8.8), (99.0, 9.76)];
        for (percent, value) in expected {
            assert!((percentile_sorted(&sorted, percent) - value).abs() < 1e-12);
        }
    }

    #[test]
    fn nothing_and_nan_have_no_summary() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
        assert_eq!(Summary::of(&[1.0, f64::INFINITY]), None);
    }

    #[test]
    fn few_samples_have_no_interval() {
        let summary = Summary::of(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!((summary.median, summary.ci95, summary.n), (2.0, None, 3));
        assert_eq!(summary.relative_half_width(), f64::INFINITY);
    }

    proptest::proptest! {
        #[test]
        fn order_holds(values in proptest::collection::vec(0.0f64..1e9, 6..200)) {
            let s = Summary::of(&values).unwrap();
            let [lo, hi] = s.ci95.unwrap();
            let ladder = [s.min, s.p5, s.median, s.p95, s.p99, s.max];
            proptest::prop_assert!(ladder.windows(2).all(|w| w[0] <= w[1]));
            proptest::prop_assert!(s.min <= lo && lo <= s.median && s.median <= hi && hi <= s.max);
        }

        #[test]
        fn the_order_of_samples_does_not_matter(mut values in proptest::collection::vec(0.0f64..1e9, 1..50)) {
            let forward = Summary::of(&values);
            values.reverse();
            proptest::prop_assert_eq!(forward, Summary::of(&values));
        }
    }

    #[test]
    fn the_interval_covers_the_median_as_often_as_it_says() {
        // Exponential samples (median ln 2) from a fixed linear congruential stream: the interval
        // must cover in at least 95 % of 4,000 series, less three standard errors.
        let mut state = 12345u64;
        let mut uniform = move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        let covered = (0..4000)
            .filter(|_| {
                let values: Vec<f64> = (0..25).map(|_| -uniform().ln()).collect();
                let [lo, hi] = Summary::of(&values).unwrap().ci95.unwrap();
                lo <= std::f64::consts::LN_2 && std::f64::consts::LN_2 <= hi
            })
            .count();
        assert!(
            covered as f64 / 4000.0 >= 0.95 - 3.0 * 0.00345,
            "{covered} of 4000"
        );
    }

    proptest::proptest! {
        #[test]
        fn selecting_agrees_with_sorting(mut values in proptest::collection::vec(-9.0f64..9.0, 1..40)) {
            let selected = median_of(&mut values);
            values.sort_by(f64::total_cmp);
            proptest::prop_assert!((selected - percentile_sorted(&values, 50.0)).abs() < 1e-12);
        }
    }
}
