//! Where everything stands, in logical pixels from the top left corner.

use super::super::layout::{FOOTER_ABOVE_END, MARGIN, Rect, SUBTITLE_Y};

/// Width of the picture.
pub const WIDTH: u32 = 1200;
/// Height of the picture: with the width, close to the shape of a slide.
pub const HEIGHT: u32 = 720;

pub const PAGE: Rect = Rect::new(0.0, 0.0, WIDTH as f64, HEIGHT as f64);
/// Top of the answer.
pub const ANSWER_TOP: f64 = SUBTITLE_Y + 16.0;
/// Width of the answer.
pub const ANSWER_WIDTH: f64 = PAGE.right - 2.0 * MARGIN;

/// The chart's lower end, and baselines of what is below it.
pub const FRAME_BOTTOM: f64 = TOKENS_NAME_Y - 39.0;
pub const TICKS_Y: f64 = FRAME_BOTTOM + 19.0;
pub const TOKENS_NAME_Y: f64 = PAGE.bottom - FOOTER_ABOVE_END - 24.0;

/// Height of a row of names of regions.
pub const STRIP_ROW: f64 = 22.0;

/// The lines' names, right of the chart.
pub const LABELS: Rect = Rect::new(
    920.0,
    0.0,
    PAGE.right - MARGIN,
    PAGE.bottom - FOOTER_ABOVE_END - 20.0,
);
/// Right end of the chart: the way from the lines' ends to their names needs some room.
pub const FRAME_RIGHT: f64 = LABELS.left - 34.0;

/// From the answer's end to the baseline of the chart's title, and from there to the strip.
const TITLE_BELOW_ANSWER: f64 = 28.0;
const STRIP_BELOW_TITLE: f64 = 11.0;

/// Heights that depend on what the picture says.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Baseline of the chart's title.
    pub title_y: f64,
    /// Top of the names of regions.
    pub strip_top: f64,
    pub frame_top: f64,
}

impl Page {
    pub fn new(answer_height: f64, strip_rows: usize) -> Page {
        let title_y = ANSWER_TOP + answer_height + TITLE_BELOW_ANSWER;
        let strip_top = title_y + STRIP_BELOW_TITLE;
        Page {
            title_y,
            strip_top,
            frame_top: strip_top + strip_rows as f64 * STRIP_ROW,
        }
    }
}
