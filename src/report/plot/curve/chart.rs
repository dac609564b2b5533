//! Where values are in the chart.

use super::super::canvas::Point;
use super::super::layout::Rect;
use super::log_axis::LogAxis;

/// Between the frame and the first and last number of tokens: markers do not sit on the frame.
pub const INSET: f64 = 20.0;

/// The chart: its frame and its axes.
#[derive(Debug, Clone, Copy)]
pub struct Chart {
    pub frame: Rect,
    pub tokens: LogAxis,
    pub times: LogAxis,
}

impl Chart {
    /// The x of a number of tokens; beyond the axis, the end of it.
    pub fn x(&self, tokens: f64) -> f64 {
        let width = self.frame.width() - 2.0 * INSET;
        self.frame.left + INSET + self.tokens.share(tokens) * width
    }

    /// The x of the end of a range, which lies on the frame where it goes beyond the axis.
    pub fn range_x(&self, tokens: f64) -> f64 {
        if tokens <= self.tokens.lo {
            self.frame.left
        } else if tokens >= self.tokens.hi {
            self.frame.right
        } else {
            self.x(tokens)
        }
    }

    /// The y of a time in µs.
    pub fn y(&self, us: f64) -> f64 {
        self.frame.y(self.times.share(us))
    }

    pub fn at(&self, tokens: f64, us: f64) -> Point {
        (self.x(tokens), self.y(us))
    }
}
