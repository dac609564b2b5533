//! From a picture to a file: the same drawing as an SVG and as a PNG.

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};

use super::PlotError;
use super::canvas::{Canvas, Medium, SUBPIXELS};
use super::colours;
use super::layout::Rect;

/// Pixels of the PNG per logical pixel: enough to stay crisp on a projector.
pub const PNG_SCALE: u32 = 2;

/// What fills a page.
pub trait Picture {
    /// Width and height of the page in logical pixels.
    fn size(&self) -> (u32, u32);

    /// Draws all of it on white paper.
    fn draw<B: DrawingBackend>(&self, canvas: &mut Canvas<'_, B>) -> Result<(), PlotError>;
}

/// The picture as an SVG document.
pub fn svg(picture: &impl Picture) -> Result<String, PlotError> {
    let (width, height) = picture.size();
    let size = (width * SUBPIXELS, height * SUBPIXELS);
    let mut document = String::new();
    let mut backend = SVGBackend::with_string(&mut document, size);
    draw(&mut backend, Medium::Svg, picture)?;
    drop(backend);
    // plotters places everything on whole units. The document therefore counts in fractions of a
    // logical pixel; only its outer size says how large it is meant to be shown.
    let counted = format!(r#"width="{}" height="{}""#, size.0, size.1);
    let shown = format!(r#"width="{width}" height="{height}""#);
    Ok(document.replacen(&counted, &shown, 1))
}

/// The picture as a PNG file of [`PNG_SCALE`] times the SVG's size.
pub fn png(picture: &impl Picture) -> Result<Vec<u8>, PlotError> {
    let (width, height) = picture.size();
    let size = (width * SUBPIXELS, height * SUBPIXELS);
    let mut pixels = vec![255u8; (size.0 * size.1 * 3) as usize];
    let mut backend = BitMapBackend::with_buffer(&mut pixels, size);
    draw(&mut backend, Medium::Bitmap, picture)?;
    drop(backend);
    let size = (width * PNG_SCALE, height * PNG_SCALE);
    encode(&halve(&pixels, (width * SUBPIXELS) as usize), size)
}

fn draw<B: DrawingBackend>(
    backend: &mut B,
    medium: Medium,
    picture: &impl Picture,
) -> Result<(), PlotError> {
    let (width, height) = picture.size();
    let page = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
    let mut canvas = Canvas::new(backend, medium);
    canvas.rect(page, colours::WHITE.into())?;
    picture.draw(&mut canvas)?;
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

/// The PNG file of an RGB image.
fn encode(pixels: &[u8], (width, height): (u32, u32)) -> Result<Vec<u8>, PlotError> {
    let failed = |error: png::EncodingError| PlotError::Drawing(error.to_string());
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
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
