//! The lines above and below all panels of a picture.

use plotters::backend::DrawingBackend;
use plotters::style::Color;

use super::PlotError;
use super::canvas::{Align, Canvas};
use super::colours;
use super::layout::{FOOTER_ABOVE_END, MARGIN, Rect, SUBTITLE_Y, TITLE_Y};
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

/// What stands above and below all panels.
pub struct Header<'a> {
    pub title: &'a str,
    pub subtitle: &'a str,
    /// Reasons not to take the figures for what they seem to be.
    pub badges: &'a [&'static str],
    pub footer: &'a str,
}

impl Header<'_> {
    pub fn draw<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<'_, B>,
        page: Rect,
    ) -> Result<(), PlotError> {
        let right = page.right - MARGIN;
        let title_end = MARGIN + text_width(self.title, TITLE).min(WIDEST_TITLE) + 2.0 * GAP;
        let mut free = [right; 2];
        let mut line = 0;
        for &badge in self.badges {
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
        let title = elide(self.title, TITLE, free[0] - GAP - MARGIN);
        canvas.text((MARGIN, TITLE_Y), &title, TITLE, Align::Left)?;
        let subtitle = elide(self.subtitle, SUBTITLE, free[1] - GAP - MARGIN);
        canvas.text((MARGIN, SUBTITLE_Y), &subtitle, SUBTITLE, Align::Left)?;
        let footer = elide(self.footer, SMALL, right - MARGIN);
        let footer_y = page.bottom - FOOTER_ABOVE_END;
        canvas.text((MARGIN, footer_y), &footer, SMALL, Align::Left)
    }
}
