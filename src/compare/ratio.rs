//! The interval of a ratio of two levels.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{IntervalBy, Pair, Side};
use crate::stats::{SplitMix64, bootstrap_medians, ends_of, percentile_sorted};
use crate::units::group_thousands;

/// Fewest runs of a side that show how much runs differ.
const RUNS: usize = 3;
/// Resamples of a pair: at least this many, and enough that its tails hold a few of them.
const RESAMPLES: usize = 4_000;
const IN_A_TAIL: f64 = 5.0;
const MOST_RESAMPLES: usize = 100_000;
/// The same folders give the same figures.
const SEED: u64 = 1;

/// The samples of one run, ascending, in µs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Level {
    /// Index of the run in its side.
    run: usize,
    sorted_us: Vec<f64>,
}

impl Level {
    /// `None` where a time is no time: such a figure has no logarithm.
    pub fn new(run: usize, mut us: Vec<f64>) -> Option<Level> {
        if us.is_empty() || us.iter().any(|us| !us.is_finite() || *us <= 0.0) {
            return None;
        }
        us.sort_by(f64::total_cmp);
        Some(Level { run, sorted_us: us })
    }

    pub fn n(&self) -> usize {
        self.sorted_us.len()
    }

    pub fn sorted_us(&self) -> &[f64] {
        &self.sorted_us
    }

    pub fn median_us(&self) -> f64 {
        percentile_sorted(&self.sorted_us, 50.0)
    }

    /// Whether its run is another program's: one figure is all it has.
    pub fn is_imported(&self, side: &Side) -> bool {
        side.runs[self.run].run.imported.is_some()
    }

    /// The folder of its run.
    pub fn folder<'a>(&self, side: &'a Side) -> &'a str {
        &side.runs[self.run].folder
    }
}

/// How sure intervals are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rate {
    /// Share of misses on either side of one interval.
    pub tail: f64,
    /// Standard deviation of a run's level, relative, where too few runs show it.
    pub drift: f64,
}

impl Rate {
    /// The interval of other over base. `stream` names the random numbers: figures do not depend on
    /// which other pairs there are.
    pub fn interval(
        &self,
        base: &[Level],
        other: &[Level],
        stream: &str,
    ) -> ([f64; 2], IntervalBy) {
        let enough = base.len() >= RUNS && other.len() >= RUNS;
        let by_runs = enough.then(|| self.by_runs(base, other)).flatten();
        match by_runs {
            Some(ends) => (ends.map(f64::exp), IntervalBy::Runs),
            None => {
                let ends = self.by_drift(base, other, stream);
                (ends.map(f64::exp), IntervalBy::Drift)
            }
        }
    }

    /// Welch's interval of the difference of the mean logarithms of the runs' medians. What runs
    /// differ by holds what samples within them do, so these are not resampled. `None` where runs
    /// agree to the last bit, which no clock brings about.
    /// Source: Welch, The generalization of Student's problem, Biometrika 1947.
    fn by_runs(&self, base: &[Level], other: &[Level]) -> Option<[f64; 2]> {
        let [a, b] = [base, other].map(moments);
        let (va, vb) = (a.variance / a.count, b.variance / b.count);
        let difference = b.mean - a.mean;
        let squared = (va + vb).powi(2);
        let freedom = squared / (va.powi(2) / (a.count - 1.0) + vb.powi(2) / (b.count - 1.0));
        let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
        let half = t.inverse_cdf(1.0 - self.tail) * (va + vb).sqrt();
        half.is_finite()
            .then_some([difference - half, difference + half])
    }

    /// Percentiles of resampled medians, each run's moved by a draw of the drift.
    fn by_drift(&self, base: &[Level], other: &[Level], stream: &str) -> [f64; 2] {
        let count = self.resamples();
        let [a, b] = [("base", base), ("other", other)].map(|(side, levels)| {
            let mut sums = vec![0.0; count];
            for (run, level) in levels.iter().enumerate() {
                let name = format!("{stream} {side}");
                let mut random = SplitMix64::named(SEED, &name, run as u64);
                let medians = bootstrap_medians(&level.sorted_us, count, &mut random);
                for (sum, median) in sums.iter_mut().zip(medians) {
                    *sum += median.ln() + self.drift * random.normal();
                }
            }
            let runs = levels.len() as f64;
            sums.iter_mut().for_each(|sum| *sum /= runs);
            sums
        });
        let mut gaps: Vec<f64> = b.iter().zip(&a).map(|(b, a)| b - a).collect();
        ends_of(&mut gaps, self.tail)
    }

    fn resamples(&self) -> usize {
        let for_tails = (IN_A_TAIL / self.tail).ceil();
        RESAMPLES.max(for_tails as usize).min(MOST_RESAMPLES)
    }

    /// How the intervals of `count` pairs were made.
    pub fn words(&self, count: usize, pairs: &[Pair]) -> String {
        let mut said = match count {
            1 => "Ratio of medians with a 95 % interval.".to_string(),
            _ => format!(
                "Ratios of medians; all {} intervals hold together with 95 % confidence.",
                group_thousands(count as u64)
            ),
        };
        if pairs.iter().any(|pair| pair.by == IntervalBy::Runs) {
            said.push_str(&format!(
                " With {RUNS} runs or more on both sides: Welch's interval of the runs' medians, in logarithms."
            ));
        }
        if pairs.iter().any(|pair| pair.by == IntervalBy::Nothing) {
            said.push_str(&format!(" Imported figures have no interval of their own: with fewer than {RUNS} logs or runs a side their ratios have none either, and show nothing."));
        }
        if pairs.iter().any(|pair| pair.by == IntervalBy::Drift) {
            said.push_str(&format!(
                " With fewer runs: {} bootstrap resamples of each run's median (seed {SEED}), each moved by a random drift of {} % (standard deviation), because samples of one run do not show what another run of the same thing would give.",
                group_thousands(self.resamples() as u64),
                (self.drift * 1e4).round() / 1e2
            ));
        }
        said
    }
}

/// Of the logarithms of medians.
struct Moments {
    count: f64,
    mean: f64,
    variance: f64,
}

fn moments(levels: &[Level]) -> Moments {
    let logs: Vec<f64> = levels.iter().map(|level| level.median_us().ln()).collect();
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    Moments {
        count,
        mean,
        variance: squares / (count - 1.0),
    }
}
