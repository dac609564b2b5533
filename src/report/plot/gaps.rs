//! What an op adds to the compute before it, over the length of that compute.
//!
//! Pure: what is drawn comes in as a [`GapPicture`], with no knowledge of results.

use plotters::backend::DrawingBackend;
use plotters::style::Color;

use super::PlotError;
use super::canvas::{Align, Canvas, Stroke};
use super::colours::{self, LOOKS, Look};
use super::header::Header;
use super::layout::{MARGIN, Rect, SUBTITLE_Y};
use super::render::{self, Picture};
use super::scale::{LONGEST_US, Unit, Window, ticks};
use super::text::{LABEL, SECTION, SMALL, text_width};
use crate::units::significant;

const WIDTH: u32 = 1200;
const HEIGHT: u32 = 640;
const PAGE: Rect = Rect::new(0.0, 0.0, WIDTH as f64, HEIGHT as f64);
/// The chart; lines' names stand right of it.
const CHART: Rect = Rect::new(
    MARGIN + 56.0,
    SUBTITLE_Y + 64.0,
    WIDTH as f64 - 190.0,
    HEIGHT as f64 - 92.0,
);
/// Least distance of two names, and of a value from its point.
const LINE_HEIGHT: f64 = 18.0;
const VALUE_ABOVE: f64 = 10.0;
/// Values stand at the points of so many lines: those of more would hide each other.
const MOST_WITH_VALUES: usize = 1;

/// A mode over the gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct GapLine {
    pub name: String,
    /// In ascending order of the gap.
    pub points: Vec<GapPoint>,
}

/// A measured gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GapPoint {
    /// Compute before each op, in µs.
    pub gap_us: f64,
    /// What an op adds to it, in µs; below zero where noise is larger than an op.
    pub us: f64,
    pub ci95_us: Option<[f64; 2]>,
}

/// The picture.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GapPicture {
    pub title: String,
    pub subtitle: String,
    /// Reasons not to take the figures for what they seem to be.
    pub badges: Vec<&'static str>,
    pub footer: String,
    /// At least one, each with a point; at most six are drawn.
    pub lines: Vec<GapLine>,
}

/// The picture as an SVG document.
///
/// # Errors
/// When there is nothing to draw, or a value is no time.
pub fn gap_svg(picture: &GapPicture) -> Result<String, PlotError> {
    picture.check()?;
    render::svg(picture)
}

/// The picture as a PNG file of twice the SVG's size.
///
/// # Errors
/// As [`gap_svg`].
pub fn gap_png(picture: &GapPicture) -> Result<Vec<u8>, PlotError> {
    picture.check()?;
    render::png(picture)
}

impl GapPicture {
    fn points(&self) -> impl Iterator<Item = &GapPoint> + Clone {
        self.lines.iter().flat_map(|line| &line.points)
    }

    fn check(&self) -> Result<(), PlotError> {
        if self.points().next().is_none() {
            return Err(PlotError::NoSamples);
        }
        for line in &self.lines {
            let values = line.points.iter().flat_map(|point| {
                let [lo, hi] = point.ci95_us.unwrap_or([point.us; 2]);
                [point.gap_us, point.us, lo, hi]
            });
            for value in values {
                if !value.is_finite() || value.abs() > LONGEST_US {
                    return Err(PlotError::BadSummary {
                        label: line.name.clone(),
                        value,
                    });
                }
            }
        }
        Ok(())
    }

    fn x_window(&self) -> Window {
        let most = self.points().map(|point| point.gap_us).fold(0.0, f64::max);
        Window {
            lo: 0.0,
            hi: if most > 0.0 { most * 1.03 } else { 1.0 },
            clipped: false,
        }
    }

    /// From zero: how much of an op the compute hides is a proportion.
    fn y_window(&self) -> Window {
        let end = |point: &GapPoint| point.ci95_us.map_or(point.us, |[_, hi]| hi.max(point.us));
        let most = self.points().map(end).fold(0.0, f64::max);
        Window {
            lo: 0.0,
            hi: if most > 0.0 { most * 1.12 } else { 1.0 },
            clipped: false,
        }
    }
}

impl Picture for GapPicture {
    fn size(&self) -> (u32, u32) {
        (WIDTH, HEIGHT)
    }

    fn draw<B: DrawingBackend>(&self, canvas: &mut Canvas<'_, B>) -> Result<(), PlotError> {
        let header = Header {
            title: &self.title,
            subtitle: &self.subtitle,
            badges: &self.badges,
            footer: &self.footer,
        };
        header.draw(canvas, PAGE)?;
        let (x, y) = (self.x_window(), self.y_window());
        let heading = "What an op adds to the compute before it";
        canvas.text((MARGIN, CHART.top - 24.0), heading, SECTION, Align::Left)?;
        draw_axes(canvas, &x, &y)?;
        let at = |point: &GapPoint| (CHART.x(x.share(point.gap_us)), CHART.y(y.share(point.us)));
        for (line, look) in self.lines.iter().zip(LOOKS) {
            let points: Vec<(f64, f64)> = line.points.iter().map(at).collect();
            let stroke = Stroke {
                colour: look.colour,
                width: 2.0,
            };
            canvas.dashed(&points, look.dash, stroke)?;
            for point in &line.points {
                draw_point(canvas, point, at(point), &y, look)?;
            }
        }
        if self.lines.len() <= MOST_WITH_VALUES {
            for point in self.points() {
                let (px, py) = at(point);
                let top = point.ci95_us.map_or(py, |[_, hi]| CHART.y(y.share(hi)));
                let text = significant(point.us);
                canvas.text((px, top - VALUE_ABOVE), &text, LABEL, Align::Centre)?;
            }
        }
        self.draw_names(canvas, &at)
    }
}

impl GapPicture {
    /// Names at the right ends of the lines, moved apart.
    fn draw_names<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<'_, B>,
        at: &dyn Fn(&GapPoint) -> (f64, f64),
    ) -> Result<(), PlotError> {
        let mut names: Vec<(f64, &str, Look)> = self
            .lines
            .iter()
            .zip(LOOKS)
            .filter_map(|(line, look)| Some((at(line.points.last()?).1, line.name.as_str(), look)))
            .collect();
        names.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut lowest = CHART.top - LINE_HEIGHT;
        for (y, name, look) in names {
            let y = y.max(lowest + LINE_HEIGHT);
            lowest = y;
            let left = CHART.right + 14.0;
            canvas.marker((left, y), look)?;
            canvas.text((left + 12.0, y + 4.5), name, LABEL, Align::Left)?;
        }
        Ok(())
    }
}

fn draw_axes<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    x: &Window,
    y: &Window,
) -> Result<(), PlotError> {
    let hairline = |colour| Stroke { colour, width: 1.0 };
    let (x_unit, y_unit) = (Unit::of_op(x.hi), Unit::of_op(y.hi));
    for tick in ticks(y, y_unit, 6.0) {
        let level = CHART.y(tick.share);
        let grid = hairline(colours::GRID);
        canvas.line(&[(CHART.left, level), (CHART.right, level)], grid)?;
        canvas.text(
            (CHART.left - 8.0, level + 4.0),
            &tick.text,
            SMALL,
            Align::Right,
        )?;
    }
    for tick in ticks(x, x_unit, 10.0) {
        let place = CHART.x(tick.share);
        let mark = [(place, CHART.bottom), (place, CHART.bottom + 5.0)];
        canvas.line(&mark, hairline(colours::AXIS))?;
        canvas.text(
            (place, CHART.bottom + 20.0),
            &tick.text,
            SMALL,
            Align::Centre,
        )?;
    }
    let frame = [
        (CHART.left, CHART.top),
        (CHART.left, CHART.bottom),
        (CHART.right, CHART.bottom),
    ];
    canvas.line(&frame, hairline(colours::AXIS))?;
    let name = format!("compute before each op, {}", x_unit.name());
    let middle = (CHART.left + CHART.right) / 2.0;
    canvas.text((middle, CHART.bottom + 42.0), &name, SMALL, Align::Centre)?;
    let name = format!("{} an op, median and 95 % interval", y_unit.name());
    let right = CHART.right - text_width(&name, SMALL);
    canvas.text((right, CHART.top - 24.0), &name, SMALL, Align::Left)
}

fn draw_point<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    point: &GapPoint,
    place: (f64, f64),
    y: &Window,
    look: Look,
) -> Result<(), PlotError> {
    if let Some(ends) = point.ci95_us {
        let [lo, hi] = ends.map(|us| CHART.y(y.share(us)));
        let stroke = Stroke {
            colour: look.colour,
            width: 1.5,
        };
        canvas.line(&[(place.0, lo), (place.0, hi)], stroke)?;
        for end in [lo, hi] {
            canvas.line(&[(place.0 - 4.0, end), (place.0 + 4.0, end)], stroke)?;
        }
    }
    canvas.dot(place, 5.5, colours::WHITE.to_rgba())?;
    canvas.marker(place, look)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(values: &[(f64, f64)]) -> GapPicture {
        let point = |(gap_us, us): &(f64, f64)| GapPoint {
            gap_us: *gap_us,
            us: *us,
            ci95_us: Some([us - 1.0, us + 1.0]),
        };
        GapPicture {
            title: "122 all-reduces".to_string(),
            lines: vec![GapLine {
                name: "graph".to_string(),
                points: values.iter().map(point).collect(),
            }],
            ..GapPicture::default()
        }
    }

    #[test]
    fn values_names_and_axes_stand_in_the_picture() {
        let svg = gap_svg(&picture(&[(0.0, 13.4), (10.0, 15.2), (50.0, 21.7)])).unwrap();
        for text in [
            "13.4",
            "15.2",
            "21.7",
            "graph",
            "compute before each op, µs",
        ] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_and_one_point_is_drawn() {
        assert_eq!(gap_svg(&GapPicture::default()), Err(PlotError::NoSamples));
        let bad = gap_svg(&picture(&[(0.0, f64::NAN)]));
        assert!(matches!(bad, Err(PlotError::BadSummary { .. })));
        gap_svg(&picture(&[(0.0, 0.0)])).unwrap();
        gap_png(&picture(&[(20.0, -3.0)])).unwrap();
    }
}
