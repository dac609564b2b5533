//! A logarithmic axis.

use crate::units::group_thousands;

/// The least that an axis spans, as a factor: noise should look like noise.
const LEAST_SPAN: f64 = 1.5;
/// Room beyond the outermost values, as a share of the axis.
const MARGIN: f64 = 0.06;

/// A range of positive values in logarithms.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogAxis {
    lo: f64,
    hi: f64,
}

impl LogAxis {
    /// An axis on which all `values` lie, all of them positive; `None` without any.
    pub fn around(values: impl Iterator<Item = f64>) -> Option<LogAxis> {
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            lo = lo.min(value.ln());
            hi = hi.max(value.ln());
        }
        if !(lo.is_finite() && hi.is_finite()) {
            return None;
        }
        let lacking = (LEAST_SPAN.ln() - (hi - lo)).max(0.0) / 2.0;
        let margin = (hi - lo + 2.0 * lacking) * MARGIN;
        Some(LogAxis {
            lo: lo - lacking - margin,
            hi: hi + lacking + margin,
        })
    }

    /// Where `value` lies: 0 at the lower end, 1 at the upper.
    pub fn share(&self, value: f64) -> f64 {
        (value.ln() - self.lo) / (self.hi - self.lo)
    }

    pub fn contains(&self, value: f64) -> bool {
        (0.0..=1.0).contains(&self.share(value))
    }

    /// Round values within the axis, about `wanted` of them.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        let few_enough = |ticks: &Vec<f64>| ticks.len() <= wanted + wanted / 2;
        // From fine to coarse: the first that is not too many.
        let steps: [&[f64]; 3] = [
            &[1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
            &[1.0, 2.0, 3.0, 5.0, 7.0],
            &[1.0, 2.0, 5.0],
        ];
        let fine = steps.into_iter().map(|steps| self.in_decades(steps, 1));
        let coarse = (1..).map(|every| self.in_decades(&[1.0], every));
        fine.chain(coarse).find(few_enough).unwrap_or_default()
    }

    /// `steps` times 10ⁿ for every `every`-th n.
    fn in_decades(&self, steps: &[f64], every: i32) -> Vec<f64> {
        let decade = |ln: f64| (ln / std::f64::consts::LN_10).floor() as i32;
        (decade(self.lo)..=decade(self.hi))
            .filter(|n| n.rem_euclid(every) == 0)
            .flat_map(|n| steps.iter().map(move |step| step * 10f64.powi(n)))
            .filter(|value| self.contains(*value))
            .collect()
    }
}

/// A tick's value in as few digits as it has.
pub(super) fn tick_text(value: f64) -> String {
    if value >= 1000.0 {
        return group_thousands(value.round() as u64);
    }
    // Three digits are all that the steps have.
    let decimals = (2 - value.log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_few_and_inside() {
        for (lo, hi) in [
            (0.1, 8.0),
            (1.0, 1.01),
            (3.0, 3.0),
            (1e-6, 1e12),
            (70.0, 1e4),
        ] {
            let axis = LogAxis::around([lo, hi].into_iter()).unwrap();
            let ticks = axis.ticks(6);
            assert!((2..=9).contains(&ticks.len()), "{lo}..{hi}: {ticks:?}");
            assert!(ticks.iter().all(|tick| axis.contains(*tick)));
            assert!(axis.contains(lo) && axis.contains(hi));
        }
        assert!(LogAxis::around(std::iter::empty()).is_none());
    }

    #[test]
    fn ticks_read_as_people_write_them() {
        let texts = [0.0015, 0.05, 0.5, 1.0, 2.5, 30.0, 200.0, 1000.0, 2e6].map(tick_text);
        let expected = [
            "0.0015",
            "0.05",
            "0.5",
            "1",
            "2.5",
            "30",
            "200",
            "1,000",
            "2,000,000",
        ];
        assert_eq!(texts, expected);
        assert_eq!(tick_text(1e-6), "0.000001");
    }
}
