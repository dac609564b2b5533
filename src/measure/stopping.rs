//! When a series has enough samples.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::result::StoppedBy;
use crate::stats::Summary;

/// Below 6 samples there is no 95 % interval of the median.
pub const FEWEST_SAMPLES: usize = 6;

/// Precision is not believed before this many: an interval that rests on the extremes of a few
/// samples is narrow by luck too often.
const ENOUGH_TO_JUDGE: usize = 20;

/// Where samples are cheap, enough are taken for a 99th percentile to mean something…
const ENOUGH_FOR_TAILS: usize = 100;

/// …but no more time than this is spent on it.
const TIME_FOR_TAILS: Duration = Duration::from_millis(500);

/// Time one batch aims at: long enough that the exchange between batches costs little, short
/// enough for progress to move.
const BATCH: Duration = Duration::from_millis(150);

/// How long to sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Half the width of the median's 95 % interval over the median, at which sampling may stop.
    pub precision: f64,
    /// Sampling time of one series, after which it stops in any case.
    pub budget: Duration,
    /// Replays before the first sample of a series.
    pub warmup: u64,
    /// Samples that are taken whatever the budget says; [`FEWEST_SAMPLES`] or more.
    pub min_samples: usize,
    /// Most samples of one series.
    pub max_samples: usize,
}

/// What to do next with a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Take this many samples more (at least 1).
    Take(usize),
    Stop(StoppedBy),
}

/// Decides over a series of burst times (µs) that took `spent` of sampling time so far.
///
/// The interval is looked at once a batch, and batches grow with the series: looking at every
/// sample would stop at lucky moments, and make the interval cover less than it says.
pub fn decide(burst_us: &[f64], spent: Duration, settings: &Settings) -> Decision {
    let n = burst_us.len();
    if n >= settings.max_samples {
        return Decision::Stop(StoppedBy::Samples);
    }
    if n < settings.min_samples {
        return Decision::Take((settings.min_samples - n).min(settings.max_samples - n));
    }
    let narrow = || {
        Summary::of(burst_us)
            .is_some_and(|summary| summary.relative_half_width() <= settings.precision)
    };
    let tails_are_known = n >= ENOUGH_FOR_TAILS || spent >= TIME_FOR_TAILS;
    if n >= ENOUGH_TO_JUDGE && tails_are_known && narrow() {
        return Decision::Stop(StoppedBy::Precision);
    }
    let Some(left) = settings
        .budget
        .checked_sub(spent)
        .filter(|left| !left.is_zero())
    else {
        return Decision::Stop(StoppedBy::Budget);
    };
    let each = (spent.as_secs_f64() / n as f64).max(1e-9);
    let of_a_batch = (BATCH.as_secs_f64() / each) as usize;
    let affordable = (left.as_secs_f64() / each) as usize;
    let wanted = if n < ENOUGH_TO_JUDGE {
        (ENOUGH_TO_JUDGE - n).min(affordable)
    } else if n < ENOUGH_FOR_TAILS {
        (ENOUGH_FOR_TAILS - n).min(of_a_batch).min(affordable)
    } else {
        of_a_batch.max(n / 2).min(affordable)
    };
    Decision::Take(wanted.clamp(1, settings.max_samples - n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            precision: 0.02,
            budget: Duration::from_secs(2),
            warmup: 5,
            min_samples: FEWEST_SAMPLES,
            max_samples: 10_000,
        }
    }

    #[test]
    fn a_steady_series_stops_by_precision_once_it_can_be_believed() {
        assert_eq!(decide(&[], Duration::ZERO, &settings()), Decision::Take(6));
        let spent = Duration::from_millis(600);
        let few = decide(&[100.0; 6], spent, &settings());
        assert_eq!(few, Decision::Take(14));
        assert_eq!(
            decide(&[100.0; 20], spent, &settings()),
            Decision::Stop(StoppedBy::Precision)
        );
    }

    #[test]
    fn cheap_samples_are_taken_until_tails_are_known() {
        let spent = Duration::from_millis(30);
        assert_eq!(
            decide(&[1600.0; 20], spent, &settings()),
            Decision::Take(80)
        );
        let stop = Decision::Stop(StoppedBy::Precision);
        assert_eq!(decide(&[1600.0; 100], spent * 5, &settings()), stop);
    }

    #[test]
    fn a_noisy_series_goes_on_until_the_budget_ends() {
        let noisy: Vec<f64> = (0..100).map(|i| 100.0 + 60.0 * f64::from(i % 7)).collect();
        let going = decide(&noisy, Duration::from_secs(1), &settings());
        assert!(matches!(going, Decision::Take(1..=100)), "{going:?}");
        let spent = decide(&noisy, Duration::from_secs(2), &settings());
        assert_eq!(spent, Decision::Stop(StoppedBy::Budget));
    }

    #[test]
    fn slow_bursts_still_get_an_interval_and_no_more() {
        let spent = Duration::from_secs(27);
        assert_eq!(decide(&[9e6; 3], spent, &settings()), Decision::Take(3));
        let stop = Decision::Stop(StoppedBy::Budget);
        assert_eq!(decide(&[9e6; 6], spent, &settings()), stop);
    }

    #[test]
    fn the_sample_limit_holds() {
        let mut settings = settings();
        settings.max_samples = 5;
        assert_eq!(decide(&[], Duration::ZERO, &settings), Decision::Take(5));
        let stop = decide(&[1.0; 5], Duration::from_millis(1), &settings);
        assert_eq!(stop, Decision::Stop(StoppedBy::Samples));
    }

    proptest::proptest! {
        #[test]
        fn never_more_than_allowed_and_never_nothing(
            n in 0usize..200, spent_ms in 0u64..3000, max in 1usize..300, spread in 0.0f64..50.0
        ) {
            let settings = Settings { max_samples: max, ..settings() };
            let times: Vec<f64> = (0..n.min(max)).map(|i| 100.0 + spread * (i % 5) as f64).collect();
            match decide(&times, Duration::from_millis(spent_ms), &settings) {
                Decision::Take(more) => {
                    proptest::prop_assert!(more >= 1 && times.len() + more <= max);
                }
                Decision::Stop(_) => proptest::prop_assert!(times.len() >= FEWEST_SAMPLES.min(max)),
            }
        }
    }
}
