//! Crossovers, knees and references, without their labels.

use plotters::backend::DrawingBackend;
use plotters::style::Color;

use super::super::PlotError;
use super::super::canvas::{Canvas, Point, Stroke};
use super::super::colours::{self, LOOKS};
use super::chart::Chart;
use super::placing::distance;
use super::{Crossover, CurvePicture, Knee, Reference};

/// Radius of the ring around a knee, and how much larger one is around another.
const KNEE_RADIUS: f64 = 9.0;
const KNEE_STEP: f64 = 3.5;
/// Knees closer than this, in logical pixels, are at one place.
const ONE_PLACE: f64 = 6.0;
/// Radius of the dot of a reference, and of a crossover.
pub const REFERENCE_RADIUS: f64 = 4.0;
pub const CROSSOVER_RADIUS: f64 = 6.0;

/// Half the height of the ends of its interval: seen also where the dot covers all of it.
pub const CROSSOVER_CAP: f64 = 10.0;
const REFERENCE_DASH: [f64; 2] = [7.0, 5.0];
const CROSSOVER_DASH: [f64; 2] = [5.0, 4.0];

/// Draws the lines of the references, which lie behind the curves.
pub fn draw_references<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    picture: &CurvePicture,
    chart: &Chart,
) -> Result<(), PlotError> {
    let stroke = Stroke {
        colour: colours::GREY,
        width: 1.25,
    };
    for reference in &picture.references {
        canvas.dashed(&reference_line(reference, chart), &REFERENCE_DASH, stroke)?;
        if let Some(tokens) = shown_tokens(reference, chart) {
            let at = chart.at(tokens, reference.us);
            canvas.dot(at, REFERENCE_RADIUS, colours::GREY.to_rgba())?;
        }
    }
    Ok(())
}

/// A reference across the chart.
pub fn reference_line(reference: &Reference, chart: &Chart) -> [Point; 2] {
    let y = chart.y(reference.us);
    [(chart.frame.left, y), (chart.frame.right, y)]
}

/// The tokens of a reference, where they are on the axis.
pub fn shown_tokens(reference: &Reference, chart: &Chart) -> Option<f64> {
    let axis = chart.tokens;
    let shown = |tokens: &f64| (axis.lo..=axis.hi).contains(tokens);
    reference.tokens.filter(shown)
}

/// The place of a knee.
pub fn knee_at(knee: &Knee, chart: &Chart) -> Point {
    chart.at(knee.tokens as f64, knee.us)
}

/// Whether two knees are at one place.
pub fn coincide(one: &Knee, other: &Knee, chart: &Chart) -> bool {
    distance(knee_at(one, chart), knee_at(other, chart)) < ONE_PLACE
}

/// Radius of the ring around the knee of this number: knees at one place have rings around rings,
/// the first one's outermost.
pub fn knee_radius(number: usize, picture: &CurvePicture, chart: &Chart) -> f64 {
    let knees = &picture.knees;
    let inside = knees[number + 1..]
        .iter()
        .filter(|other| coincide(&knees[number], other, chart));
    KNEE_RADIUS + KNEE_STEP * inside.count() as f64
}

/// Draws crossovers and knees, which lie upon the curves.
pub fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    picture: &CurvePicture,
    chart: &Chart,
) -> Result<(), PlotError> {
    for (number, knee) in picture.knees.iter().enumerate() {
        draw_knee(canvas, knee, knee_radius(number, picture, chart), chart)?;
    }
    for crossover in &picture.crossovers {
        draw_crossover(canvas, crossover, chart)?;
    }
    Ok(())
}

/// An open ring around the point, which stays visible.
fn draw_knee<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    knee: &Knee,
    radius: f64,
    chart: &Chart,
) -> Result<(), PlotError> {
    let look = LOOKS[knee.line];
    let at = knee_at(knee, chart);
    canvas.dot(at, radius, look.colour.to_rgba())?;
    canvas.dot(at, radius - 2.0, colours::WHITE.to_rgba())?;
    canvas.marker(at, look)
}

/// The upright line of a crossover.
pub fn crossover_line(crossover: &Crossover, chart: &Chart) -> [Point; 2] {
    let x = chart.x(crossover.tokens);
    [(x, chart.frame.top), (x, chart.frame.bottom)]
}

/// The interval of a crossover.
pub fn crossover_bar(crossover: &Crossover, chart: &Chart) -> [Point; 2] {
    crossover.ci95.map(|tokens| chart.at(tokens, crossover.us))
}

fn draw_crossover<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    crossover: &Crossover,
    chart: &Chart,
) -> Result<(), PlotError> {
    let colour = colours::INK;
    let stroke = |width| Stroke { colour, width };
    let upright = crossover_line(crossover, chart);
    canvas.dashed(&upright, &CROSSOVER_DASH, stroke(1.5))?;
    let ends = crossover_bar(crossover, chart);
    // A light edge lifts the bar off the curves.
    let halo = Stroke {
        colour: colours::WHITE,
        width: 5.0,
    };
    canvas.line(&ends, halo)?;
    canvas.line(&ends, stroke(2.5))?;
    for (x, y) in ends {
        canvas.line(
            &[(x, y - CROSSOVER_CAP), (x, y + CROSSOVER_CAP)],
            stroke(2.0),
        )?;
    }
    let at = chart.at(crossover.tokens, crossover.us);
    canvas.dot(at, CROSSOVER_RADIUS + 1.5, colours::WHITE.to_rgba())?;
    canvas.dot(at, CROSSOVER_RADIUS, colour.to_rgba())
}
