//! The distribution-free confidence interval of a median.

/// Positions (0-based, inclusive) of the two order statistics that enclose the median with at
/// least 95 % confidence, or `None` where `n` samples cannot carry such a statement (n < 6).
///
/// The number of samples below the true median is Binomial(n, 1/2). With `k` the largest integer
/// for which P(X < k) ≤ 0.025, the interval from the k-th smallest to the k-th largest value
/// covers the median with probability 1 − 2·P(X < k) ≥ 0.95. Exact for every n.
/// Source: David and Nagaraja, Order Statistics, 3rd edition, section 7.1.
pub fn median_ci95_ranks(n: usize) -> Option<(usize, usize)> {
    // Summing in logarithms: 0.5^n underflows from n = 1,075 on.
    let ln_half = 0.5f64.ln();
    let mut ln_choose = 0.0f64;
    let mut below = 0.0f64;
    let mut k = 0usize;
    loop {
        // `below` is P(X < k); adding P(X = k) gives P(X < k + 1).
        let next = below + (ln_choose + n as f64 * ln_half).exp();
        if next > 0.025 || k >= n {
            break;
        }
        below = next;
        ln_choose += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
        k += 1;
    }
    (k >= 1).then(|| (k - 1, n - k))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(X < k) for Binomial(n, 1/2) by Pascal's triangle in exact integers.
    fn below_exact(n: u32, k: u32) -> f64 {
        let mut row = vec![1u128];
        for _ in 0..n {
            let mut next = vec![1u128];
            next.extend(row.windows(2).map(|w| w[0] + w[1]));
            next.push(1);
            row = next;
        }
        row[..k as usize].iter().sum::<u128>() as f64 / (1u128 << n) as f64
    }

    #[test]
    fn five_samples_carry_no_interval_and_six_do() {
        assert_eq!(median_ci95_ranks(0), None);
        assert_eq!(median_ci95_ranks(5), None);
        assert_eq!(median_ci95_ranks(6), Some((0, 5)));
    }

    #[test]
    fn known_table_values() {
        // The classical table of the sign test gives these for 95 %.
        assert_eq!(median_ci95_ranks(10), Some((1, 8)));
        assert_eq!(median_ci95_ranks(20), Some((5, 14)));
        assert_eq!(median_ci95_ranks(30), Some((9, 20)));
        assert_eq!(median_ci95_ranks(100), Some((39, 60)));
    }

    #[test]
    fn coverage_is_at_least_95_percent_and_the_interval_is_the_narrowest() {
        for n in 6..=100u32 {
            let (lo, hi) = median_ci95_ranks(n as usize).unwrap();
            assert_eq!(lo + hi, n as usize - 1, "symmetric");
            let k = lo as u32 + 1;
            assert!(below_exact(n, k) <= 0.025, "n = {n}");
            assert!(below_exact(n, k + 1) > 0.025, "n = {n}: not the narrowest");
        }
    }

    #[test]
    fn large_n_follows_the_normal_approximation() {
        for n in [1_000usize, 10_000, 100_000] {
            let (lo, _) = median_ci95_ranks(n).unwrap();
            let approx = n as f64 / 2.0 - 0.98 * (n as f64).sqrt();
            assert!(
                (lo as f64 - approx).abs() < 3.0,
                "n = {n}: {lo} against {approx}"
            );
        }
    }
}
