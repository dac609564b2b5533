//! The time of one op: median, interval and range of each measurement, one below the other.

use plotters::backend::DrawingBackend;
use plotters::style::{Color, RGBColor};

use crate::stats::Summary;
use crate::units::{group_thousands, significant};

use super::PlotError;
use super::canvas::{Align, Canvas, Stroke};
use super::colours;
use super::figure::{Figure, Row};
use super::layout::{Rect, SECTION_Y};
use super::scale::{MedianText, Unit, Window, no_interval, ticks};
use super::text::{LABEL, SECTION, SMALL, SMALL_INK, Type, elide, text_width};

const VALUE: Type = Type::bold(13.0, colours::INK);
/// A row higher than this looks lost.
const HIGHEST_ROW: f64 = 58.0;
/// Height of a row's line of text.
const TEXT: f64 = 17.0;

pub fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    area: Rect,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    let baseline = area.top + SECTION_Y;
    canvas.text((area.left, baseline), "Time per op", SECTION, Align::Left)?;
    draw_key(canvas, area.right, baseline)?;
    let window = figure.op_window;
    let unit = Unit::of_op(window.hi);
    let plot = Rect::new(
        area.left + 8.0,
        area.top + 28.0,
        area.right - 8.0,
        area.bottom - 36.0,
    );
    draw_axis(canvas, plot, &window, unit)?;
    let height = (plot.height() / figure.rows.len() as f64).min(HIGHEST_ROW);
    let used = height * figure.rows.len() as f64;
    let top = plot.top + (plot.height() - used) / 2.0;
    for (index, row) in figure.rows.iter().enumerate() {
        let row_top = top + index as f64 * height;
        let place = Rect::new(plot.left, row_top, plot.right, row_top + height);
        draw_text(canvas, place, row, &window)?;
        draw_range(canvas, place, row, &window)?;
    }
    let mut name = format!("time per op, {}", unit.name());
    if !window.starts_at_zero() {
        name.push_str(" (axis does not start at 0)");
    }
    let middle = (plot.left + plot.right) / 2.0;
    canvas.text((middle, area.bottom), &name, SMALL, Align::Centre)
}

fn draw_key<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    right: f64,
    baseline: f64,
) -> Result<(), PlotError> {
    let middle = baseline - 4.5;
    let text = "min to p99";
    let mut left = right - text_width(text, SMALL_INK);
    canvas.text((left, baseline), text, SMALL_INK, Align::Left)?;
    let thin = Stroke {
        colour: colours::INK,
        width: 1.0,
    };
    canvas.line(&[(left - 30.0, middle), (left - 6.0, middle)], thin)?;
    left -= 46.0;
    let text = "median, 95 % interval";
    left -= text_width(text, SMALL_INK);
    canvas.text((left, baseline), text, SMALL_INK, Align::Left)?;
    let (from, to) = (left - 30.0, left - 6.0);
    draw_whisker(canvas, (from, to), middle, colours::INK)?;
    canvas.dot(((from + to) / 2.0, middle), 4.0, colours::INK.to_rgba())
}

/// A thick line with caps.
fn draw_whisker<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    (from, to): (f64, f64),
    y: f64,
    colour: RGBColor,
) -> Result<(), PlotError> {
    let stroke = |width| Stroke { colour, width };
    canvas.line(&[(from, y), (to, y)], stroke(2.5))?;
    canvas.line(&[(from, y - 5.0), (from, y + 5.0)], stroke(1.5))?;
    canvas.line(&[(to, y - 5.0), (to, y + 5.0)], stroke(1.5))
}

fn draw_axis<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    plot: Rect,
    window: &Window,
    unit: Unit,
) -> Result<(), PlotError> {
    let hairline = |colour| Stroke { colour, width: 1.0 };
    for tick in ticks(window, unit, 6.0) {
        let x = plot.x(tick.share);
        let grid = hairline(colours::GRID);
        canvas.line(&[(x, plot.top), (x, plot.bottom)], grid)?;
        canvas.text((x, plot.bottom + 17.0), &tick.text, SMALL, Align::Centre)?;
    }
    let line = [(plot.left, plot.bottom), (plot.right, plot.bottom)];
    canvas.line(&line, hairline(colours::AXIS))
}

/// The median with all that belongs to it: "55.8 µs [54.1, 57.0] n=120".
fn value_text(summary: &Summary) -> (String, String) {
    let text = MedianText::new(summary, Unit::of_op(summary.median));
    let rest = match text.interval {
        Some(interval) => format!("{interval} n={}", group_thousands(summary.n)),
        None => no_interval(summary.n),
    };
    (text.value, rest)
}

fn draw_text<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    place: Rect,
    row: &Row<'_>,
    window: &Window,
) -> Result<(), PlotError> {
    let summary = &row.measurement.per_op_us;
    let baseline = place.top + 13.0;
    let (value, mut rest) = value_text(summary);
    if summary.p99 > window.hi {
        let unit = Unit::of_op(summary.p99);
        let p99 = significant(summary.p99 / unit.us());
        rest = format!("{rest}, p99 {p99} {}", unit.name());
    }
    // The text stands on the grid, which must not run through its letters.
    let rest_left = place.right - text_width(&rest, SMALL_INK);
    let value_left = rest_left - 6.0 - text_width(&value, VALUE);
    let label = elide(row.label(), LABEL, value_left - 16.0 - place.left);
    let label_right = place.left + text_width(&label, LABEL);
    for (left, right) in [(place.left, label_right), (value_left, place.right)] {
        let behind = Rect::new(left - 2.0, baseline - 12.0, right + 2.0, baseline + 4.0);
        canvas.rect(behind, colours::WHITE.into())?;
    }
    canvas.text((place.left, baseline), &label, LABEL, Align::Left)?;
    canvas.text((value_left, baseline), &value, VALUE, Align::Left)?;
    canvas.text((rest_left, baseline), &rest, SMALL_INK, Align::Left)
}

fn draw_range<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    place: Rect,
    row: &Row<'_>,
    window: &Window,
) -> Result<(), PlotError> {
    let summary = &row.measurement.per_op_us;
    let colour = row.look.colour;
    let y = place.top + TEXT + ((place.height() - TEXT) / 2.0).min(14.0);
    let x = |us: f64| place.x(window.share(us));
    let thin = Stroke {
        colour,
        width: 1.25,
    };
    canvas.line(&[(x(summary.min), y), (x(summary.p99), y)], thin)?;
    if summary.p99 > window.hi {
        let end = place.right;
        canvas.polygon(
            &[(end + 6.0, y), (end - 3.0, y - 5.0), (end - 3.0, y + 5.0)],
            colour,
        )?;
    }
    if let Some([lo, hi]) = summary.ci95 {
        draw_whisker(canvas, (x(lo), x(hi)), y, colour)?;
    }
    canvas.marker((x(summary.median), y), row.look)
}
