//! The whole picture: every part with its place, before anything is drawn.

use plotters::backend::DrawingBackend;

use super::super::PlotError;
use super::super::canvas::Canvas;
use super::super::header::Header;
use super::super::layout::{MARGIN, Rect};
use super::super::render::Picture;
use super::super::scale::Unit;
use super::super::text::text_width;
use super::chart::Chart;
use super::check::{Refusal, check};
use super::frame::{LABEL_GAP, TICK, draw_axes, draw_grid};
use super::heading::{Answer, draw_chart_title};
use super::line_labels::{LineLabel, line_labels};
use super::mark_labels::MarkLabels;
use super::page::{FRAME_BOTTOM, FRAME_RIGHT, HEIGHT, PAGE, Page, WIDTH};
use super::regions::Regions;
use super::time_axis::{TimeTicks, time_axis, time_unit};
use super::token_axis::{TokenTick, token_axis, token_ticks};
use super::{CurvePicture, lines, marks};

/// A picture that can be drawn.
pub struct Composition<'a> {
    picture: &'a CurvePicture,
    page: Page,
    chart: Chart,
    unit: Unit,
    answer: Answer,
    time_ticks: TimeTicks,
    token_ticks: Vec<TokenTick>,
    regions: Regions,
    line_labels: Vec<LineLabel>,
    mark_labels: MarkLabels,
}

impl<'a> Composition<'a> {
    /// Gives everything its place.
    ///
    /// # Errors
    /// When the picture holds something that has none.
    pub fn new(picture: &'a CurvePicture) -> Result<Composition<'a>, Refusal> {
        check(picture)?;
        let answer = Answer::new(&picture.answer);
        let times = time_axis(picture);
        let unit = time_unit(&times);
        // How wide the labels of the axis are says where the chart begins, and that how many rows
        // the names of regions take, and that how high the chart is.
        let without_strip = Page::new(answer.height(), 0);
        let highest = FRAME_BOTTOM - without_strip.frame_top;
        let widest = TimeTicks::new(&times, unit, highest)
            .labelled
            .iter()
            .map(|tick| text_width(&tick.text, TICK))
            .fold(0.0, f64::max);
        let mut chart = Chart {
            frame: Rect::new(
                MARGIN + widest + LABEL_GAP,
                without_strip.frame_top,
                FRAME_RIGHT,
                FRAME_BOTTOM,
            ),
            tokens: token_axis(picture),
            times,
        };
        let regions = Regions::new(picture, &chart);
        let page = Page::new(answer.height(), regions.rows);
        chart.frame.top = page.frame_top;
        let line_labels = line_labels(picture, &chart, unit);
        Ok(Composition {
            picture,
            page,
            chart,
            unit,
            answer,
            time_ticks: TimeTicks::new(&times, unit, chart.frame.height()),
            token_ticks: token_ticks(picture, |tokens| chart.x(tokens)),
            mark_labels: MarkLabels::new(picture, &chart, unit, &line_labels),
            regions,
            line_labels,
        })
    }

    /// Says that labels are missing, where some are.
    fn note(&self) -> Option<String> {
        match self.regions.left_out + self.mark_labels.left_out {
            0 => None,
            1 => Some("1 label left out: no room".to_string()),
            number => Some(format!("{number} labels left out: no room")),
        }
    }
}

impl Picture for Composition<'_> {
    fn size(&self) -> (u32, u32) {
        (WIDTH, HEIGHT)
    }

    fn draw<B: DrawingBackend>(&self, canvas: &mut Canvas<'_, B>) -> Result<(), PlotError> {
        let picture = self.picture;
        let chart = &self.chart;
        let header = Header {
            title: &picture.title,
            subtitle: &picture.subtitle,
            badges: &picture.badges,
            footer: &picture.footer,
        };
        header.draw(canvas, PAGE)?;
        self.answer.draw(canvas)?;
        let points = || picture.lines.iter().flat_map(|line| &line.points);
        let bands = points().any(|point| point.ci95_us.is_some());
        let name = format!("{}, {}", picture.y_name, self.unit.name());
        draw_chart_title(canvas, self.page.title_y, &name, bands)?;
        self.regions
            .draw(canvas, chart.frame, self.page.strip_top)?;
        draw_grid(canvas, chart, &self.time_ticks, &self.token_ticks)?;
        marks::draw_references(canvas, picture, chart)?;
        for label in &self.line_labels {
            label.draw_leader(canvas)?;
        }
        lines::draw(canvas, picture, chart)?;
        self.mark_labels.draw_leaders(canvas)?;
        marks::draw(canvas, picture, chart)?;
        let note = self.note();
        draw_axes(
            canvas,
            chart,
            &self.time_ticks,
            &self.token_ticks,
            picture.over.name(),
            note.as_deref(),
        )?;
        self.mark_labels.draw(canvas)?;
        self.line_labels
            .iter()
            .try_for_each(|label| label.draw(canvas))
    }
}
