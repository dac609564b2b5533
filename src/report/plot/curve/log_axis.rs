//! A logarithmic axis.

/// The part of the positive values that an axis shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogAxis {
    pub lo: f64,
    pub hi: f64,
}

impl LogAxis {
    /// An axis that shows `least` and `most`, spans a factor of at least `least_factor` and leaves
    /// the share `room` of that span empty at either end.
    pub fn new(least: f64, most: f64, least_factor: f64, room: f64) -> LogAxis {
        let missing = (least_factor * least / most).max(1.0).sqrt();
        let (lo, hi) = (least / missing, most * missing);
        let pad = (hi / lo).powf(room);
        LogAxis {
            lo: lo / pad,
            hi: hi * pad,
        }
    }

    /// The place of a value between the ends, 0 to 1; values beyond an end are at it.
    pub fn share(&self, value: f64) -> f64 {
        if value <= self.lo {
            return 0.0;
        }
        ((value / self.lo).ln() / (self.hi / self.lo).ln()).min(1.0)
    }

    /// Powers of ten that the axis spans.
    pub fn decades(&self) -> f64 {
        (self.hi / self.lo).log10()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_factors_are_equally_far_apart() {
        let axis = LogAxis::new(1.0, 256.0, 2.0, 0.0);
        for (exponent, tokens) in [1.0, 2.0, 4.0, 8.0, 16.0].into_iter().enumerate() {
            assert!((axis.share(tokens) - exponent as f64 / 8.0).abs() < 1e-12);
        }
        for below in [1.0, 0.0, -5.0] {
            assert_eq!(axis.share(below), 0.0);
        }
        assert_eq!(axis.share(1e9), 1.0);
    }

    #[test]
    fn one_value_stands_in_the_middle() {
        let axis = LogAxis::new(64.0, 64.0, 2.0, 0.1);
        assert!((axis.share(64.0) - 0.5).abs() < 1e-12);
        assert!((axis.hi / axis.lo - 2f64.powf(1.2)).abs() < 1e-12);
    }
}
