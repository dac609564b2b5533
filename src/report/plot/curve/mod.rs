//! The picture of curves: what each plan's communication costs over the tokens per GPU, or one
//! collective over the size of a call; where one plan begins to cost less than another, and from
//! where a curve is no longer flat.
//!
//! Pure: what is drawn comes in as a [`CurvePicture`], with no knowledge of results or verdicts.

mod chart;
mod check;
mod composition;
mod frame;
mod heading;
mod line_labels;
mod lines;
mod log_axis;
mod mark_labels;
mod marks;
mod page;
mod picture;
mod placing;
mod regions;
mod spreading;
mod time_axis;
mod token_axis;

#[cfg(test)]
mod tests;

pub use check::Refusal;
pub use picture::{
    Crossover, CurveLine, CurvePicture, CurvePoint, Knee, MOST_LINES, Over, Reference, Region,
};

use super::{PlotError, render};
use composition::Composition;

/// Width and height of the picture's SVG, in its own units.
pub const CURVE_SIZE: (u32, u32) = (page::WIDTH, page::HEIGHT);

/// The picture as an SVG document.
///
/// # Errors
/// [`PlotError::Refused`] with the value that has no place in the picture.
pub fn curve_svg(picture: &CurvePicture) -> Result<String, PlotError> {
    render::svg(&Composition::new(picture)?)
}

/// The picture as a PNG file of twice the SVG's size.
///
/// # Errors
/// As [`curve_svg`].
pub fn curve_png(picture: &CurvePicture) -> Result<Vec<u8>, PlotError> {
    render::png(&Composition::new(picture)?)
}
