//! The lines above and below the panels.

use plotters::backend::DrawingBackend;
use plotters::style::Color;

use super::PlotError;
use super::canvas::{Align, Canvas};
use super::colours;
use super::figure::Figure;
use super::layout::{FOOTER_Y, Layout, MARGIN, Rect, SUBTITLE_Y, TITLE_Y};
use super::text::{SMALL, Type, elide, text_width};

const TITLE: Type = Type::bold(22.0, colours::INK);
const SUBTITLE: Type = Type::plain(13.5, colours::GREY);
const BADGE: Type = Type::bold(14.0, colours::WHITE);
const BADGE_HEIGHT: f64 = 26.0;
/// Space left and right of a badge's text.
const BADGE_PADDING: f64 = 12.0;
/// Space between badges, and between them and the text to their left.
const GAP: f64 = 8.0;
/// Tops of the two lines of badges.
const BADGE_LINES: [f64; 2] = [15.0, 46.0];
/// Badges need not leave more of the title's line than this to the title.
const WIDEST_TITLE: f64 = 700.0;

pub fn draw<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    layout: &Layout,
    figure: &Figure<'_>,
) -> Result<(), PlotError> {
    let right = layout.page.right - MARGIN;
    let title_end = MARGIN + text_width(&figure.title, TITLE).min(WIDEST_TITLE) + 2.0 * GAP;
    let mut free = [right; 2];
    let mut line = 0;
    for &badge in &figure.badges {
        let width = text_width(badge, BADGE) + 2.0 * BADGE_PADDING;
        if line == 0 && free[0] < right && free[0] - width < title_end {
            line = 1;
        }
        let top = BADGE_LINES[line];
        let area = Rect::new(free[line] - width, top, free[line], top + BADGE_HEIGHT);
        canvas.rect(area, colours::WARNING.to_rgba())?;
        let at = ((area.left + area.right) / 2.0, top + 18.0);
        canvas.text(at, badge, BADGE, Align::Centre)?;
        free[line] = area.left - GAP;
    }
    let title = elide(&figure.title, TITLE, free[0] - GAP - MARGIN);
    canvas.text((MARGIN, TITLE_Y), &title, TITLE, Align::Left)?;
    let subtitle = elide(&figure.subtitle, SUBTITLE, free[1] - GAP - MARGIN);
    canvas.text((MARGIN, SUBTITLE_Y), &subtitle, SUBTITLE, Align::Left)?;
    let footer = elide(&figure.footer, SMALL, right - MARGIN);
    canvas.text((MARGIN, FOOTER_Y), &footer, SMALL, Align::Left)
}
