//! Axes: which part of the values they show, their ticks, and how times are written.

use crate::stats::Summary;
use crate::units::{group_thousands, median_and_interval};

/// Values beyond this many times the 95th percentile would flatten all others.
const OUTLIER: f64 = 3.0;
/// Where the axis ends then, in 95th percentiles.
const CLIP: f64 = 1.15;
/// The least part of its upper end that an axis shows: less would blow up rounding errors.
const LEAST_SPAN: f64 = 0.02;

/// A longer time is a broken clock: about 30 years, in µs.
pub const LONGEST_US: f64 = 1e15;

/// The shortest axis, in µs. Ticks of one much shorter than a picosecond are zero to a double, and
/// so there would be no end of them.
const SHORTEST: f64 = 1e-6;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Us,
    Ms,
    S,
}

impl Unit {
    /// The unit in which a time reads best.
    pub fn of(us: f64) -> Unit {
        if us >= 1e6 {
            Unit::S
        } else if us >= 1e3 {
            Unit::Ms
        } else {
            Unit::Us
        }
    }

    /// As [`Unit::of`], but microseconds up to 10 ms: the time of one op is spoken of in them.
    pub fn of_op(us: f64) -> Unit {
        if us < 1e4 { Unit::Us } else { Unit::of(us) }
    }

    pub fn name(self) -> &'static str {
        match self {
            Unit::Us => "µs",
            Unit::Ms => "ms",
            Unit::S => "s",
        }
    }

    /// Microseconds in one of this unit.
    pub fn us(self) -> f64 {
        match self {
            Unit::Us => 1.0,
            Unit::Ms => 1e3,
            Unit::S => 1e6,
        }
    }
}

/// A median and its interval as text.
#[derive(Debug, Clone, PartialEq)]
pub struct MedianText {
    /// "55.8 µs"
    pub value: String,
    /// "[54.1, 57.0]" in the unit of the value, or `None` where there is no interval.
    pub interval: Option<String>,
}

impl MedianText {
    /// The median of `summary` (µs) in `unit`.
    pub fn new(summary: &Summary, unit: Unit) -> MedianText {
        let in_unit = summary.scaled(1.0 / unit.us());
        let (value, interval) = median_and_interval(in_unit.median, in_unit.ci95);
        MedianText {
            value: format!("{value} {}", unit.name()),
            interval,
        }
    }
}

/// What stands in place of an interval.
pub fn no_interval(n: u64) -> String {
    format!("n={n}: too few for an interval")
}

/// The part of the values, in µs, that an axis shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    pub lo: f64,
    pub hi: f64,
    /// Whether there are values above `hi`.
    pub clipped: bool,
}

impl Window {
    /// The window for values from `least` to `most` that the summaries belong to.
    pub fn new<'s>(
        least: f64,
        most: f64,
        summaries: impl Iterator<Item = &'s Summary> + Clone,
    ) -> Window {
        let p95 = summaries.clone().map(|s| s.p95).fold(0.0, f64::max);
        let clipped = p95 > 0.0 && most > OUTLIER * p95;
        let top = if clipped {
            // What is stated of the median must be seen whatever else is not.
            let stated = summaries
                .map(|s| s.ci95.map_or(s.median, |[_, hi]| hi))
                .fold(0.0, f64::max);
            (CLIP * p95).max(1.02 * stated)
        } else {
            most
        };
        // An axis from zero shows proportions; where the values leave more than half of it empty,
        // their differences are what there is to see.
        if least < 0.5 * top || top < SHORTEST {
            let hi = if top <= 0.0 { 1.0 } else { top.max(SHORTEST) };
            let room = if clipped { 0.0 } else { 0.05 * hi };
            return Window {
                lo: 0.0,
                hi: hi + room,
                clipped,
            };
        }
        let missing = (LEAST_SPAN * top - (top - least)).max(0.0);
        let (lo, hi) = (least - missing / 2.0, top + missing / 2.0);
        let room = 0.08 * (hi - lo);
        Window {
            lo: lo - room,
            hi: if clipped { hi } else { hi + room },
            clipped,
        }
    }

    /// The place of a time between the ends, 0 to 1; times beyond an end are at it.
    pub fn share(&self, us: f64) -> f64 {
        ((us - self.lo) / (self.hi - self.lo)).clamp(0.0, 1.0)
    }

    pub fn starts_at_zero(&self) -> bool {
        self.lo == 0.0
    }
}

/// A tick and its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// The place between the axis' ends, 0 to 1.
    pub share: f64,
    pub text: String,
}

/// Ticks in steps of 1, 2 or 5 times a power of ten, about `wanted` of them.
pub fn ticks(window: &Window, unit: Unit, wanted: f64) -> Vec<Tick> {
    let (lo, hi) = (window.lo / unit.us(), window.hi / unit.us());
    let step = step(hi - lo, wanted);
    let digits = (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
    let first = (lo / step - 1e-6).ceil() as i64;
    let last = (hi / step + 1e-6).floor() as i64;
    (first..=last)
        .map(|multiple| {
            let value = multiple as f64 * step;
            Tick {
                share: ((value - lo) / (hi - lo)).clamp(0.0, 1.0),
                text: if digits == 0 {
                    group_thousands(value.round() as u64)
                } else {
                    format!("{value:.digits$}")
                },
            }
        })
        .collect()
}

/// The step of 1, 2 or 5 times a power of ten that comes closest to `wanted` steps.
pub fn step(span: f64, wanted: f64) -> f64 {
    let rough = span / wanted;
    let power = 10f64.powf(rough.log10().floor());
    let factor = match rough / power {
        r if r < 1.5 => 1.0,
        r if r < 3.5 => 2.0,
        r if r < 7.5 => 5.0,
        _ => 10.0,
    };
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        for (lo, hi) in [
            (0.0, 5.2),
            (36_400.0, 38_100.0),
            (0.0, 1.1e7),
            (99.0, 101.0),
        ] {
            let window = Window {
                lo,
                hi,
                clipped: false,
            };
            let unit = Unit::of(hi);
            let ticks = ticks(&window, unit, 5.0);
            assert!((3..=9).contains(&ticks.len()), "{lo} {hi}: {ticks:?}");
            for tick in &ticks {
                let value: f64 = tick.text.parse().unwrap();
                let exact = lo + tick.share * (hi - lo);
                assert!((value * unit.us() - exact).abs() < 1e-6 * hi, "{tick:?}");
            }
        }
    }

    #[test]
    fn steps_are_1_2_or_5() {
        for exponent in -3..8 {
            for lead in [1.0, 1.7, 2.4, 3.9, 6.0, 9.9] {
                let step = step(lead * 10f64.powi(exponent), 5.0);
                let lead = step / 10f64.powf((step.log10() + 1e-9).floor());
                assert!([1.0, 2.0, 5.0].iter().any(|l| (lead - l).abs() < 1e-6));
            }
        }
    }

    #[test]
    fn the_axis_is_clipped_only_where_outliers_would_flatten_the_rest() {
        let mut values: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i % 10)).collect();
        let summary = Summary::of(&values).unwrap();
        let window = Window::new(summary.min, summary.max, [&summary].into_iter());
        assert!(!window.clipped && window.hi > 109.0 && window.lo > 90.0);
        values[50] = 5_000.0;
        let summary = Summary::of(&values).unwrap();
        let window = Window::new(summary.min, summary.max, [&summary].into_iter());
        assert!(window.clipped);
        assert!((window.hi / summary.p95 - 1.15).abs() < 0.05, "{window:?}");
    }

    #[test]
    fn equal_values_and_zeros_have_an_axis() {
        for value in [0.0, 5.0, 1e7] {
            let summary = Summary::of(&[value; 10]).unwrap();
            let window = Window::new(value, value, [&summary].into_iter());
            assert!(window.lo <= value && value < window.hi, "{window:?}");
            assert!(ticks(&window, Unit::of(window.hi), 5.0).len() >= 2);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_times_have_an_axis_with_few_ticks(bits in proptest::collection::vec(0u64..1e15f64.to_bits(), 3)) {
            let times: Vec<f64> = bits.iter().map(|bits| f64::from_bits(*bits)).collect();
            let summary = Summary::of(&times[..2]).unwrap();
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            let most = times.iter().copied().fold(0.0, f64::max);
            let window = Window::new(least, most, [&summary].into_iter());
            proptest::prop_assert!(window.lo.is_finite() && window.lo < window.hi, "{window:?}");
            let ticks = ticks(&window, Unit::of(window.hi), 5.0);
            proptest::prop_assert!((2..=12).contains(&ticks.len()), "{window:?}: {}", ticks.len());
        }
    }

    #[test]
    fn medians_read_as_in_tables() {
        let mut summary = Summary::of(&[54.1, 54.1, 55.8, 57.0, 57.0, 55.8]).unwrap();
        summary.median = 55.8;
        summary.ci95 = Some([54.1, 57.0]);
        let text = MedianText::new(&summary, Unit::Us);
        assert_eq!(text.value, "55.8 µs");
        assert_eq!(text.interval.as_deref(), Some("[54.1, 57.0]"));
        summary.ci95 = Some([55.79, 55.84]);
        let text = MedianText::new(&summary, Unit::Us);
        assert_eq!(text.value, "55.80 µs");
        assert_eq!(text.interval.as_deref(), Some("[55.79, 55.84]"));
        summary.ci95 = None;
        assert_eq!(MedianText::new(&summary, Unit::Us).interval, None);
    }
}
