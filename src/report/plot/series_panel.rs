//! Every sample in the order of taking, one plot a measurement: warm-up, drift and outliers show
//! here and nowhere else.

use plotters::backend::DrawingBackend;
use plotters::style::{Color, RGBColor};

use crate::units::{format_us, group_thousands};

use super::PlotError;
use super::canvas::{Align, Canvas, Point, Stroke};
use super::colours::{self, RANK_DOT};
use super::figure::{Figure, Row};
use super::layout::{Layout, Rect, SECTION_Y, SeriesCell};
use super::scale::{MedianText, Unit, no_interval, step, ticks};
use super::text::{LABEL, SECTION, SMALL, SMALL_INK, Type, elide, text_width};
use super::thinning::{thin, thin_line};

/// Dots in one plot, and in the whole figure: an SVG spends some 100 bytes on each. Half of them
/// are for the ranks, half for the slowest.
const DOTS_PER_PLOT: usize = 2_000;
const DOTS_IN_ALL: usize = 9_000;
/// Samples closer than this, in logical pixels, are points without a line: the line would fill
/// the plot.
const LEAST_LINE_DISTANCE: f64 = 0.75;
/// Samples at least this far apart, in logical pixels, are seen one by one.
const FEW: f64 = 3.0;
/// Triangles closer than this, in logical pixels, are one.
const LEAST_TRIANGLE_DISTANCE: f64 = 3.0;

const MEDIAN: Stroke = Stroke {
    colour: colours::INK,
    width: 1.75,
};
const MEDIAN_VALUE: Type = Type::bold(14.0, colours::INK);
const WRONG: Type = Type::bold(12.0, colours::WARNING);

pub fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    layout: &Layout,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    let area = layout.series;
    let title = format!("Burst time of each sample, {}", figure.unit().name());
    let baseline = area.top + SECTION_Y;
    canvas.text((area.left, baseline), &title, SECTION, Align::Left)?;
    let dots = DOTS_PER_PLOT.min(DOTS_IN_ALL / figure.rows.len()) / 2;
    let mut notes = Vec::new();
    if !figure.sample_window.starts_at_zero() {
        notes.push("axis does not start at 0");
    }
    if figure.rows.iter().any(|row| points(row) > dots) {
        notes.push("points thinned");
    }
    if !notes.is_empty() {
        let left = area.left + text_width(&title, SECTION) + 10.0;
        canvas.text((left, baseline), &notes.join(", "), SMALL, Align::Left)?;
    }
    draw_key(canvas, area.right, baseline, figure.sample_window.clipped)?;
    for (row, cell) in figure.rows.iter().zip(&layout.cells) {
        draw_axes(canvas, cell, row, figure)?;
        draw_name(canvas, cell, row, figure)?;
        draw_interval(canvas, cell.plot, row, figure)?;
        // In a cloud of samples the median must lie on top; single ones must not vanish under it.
        let distance = cell.plot.width() / row.burst.len() as f64;
        if distance >= FEW {
            draw_median(canvas, cell, row, figure)?;
        }
        draw_ranks(canvas, cell.plot, row, figure, dots)?;
        draw_bursts(canvas, cell.plot, row, figure, dots)?;
        draw_above(canvas, cell.plot, row, figure)?;
        if distance < FEW {
            draw_median(canvas, cell, row, figure)?;
        }
        draw_median_text(canvas, cell, row, figure)?;
    }
    canvas.text(
        ((area.left + area.right) / 2.0, area.bottom),
        "sample, in the order of taking",
        SMALL,
        Align::Centre,
    )
}

/// Number of ranks' times in all samples.
fn points(row: &Row<'_>) -> usize {
    row.series.samples.iter().map(Vec::len).sum()
}

/// Says what dots, line, band and triangles are, right-aligned.
fn draw_key<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    right: f64,
    baseline: f64,
    clipped: bool,
) -> Result<(), PlotError> {
    let middle = baseline - 4.5;
    let mut end = right;
    let mut entry = |text: &str, symbol: f64| {
        let text_left = end - text_width(text, SMALL_INK);
        end = text_left - symbol - 24.0;
        text_left
    };
    if clipped {
        let text = "above the axis";
        let left = entry(text, 14.0);
        draw_triangle(canvas, (left - 12.0, middle - 5.0), colours::INK)?;
        canvas.text((left, baseline), text, SMALL_INK, Align::Left)?;
    }
    let text = "median and its 95 % interval";
    let left = entry(text, 28.0);
    let band = Rect::new(left - 30.0, middle - 5.0, left - 6.0, middle + 5.0);
    canvas.rect(band, colours::INK.mix(0.2))?;
    canvas.line(&[(band.left, middle), (band.right, middle)], MEDIAN)?;
    canvas.text((left, baseline), text, SMALL_INK, Align::Left)?;

    let text = "slowest rank = burst time";
    let left = entry(text, 28.0);
    let colour = colours::GREY;
    canvas.line(
        &[(left - 30.0, middle), (left - 6.0, middle)],
        Stroke { colour, width: 1.5 },
    )?;
    canvas.dot((left - 18.0, middle), 3.0, colour.to_rgba())?;
    canvas.text((left, baseline), text, SMALL_INK, Align::Left)?;

    let text = "each rank";
    let left = entry(text, 12.0);
    canvas.dot((left - 10.0, middle), 2.5, RANK_DOT)?;
    canvas.text((left, baseline), text, SMALL_INK, Align::Left)
}

fn draw_axes<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    cell: &SeriesCell,
    row: &Row<'_>,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    let plot = cell.plot;
    let hairline = |colour| Stroke { colour, width: 1.0 };
    let wanted = (plot.height() / 45.0).clamp(3.0, 6.0);
    for tick in ticks(&figure.sample_window, figure.unit(), wanted) {
        let y = plot.y(tick.share);
        canvas.line(&[(plot.left, y), (plot.right, y)], hairline(colours::GRID))?;
        if cell.first_in_line {
            let at = (plot.left - 6.0, y + 4.5);
            canvas.text(at, &tick.text, SMALL, Align::Right)?;
        }
    }
    let corner = [
        (plot.left, plot.top),
        (plot.left, plot.bottom),
        (plot.right, plot.bottom),
    ];
    canvas.line(&corner, hairline(colours::AXIS))?;
    let n = row.burst.len();
    let every = step(n as f64, plot.width() / 60.0).max(1.0) as usize;
    for number in (every..=n).step_by(every) {
        let x = sample_x(plot, number - 1, n);
        canvas.line(
            &[(x, plot.bottom), (x, plot.bottom + 4.0)],
            hairline(colours::AXIS),
        )?;
        let text = group_thousands(number as u64);
        canvas.text((x, plot.bottom + 17.0), &text, SMALL, Align::Centre)?;
    }
    Ok(())
}

/// The x of sample `index` of `n`.
fn sample_x(plot: Rect, index: usize, n: usize) -> f64 {
    plot.x((index as f64 + 0.5) / n as f64)
}

/// The line above a plot: whose samples, what is wrong with them, and what the plot does not show.
fn draw_name<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    cell: &SeriesCell,
    row: &Row<'_>,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    let baseline = cell.plot.top - 9.0;
    let mut right = cell.right;
    let above = row.above(&figure.sample_window);
    if above > 0 {
        let text = format!(
            "{} above, max {}",
            group_thousands(above as u64),
            format_us(row.longest())
        );
        canvas.text((right, baseline), &text, SMALL_INK, Align::Right)?;
        right -= text_width(&text, SMALL_INK);
        let peak = (right - 11.0, baseline - 9.5);
        draw_triangle(canvas, peak, row.look.colour)?;
        right -= 28.0;
    }
    let summary = row.summary();
    let mut notes = Vec::new();
    if summary.ci95.is_none() {
        notes.push((no_interval(summary.n), SMALL));
    }
    if row.wrong() {
        notes.push(("WRONG DATA".to_string(), WRONG));
    }
    let notes_width: f64 = notes
        .iter()
        .map(|(text, kind)| text_width(text, *kind) + 8.0)
        .sum();
    let name = elide(row.label(), LABEL, right - notes_width - cell.plot.left);
    let mut left = cell.plot.left;
    canvas.text((left, baseline), &name, LABEL, Align::Left)?;
    left += text_width(&name, LABEL) + 8.0;
    for (text, kind) in &notes {
        canvas.text((left, baseline), text, *kind, Align::Left)?;
        left += text_width(text, *kind) + 8.0;
    }
    Ok(())
}

/// The radius of a point among neighbours at a distance, both in logical pixels.
fn radius(distance: f64, largest: f64) -> f64 {
    (0.4 * distance).clamp(1.0, largest)
}

/// Every rank's time, small and faint.
fn draw_ranks<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    plot: Rect,
    row: &Row<'_>,
    figure: &Figure<'_>,
    most: usize,
) -> Result<(), PlotError> {
    let window = &figure.sample_window;
    let n = row.burst.len();
    let radius = radius(plot.width() / n as f64, 2.0);
    let (samples, times): (Vec<usize>, Vec<f64>) = row
        .series
        .samples
        .iter()
        .enumerate()
        .flat_map(|(sample, ranks)| ranks.iter().map(move |rank| (sample, rank.device_us)))
        .filter(|(_, us)| *us <= window.hi)
        .unzip();
    for index in thin(&times, most) {
        let x = sample_x(plot, samples[index], n);
        let y = plot.y(window.share(times[index]));
        canvas.dot((x, y), radius, RANK_DOT)?;
    }
    Ok(())
}

/// The slowest rank's time of each sample.
fn draw_bursts<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    plot: Rect,
    row: &Row<'_>,
    figure: &Figure<'_>,
    most: usize,
) -> Result<(), PlotError> {
    let window = &figure.sample_window;
    let n = row.burst.len();
    let colour = row.look.colour;
    let distance = plot.width() / n as f64;
    let points: Vec<Point> = row
        .burst
        .iter()
        .enumerate()
        .map(|(index, &us)| (sample_x(plot, index, n), plot.y(window.share(us))))
        .collect();
    if distance >= LEAST_LINE_DISTANCE {
        let width = if distance >= FEW { 1.5 } else { 1.25 };
        canvas.line(&thin_line(&points, 0.5), Stroke { colour, width })?;
    }
    let radius = radius(distance, 2.75);
    for index in thin(&row.burst, most) {
        if row.burst[index] <= window.hi {
            canvas.dot(points[index], radius, colour.to_rgba())?;
        }
    }
    Ok(())
}

/// Triangles on the upper edge for samples above it.
fn draw_above<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    plot: Rect,
    row: &Row<'_>,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    let mut last = f64::NEG_INFINITY;
    for (index, &us) in row.burst.iter().enumerate() {
        let x = sample_x(plot, index, row.burst.len());
        if us > figure.sample_window.hi && x - last >= LEAST_TRIANGLE_DISTANCE {
            draw_triangle(canvas, (x, plot.top - 4.0), row.look.colour)?;
            last = x;
        }
    }
    Ok(())
}

/// A triangle that points up, below its peak.
fn draw_triangle<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    (x, y): Point,
    colour: RGBColor,
) -> Result<(), PlotError> {
    canvas.polygon(&[(x, y), (x + 6.0, y + 10.0), (x - 6.0, y + 10.0)], colour)
}

/// The median's interval as a band behind the samples.
fn draw_interval<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    plot: Rect,
    row: &Row<'_>,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    let window = &figure.sample_window;
    let Some([lo, hi]) = row.summary().ci95 else {
        return Ok(());
    };
    let (top, bottom) = (plot.y(window.share(hi)), plot.y(window.share(lo)));
    let band = Rect::new(plot.left, top, plot.right, bottom);
    canvas.rect(band, row.look.colour.mix(0.3))
}

fn draw_median<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    cell: &SeriesCell,
    row: &Row<'_>,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    let plot = cell.plot;
    let y = plot.y(figure.sample_window.share(row.summary().median));
    // A light edge lifts the line off the samples.
    let halo = Stroke {
        colour: colours::WHITE,
        width: 3.0,
    };
    canvas.line(&[(plot.left, y), (plot.right, y)], halo)?;
    canvas.line(&[(plot.left, y), (plot.right + 5.0, y)], MEDIAN)
}

/// The median and its interval in figures, right of the line.
fn draw_median_text<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    cell: &SeriesCell,
    row: &Row<'_>,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    let plot = cell.plot;
    let summary = row.summary();
    let y = plot.y(figure.sample_window.share(summary.median));
    let text = MedianText::new(summary, Unit::of(summary.median));
    let interval = text.interval.as_deref().unwrap_or("no interval");
    let n = format!("n={}", group_thousands(summary.n));
    let left = plot.right + 9.0;
    let top = (y - 21.0).clamp(plot.top, (plot.bottom - 57.0).max(plot.top));
    canvas.text((left, top + 10.0), "median", SMALL, Align::Left)?;
    canvas.text((left, top + 26.0), &text.value, MEDIAN_VALUE, Align::Left)?;
    canvas.text((left, top + 41.0), interval, SMALL_INK, Align::Left)?;
    canvas.text((left, top + 56.0), &n, SMALL, Align::Left)
}
