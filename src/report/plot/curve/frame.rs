//! The chart's frame: grid, ticks and the names of the axes.

use plotters::backend::DrawingBackend;
use plotters::style::RGBColor;

use super::super::PlotError;
use super::super::canvas::{Align, Canvas, Stroke};
use super::super::colours;
use super::super::text::{LABEL, SMALL, Type, text_width};
use super::chart::Chart;
use super::page::{TICKS_Y, TOKENS_NAME_Y};
use super::time_axis::TimeTicks;
use super::token_axis::TokenTick;

/// A grid finer than the labels must not compete with them.
const FINE_GRID: RGBColor = RGBColor(0xF0, 0xF2, 0xF4);
/// Labels of ticks.
pub const TICK: Type = Type::plain(13.0, colours::INK);
/// Between an axis and its labels.
pub const LABEL_GAP: f64 = 7.0;

/// Draws what lies behind the curves.
pub fn draw_grid<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    chart: &Chart,
    times: &TimeTicks,
    tokens: &[TokenTick],
) -> Result<(), PlotError> {
    let frame = chart.frame;
    let hairline = |colour| Stroke { colour, width: 1.0 };
    for &share in &times.minor {
        let y = frame.y(share);
        canvas.line(&[(frame.left, y), (frame.right, y)], hairline(FINE_GRID))?;
    }
    for tick in &times.labelled {
        let y = frame.y(tick.share);
        canvas.line(
            &[(frame.left, y), (frame.right, y)],
            hairline(colours::GRID),
        )?;
    }
    for tick in tokens.iter().filter(|tick| tick.text.is_some()) {
        let ends = [(tick.x, frame.top), (tick.x, frame.bottom)];
        canvas.line(&ends, hairline(colours::GRID))?;
    }
    Ok(())
}

/// Draws the axes and all that is written at them; `note` stands at the end of the lower one.
pub fn draw_axes<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    chart: &Chart,
    times: &TimeTicks,
    tokens: &[TokenTick],
    x_name: &str,
    note: Option<&str>,
) -> Result<(), PlotError> {
    let frame = chart.frame;
    let axis = Stroke {
        colour: colours::AXIS,
        width: 1.25,
    };
    for tick in &times.labelled {
        let at = (frame.left - LABEL_GAP, frame.y(tick.share) + 4.5);
        canvas.text(at, &tick.text, TICK, Align::Right)?;
    }
    for tick in tokens {
        let length = if tick.text.is_some() { 5.0 } else { 3.0 };
        let ends = [(tick.x, frame.bottom), (tick.x, frame.bottom + length)];
        canvas.line(&ends, axis)?;
        if let Some(text) = &tick.text {
            canvas.text((tick.x, TICKS_Y), text, TICK, Align::Centre)?;
        }
    }
    let corner = [
        (frame.left, frame.top),
        (frame.left, frame.bottom),
        (frame.right, frame.bottom),
    ];
    canvas.line(&corner, axis)?;
    let middle = (frame.left + frame.right) / 2.0;
    canvas.text((middle, TOKENS_NAME_Y), x_name, LABEL, Align::Centre)?;
    if let Some(note) = note {
        let left = frame.right - text_width(note, SMALL);
        canvas.text((left, TOKENS_NAME_Y), note, SMALL, Align::Left)?;
    }
    Ok(())
}
