//! What a picture of curves shows.

use super::super::colours::LOOKS;
use crate::units::{group_thousands, short_bytes};

/// Lines in one picture: beyond this, looks run out.
pub const MOST_LINES: usize = LOOKS.len();

/// The whole picture. Indices of lines count from 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CurvePicture {
    pub title: String,
    /// Machine and conditions.
    pub subtitle: String,
    /// Reasons not to take the figures for what they seem to be.
    pub badges: Vec<&'static str>,
    pub footer: String,
    /// The verdict, below the subtitle: a sentence or two.
    pub answer: Vec<String>,
    /// What the curves go over.
    pub over: Over,
    /// What the times are of: "communication of one decode step".
    pub y_name: String,
    /// One line a plan, one to six.
    pub lines: Vec<CurveLine>,
    pub knees: Vec<Knee>,
    pub crossovers: Vec<Crossover>,
    pub regions: Vec<Region>,
    pub references: Vec<Reference>,
}

/// What lies along the lower axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Over {
    /// Tokens per GPU, t.
    #[default]
    Tokens,
    /// Bytes of a call, as nccl-tests counts them.
    Bytes,
}

impl Over {
    /// At the axis.
    pub fn name(self) -> &'static str {
        match self {
            Over::Tokens => "tokens per GPU, t",
            Over::Bytes => "size of a call, as nccl-tests counts it",
        }
    }

    /// A tick's label.
    pub fn value(self, x: u64) -> String {
        match self {
            Over::Tokens => group_thousands(x),
            Over::Bytes => short_bytes(x),
        }
    }

    /// The place of a point.
    pub fn place(self, x: u64) -> String {
        match self {
            Over::Tokens => format!("at t = {}", group_thousands(x)),
            Over::Bytes => format!("at {}", short_bytes(x)),
        }
    }
}

/// What one plan costs.
#[derive(Debug, Clone, PartialEq)]
pub struct CurveLine {
    pub name: String,
    /// At least one, with ascending x.
    pub points: Vec<CurvePoint>,
}

/// One plan at one number of tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// In the units of [`CurvePicture::over`], from 1 on.
    pub x: u64,
    /// Median time of a step, in µs.
    pub us: f64,
    /// 95 % interval of `us`. Where there is none, there is no band.
    pub ci95_us: Option<[f64; 2]>,
}

/// Where a line has left its flat part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    pub line: usize,
    /// Tokens per GPU, within the range that is shown.
    pub tokens: u64,
    /// The line's time there, in µs.
    pub us: f64,
}

/// Where a line and another one cost the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossover {
    /// The line that is compared with the reference.
    pub line: usize,
    /// Tokens per GPU, within the range that is shown.
    pub tokens: f64,
    /// 95 % interval of `tokens`; drawn as far as the axis goes.
    pub ci95: [f64; 2],
    /// The time of both there, in µs.
    pub us: f64,
}

/// A range of tokens per GPU to be shaded, say where one plan costs less than the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    pub from: f64,
    pub to: f64,
    /// "EP all-to-all costs less"
    pub name: String,
    /// The line that it is about, whose colour it takes.
    pub line: Option<usize>,
}

/// A time to compare the curves with, drawn across the chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// "the batch-1 burst"
    pub name: String,
    /// The tokens per GPU that it belongs to, if it does; they need not be in the range shown.
    pub tokens: Option<f64>,
    /// In µs.
    pub us: f64,
}
