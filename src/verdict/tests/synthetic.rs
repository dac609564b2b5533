//! Synthetic executor: samples around a known curve.

use crate::stats::SplitMix64;
use crate::verdict::{Curve, CurvePoint};

/// The t of a sweep.
pub const TOKENS: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// How samples scatter. Every kind has the true value as its median.
#[derive(Debug, Clone, Copy)]
pub enum Noise {
    /// Normal, of this relative standard deviation.
    Normal(f64),
    /// Lognormal of this sigma, and one sample in twenty up to five times as long: skewed, but
    /// drawn around the median, so that it stays where it is.
    Skewed(f64),
}

/// What is measured, and how badly.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub samples: usize,
    pub noise: Noise,
    /// Relative standard deviation of an offset common to all samples of a point.
    pub drift: f64,
}

/// A curve with the true medians `us(t)`.
pub fn curve(plan: &str, setting: Setting, seed: u64, us: impl Fn(u64) -> f64) -> Curve {
    let points = TOKENS
        .iter()
        .map(|&tokens| {
            let random = &mut SplitMix64::named(seed, plan, tokens);
            let level = us(tokens) * (setting.drift * random.normal()).exp();
            let step_us = (0..setting.samples)
                .map(|_| level * factor(setting.noise, random))
                .collect();
            CurvePoint { tokens, step_us }
        })
        .collect();
    Curve::new(plan, points).unwrap()
}

fn factor(noise: Noise, random: &mut SplitMix64) -> f64 {
    match noise {
        Noise::Normal(sigma) => (1.0 + sigma * random.normal()).max(0.01),
        Noise::Skewed(sigma) => {
            let z = random.normal();
            // Only what lies above the median is stretched.
            let outlier = z > 0.0 && random.uniform() < 0.1;
            let stretch = if outlier {
                1.0 + 4.0 * random.uniform()
            } else {
                1.0
            };
            (sigma * z).exp() * stretch
        }
    }
}
