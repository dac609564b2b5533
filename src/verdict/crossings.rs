//! Where a difference that is straight between its points changes sign.

/// One change of sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Crossing {
    /// Place on the axis of `x`.
    pub x: f64,
    /// From below zero to above.
    pub upward: bool,
}

/// The sign changes of `gaps` over ascending `x`. A gap of exactly zero has no sign: touching zero
/// is no crossing, and passing through zeros is one, in their middle.
pub(super) fn crossings(x: &[f64], gaps: &[f64]) -> Vec<Crossing> {
    let mut found = Vec::new();
    let signed: Vec<usize> = (0..x.len()).filter(|&i| gaps[i] != 0.0).collect();
    for pair in signed.windows(2) {
        let (i, j) = (pair[0], pair[1]);
        if (gaps[i] < 0.0) == (gaps[j] < 0.0) {
            continue;
        }
        let at = if j - i > 1 {
            (x[i + 1] + x[j - 1]) / 2.0
        } else {
            x[i] + (x[j] - x[i]) * gaps[i] / (gaps[i] - gaps[j])
        };
        found.push(Crossing {
            x: at,
            upward: gaps[i] < 0.0,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64, upward: bool) -> Crossing {
        Crossing { x, upward }
    }

    #[test]
    fn by_hand() {
        let x = [0.0, 1.0, 2.0, 3.0];
        assert_eq!(crossings(&x, &[1.0, 2.0, 1.0, 3.0]), []);
        assert_eq!(crossings(&x, &[-1.0, -1.0, 3.0, 1.0]), [at(1.25, true)]);
        assert_eq!(
            crossings(&x, &[1.0, -1.0, -1.0, 1.0]),
            [at(0.5, false), at(2.5, true)]
        );
        // Touching, and passing through, zero.
        assert_eq!(crossings(&x, &[1.0, 0.0, 1.0, 1.0]), []);
        assert_eq!(crossings(&x, &[1.0, 0.0, 0.0, -1.0]), [at(1.5, false)]);
        assert_eq!(crossings(&x, &[0.0, 0.0, 0.0, 0.0]), []);
        assert_eq!(crossings(&[1.0], &[1.0]), []);
    }

    proptest::proptest! {
        #[test]
        fn they_alternate_ascend_and_lie_in_the_range(gaps in proptest::collection::vec(-1.0f64..1.0, 1..12)) {
            let x: Vec<f64> = (0..gaps.len()).map(|i| i as f64).collect();
            let found = crossings(&x, &gaps);
            for pair in found.windows(2) {
                proptest::prop_assert!(pair[0].x <= pair[1].x);
                proptest::prop_assert!(pair[0].upward != pair[1].upward);
            }
            let last = x[x.len() - 1];
            proptest::prop_assert!(found.iter().all(|one| (0.0..=last).contains(&one.x)));
        }
    }
}
