//! Two or more sides of runs against each other: what changed, by how much, and how sure that is.
//!
//! A side is one run or several runs of the same thing. Series are paired by plan, mode and
//! placement. How sure a ratio can be depends on what is known of the difference between two runs
//! of the same thing: with three runs or more on both sides the runs themselves show it, and with
//! fewer it has to be allowed for ([`Rules::drift`]). Samples within a run never show it.

mod alike;
mod pairing;
mod ratio;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::result::{Mode, Placement, RunResult, Series};
use crate::stats::{Summary, percentile_sorted};
use alike::{differences, unlike};
use pairing::{Place, places};
use ratio::{Level, Rate};

/// Name and version of the format. A change that breaks readers takes the next number.
pub const SCHEMA: &str = "commbench/comparison/1";

/// Fewest samples of a run that are read: below, a median's resamples are a handful of values.
pub const MIN_SAMPLES: usize = 6;

/// Chance that any of a comparison's intervals misses, all of them together.
const ERROR_RATE: f64 = 0.05;

/// A run as its folder has it.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// The folder as the user named it.
    pub folder: String,
    pub run: RunResult,
    pub series: Vec<Series>,
}

/// Runs of the same thing.
#[derive(Debug, Clone)]
pub struct Side {
    /// "A", "B", … in the order given.
    pub name: String,
    pub runs: Vec<StoredRun>,
}

/// What a comparison is made by.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Standard deviation, relative, by which the level of one run may differ from that of another
    /// run of the same thing. Used where fewer than three runs a side show it.
    pub drift: f64,
    /// Ratio beyond 1 from which a slower side fails the comparison: 0.05 is 5 %.
    pub gate: Option<f64>,
    /// Modes to compare; all where empty.
    pub modes: Vec<Mode>,
    /// Compare what is not alike, and say what is not.
    pub unlike: bool,
}

impl Default for Rules {
    /// The drift is that of the verdicts on curves, of which a comparison of runs is no better: the
    /// ranks of another launch lie elsewhere.
    fn default() -> Self {
        Rules {
            drift: crate::verdict::Rules::default().drift,
            gate: None,
            modes: Vec::new(),
            unlike: false,
        }
    }
}

/// What `commbench compare` has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Always "commbench/comparison/1".
    pub schema: String,
    /// The first is what the others are compared with.
    pub sides: Vec<SideSummary>,
    /// What holds of all the figures and must stand on them: host memory, shared GPUs, predicted.
    pub notices: Vec<String>,
    /// What is different about the sides and may be the reason for a difference.
    pub differences: Vec<String>,
    /// What is not alike, where the user asked to compare it all the same.
    pub unlike: Vec<String>,
    pub pairs: Vec<Pair>,
    /// Series that a side lacks, or has too few samples of.
    pub left_out: Vec<String>,
    /// How the intervals were made.
    pub rules: String,
    /// `null` where none was asked for.
    pub gate: Option<Gate>,
}

/// The runs of a side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideSummary {
    pub name: String,
    /// The folders of its runs, as given.
    pub folders: Vec<String>,
    /// When each run started, UTC.
    pub started_at: Vec<String>,
}

/// One plan in one mode and placement on the first side and on another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Plan, mode and placement, and the sides where there are several: unique.
    pub label: String,
    /// The plan in words.
    pub plan: String,
    pub mode: Mode,
    pub placement: Placement,
    pub base: Figure,
    pub other: Figure,
    /// Other over base: above 1, the other side is slower.
    pub ratio: f64,
    /// Interval of `ratio`; all of a comparison's hold together with 95 % confidence. `null` where
    /// imported figures without an interval are fewer than three a side.
    pub joint_ci95: Option<[f64; 2]>,
    /// What the interval rests on.
    pub by: IntervalBy,
    pub found: Found,
}

/// The time of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Name of the side.
    pub side: String,
    /// Median of the runs' medians of the plan's time, in µs.
    pub median_us: f64,
    /// 95 % interval of the median of a single run's samples, in µs; `null` with several runs.
    pub ci95_us: Option<[f64; 2]>,
    /// Samples of all its runs.
    pub n: u64,
    pub runs: u64,
}

/// What an interval rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalBy {
    /// Differences between three or more runs on either side.
    Runs,
    /// Samples, and an allowance for the difference between runs.
    Drift,
    /// Nothing: an imported figure says not how sure it is.
    Nothing,
}

/// What an interval shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// The other side takes longer.
    Slower,
    /// The other side takes less.
    Faster,
    /// The interval holds 1.
    NoDifferenceShown,
    /// There is no interval.
    NothingShown,
}

impl Found {
    /// As tables say it.
    pub fn words(self) -> &'static str {
        match self {
            Found::Slower => "slower",
            Found::Faster => "faster",
            Found::NoDifferenceShown => "no difference shown",
            Found::NothingShown => "nothing shown: no interval",
        }
    }
}

/// A gate and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// How much slower is allowed: 0.05 is 5 %.
    pub limit: f64,
    /// Pairs that are shown to be slower by more than that.
    pub failed: Vec<String>,
    /// Pairs too uncertain to exclude it.
    pub not_excluded: Vec<String>,
    /// What the first side has and another lacks: it cannot pass.
    pub missing: Vec<String>,
}

impl Gate {
    /// Whether nothing failed and nothing was missing.
    pub fn passed(&self) -> bool {
        self.failed.is_empty() && self.missing.is_empty()
    }
}

/// Compares every side with the first.
///
/// # Errors
/// Exit code 2 for things that are not alike (unless the rules allow it), for figures that must not
/// be used, and where the sides have no series in common.
pub fn compare(sides: &[Side], rules: &Rules) -> Result<Comparison> {
    let [base, others @ ..] = sides else {
        return Err(Error::usage("nothing to compare").try_this("commbench compare A B"));
    };
    if others.is_empty() {
        return Err(Error::usage(format!("only {} was given", names(base)))
            .try_this("commbench compare A B, with two folders or more"));
    }
    let not_alike = unlike(sides, &rules.modes);
    if let (false, [first, ..]) = (rules.unlike, not_alike.as_slice()) {
        let more = match not_alike.len() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        return Err(Error::usage(format!("these are not alike: {first}{more}"))
            .try_this("runs of the same thing, or --unlike to compare them all the same"));
    }
    let mut left_out = Vec::new();
    let mut missing = Vec::new();
    let mut paired: Vec<(Place, [Vec<Level>; 2], &Side)> = Vec::new();
    for other in others {
        for place in places(base, &rules.modes) {
            let levels = [base, other].map(|side| place.levels(side));
            match short_of(&place, [base, other], &levels) {
                None => paired.push((place, levels, other)),
                Some(why) => {
                    missing.push(why.clone());
                    left_out.push(why);
                }
            }
        }
        let of_base = places(base, &rules.modes);
        for place in places(other, &rules.modes) {
            if !of_base.iter().any(|known| known.label == place.label) {
                left_out.push(format!("{} is only in {}", place.label, names(other)));
            }
        }
    }
    if paired.is_empty() {
        return Err(Error::usage(format!(
            "the sides have no series in common: {}",
            left_out.join("; ")
        ))
        .try_this("runs with a plan, mode and placement in common"));
    }
    let rate = Rate {
        tail: ERROR_RATE / 2.0 / paired.len() as f64,
        drift: rules.drift,
    };
    let pairs: Vec<Pair> = paired
        .into_iter()
        .map(|(place, levels, other)| pair(place, &levels, [base, other], others.len() > 1, &rate))
        .collect();
    Ok(Comparison {
        schema: SCHEMA.to_string(),
        sides: sides.iter().map(summary).collect(),
        notices: alike::notices(sides),
        differences: differences(sides),
        unlike: not_alike,
        gate: rules.gate.map(|limit| gate(limit, &pairs, missing)),
        rules: rate.words(pairs.len(), &pairs),
        pairs,
        left_out,
    })
}

/// Why a pair cannot be compared.
fn short_of(place: &Place, sides: [&Side; 2], levels: &[Vec<Level>; 2]) -> Option<String> {
    let [base, other] = sides;
    if levels[1].is_empty() {
        return Some(format!("{} is only in {}", place.label, names(base)));
    }
    for (side, levels) in [base, other].into_iter().zip(levels) {
        let few = levels
            .iter()
            .find(|level| level.n() < MIN_SAMPLES && !level.is_imported(side));
        if let Some(few) = few {
            return Some(format!(
                "{} has {} samples in {}, {MIN_SAMPLES} are wanted",
                place.label,
                few.n(),
                few.folder(side)
            ));
        }
    }
    None
}

fn pair(
    place: Place,
    levels: &[Vec<Level>; 2],
    sides: [&Side; 2],
    of_many: bool,
    rate: &Rate,
) -> Pair {
    let [from, to] = [&sides[0].name, &sides[1].name];
    let label = if of_many {
        format!("{}, {from} to {to}", place.label)
    } else {
        place.label
    };
    let is_imported = |side: usize| {
        let mut of_side = levels[side].iter();
        of_side.any(|level| level.is_imported(sides[side]))
    };
    let from_logs = is_imported(0) || is_imported(1);
    let [base, other] = [0, 1].map(|side| figure(&sides[side].name, &levels[side]));
    let (ends, by) = rate.interval(&levels[0], &levels[1], &label);
    // One mean of a log says nothing of how far another would be from it.
    let (joint_ci95, by) = match by == IntervalBy::Drift && from_logs {
        true => (None, IntervalBy::Nothing),
        false => (Some(ends), by),
    };
    Pair {
        label,
        plan: place.title,
        mode: place.mode,
        placement: place.placement,
        ratio: other.median_us / base.median_us,
        joint_ci95,
        by,
        found: match joint_ci95 {
            None => Found::NothingShown,
            Some([lo, _]) if lo > 1.0 => Found::Slower,
            Some([_, hi]) if hi < 1.0 => Found::Faster,
            Some(_) => Found::NoDifferenceShown,
        },
        base,
        other,
    }
}

fn figure(side: &str, levels: &[Level]) -> Figure {
    let mut medians: Vec<f64> = levels.iter().map(Level::median_us).collect();
    medians.sort_by(f64::total_cmp);
    let alone = match levels {
        [only] => Summary::of(only.sorted_us()).and_then(|summary| summary.ci95),
        _ => None,
    };
    Figure {
        side: side.to_string(),
        median_us: percentile_sorted(&medians, 50.0),
        ci95_us: alone,
        n: levels.iter().map(|level| level.n() as u64).sum(),
        runs: levels.len() as u64,
    }
}

fn gate(limit: f64, pairs: &[Pair], missing: Vec<String>) -> Gate {
    let most = 1.0 + limit;
    let of = |holds: &dyn Fn(&Pair) -> bool| {
        let found = pairs.iter().filter(|pair| holds(pair));
        found.map(|pair| pair.label.clone()).collect()
    };
    Gate {
        limit,
        failed: of(&|pair| pair.joint_ci95.is_some_and(|[lo, _]| lo > most)),
        not_excluded: of(&|pair| {
            pair.joint_ci95
                .is_none_or(|[lo, hi]| lo <= most && hi > most)
        }),
        missing,
    }
}

fn summary(side: &Side) -> SideSummary {
    SideSummary {
        name: side.name.clone(),
        folders: side.runs.iter().map(|run| run.folder.clone()).collect(),
        started_at: side
            .runs
            .iter()
            .map(|run| run.run.command.started_at.clone())
            .collect(),
    }
}

/// The folders of a side, as the user named them.
fn names(side: &Side) -> String {
    let folders: Vec<&str> = side.runs.iter().map(|run| run.folder.as_str()).collect();
    folders.join(",")
}
