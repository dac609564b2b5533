//! Drawing in logical pixels, the same on every backend.

use ab_glyph::{Font, point};
use plotters::backend::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontDesc, FontFamily, FontStyle, RGBAColor, RGBColor, ShapeStyle, TextStyle,
};

use super::PlotError;
use super::colours::{self, Look, Marker};
use super::layout::Rect;
use super::text::{Type, face, printable, set_letters, text_width};

/// Backend units per logical pixel. plotters knows whole units only; with four of them to a pixel
/// no step is visible.
pub const SUBPIXELS: u32 = 4;

/// A position in logical pixels, y downwards.
pub type Point = (f64, f64);

/// What the backend makes of text and lines: plotters' backends disagree on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    Svg,
    Bitmap,
}

/// Where a text stands relative to its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Centre,
    Right,
}

/// A line's colour and its width in logical pixels.
#[derive(Debug, Clone, Copy)]
pub struct Stroke {
    pub colour: RGBColor,
    pub width: f64,
}

/// What plotters' SVG backend divides a size by to get the em.
const SVG_SIZE_PER_EM: f64 = 1.24;

/// A backend seen in logical pixels.
pub struct Canvas<'b, B: DrawingBackend> {
    backend: &'b mut B,
    medium: Medium,
}

/// Passes a backend's error on as text: its type differs from backend to backend.
fn failed(error: impl std::fmt::Display) -> PlotError {
    PlotError::Drawing(error.to_string())
}

fn units(pixels: f64) -> i32 {
    (pixels * f64::from(SUBPIXELS)).round() as i32
}

fn place((x, y): Point) -> (i32, i32) {
    (units(x), units(y))
}

impl<'b, B: DrawingBackend> Canvas<'b, B> {
    pub fn new(backend: &'b mut B, medium: Medium) -> Self {
        Canvas { backend, medium }
    }

    /// Completes the picture.
    pub fn finish(self) -> Result<(), PlotError> {
        self.backend.present().map_err(failed)
    }

    /// A filled rectangle.
    pub fn rect(&mut self, area: Rect, colour: RGBAColor) -> Result<(), PlotError> {
        let (left, top) = place((area.left, area.top));
        let (mut right, mut bottom) = place((area.right, area.bottom));
        if self.medium == Medium::Bitmap {
            // The bitmap backend fills the last row and column as well.
            (right, bottom) = (right - 1, bottom - 1);
        }
        let style = ShapeStyle {
            color: colour,
            filled: true,
            stroke_width: 0,
        };
        self.backend
            .draw_rect(
                (left, top),
                (right.max(left), bottom.max(top)),
                &style,
                true,
            )
            .map_err(failed)
    }

    /// A line through the points.
    pub fn line(&mut self, points: &[Point], stroke: Stroke) -> Result<(), PlotError> {
        let width = units(stroke.width).max(1) as u32;
        let style = ShapeStyle {
            color: stroke.colour.to_rgba(),
            filled: false,
            stroke_width: width,
        };
        if self.medium == Medium::Svg {
            let path: Vec<_> = points.iter().copied().map(place).collect();
            return self.backend.draw_path(path, &style).map_err(failed);
        }
        // plotters' bitmap outline of a thick path has spikes at sharp turns; quadrilaterals with
        // round joints have none.
        for pair in points.windows(2) {
            self.segment(pair[0], pair[1], stroke)?;
        }
        for &joint in points.iter().skip(1).rev().skip(1) {
            if width > 2 {
                self.dot(joint, stroke.width / 2.0, stroke.colour.to_rgba())?;
            }
        }
        Ok(())
    }

    /// One straight piece of a line as a polygon.
    fn segment(&mut self, from: Point, to: Point, stroke: Stroke) -> Result<(), PlotError> {
        let (along_x, along_y) = (to.0 - from.0, to.1 - from.1);
        let length = along_x.hypot(along_y);
        if length * f64::from(SUBPIXELS) < 0.5 {
            return Ok(());
        }
        let half = stroke.width / 2.0 / length;
        let (across_x, across_y) = (-along_y * half, along_x * half);
        self.polygon(
            &[
                (from.0 + across_x, from.1 + across_y),
                (to.0 + across_x, to.1 + across_y),
                (to.0 - across_x, to.1 - across_y),
                (from.0 - across_x, from.1 - across_y),
            ],
            stroke.colour,
        )
    }

    /// A line with gaps; `dash` as in [`Look`].
    pub fn dashed(
        &mut self,
        points: &[Point],
        dash: &[f64],
        stroke: Stroke,
    ) -> Result<(), PlotError> {
        if dash.is_empty() {
            return self.line(points, stroke);
        }
        for piece in dashes(points, dash) {
            self.line(&piece, stroke)?;
        }
        Ok(())
    }

    /// A filled circle.
    pub fn dot(&mut self, centre: Point, radius: f64, colour: RGBAColor) -> Result<(), PlotError> {
        let style = ShapeStyle {
            color: colour,
            filled: true,
            stroke_width: 0,
        };
        self.backend
            .draw_circle(place(centre), units(radius).max(1) as u32, &style, true)
            .map_err(failed)
    }

    /// A filled polygon.
    pub fn polygon(&mut self, corners: &[Point], colour: RGBColor) -> Result<(), PlotError> {
        self.area(corners, colour.to_rgba())
    }

    /// A filled polygon that what lies behind it may shine through.
    pub fn area(&mut self, corners: &[Point], colour: RGBAColor) -> Result<(), PlotError> {
        let corners: Vec<_> = corners.iter().copied().map(place).collect();
        let style = ShapeStyle {
            color: colour,
            filled: true,
            stroke_width: 1,
        };
        self.backend.fill_polygon(corners, &style).map_err(failed)
    }

    /// The point of a measurement's line.
    pub fn marker(&mut self, (x, y): Point, look: Look) -> Result<(), PlotError> {
        let colour = look.colour;
        let r = 4.0;
        match look.marker {
            Marker::Circle => self.dot((x, y), r, colour.to_rgba()),
            Marker::Square => self.polygon(
                &[
                    (x - r, y - r),
                    (x + r, y - r),
                    (x + r, y + r),
                    (x - r, y + r),
                ],
                colour,
            ),
            Marker::Triangle => self.polygon(
                &[(x, y - 1.3 * r), (x + 1.2 * r, y + r), (x - 1.2 * r, y + r)],
                colour,
            ),
            Marker::Diamond => {
                let d = 1.4 * r;
                self.polygon(&[(x, y - d), (x + d, y), (x, y + d), (x - d, y)], colour)
            }
            Marker::Cross => {
                let stroke = Stroke { colour, width: 2.5 };
                self.line(&[(x - r, y - r), (x + r, y + r)], stroke)?;
                self.line(&[(x - r, y + r), (x + r, y - r)], stroke)
            }
            Marker::Ring => {
                self.dot((x, y), r + 1.0, colour.to_rgba())?;
                self.dot((x, y), r - 1.5, colours::WHITE.to_rgba())
            }
        }
    }

    /// Writes a text. `at` is a point of its baseline.
    pub fn text(
        &mut self,
        at: Point,
        text: &str,
        kind: Type,
        align: Align,
    ) -> Result<(), PlotError> {
        let text = printable(text);
        match self.medium {
            Medium::Svg => self.write(at, &text, kind, align),
            Medium::Bitmap => self.paint(at, &text, kind, align),
        }
    }

    /// A text of an SVG.
    fn write(&mut self, at: Point, text: &str, kind: Type, align: Align) -> Result<(), PlotError> {
        let em = kind.size * f64::from(SUBPIXELS);
        let style = if kind.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        let font = FontDesc::new(FontFamily::SansSerif, em * SVG_SIZE_PER_EM, style);
        let horizontal = match align {
            Align::Left => HPos::Left,
            Align::Centre => HPos::Center,
            Align::Right => HPos::Right,
        };
        let style = TextStyle::from(font)
            .color(&kind.colour)
            .pos(Pos::new(horizontal, VPos::Top));
        let (x, baseline) = place(at);
        // plotters puts the baseline this far below the "top" of a text.
        let above = (0.76 * em).round() as i32;
        self.backend
            .draw_text(text, &style, (x, baseline - above))
            .map_err(failed)
    }

    /// A text of a bitmap. plotters would push every letter against the one before it: it leaves
    /// out the space that letters have on their left.
    fn paint(&mut self, at: Point, text: &str, kind: Type, align: Align) -> Result<(), PlotError> {
        let face =
            face(kind.bold).ok_or_else(|| failed("the font that is compiled in cannot be read"))?;
        let shift = match align {
            Align::Left => 0.0,
            Align::Centre => -0.5,
            Align::Right => -1.0,
        };
        let (x, baseline) = place((at.0 + shift * text_width(text, kind), at.1));
        let mut pixels = Vec::new();
        let em = kind.size * f64::from(SUBPIXELS);
        set_letters(face, text, em, |glyph, pen, scale| {
            let position = point(x as f32 + pen, baseline as f32);
            let glyph = glyph.with_scale_and_position(scale, position);
            if let Some(outline) = face.outline_glyph(glyph) {
                let corner = outline.px_bounds().min;
                outline.draw(|right, down, cover| {
                    let pixel = (
                        corner.x as i32 + right as i32,
                        corner.y as i32 + down as i32,
                    );
                    pixels.push((pixel, f64::from(cover.clamp(0.0, 1.0))));
                });
            }
        });
        for (pixel, cover) in pixels {
            let colour = kind.colour.mix(cover).to_backend_color();
            self.backend.draw_pixel(pixel, colour).map_err(failed)?;
        }
        Ok(())
    }
}

/// The drawn pieces of a line through `points` with gaps.
fn dashes(points: &[Point], dash: &[f64]) -> Vec<Vec<Point>> {
    let mut pieces = Vec::new();
    let Some(&first) = points.first() else {
        return pieces;
    };
    let mut at = 0;
    let mut left = dash[at];
    let mut piece = vec![first];
    for pair in points.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            if length <= left {
                left -= length;
                piece.push(to);
                break;
            }
            let share = left / length;
            from = (
                from.0 + (to.0 - from.0) * share,
                from.1 + (to.1 - from.1) * share,
            );
            piece.push(from);
            if at % 2 == 0 {
                pieces.push(piece);
            }
            piece = vec![from];
            at = (at + 1) % dash.len();
            left = dash[at];
        }
    }
    if at % 2 == 0 && piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_cover_the_share_of_the_line_that_they_should() {
        let corner = [(0.0, 0.0), (70.0, 0.0), (70.0, 70.0)];
        let pieces = dashes(&corner, &[10.0, 4.0]);
        assert_eq!(pieces.len(), 10);
        let length: f64 = pieces
            .iter()
            .flat_map(|piece| piece.windows(2))
            .map(|w| (w[1].0 - w[0].0).hypot(w[1].1 - w[0].1))
            .sum();
        assert!((length - 100.0).abs() < 1e-9, "{length}");
    }
}
