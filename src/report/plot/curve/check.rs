//! Refuses what has no place in the picture.

use super::super::scale::LONGEST_US;
use super::picture::MOST_LINES;
use super::{CurveLine, CurvePicture};

/// A step does not communicate in less than a nanosecond.
const SHORTEST_US: f64 = 1e-3;
/// More tokens on one GPU than any memory holds.
/// Sizes of sweeps go further than tokens.
const MOST_TOKENS: u64 = 1 << 40;
/// How far beyond the range, as a share, a value may lie that was computed from its end.
const ROUNDING: f64 = 1e-6;

/// Why a picture of curves was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no plan to plot")]
    NoLines,
    #[error("{lines} plans in one plot cannot be told apart: {most} at most", most = MOST_LINES)]
    TooManyLines { lines: usize },
    #[error("'{line}' has no points to plot")]
    NoPoints { line: String },
    #[error("'{line}' cannot be plotted: t = {tokens} is not within 1 to {most}", most = MOST_TOKENS)]
    Tokens { line: String, tokens: u64 },
    #[error("'{line}' cannot be plotted: t = {tokens} comes after t = {before}")]
    Order {
        line: String,
        before: u64,
        tokens: u64,
    },
    #[error("'{line}' cannot be plotted: {value} µs at t = {tokens} is not the time of a step")]
    Time {
        line: String,
        tokens: u64,
        value: f64,
    },
    #[error("'{line}' cannot be plotted: [{lo}, {hi}] µs at t = {tokens} is no interval")]
    Interval {
        line: String,
        tokens: u64,
        lo: f64,
        hi: f64,
    },
    /// A mark on a line that does not exist.
    #[error("{mark} cannot be plotted: it belongs to line {line}, counted from 0, of {lines}")]
    Line {
        mark: String,
        line: usize,
        lines: usize,
    },
    /// A mark beyond the axes, or nowhere.
    #[error("{mark} cannot be plotted: {value}")]
    Mark { mark: String, value: String },
}

/// Checks all that the drawing relies on.
pub fn check(picture: &CurvePicture) -> Result<(), Refusal> {
    if picture.lines.is_empty() {
        return Err(Refusal::NoLines);
    }
    if picture.lines.len() > MOST_LINES {
        let lines = picture.lines.len();
        return Err(Refusal::TooManyLines { lines });
    }
    picture.lines.iter().try_for_each(check_line)?;
    check_marks(picture)
}

fn check_line(line: &CurveLine) -> Result<(), Refusal> {
    let name = || line.name.clone();
    if line.points.is_empty() {
        return Err(Refusal::NoPoints { line: name() });
    }
    let mut before = None;
    for point in &line.points {
        let tokens = point.x;
        if !(1..=MOST_TOKENS).contains(&tokens) {
            let line = name();
            return Err(Refusal::Tokens { line, tokens });
        }
        if let Some(before) = before.filter(|&before| before >= tokens) {
            return Err(Refusal::Order {
                line: name(),
                before,
                tokens,
            });
        }
        before = Some(tokens);
        if !is_time(point.us) {
            return Err(Refusal::Time {
                line: name(),
                tokens,
                value: point.us,
            });
        }
        // The lower end may lie below the axis: it is drawn as far as the axis goes.
        if let Some([lo, hi]) = point.ci95_us
            && !(lo.is_finite() && lo <= hi && is_time(hi))
        {
            return Err(Refusal::Interval {
                line: name(),
                tokens,
                lo,
                hi,
            });
        }
    }
    Ok(())
}

fn is_time(us: f64) -> bool {
    (SHORTEST_US..LONGEST_US).contains(&us)
}

fn check_marks(picture: &CurvePicture) -> Result<(), Refusal> {
    let tokens = || picture.lines.iter().flat_map(tokens_of);
    let least = tokens().fold(f64::INFINITY, f64::min);
    let most = tokens().fold(0.0, f64::max);
    let shown = least * (1.0 - ROUNDING)..=most * (1.0 + ROUNDING);
    let refuse = |holds: bool, mark: &str, value: String| {
        let mark = mark.to_string();
        if holds {
            Ok(())
        } else {
            Err(Refusal::Mark { mark, value })
        }
    };
    let in_range = |mark: &str, tokens: f64| {
        let value = format!("t = {tokens} is not within the measured {least} to {most}");
        refuse(shown.contains(&tokens), mark, value)
    };
    let has_time = |mark: &str, us: f64| {
        let value = format!("{us} µs is not the time of a step");
        refuse(is_time(us), mark, value)
    };
    let has_line = |mark: &str, line: usize| {
        let lines = picture.lines.len();
        if line < lines {
            return Ok(());
        }
        let mark = mark.to_string();
        Err(Refusal::Line { mark, line, lines })
    };
    for knee in &picture.knees {
        let mark = "a knee";
        has_line(mark, knee.line)?;
        in_range(mark, knee.tokens as f64)?;
        has_time(mark, knee.us)?;
    }
    for crossover in &picture.crossovers {
        let mark = "a crossover";
        has_line(mark, crossover.line)?;
        in_range(mark, crossover.tokens)?;
        has_time(mark, crossover.us)?;
        let [lo, hi] = crossover.ci95;
        let ordered = lo.is_finite() && hi.is_finite() && lo <= hi && hi > 0.0;
        refuse(ordered, mark, format!("t in [{lo}, {hi}] is no interval"))?;
    }
    for region in &picture.regions {
        let mark = format!("the region '{}'", region.name);
        if let Some(line) = region.line {
            has_line(&mark, line)?;
        }
        let (from, to) = (region.from, region.to);
        let ordered = from.is_finite() && to.is_finite() && from < to;
        refuse(ordered, &mark, format!("t from {from} to {to} is no range"))?;
        let seen = from <= most && to >= least;
        let value = format!("t from {from} to {to} is beyond the measured {least} to {most}");
        refuse(seen, &mark, value)?;
    }
    for reference in &picture.references {
        let mark = format!("the reference '{}'", reference.name);
        has_time(&mark, reference.us)?;
        if let Some(tokens) = reference.tokens {
            let positive = tokens.is_finite() && tokens > 0.0;
            refuse(
                positive,
                &mark,
                format!("t = {tokens} is no number of tokens"),
            )?;
        }
    }
    Ok(())
}

fn tokens_of(line: &CurveLine) -> impl Iterator<Item = f64> + '_ {
    line.points.iter().map(|point| point.x as f64)
}
