//! The axis of tokens per GPU: a tick at every number that was measured.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::super::text::text_width;
use super::CurvePicture;
use super::frame::TICK;
use super::log_axis::LogAxis;

/// The least factor between the ends.
const LEAST_FACTOR: f64 = 2.0;
/// Logical pixels between two labels, and between two ticks.
const LEAST_GAP: f64 = 12.0;
const LEAST_TICK_DISTANCE: f64 = 3.0;

/// A tick at a measured number of tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenTick {
    pub x: f64,
    /// `None` where a label would run into another one.
    pub text: Option<String>,
}

/// The axis from the fewest to the most tokens.
pub fn token_axis(picture: &CurvePicture) -> LogAxis {
    let all = measured(picture);
    // There are points: that was checked.
    let end = |tokens: Option<&u64>| tokens.map_or(1.0, |&tokens| tokens as f64);
    LogAxis::new(end(all.first()), end(all.last()), LEAST_FACTOR, 0.0)
}

fn measured(picture: &CurvePicture) -> BTreeSet<u64> {
    let points = picture.lines.iter().flat_map(|line| &line.points);
    points.map(|point| point.x).collect()
}

/// Ticks from left to right; `x` says where a number of tokens is. Where not all labels have room,
/// the ends have one, then every second or third power of two, then what fits between.
pub fn token_ticks(picture: &CurvePicture, x: impl Fn(f64) -> f64) -> Vec<TokenTick> {
    let all: Vec<u64> = measured(picture).into_iter().collect();
    let room = |tokens: u64| {
        let half = (text_width(&picture.over.value(tokens), TICK) + LEAST_GAP) / 2.0;
        (x(tokens as f64) - half, x(tokens as f64) + half)
    };
    let powers: Vec<u64> = all
        .iter()
        .copied()
        .filter(|t| t.is_power_of_two())
        .collect();
    let even = evenly_spaced(&powers, room);
    let ends = [all.first(), all.last()].into_iter().flatten().copied();
    let others = all.iter().copied().filter(|t| !t.is_power_of_two());
    let mut others: Vec<u64> = others.collect();
    others.sort_by_key(|&tokens| (Reverse(tokens.trailing_zeros()), tokens));
    let mut labels: Vec<(u64, (f64, f64))> = Vec::new();
    for tokens in ends.chain(even).chain(others) {
        let (left, right) = room(tokens);
        let free = |other: &(u64, (f64, f64))| right <= other.1.0 || other.1.1 <= left;
        if labels.iter().all(free) {
            labels.push((tokens, (left, right)));
        }
    }
    let mut ticks: Vec<TokenTick> = labels
        .iter()
        .map(|&(tokens, _)| TokenTick {
            x: x(tokens as f64),
            text: Some(picture.over.value(tokens)),
        })
        .collect();
    for tokens in all {
        let x = x(tokens as f64);
        if ticks
            .iter()
            .all(|tick| (tick.x - x).abs() >= LEAST_TICK_DISTANCE)
        {
            ticks.push(TokenTick { x, text: None });
        }
    }
    ticks.sort_by(|a, b| a.x.total_cmp(&b.x));
    ticks
}

/// Of powers of two, as many as have room at equal distances.
fn evenly_spaced(powers: &[u64], room: impl Fn(u64) -> (f64, f64)) -> Vec<u64> {
    let first = powers.first().map_or(0, |power| power.trailing_zeros());
    (1..=u64::BITS)
        .map(|stride| -> Vec<u64> {
            let all = powers.iter().copied();
            all.filter(|power| (power.trailing_zeros() - first).is_multiple_of(stride))
                .collect()
        })
        .find(|kept| {
            let apart = |pair: &[u64]| room(pair[0]).1 <= room(pair[1]).0;
            kept.windows(2).all(apart)
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::{CurveLine, CurvePoint};
    use super::*;

    /// The labels for measured tokens on an axis of 800 logical pixels.
    fn labels(tokens: &[u64]) -> Vec<String> {
        let point = |&tokens: &u64| CurvePoint {
            x: tokens,
            us: 1.0,
            ci95_us: None,
        };
        let line = CurveLine {
            name: String::new(),
            points: tokens.iter().map(point).collect(),
        };
        let picture = CurvePicture {
            lines: vec![line],
            ..CurvePicture::default()
        };
        let axis = token_axis(&picture);
        let ticks = token_ticks(&picture, |tokens| 800.0 * axis.share(tokens));
        assert!(ticks.len() <= 270, "{}", ticks.len());
        ticks.into_iter().filter_map(|tick| tick.text).collect()
    }

    #[test]
    fn all_labels_stay_where_they_fit() {
        assert_eq!(labels(&[1, 3, 8, 100]), ["1", "3", "8", "100"]);
        assert_eq!(labels(&[64]), ["64"]);
    }

    #[test]
    fn powers_of_two_stay_evenly_spaced() {
        let powers: Vec<u64> = (0..17).map(|exponent| 1 << exponent).collect();
        assert_eq!(
            labels(&powers),
            [
                "1", "4", "16", "64", "256", "1,024", "4,096", "16,384", "65,536"
            ]
        );
    }

    #[test]
    fn ends_come_first() {
        let all: Vec<u64> = (1..=300).collect();
        let labels = labels(&all);
        assert_eq!(labels.first().map(String::as_str), Some("1"));
        assert_eq!(labels.last().map(String::as_str), Some("300"));
        assert!(labels.iter().any(|label| label == "128"));
        assert!(!labels.iter().any(|label| label == "299"));
    }
}
