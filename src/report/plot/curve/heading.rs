//! What stands between the picture's title and its chart: the answer, what the times are of, and
//! what a band means.

use plotters::backend::DrawingBackend;
use plotters::style::Color;

use super::super::PlotError;
use super::super::canvas::{Align, Canvas, Stroke};
use super::super::colours;
use super::super::layout::{MARGIN, Rect};
use super::super::text::{SECTION, SMALL, SMALL_INK, Type, elide, text_width, wrap};
use super::page::{ANSWER_TOP, ANSWER_WIDTH, FRAME_RIGHT};

/// The typefaces of the answer and the most lines for which each is taken: what is short can be
/// read from afar.
const ANSWERS: [(Type, usize); 3] = [
    (Type::bold(16.0, colours::INK), 2),
    (Type::bold(14.0, colours::INK), 3),
    (Type::plain(13.0, colours::INK), 5),
];
/// Distance of lines in ems.
const LEADING: f64 = 1.4;

/// The answer, broken into lines.
#[derive(Debug, Clone)]
pub struct Answer {
    kind: Type,
    lines: Vec<String>,
}

impl Answer {
    pub fn new(sentences: &[String]) -> Answer {
        let [.., (smallest, most)] = ANSWERS;
        for (kind, most) in ANSWERS {
            let lines: Vec<String> = sentences
                .iter()
                .flat_map(|sentence| wrap(sentence, kind, ANSWER_WIDTH, most + 1))
                .collect();
            if lines.len() <= most {
                return Answer { kind, lines };
            }
        }
        let mut lines = Vec::new();
        for (number, sentence) in sentences.iter().take(most).enumerate() {
            let later = sentences.len().min(most) - number - 1;
            let room = most - lines.len() - later;
            lines.extend(wrap(sentence, smallest, ANSWER_WIDTH, room));
        }
        Answer {
            kind: smallest,
            lines,
        }
    }

    pub fn height(&self) -> f64 {
        self.lines.len() as f64 * LEADING * self.kind.size
    }

    pub fn draw<B: DrawingBackend>(&self, canvas: &mut Canvas<'_, B>) -> Result<(), PlotError> {
        for (number, line) in self.lines.iter().enumerate() {
            let y = ANSWER_TOP + (1.1 + LEADING * number as f64) * self.kind.size;
            canvas.text((MARGIN, y), line, self.kind, Align::Left)?;
        }
        Ok(())
    }
}

/// What the times are of, in which unit, and what a band is where there is one.
pub fn draw_chart_title<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    baseline: f64,
    name: &str,
    bands: bool,
) -> Result<(), PlotError> {
    let mut right = FRAME_RIGHT;
    if bands {
        let text = "95 % interval of the median";
        let left = right - text_width(text, SMALL_INK);
        canvas.text((left, baseline), text, SMALL_INK, Align::Left)?;
        let middle = baseline - 4.5;
        let band = Rect::new(left - 32.0, middle - 6.0, left - 6.0, middle + 6.0);
        canvas.rect(band, colours::INK.mix(0.2))?;
        let colour = colours::INK;
        let ends = [(band.left, middle), (band.right, middle)];
        canvas.line(&ends, Stroke { colour, width: 2.0 })?;
        right = band.left - 16.0;
    }
    let note = "logarithmic axes";
    let note_width = text_width(note, SMALL) + 10.0;
    let name = elide(name, SECTION, right - note_width - MARGIN);
    canvas.text((MARGIN, baseline), &name, SECTION, Align::Left)?;
    let left = MARGIN + text_width(&name, SECTION) + 10.0;
    canvas.text((left, baseline), note, SMALL, Align::Left)
}
