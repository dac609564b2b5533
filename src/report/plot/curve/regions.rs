//! Shaded ranges of tokens, with their names in a strip above the chart.

use plotters::backend::DrawingBackend;
use plotters::style::{Color, RGBColor};

use super::super::PlotError;
use super::super::canvas::{Align, Canvas};
use super::super::colours::{self, LOOKS};
use super::super::layout::Rect;
use super::super::text::{Type, elide, text_width};
use super::chart::Chart;
use super::page::STRIP_ROW;
use super::{CurvePicture, Region};

const NAME: Type = Type::bold(12.5, colours::INK);
/// Space on either side of a name.
const PADDING: f64 = 7.0;
/// Names that overlap stand in rows; for more of them there is no height.
const MOST_ROWS: usize = 3;

/// How strongly a region colours the chart, and its cell in the strip.
const TINT: f64 = 0.12;
const CELL_TINT: f64 = 0.38;

/// Part of a row, from left to right.
type Span = (f64, f64);

/// A region with its place.
#[derive(Debug, Clone)]
struct Cell {
    across: Span,
    colour: RGBColor,
    /// Its row in the strip; `None` where no row has room.
    row: Option<usize>,
    /// The name and its left end.
    name: Option<(String, f64)>,
}

/// All regions of a picture.
#[derive(Debug, Clone)]
pub struct Regions {
    cells: Vec<Cell>,
    /// Rows of the strip that are in use.
    pub rows: usize,
    /// Regions whose name has no room.
    pub left_out: usize,
}

impl Regions {
    /// Finds room for the names; only the chart's width matters.
    pub fn new(picture: &CurvePicture, chart: &Chart) -> Regions {
        let mut taken: [Vec<Span>; MOST_ROWS] = Default::default();
        let cells: Vec<Cell> = picture
            .regions
            .iter()
            .map(|region| cell(region, chart, &mut taken))
            .collect();
        Regions {
            rows: cells
                .iter()
                .filter_map(|cell| cell.row)
                .max()
                .map_or(0, |row| row + 1),
            left_out: cells.iter().filter(|cell| cell.name.is_none()).count(),
            cells,
        }
    }

    /// Shades the chart and writes the names above it.
    pub fn draw<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<'_, B>,
        frame: Rect,
        strip_top: f64,
    ) -> Result<(), PlotError> {
        for cell in &self.cells {
            let (left, right) = cell.across;
            let shade = Rect::new(left, frame.top, right, frame.bottom);
            canvas.rect(shade, cell.colour.mix(TINT))?;
            let Some(row) = cell.row else { continue };
            let top = strip_top + row as f64 * STRIP_ROW;
            let area = Rect::new(left, top, right, top + STRIP_ROW - 2.0);
            canvas.rect(area, cell.colour.mix(CELL_TINT))?;
        }
        // After all cells: a name may stand beside its own.
        for cell in &self.cells {
            if let (Some(row), Some((name, left))) = (cell.row, &cell.name) {
                let baseline = strip_top + row as f64 * STRIP_ROW + 14.5;
                canvas.text((*left, baseline), name, NAME, Align::Left)?;
            }
        }
        Ok(())
    }
}

fn cell(region: &Region, chart: &Chart, taken: &mut [Vec<Span>]) -> Cell {
    let across = (chart.range_x(region.from), chart.range_x(region.to));
    let frame = (chart.frame.left, chart.frame.right);
    let name = elide(&region.name, NAME, frame.1 - frame.0 - 2.0 * PADDING);
    let mut cell = Cell {
        across,
        colour: region.line.map_or(colours::GREY, |line| LOOKS[line].colour),
        row: None,
        name: None,
    };
    let width = text_width(&name, NAME) + 2.0 * PADDING;
    let rooms = rooms(across, width, frame);
    for (row, spans) in taken.iter_mut().enumerate() {
        let room = rooms
            .iter()
            .find(|room| is_free(spans, hull(**room, across)));
        if let Some(room) = room {
            spans.push(hull(*room, across));
            let middle = (room.0 + room.1) / 2.0;
            let left = middle - width / 2.0 + PADDING;
            cell.row = Some(row);
            cell.name = Some((name, left));
            return cell;
        }
    }
    cell.row = taken.iter().position(|spans| is_free(spans, across));
    if let Some(row) = cell.row {
        taken[row].push(across);
        let cut = elide(&name, NAME, across.1 - across.0 - 2.0 * PADDING);
        cell.name = (cut != "…").then_some((cut, across.0 + PADDING));
    }
    cell
}

/// Where a name of some width may stand: in its cell if that is wide enough, else to the right, the
/// left, or over the middle of it.
fn rooms((left, right): Span, width: f64, (from, to): Span) -> Vec<Span> {
    if width <= right - left {
        return vec![(left, right)];
    }
    let middle = (left + right) / 2.0;
    [left, right - width, middle - width / 2.0]
        .into_iter()
        .map(|start| (start, start + width))
        .filter(|room| from <= room.0 && room.1 <= to)
        .collect()
}

fn hull(one: Span, other: Span) -> Span {
    (one.0.min(other.0), one.1.max(other.1))
}

fn is_free(spans: &[Span], (left, right): Span) -> bool {
    // Neighbours may share an end.
    spans
        .iter()
        .all(|span| span.1 <= left + 0.01 || right <= span.0 + 0.01)
}
