//! The curves: bands, lines and markers.

use plotters::backend::DrawingBackend;
use plotters::style::Color;

use super::super::PlotError;
use super::super::canvas::{Canvas, Point, Stroke};
use super::super::colours::{LOOKS, Look};
use super::super::thinning::thin_line;
use super::chart::Chart;
use super::{CurveLine, CurvePicture, CurvePoint};

const WIDTH: f64 = 2.5;
const BAND: f64 = 0.25;
/// Points closer than this, in logical pixels, have no marker of their own.
const LEAST_MARKER_DISTANCE: f64 = 9.0;
/// Columns in which a line is thinned, in logical pixels.
const COLUMN: f64 = 0.5;
/// Half the width of the ends of an interval that stands alone.
const CAP: f64 = 4.0;

/// Draws all bands, then all lines, then all markers.
pub fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    picture: &CurvePicture,
    chart: &Chart,
) -> Result<(), PlotError> {
    let with_looks = || picture.lines.iter().zip(LOOKS);
    for (line, look) in with_looks() {
        for run in line
            .points
            .chunk_by(|a, b| has_interval(a) == has_interval(b))
        {
            draw_band(canvas, run, look, chart)?;
        }
    }
    for (line, look) in with_looks() {
        let stroke = Stroke {
            colour: look.colour,
            width: WIDTH,
        };
        let points = thin_line(&trace(line, chart), COLUMN);
        canvas.dashed(&points, look.dash, stroke)?;
    }
    // The first line's markers lie on top: they are the smallest, and so what is under them shows.
    for (line, look) in picture.lines.iter().zip(LOOKS).rev() {
        let mut last = f64::NEG_INFINITY;
        for point in trace(line, chart) {
            if point.0 - last >= LEAST_MARKER_DISTANCE {
                last = point.0;
                canvas.marker(point, look)?;
            }
        }
    }
    Ok(())
}

/// The points of a line in the chart.
pub fn trace(line: &CurveLine, chart: &Chart) -> Vec<Point> {
    let at = |point: &CurvePoint| chart.at(point.x as f64, point.us);
    line.points.iter().map(at).collect()
}

fn has_interval(point: &CurvePoint) -> bool {
    point.ci95_us.is_some()
}

/// The band of neighbours that all have an interval, if they do.
fn draw_band<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    run: &[CurvePoint],
    look: Look,
    chart: &Chart,
) -> Result<(), PlotError> {
    let edge = |end: usize| -> Vec<Point> {
        run.iter()
            .filter_map(|point| Some((point.x as f64, point.ci95_us?[end])))
            .map(|(tokens, us)| chart.at(tokens, us))
            .collect()
    };
    let (lower, upper) = (edge(0), edge(1));
    match (lower.as_slice(), upper.as_slice()) {
        ([], _) => Ok(()),
        (&[low], &[high]) => {
            let stroke = Stroke {
                colour: look.colour,
                width: 1.5,
            };
            canvas.line(&[low, high], stroke)?;
            for (x, y) in [low, high] {
                canvas.line(&[(x - CAP, y), (x + CAP, y)], stroke)?;
            }
            Ok(())
        }
        _ => {
            let mut corners = thin_line(&upper, COLUMN);
            corners.extend(thin_line(&lower, COLUMN).into_iter().rev());
            canvas.area(&corners, look.colour.mix(BAND))
        }
    }
}
