//! What is written at crossovers, knees and references.

use plotters::backend::DrawingBackend;
use plotters::style::Color;

use crate::units::{group_thousands, median_and_interval, significant};

use super::super::PlotError;
use super::super::canvas::{Align, Canvas, Point, Stroke};
use super::super::colours;
use super::super::layout::Rect;
use super::super::scale::Unit;
use super::super::text::{SECTION, SMALL, SMALL_INK, Type, elide, text_width};
use super::super::thinning::thin_line;
use super::chart::Chart;
use super::line_labels::LineLabel;
use super::lines::trace;
use super::marks::{
    CROSSOVER_CAP, CROSSOVER_RADIUS, REFERENCE_RADIUS, coincide, crossover_bar, crossover_line,
    knee_at, knee_radius, reference_line, shown_tokens,
};
use super::placing::{Placing, distance, nearest};
use super::time_axis::time_text;
use super::{Crossover, CurvePicture, Knee, Reference};

/// Space around the text of a label, and the distance of its lines.
const PADDING: f64 = 4.0;
const LINE: f64 = 16.0;
const BASELINE: f64 = 13.0;
/// Room for names from outside.
const WIDEST_NAME: f64 = 300.0;
/// A label that is further from its mark has a line to it.
const NEAR: f64 = 24.0;
/// Columns in which curves are thinned to find room beside them.
const COLUMN: f64 = 4.0;
/// Steps in which a reference's label is moved along its line.
const STEP: f64 = 24.0;

/// A label with its place.
#[derive(Debug, Clone)]
struct MarkLabel {
    lines: Vec<(String, Type)>,
    room: Rect,
    leader: Option<[Point; 2]>,
}

/// The labels of all marks.
pub struct MarkLabels {
    placing: Placing,
    labels: Vec<MarkLabel>,
    /// Labels for which there is no room.
    pub left_out: usize,
}

impl MarkLabels {
    /// Finds room for all labels. Those of knees come first: they are short and belong close to
    /// their rings, where that of a crossover can be told from afar by its dashed line.
    pub fn new(
        picture: &CurvePicture,
        chart: &Chart,
        unit: Unit,
        line_labels: &[LineLabel],
    ) -> MarkLabels {
        let mut all = MarkLabels {
            placing: occupied(picture, chart, line_labels),
            labels: Vec::new(),
            left_out: 0,
        };
        for (number, knee) in picture.knees.iter().enumerate() {
            let distance = knee_radius(number, picture, chart) + 4.0;
            let text = knee_text(knee, picture, chart);
            all.add_beside(knee_at(knee, chart), distance, text);
        }
        for crossover in &picture.crossovers {
            let mark = chart.at(crossover.tokens, crossover.us);
            all.add_beside(
                mark,
                CROSSOVER_RADIUS + 6.0,
                crossover_text(crossover, picture),
            );
        }
        for reference in &picture.references {
            all.add_along(reference, reference_text(reference, unit), chart);
        }
        all
    }

    /// Adds a label near a mark.
    fn add_beside(&mut self, mark: Point, distance: f64, lines: Vec<(String, Type)>) {
        let room = self.placing.beside(mark, distance, size(&lines));
        self.add(mark, lines, room);
    }

    /// Adds a label above or below the line of a reference, as close to its point as may be.
    fn add_along(&mut self, reference: &Reference, lines: Vec<(String, Type)>, chart: &Chart) {
        let frame = chart.frame;
        let (width, height) = size(&lines);
        let y = chart.y(reference.us);
        let x = shown_tokens(reference, chart).map_or(frame.left, |tokens| chart.x(tokens));
        let steps = ((frame.width() - width).max(0.0) / STEP) as u32;
        let mut lefts: Vec<f64> = (0..=steps)
            .map(|step| frame.left + 6.0 + f64::from(step) * STEP)
            .collect();
        lefts.sort_by(|a, b| (a - x).abs().total_cmp(&(b - x).abs()));
        let rooms = lefts.into_iter().flat_map(|left| {
            [y - 2.0 - height, y + 2.0].map(|top| {
                let room = Rect::new(left, top, left + width, top + height);
                // Its mark is the line, wherever it stands.
                (((room.left + room.right) / 2.0, y), room)
            })
        });
        match self.placing.among(rooms, 0.0) {
            Some(room) => self.add(((room.left + room.right) / 2.0, y), lines, Some(room)),
            None => {
                let room = self.placing.anywhere((x, y), (width, height));
                self.add((x, y), lines, room);
            }
        }
    }

    fn add(&mut self, mark: Point, lines: Vec<(String, Type)>, room: Option<Rect>) {
        let Some(room) = room else {
            self.left_out += 1;
            return;
        };
        let end = nearest(mark, room);
        self.labels.push(MarkLabel {
            lines,
            room,
            leader: (distance(mark, end) > NEAR).then_some([mark, end]),
        });
    }

    /// Draws the lines from marks to labels that are not beside them.
    pub fn draw_leaders<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<'_, B>,
    ) -> Result<(), PlotError> {
        let stroke = Stroke {
            colour: colours::GREY,
            width: 1.0,
        };
        let mut leaders = self.labels.iter().filter_map(|label| label.leader);
        leaders.try_for_each(|leader| canvas.line(&leader, stroke))
    }

    pub fn draw<B: DrawingBackend>(&self, canvas: &mut Canvas<'_, B>) -> Result<(), PlotError> {
        for label in &self.labels {
            // Lines that could not be avoided must not run through the letters.
            if self.placing.is_crossed(label.room) {
                canvas.rect(label.room, colours::WHITE.mix(0.8))?;
            }
            for (number, (line, kind)) in label.lines.iter().enumerate() {
                let baseline = label.room.top + BASELINE + number as f64 * LINE;
                let at = (label.room.left + PADDING, baseline);
                canvas.text(at, line, *kind, Align::Left)?;
            }
        }
        Ok(())
    }
}

/// The chart with all that is drawn in it.
fn occupied(picture: &CurvePicture, chart: &Chart, line_labels: &[LineLabel]) -> Placing {
    let frame = chart.frame;
    let mut placing = Placing::new(Rect::new(
        frame.left + 3.0,
        frame.top + 3.0,
        frame.right - 3.0,
        frame.bottom - 3.0,
    ));
    for line in &picture.lines {
        placing.avoid(&thin_line(&trace(line, chart), COLUMN));
    }
    for label in line_labels {
        placing.avoid(&label.way());
    }
    for reference in &picture.references {
        placing.avoid(&reference_line(reference, chart));
        if let Some(tokens) = shown_tokens(reference, chart) {
            placing.avoid_mark(chart.at(tokens, reference.us), REFERENCE_RADIUS);
        }
    }
    for (number, knee) in picture.knees.iter().enumerate() {
        let radius = knee_radius(number, picture, chart);
        placing.avoid_mark(knee_at(knee, chart), radius);
    }
    for crossover in &picture.crossovers {
        placing.avoid(&crossover_line(crossover, chart));
        let ends = crossover_bar(crossover, chart);
        placing.avoid(&ends);
        for (x, y) in ends {
            placing.avoid(&[(x, y - CROSSOVER_CAP), (x, y + CROSSOVER_CAP)]);
        }
        placing.avoid_mark(chart.at(crossover.tokens, crossover.us), CROSSOVER_RADIUS);
    }
    placing
}

fn size(lines: &[(String, Type)]) -> (f64, f64) {
    let widths = lines.iter().map(|(line, kind)| text_width(line, *kind));
    (
        widths.fold(0.0, f64::max) + 2.0 * PADDING,
        lines.len() as f64 * LINE + 2.0,
    )
}

/// "crossover t ≈ 23 [19, 28]", and whose where several lines have one.
fn crossover_text(crossover: &Crossover, picture: &CurvePicture) -> Vec<(String, Type)> {
    let (place, interval) = median_and_interval(crossover.tokens, Some(crossover.ci95));
    let interval = interval.unwrap_or_default();
    let mut lines = vec![(format!("crossover t ≈ {place} {interval}"), SECTION)];
    if picture
        .crossovers
        .iter()
        .any(|other| other.line != crossover.line)
    {
        lines.push((name_of(crossover.line, picture), SMALL_INK));
    }
    lines
}

/// "knee t = 16", and whose where another one is at the same place.
fn knee_text(knee: &Knee, picture: &CurvePicture, chart: &Chart) -> Vec<(String, Type)> {
    let text = format!("knee t = {}", group_thousands(knee.tokens));
    let mut lines = vec![(text, SMALL_INK)];
    let others = picture.knees.iter().filter(|other| other.line != knee.line);
    if others.into_iter().any(|other| coincide(knee, other, chart)) {
        lines.push((name_of(knee.line, picture), SMALL_INK));
    }
    lines
}

fn name_of(line: usize, picture: &CurvePicture) -> String {
    elide(&picture.lines[line].name, SMALL_INK, WIDEST_NAME)
}

/// "the batch-1 burst: 1.70 ms", with the tokens where the line has no point that shows them.
fn reference_text(reference: &Reference, unit: Unit) -> Vec<(String, Type)> {
    let (value, _) = time_text(reference.us, None, unit);
    let name = elide(&reference.name, SMALL_INK, WIDEST_NAME);
    let tokens = match reference.tokens {
        Some(tokens) => format!(" (t = {})", plain(tokens)),
        None => String::new(),
    };
    vec![(format!("{name}{tokens}: {value}"), SMALL)]
}

/// A number of tokens, whole where it is.
fn plain(tokens: f64) -> String {
    if tokens.fract() == 0.0 && tokens < 1e15 {
        group_thousands(tokens as u64)
    } else {
        significant(tokens)
    }
}
