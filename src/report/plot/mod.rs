//! Pictures: of a burst, with every sample, their distribution and the time of one op; and of
//! [curves](curve), a plan's cost over the tokens per GPU.
//!
//! Each is drawn by one function over any plotters backend, so that the SVG and the PNG show the
//! same thing. Lengths are in logical pixels, times in µs, unless a name says otherwise.

pub(crate) mod about;
mod canvas;
mod colours;
pub mod curve;
mod distribution_panel;
mod figure;
pub mod gaps;
mod header;
mod layout;
mod per_op_panel;
mod render;
mod scale;
mod series_panel;
mod text;
mod thinning;
pub mod topology;

#[cfg(test)]
mod tests;

use plotters::backend::DrawingBackend;

use crate::result::{RunResult, Series};

use canvas::Canvas;
use figure::Figure;
use header::Header;
use layout::{HEIGHT, Layout, WIDTH};
use render::Picture;

/// Why a picture could not be drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlotError {
    /// Nothing was measured.
    #[error("there are no samples to plot")]
    NoSamples,
    /// No summary belongs to any of the series.
    #[error("no measurement in this result describes the samples of {labels}")]
    NoSummary { labels: String },
    /// A sample in which no rank took part.
    #[error("sample {sample} (counted from 0) of '{label}' holds no rank's time")]
    NoRanks { label: String, sample: usize },
    /// A time that is negative, absurdly long or no number.
    #[error(
        "sample {sample} (counted from 0) of '{label}' cannot be drawn: rank {rank} reports {value} µs"
    )]
    NotATime {
        label: String,
        sample: usize,
        rank: usize,
        value: f64,
    },
    /// A summary with a value that is negative, absurdly long or no number.
    #[error("the summary of '{label}' cannot be drawn: it holds {value} µs")]
    BadSummary { label: String, value: f64 },
    /// Curves with something that has no place in a picture.
    #[error(transparent)]
    Refused(#[from] curve::Refusal),
    /// The backend or the encoder refused.
    #[error("the figure could not be drawn: {0}")]
    Drawing(String),
}

/// The figure of one run.
#[derive(Debug, Clone, Copy)]
pub struct BurstPlot<'a> {
    pub run: &'a RunResult,
    /// The samples behind `run.results`.
    pub series: &'a [Series],
}

impl BurstPlot<'_> {
    /// The figure as an SVG document.
    ///
    /// # Errors
    /// When there are no samples, or one of them is no time.
    pub fn svg(&self) -> Result<String, PlotError> {
        render::svg(&Figure::new(self.run, self.series)?)
    }

    /// The figure as a PNG file of twice the SVG's size.
    ///
    /// # Errors
    /// As [`BurstPlot::svg`].
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        render::png(&Figure::new(self.run, self.series)?)
    }
}

impl Picture for Figure<'_> {
    fn size(&self) -> (u32, u32) {
        (WIDTH, HEIGHT)
    }

    fn draw<B: DrawingBackend>(&self, canvas: &mut Canvas<'_, B>) -> Result<(), PlotError> {
        let layout = Layout::new(self.rows.len());
        let header = Header {
            title: &self.title,
            subtitle: &self.subtitle,
            badges: &self.badges,
            footer: &self.footer,
        };
        header.draw(canvas, layout.page)?;
        series_panel::draw(canvas, &layout, self)?;
        distribution_panel::draw(canvas, layout.distribution, self)?;
        per_op_panel::draw(canvas, layout.per_op, self)
    }
}
