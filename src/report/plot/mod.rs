//! The picture of a burst: every sample, their distribution, and the time of one op.
//!
//! One function draws over any plotters backend, so that the SVG and the PNG show the same thing.
//! Lengths are in logical pixels, times in µs, unless a name says otherwise.

mod canvas;
mod colours;
mod distribution_panel;
mod figure;
mod header;
mod layout;
mod per_op_panel;
mod scale;
mod series_panel;
mod text;
mod thinning;

#[cfg(test)]
mod tests;

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};

use crate::result::{RunResult, Series};

use canvas::{Canvas, Medium, SUBPIXELS};
use figure::Figure;
use layout::{HEIGHT, Layout, WIDTH};

/// Pixels of the PNG per logical pixel: enough to stay crisp on a projector.
const PNG_SCALE: u32 = 2;

/// Why a burst could not be drawn.
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
        let figure = Figure::new(self.run, self.series)?;
        let mut document = String::new();
        let size = (WIDTH * SUBPIXELS, HEIGHT * SUBPIXELS);
        {
            let mut backend = SVGBackend::with_string(&mut document, size);
            draw(&mut backend, Medium::Svg, &figure)?;
        }
        // plotters places everything on whole units. The document therefore counts in fractions
        // of a logical pixel; only its outer size says how large it is meant to be shown.
        let counted = format!(r#"width="{}" height="{}""#, size.0, size.1);
        let shown = format!(r#"width="{WIDTH}" height="{HEIGHT}""#);
        Ok(document.replacen(&counted, &shown, 1))
    }

    /// The figure as a PNG file of twice the SVG's size.
    ///
    /// # Errors
    /// As [`BurstPlot::svg`].
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        let figure = Figure::new(self.run, self.series)?;
        let size = (WIDTH * SUBPIXELS, HEIGHT * SUBPIXELS);
        let mut pixels = vec![255u8; (size.0 * size.1 * 3) as usize];
        {
            let mut backend = BitMapBackend::with_buffer(&mut pixels, size);
            draw(&mut backend, Medium::Bitmap, &figure)?;
        }
        encode(&halve(&pixels, size.0 as usize))
    }
}

/// Draws the whole figure.
fn draw<B: DrawingBackend>(
    backend: &mut B,
    medium: Medium,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    let layout = Layout::new(figure.rows.len());
    let mut canvas = Canvas::new(backend, medium);
    canvas.rect(layout.page, colours::WHITE.into())?;
    header::draw(&mut canvas, &layout, figure)?;
    series_panel::draw(&mut canvas, &layout, figure)?;
    distribution_panel::draw(&mut canvas, layout.distribution, figure)?;
    per_op_panel::draw(&mut canvas, layout.per_op, figure)?;
    canvas.finish()
}

/// Averages blocks of 2 × 2 pixels of an RGB image of even width and height: plotters smooths
/// thick lines and polygons in one direction only.
fn halve(pixels: &[u8], width: usize) -> Vec<u8> {
    let stride = width * 3;
    let mut halved = Vec::with_capacity(pixels.len() / 4);
    for rows in pixels.chunks_exact(2 * stride) {
        let (upper, lower) = rows.split_at(stride);
        for (up, low) in upper.chunks_exact(6).zip(lower.chunks_exact(6)) {
            for channel in 0..3 {
                let sum = u16::from(up[channel])
                    + u16::from(up[channel + 3])
                    + u16::from(low[channel])
                    + u16::from(low[channel + 3]);
                halved.push(((sum + 2) / 4) as u8);
            }
        }
    }
    halved
}

/// The PNG file of an RGB image of the figure's size.
fn encode(pixels: &[u8]) -> Result<Vec<u8>, PlotError> {
    let failed = |error: png::EncodingError| PlotError::Drawing(error.to_string());
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, WIDTH * PNG_SCALE, HEIGHT * PNG_SCALE);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    // A picture that is written once and mailed around is worth the tenth of a second.
    encoder.set_compression(png::Compression::Best);
    encoder.set_filter(png::FilterType::Up);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(file)
}

// `halve` is the step from the drawn picture to the PNG.
const _: () = assert!(SUBPIXELS == 2 * PNG_SCALE);
