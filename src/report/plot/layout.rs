//! Where everything stands, in logical pixels from the top left corner.

/// Width of the figure.
pub const WIDTH: u32 = 1200;
/// Height of the figure.
pub const HEIGHT: u32 = 820;

/// Space to the left and right of everything.
pub const MARGIN: f64 = 24.0;
/// Baselines of the lines of text above and below the panels.
pub const TITLE_Y: f64 = 38.0;
pub const SUBTITLE_Y: f64 = 63.0;
pub const FOOTER_Y: f64 = HEIGHT as f64 - FOOTER_ABOVE_END;
/// From the footer's baseline to the end of the page.
pub const FOOTER_ABOVE_END: f64 = 12.0;
/// Baseline of a panel's title, from the panel's top.
pub const SECTION_Y: f64 = 14.0;

/// Measurements in one figure: beyond this, panels and colours run out.
pub const MOST_ROWS: usize = 6;

/// Space for tick labels left of a plot.
const TICKS_LEFT: f64 = 44.0;
/// Space for the median's value right of a plot of samples.
const MEDIAN_RIGHT: f64 = 112.0;
/// From the top of a panel of samples to its plot: the measurement's name.
const NAME: f64 = 22.0;
/// Below a plot: tick labels.
const TICKS_BELOW: f64 = 22.0;
/// Below the lowest plots: the axis' name.
const AXIS_NAME: f64 = 17.0;

/// An upright rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub const fn new(left: f64, top: f64, right: f64, bottom: f64) -> Rect {
        Rect {
            left,
            top,
            right,
            bottom,
        }
    }

    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// The x of a share of the width, 0 at the left.
    pub fn x(&self, share: f64) -> f64 {
        self.left + share * self.width()
    }

    /// The y of a share of the height, 0 at the bottom.
    pub fn y(&self, share: f64) -> f64 {
        self.bottom - share * self.height()
    }
}

/// The place of one measurement's samples.
#[derive(Debug, Clone, Copy)]
pub struct SeriesCell {
    /// The plot without its labels.
    pub plot: Rect,
    /// Right end of the space that belongs to this cell.
    pub right: f64,
    /// Whether the y axis is labelled here.
    pub first_in_line: bool,
}

/// The places of all panels.
#[derive(Debug, Clone)]
pub struct Layout {
    pub page: Rect,
    /// All samples, title included.
    pub series: Rect,
    /// One cell a measurement.
    pub cells: Vec<SeriesCell>,
    pub distribution: Rect,
    pub per_op: Rect,
}

impl Layout {
    /// The layout for `rows` measurements, 1 to [`MOST_ROWS`].
    pub fn new(rows: usize) -> Layout {
        let (page_right, page_bottom) = (f64::from(WIDTH), f64::from(HEIGHT));
        let right = page_right - MARGIN;
        // Two lines of panels need the height more than the panels below them do.
        let series_bottom = if rows > 3 { 512.0 } else { 474.0 };
        let series = Rect::new(MARGIN, 88.0, right, series_bottom);
        let lower = series_bottom + 22.0;
        let lower_bottom = FOOTER_Y - 24.0;
        Layout {
            page: Rect::new(0.0, 0.0, page_right, page_bottom),
            series,
            cells: cells(rows, series),
            distribution: Rect::new(MARGIN, lower, 608.0, lower_bottom),
            per_op: Rect::new(648.0, lower, right, lower_bottom),
        }
    }
}

fn cells(rows: usize, series: Rect) -> Vec<SeriesCell> {
    let columns = match rows {
        0..=3 => rows.max(1),
        4 => 2,
        _ => 3,
    };
    let lines = rows.div_ceil(columns).max(1);
    let top = series.top + 24.0;
    let height = (series.bottom - AXIS_NAME - top) / lines as f64;
    // Only the first cell of a line carries tick labels; the plots are equally wide.
    let width = (series.width() - TICKS_LEFT) / columns as f64;
    (0..rows)
        .map(|row| {
            let (line, column) = (row / columns, row % columns);
            let left = series.left + TICKS_LEFT + column as f64 * width;
            let cell_top = top + line as f64 * height;
            SeriesCell {
                plot: Rect::new(
                    left,
                    cell_top + NAME,
                    left + width - MEDIAN_RIGHT,
                    cell_top + height - TICKS_BELOW,
                ),
                right: left + width - 20.0,
                first_in_line: column == 0,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_lie_on_the_page_and_apart() {
        for rows in 1..=MOST_ROWS {
            let layout = Layout::new(rows);
            assert_eq!(layout.cells.len(), rows);
            for (index, cell) in layout.cells.iter().enumerate() {
                let plot = cell.plot;
                assert!(plot.width() > 200.0 && plot.height() > 100.0, "{plot:?}");
                assert!(cell.right <= layout.series.right);
                for other in &layout.cells[..index] {
                    let beside = other.right < plot.left || cell.right < other.plot.left;
                    let below = other.plot.bottom + TICKS_BELOW <= plot.top - NAME + 1e-9;
                    assert!(beside || below, "{other:?} {cell:?}");
                }
            }
            assert!(layout.distribution.top > layout.series.bottom);
            assert!(layout.per_op.left > layout.distribution.right);
            assert!(layout.per_op.bottom < FOOTER_Y);
        }
    }
}
