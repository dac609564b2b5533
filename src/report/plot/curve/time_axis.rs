//! The axis of times: what it shows, its unit and its ticks.

use crate::units::{group_thousands, median_and_interval};

use super::super::scale::{Tick, Unit, Window, step, ticks};
use super::CurvePicture;
use super::log_axis::LogAxis;

/// The least factor between the ends: less would make a flat curve look steep.
const LEAST_FACTOR: f64 = 2.0;
/// Share of the axis that stays empty at either end.
const ROOM: f64 = 0.07;
/// An interval's end may stretch the axis by this factor beyond the medians, not more.
const STRETCH: f64 = 10.0;
/// Logical pixels between two labels, and between two lines of the grid.
const LEAST_LABEL_DISTANCE: f64 = 19.0;
const LEAST_GRID_DISTANCE: f64 = 4.0;
/// Fewer labels than this say too little of where the values lie.
const FEWEST_LABELS: usize = 4;
/// About so many labels where they are in equal steps.
const WANTED: f64 = 7.0;

/// The axis that shows all times of the picture.
pub fn time_axis(picture: &CurvePicture) -> LogAxis {
    let points = || picture.lines.iter().flat_map(|line| &line.points);
    let times = points()
        .map(|point| point.us)
        .chain(picture.knees.iter().map(|knee| knee.us))
        .chain(picture.crossovers.iter().map(|crossover| crossover.us))
        .chain(picture.references.iter().map(|reference| reference.us));
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for us in times {
        (least, most) = (least.min(us), most.max(us));
    }
    let (lowest, highest) = (least / STRETCH, most * STRETCH);
    for [lo, hi] in points().filter_map(|point| point.ci95_us) {
        (least, most) = (least.min(lo.max(lowest)), most.max(hi.min(highest)));
    }
    LogAxis::new(least, most, LEAST_FACTOR, ROOM)
}

/// The unit in which the middle of the axis reads best.
pub fn time_unit(axis: &LogAxis) -> Unit {
    Unit::of((axis.lo * axis.hi).sqrt())
}

/// A time and its interval in the unit of the axis where that reads well, else in its own.
pub fn time_text(us: f64, ci95_us: Option<[f64; 2]>, axis_unit: Unit) -> (String, Option<String>) {
    let unit = if (0.1..1e3).contains(&(us / axis_unit.us())) {
        axis_unit
    } else {
        Unit::of(us)
    };
    let in_unit = |us: f64| us / unit.us();
    let (value, interval) = median_and_interval(in_unit(us), ci95_us.map(|ends| ends.map(in_unit)));
    (format!("{value} {}", unit.name()), interval)
}

/// The ticks of the axis.
pub struct TimeTicks {
    /// From the lowest to the highest.
    pub labelled: Vec<Tick>,
    /// Places of lines of the grid without a label.
    pub minor: Vec<f64>,
}

impl TimeTicks {
    /// Ticks for an axis of `height` logical pixels: 1, 2 and 5 times powers of ten, or the powers
    /// alone where the axis is too long for more; where it is short also 3 and 7, then equal steps.
    pub fn new(axis: &LogAxis, unit: Unit, height: f64) -> TimeTicks {
        let per_decade = height / axis.decades();
        if per_decade * 2f64.log10() < LEAST_LABEL_DISTANCE {
            return TimeTicks::round(axis, unit, height, &[1]);
        }
        [[1, 2, 5].as_slice(), &[1, 2, 3, 5, 7]]
            .into_iter()
            .map(|leads| TimeTicks::round(axis, unit, height, leads))
            .find(|ticks| ticks.labelled.len() >= FEWEST_LABELS)
            .unwrap_or_else(|| TimeTicks::in_equal_steps(axis, unit, height))
    }

    /// Ticks at these digits times powers of ten.
    fn round(axis: &LogAxis, unit: Unit, height: f64, leads: &[u32]) -> TimeTicks {
        let per_decade = height / axis.decades();
        let every = (LEAST_LABEL_DISTANCE / per_decade).ceil().max(1.0) as i32;
        let is_labelled =
            |lead: u32, power: i32| leads.contains(&lead) && power.rem_euclid(every) == 0;
        let finest = per_decade * (10f64 / 9.0).log10();
        let mut all = TimeTicks {
            labelled: Vec::new(),
            minor: Vec::new(),
        };
        for (value, lead, power) in round_values(axis, unit) {
            let share = axis.share(value * unit.us());
            if is_labelled(lead, power) {
                let text = round_text(lead, power);
                all.labelled.push(Tick { share, text });
            } else if finest >= LEAST_GRID_DISTANCE || lead == 1 {
                all.minor.push(share);
            }
        }
        all
    }

    fn in_equal_steps(axis: &LogAxis, unit: Unit, height: f64) -> TimeTicks {
        let span = axis.hi - axis.lo;
        let window = Window {
            lo: axis.lo,
            hi: axis.hi,
            clipped: false,
        };
        let mut labelled: Vec<Tick> = Vec::new();
        let mut last = f64::NEG_INFINITY;
        for tick in ticks(&window, unit, WANTED) {
            let share = axis.share(axis.lo + tick.share * span);
            if (share - last) * height >= LEAST_LABEL_DISTANCE {
                last = share;
                labelled.push(Tick { share, ..tick });
            }
        }
        let major = step(span, WANTED);
        let lead = major / 10f64.powf((major.log10() + 1e-9).floor());
        let minor = major / if lead.round() == 2.0 { 4.0 } else { 5.0 };
        let first = (axis.lo / minor).ceil() as u64;
        let mut kept: Vec<f64> = Vec::new();
        for number in first..=(axis.hi / minor).floor() as u64 {
            let share = axis.share(number as f64 * minor);
            let others = labelled
                .iter()
                .map(|tick| tick.share)
                .chain(kept.last().copied());
            if others
                .into_iter()
                .all(|other| (share - other).abs() * height >= LEAST_GRID_DISTANCE)
            {
                kept.push(share);
            }
        }
        TimeTicks {
            labelled,
            minor: kept,
        }
    }
}

/// The values on the axis, in `unit`, that are one digit times a power of ten; with both.
fn round_values(axis: &LogAxis, unit: Unit) -> Vec<(f64, u32, i32)> {
    let (lo, hi) = (axis.lo / unit.us(), axis.hi / unit.us());
    (lo.log10().floor() as i32..=hi.log10().floor() as i32)
        .flat_map(|power| (1..=9).map(move |lead| (lead, power)))
        .map(|(lead, power)| (f64::from(lead) * 10f64.powi(power), lead, power))
        .filter(|(value, _, _)| (lo..=hi).contains(value))
        .collect()
}

fn round_text(lead: u32, power: i32) -> String {
    match u32::try_from(power) {
        Ok(power) => group_thousands(u64::from(lead) * 10u64.pow(power)),
        Err(_) => {
            let digits = power.unsigned_abs() as usize;
            format!("{:.digits$}", f64::from(lead) * 10f64.powi(power))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lo: f64, hi: f64) -> Vec<String> {
        let axis = LogAxis { lo, hi };
        let ticks = TimeTicks::new(&axis, time_unit(&axis), 440.0);
        ticks.labelled.into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn labels_are_1_2_5_in_plain_numbers() {
        assert_eq!(
            texts(45.0, 11_000.0),
            [
                "50", "100", "200", "500", "1,000", "2,000", "5,000", "10,000"
            ]
        );
        assert_eq!(
            texts(450.0, 11_000.0),
            ["0.5", "1", "2", "5", "10"],
            "in ms"
        );
    }

    #[test]
    fn long_axes_have_powers_of_ten_and_short_ones_equal_steps() {
        assert_eq!(texts(0.9, 1.1e7).len(), 8);
        assert_eq!(texts(0.9, 1.1e7)[0], "0.001");
        assert_eq!(texts(900.0, 5_500.0), ["1", "2", "3", "5"]);
        assert_eq!(
            texts(1_250.0, 2_700.0),
            ["1.4", "1.6", "1.8", "2.0", "2.2", "2.4", "2.6"]
        );
    }

    proptest::proptest! {
        #[test]
        fn any_axis_has_readable_ticks(lo in -4f64..15.0, span in 0.3f64..18.0) {
            let hi = (lo + span).min(16.0);
            let axis = LogAxis { lo: 10f64.powf(lo), hi: 10f64.powf(hi) };
            let unit = time_unit(&axis);
            let ticks = TimeTicks::new(&axis, unit, 360.0);
            proptest::prop_assert!((2..=25).contains(&ticks.labelled.len()), "{axis:?}");
            for tick in &ticks.labelled {
                let value: f64 = tick.text.replace(',', "").parse().unwrap();
                let share = axis.share(value * unit.us());
                proptest::prop_assert!((share - tick.share).abs() < 1e-6, "{axis:?} {tick:?}");
            }
            for pair in ticks.labelled.windows(2) {
                let apart = (pair[1].share - pair[0].share) * 360.0;
                proptest::prop_assert!(apart >= LEAST_LABEL_DISTANCE - 1e-6, "{axis:?} {pair:?}");
            }
            proptest::prop_assert!(ticks.minor.len() < 100);
        }
    }

    #[test]
    fn a_time_reads_in_the_axis_unit_where_it_can() {
        let interval = |text: &str| Some(text.to_string());
        assert_eq!(
            time_text(850.0, Some([840.0, 870.0]), Unit::Ms),
            ("0.850 ms".to_string(), interval("[0.840, 0.870]"))
        );
        assert_eq!(
            time_text(8.0, None, Unit::Ms),
            ("8.00 µs".to_string(), None)
        );
        assert_eq!(time_text(2e7, None, Unit::Ms).0, "20.0 s");
    }
}
