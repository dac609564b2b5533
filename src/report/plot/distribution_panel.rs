//! The distribution of burst times: which share of the samples took at most how long.

use plotters::backend::DrawingBackend;

use crate::units::group_thousands;

use super::PlotError;
use super::canvas::{Align, Canvas, Point, Stroke};
use super::colours;
use super::figure::{Figure, Row};
use super::layout::{Rect, SECTION_Y};
use super::scale::{Unit, Window, ticks};
use super::text::{SECTION, SMALL, SMALL_INK, elide, text_width};

/// Width of the lines.
const LINE: f64 = 2.0;
/// The percentiles with a line of their own, and how far their names are moved up from it for
/// the upper two not to touch.
const PERCENTILES: [(f64, f64); 4] = [(0.05, 0.0), (0.50, 0.0), (0.95, -4.0), (0.99, 5.0)];
/// Height of a line of the key.
const KEY_LINE: f64 = 18.0;
/// Measurements in a line of the key.
const KEY_COLUMNS: usize = 3;
/// Steps closer than this, in logical pixels, are one.
const LEAST_STEP: f64 = 0.5;

pub fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    area: Rect,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    let title = "Distribution of burst times";
    let baseline = area.top + SECTION_Y;
    canvas.text((area.left, baseline), title, SECTION, Align::Left)?;
    let explained = area.left + text_width(title, SECTION) + 10.0;
    let meaning = "share of samples up to each time";
    canvas.text((explained, baseline), meaning, SMALL, Align::Left)?;
    let key_lines = figure.rows.len().div_ceil(KEY_COLUMNS) as f64;
    let key_top = area.top + 24.0;
    draw_key(canvas, area, key_top, figure)?;
    let plot = Rect::new(
        area.left + 44.0,
        key_top + key_lines * KEY_LINE + 12.0,
        area.right - 12.0,
        area.bottom - 36.0,
    );
    let window = figure.burst_window;
    let unit = Unit::of(window.hi);
    draw_axes(canvas, plot, &window, unit)?;
    for (index, row) in figure.rows.iter().enumerate() {
        let steps = steps(plot, &window, &row.sorted);
        let stroke = Stroke {
            colour: row.look.colour,
            width: LINE,
        };
        canvas.dashed(&steps, row.look.dash, stroke)?;
        draw_markers(canvas, plot, &window, row, index)?;
    }
    let mut name = format!("burst time, {}", unit.name());
    if !window.starts_at_zero() {
        name.push_str(" (axis does not start at 0)");
    }
    let above: usize = figure.rows.iter().map(|row| row.above(&window)).sum();
    if above > 0 {
        let samples = group_thousands(above as u64);
        name = format!("{name}, {samples} above the axis");
    }
    let middle = (plot.left + plot.right) / 2.0;
    canvas.text((middle, area.bottom), &name, SMALL, Align::Centre)
}

fn draw_key<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    area: Rect,
    top: f64,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    const SAMPLE: f64 = 34.0;
    let width = area.width() / KEY_COLUMNS as f64;
    for (index, row) in figure.rows.iter().enumerate() {
        let left = area.left + (index % KEY_COLUMNS) as f64 * width;
        let baseline = top + (index / KEY_COLUMNS) as f64 * KEY_LINE + 12.0;
        let middle = baseline - 4.5;
        let stroke = Stroke {
            colour: row.look.colour,
            width: LINE,
        };
        let line = [(left, middle), (left + SAMPLE, middle)];
        canvas.dashed(&line, row.look.dash, stroke)?;
        canvas.marker((left + SAMPLE / 2.0, middle), row.look)?;
        let label = elide(row.label(), SMALL_INK, width - SAMPLE - 16.0);
        canvas.text(
            (left + SAMPLE + 6.0, baseline),
            &label,
            SMALL_INK,
            Align::Left,
        )?;
    }
    Ok(())
}

fn draw_axes<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    plot: Rect,
    window: &Window,
    unit: Unit,
) -> Result<(), PlotError> {
    let hairline = |colour| Stroke { colour, width: 1.0 };
    for (share, moved) in PERCENTILES {
        let y = plot.y(share);
        let grid = hairline(colours::GRID);
        canvas.line(&[(plot.left, y), (plot.right, y)], grid)?;
        let leader = [(plot.left - 7.0, y - moved), (plot.left, y)];
        canvas.line(&leader, hairline(colours::AXIS))?;
        let text = format!("p{:.0}", share * 100.0);
        let at = (plot.left - 10.0, y - moved + 4.5);
        canvas.text(at, &text, SMALL, Align::Right)?;
    }
    for tick in ticks(window, unit, 6.0) {
        let x = plot.x(tick.share);
        canvas.line(
            &[(x, plot.bottom), (x, plot.bottom + 4.0)],
            hairline(colours::AXIS),
        )?;
        canvas.text((x, plot.bottom + 17.0), &tick.text, SMALL, Align::Centre)?;
    }
    let corner = [
        (plot.left, plot.top),
        (plot.left, plot.bottom),
        (plot.right, plot.bottom),
    ];
    canvas.line(&corner, hairline(colours::AXIS))
}

/// The empirical distribution function of ascending values, as corners of a line. Steps within
/// half a pixel are joined; up to that the line passes through every sample.
fn steps(plot: Rect, window: &Window, sorted: &[f64]) -> Vec<Point> {
    let n = sorted.len() as f64;
    let mut corners: Vec<Point> = Vec::new();
    let mut below = plot.y(0.0);
    for group in sorted.chunk_by(|a, b| {
        let column = |us: f64| (plot.x(window.share(us)) / LEAST_STEP).floor();
        column(*a) == column(*b)
    }) {
        if group[0] > window.hi {
            break;
        }
        let x = plot.x(window.share(group[group.len() - 1]));
        let up_to = sorted.partition_point(|us| *us <= group[group.len() - 1].min(window.hi));
        let y = plot.y(up_to as f64 / n);
        corners.push((x, below));
        corners.push((x, y));
        below = y;
    }
    if window.clipped {
        corners.push((plot.right, below));
    }
    corners
}

/// Markers at five places of the line, other ones for each measurement, so that equal
/// distributions do not hide each other.
fn draw_markers<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    plot: Rect,
    window: &Window,
    row: &Row<'_>,
    index: usize,
) -> Result<(), PlotError> {
    let n = row.sorted.len();
    for fifth in 0..5 {
        let share = (fifth as f64 + (index as f64 + 0.5) / 6.0) / 5.0;
        let position = ((share * n as f64) as usize).min(n - 1);
        let us = row.sorted[position];
        if us <= window.hi {
            // On the riser of that sample's step, or of all samples equal to it.
            let at = (plot.x(window.share(us)), plot.y(share));
            canvas.marker(at, row.look)?;
        }
    }
    Ok(())
}
