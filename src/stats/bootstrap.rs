//! The bootstrap of a median, without drawing the samples.

use super::SplitMix64;

/// Medians of `resamples` bootstrap resamples of ascending, non-empty values.
///
/// A resample takes n of the n values with replacement: each is `sorted[floor(n·u)]` with u uniform.
/// Its median depends only on the middle order statistic of the n uniforms, which is Beta
/// distributed, and for an even n on the next one, which lies above it as the smallest of the
/// remaining ones. So one or two draws give exactly the distribution that n draws and a selection
/// would: the cost does not grow with n.
/// Source: Devroye, Non-Uniform Random Variate Generation, chapter V.3 (order statistics).
pub fn bootstrap_medians(sorted: &[f64], resamples: usize, random: &mut SplitMix64) -> Vec<f64> {
    let n = sorted.len();
    let at = |u: f64| sorted[((u * n as f64) as usize).min(n - 1)];
    let middle = n.div_ceil(2);
    let above = (n - middle) as f64;
    (0..resamples)
        .map(|_| {
            let u = random.beta(middle as f64, above + 1.0);
            if n % 2 == 1 {
                return at(u);
            }
            let next = 1.0 - (1.0 - u) * random.uniform().powf(1.0 / above);
            (at(u) + at(next)) / 2.0
        })
        .collect()
}

/// The lower and the upper end of draws that leave `share` of them out at either side: the k-th
/// smallest and the k-th largest with k = floor(share·(R + 1)), at least 1.
///
/// Not interpolated: another draw of the same kind lies below the k-th of R with probability
/// k / (R + 1), so these ends keep the share however few the draws are, as long as k ≥ 1 is not
/// forced. Source: Davison and Hinkley, Bootstrap Methods and their Application, section 5.2.
pub fn ends_of(draws: &mut [f64], share: f64) -> [f64; 2] {
    let count = draws.len();
    let k = (share * (count as f64 + 1.0) + 1e-9) as usize;
    let at = k.clamp(1, count) - 1;
    let mut nth = |n: usize| *draws.select_nth_unstable_by(n, f64::total_cmp).1;
    [nth(at), nth(count - 1 - at)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of draws at or below each of `limits`.
    fn shares(draws: &[f64], limits: &[f64]) -> Vec<f64> {
        let below = |limit: &f64| draws.iter().filter(|draw| *draw <= limit).count();
        limits
            .iter()
            .map(|limit| below(limit) as f64 / draws.len() as f64)
            .collect()
    }

    #[test]
    fn it_draws_what_resampling_draws() {
        for n in [1usize, 2, 3, 6, 7, 20, 25] {
            let sorted: Vec<f64> = (0..n).map(|i| (i * i) as f64).collect();
            let mut random = SplitMix64::new(n as u64);
            let quick = bootstrap_medians(&sorted, 40_000, &mut random);
            let naive: Vec<f64> = (0..40_000)
                .map(|_| {
                    let mut again: Vec<f64> = (0..n)
                        .map(|_| sorted[(random.uniform() * n as f64) as usize])
                        .collect();
                    again.sort_by(f64::total_cmp);
                    (again[(n - 1) / 2] + again[n / 2]) / 2.0
                })
                .collect();
            let limits: Vec<f64> = (0..2 * n).map(|i| (i * i) as f64 / 4.0).collect();
            for (a, b) in shares(&quick, &limits).iter().zip(shares(&naive, &limits)) {
                // Four standard errors of the difference of two shares.
                assert!((a - b).abs() < 4.0 * (0.5f64 / 40_000.0).sqrt(), "n = {n}");
            }
        }
    }

    #[test]
    fn ends_by_hand() {
        let mut draws: Vec<f64> = (1..=99).rev().map(f64::from).collect();
        assert_eq!(ends_of(&mut draws, 0.05), [5.0, 95.0]);
        assert_eq!(ends_of(&mut draws, 0.001), [1.0, 99.0]);
        assert_eq!(ends_of(&mut [2.0], 0.5), [2.0, 2.0]);
    }

    #[test]
    fn three_values_by_hand() {
        // P(median is the smallest) = P(at least 2 of 3 draws are it) = 3·(1/9)·(2/3) + 1/27 = 7/27.
        let draws = bootstrap_medians(&[1.0, 2.0, 3.0], 100_000, &mut SplitMix64::new(3));
        let share = shares(&draws, &[1.0])[0];
        assert!((share - 7.0 / 27.0).abs() < 0.006, "{share}");
    }
}
