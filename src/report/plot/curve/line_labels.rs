//! The names of the lines and their last values, right of the chart.

use plotters::backend::DrawingBackend;

use super::super::PlotError;
use super::super::canvas::{Align, Canvas, Point, Stroke};
use super::super::colours::{self, LOOKS, Look};
use super::super::scale::Unit;
use super::super::text::{LABEL, SMALL, SMALL_INK, Type, elide, text_width, wrap};
use super::CurvePicture;
use super::chart::Chart;
use super::page::LABELS;
use super::spreading::spread;
use super::time_axis::time_text;

const VALUE: Type = Type::bold(13.0, colours::INK);
/// The piece of line that shows how the line is drawn.
const SWATCH: f64 = 30.0;
const TEXT_LEFT: f64 = LABELS.left + SWATCH + 8.0;
const TEXT_WIDTH: f64 = LABELS.right - TEXT_LEFT;
/// The way to a label must not look like a curve that goes on.
const LEADER_DASH: [f64; 2] = [1.5, 3.0];
/// Distance of lines of text, and of labels.
const LINE: f64 = 16.0;
const GAP: f64 = 9.0;
/// From the top of a label to its first baseline, and to the middle of the letters there.
const BASELINE: f64 = 12.0;
const MIDDLE: f64 = 8.0;
/// Between parts of a line of text.
const SPACE: f64 = 5.0;
/// Lines of text for a name.
const NAME_LINES: usize = 2;

/// Parts of a line of text.
type Line = Vec<(String, Type)>;

/// One line's label.
#[derive(Debug, Clone)]
pub struct LineLabel {
    /// The line's last point.
    end: Point,
    look: Look,
    top: f64,
    text: Vec<Line>,
}

/// The labels of all lines, apart from each other.
pub fn line_labels(picture: &CurvePicture, chart: &Chart, unit: Unit) -> Vec<LineLabel> {
    let (from, to) = (chart.frame.top - 4.0, LABELS.bottom);
    let mut labels = labels(picture, chart, unit, NAME_LINES);
    let height = |label: &LineLabel| label.text.len() as f64 * LINE;
    let all: f64 = labels.iter().map(|label| height(label) + GAP).sum();
    if all - GAP > to - from {
        labels = self::labels(picture, chart, unit, 1);
    }
    let wanted: Vec<f64> = labels.iter().map(|label| label.end.1 - MIDDLE).collect();
    let heights: Vec<f64> = labels.iter().map(height).collect();
    for (label, top) in labels
        .iter_mut()
        .zip(spread(&wanted, &heights, GAP, from, to))
    {
        label.top = top;
    }
    labels
}

fn labels(picture: &CurvePicture, chart: &Chart, unit: Unit, name_lines: usize) -> Vec<LineLabel> {
    let mut labels = Vec::new();
    for (line, look) in picture.lines.iter().zip(LOOKS) {
        let Some(last) = line.points.last() else {
            continue;
        };
        let mut text: Vec<Line> = wrap(&line.name, LABEL, TEXT_WIDTH, name_lines)
            .into_iter()
            .map(|name| vec![(name, LABEL)])
            .collect();
        let (value, interval) = time_text(last.us, last.ci95_us, unit);
        let mut parts = vec![(value, VALUE)];
        parts.push(match interval {
            Some(interval) => (interval, SMALL_INK),
            None => ("no interval".to_string(), SMALL),
        });
        parts.push((picture.over.place(last.x), SMALL));
        text.extend(set(parts));
        labels.push(LineLabel {
            end: chart.at(last.x as f64, last.us),
            look,
            top: 0.0,
            text,
        });
    }
    labels
}

/// Puts parts into as few lines as hold them.
fn set(parts: Vec<(String, Type)>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut used = f64::INFINITY;
    for (part, kind) in parts {
        let part = elide(&part, kind, TEXT_WIDTH);
        let width = text_width(&part, kind);
        match lines.last_mut() {
            Some(line) if used + SPACE + width <= TEXT_WIDTH => {
                used += SPACE + width;
                line.push((part, kind));
            }
            _ => {
                used = width;
                lines.push(vec![(part, kind)]);
            }
        }
    }
    lines
}

impl LineLabel {
    /// Draws the label and the way to it from the line's end.
    pub fn draw<B: DrawingBackend>(&self, canvas: &mut Canvas<'_, B>) -> Result<(), PlotError> {
        let colour = self.look.colour;
        let middle = self.top + MIDDLE;
        let left = LABELS.left;
        let swatch = [(left, middle), (left + SWATCH, middle)];
        canvas.dashed(&swatch, self.look.dash, Stroke { colour, width: 2.5 })?;
        canvas.marker((left + SWATCH / 2.0, middle), self.look)?;
        for (number, line) in self.text.iter().enumerate() {
            let baseline = self.top + BASELINE + number as f64 * LINE;
            let mut x = TEXT_LEFT;
            for (part, kind) in line {
                canvas.text((x, baseline), part, *kind, Align::Left)?;
                x += text_width(part, *kind) + SPACE;
            }
        }
        Ok(())
    }

    /// Draws the way from the line's end to the label.
    pub fn draw_leader<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<'_, B>,
    ) -> Result<(), PlotError> {
        let leader = Stroke {
            colour: self.look.colour,
            width: 1.0,
        };
        canvas.dashed(&self.way(), &LEADER_DASH, leader)
    }

    /// The way from the line's end to the label.
    pub fn way(&self) -> [Point; 2] {
        [self.end, (LABELS.left - 5.0, self.top + MIDDLE)]
    }
}
