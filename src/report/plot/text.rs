//! Typefaces, and how much room a text takes.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, GlyphId, PxScale, ScaleFont};
use plotters::style::RGBColor;

use super::colours;

/// A typeface of the figure. `size` is the em in logical pixels.
#[derive(Debug, Clone, Copy)]
pub struct Type {
    pub size: f64,
    pub bold: bool,
    pub colour: RGBColor,
}

impl Type {
    pub const fn plain(size: f64, colour: RGBColor) -> Type {
        Type {
            size,
            bold: false,
            colour,
        }
    }

    pub const fn bold(size: f64, colour: RGBColor) -> Type {
        Type {
            size,
            bold: true,
            colour,
        }
    }
}

/// Axis labels, keys and notes: the smallest size of the figure.
pub const SMALL: Type = Type::plain(12.0, colours::GREY);
/// Text of a key or an interval.
pub const SMALL_INK: Type = Type::plain(12.0, colours::INK);
/// Names of measurements.
pub const LABEL: Type = Type::bold(13.0, colours::INK);
/// Titles of panels.
pub const SECTION: Type = Type::bold(15.0, colours::INK);

/// The font that texts are measured by, and drawn with in bitmaps. `None` if the file that is
/// compiled in cannot be read.
pub fn face(bold: bool) -> Option<&'static FontRef<'static>> {
    static REGULAR: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
    static BOLD: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
    let read = |bytes: &'static [u8]| FontRef::try_from_slice(bytes).ok();
    if bold {
        BOLD.get_or_init(|| read(dejavu::sans::bold())).as_ref()
    } else {
        REGULAR
            .get_or_init(|| read(dejavu::sans::regular()))
            .as_ref()
    }
}

/// Calls `each` with every letter and its pen position in units of `em`; returns the text's width.
pub fn set_letters(
    face: &FontRef<'static>,
    text: &str,
    em: f64,
    mut each: impl FnMut(GlyphId, f32, PxScale),
) -> f64 {
    // ab_glyph's scale is the height from descent to ascent.
    let per_em = f64::from(face.height_unscaled()) / f64::from(face.units_per_em().unwrap_or(1.0));
    let scale = PxScale::from((em * per_em) as f32);
    let scaled = face.as_scaled(scale);
    let mut pen = 0.0f32;
    let mut before = None;
    for letter in text.chars() {
        let glyph = face.glyph_id(letter);
        if let Some(before) = before {
            pen += scaled.kern(before, glyph);
        }
        each(glyph, pen, scale);
        pen += scaled.h_advance(glyph);
        before = Some(glyph);
    }
    f64::from(pen)
}

/// Width of a text in logical pixels. DejaVu Sans is among the widest fonts that a viewer of the
/// SVG may put in its place, so what fits by this measure fits there.
pub fn text_width(text: &str, kind: Type) -> f64 {
    match face(kind.bold) {
        Some(face) => set_letters(face, text, kind.size, |_, _, _| {}),
        // Without the font an em a letter is on the safe side.
        None => text.chars().count() as f64 * kind.size,
    }
}

/// The text, or as much of its beginning as fits `width` with an ellipsis.
pub fn elide(text: &str, kind: Type, width: f64) -> String {
    // No text of the figure is longer, and names from outside may be of any length.
    const LONGEST: usize = 400;
    let letters: Vec<char> = text.chars().take(LONGEST).collect();
    if letters.len() < LONGEST && text_width(text, kind) <= width {
        return text.to_string();
    }
    let cut = |keep: usize| {
        let kept: String = letters[..keep].iter().collect();
        format!("{}…", kept.trim_end_matches([' ', ',', '·']))
    };
    let (mut fits, mut too_long) = (0, letters.len());
    while fits + 1 < too_long {
        let middle = (fits + too_long) / 2;
        if text_width(&cut(middle), kind) <= width {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    cut(fits)
}

/// The text in at most `most` lines no wider than `width`. A word that is wider, and what is left
/// for the last line, end with an ellipsis.
pub fn wrap(text: &str, kind: Type, width: f64, most: usize) -> Vec<String> {
    // Far beyond any page: texts from outside may be of any length.
    const LONGEST: usize = 4_000;
    let text: String = text.chars().take(LONGEST).collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut lines = Vec::new();
    let mut rest = words.as_slice();
    while !rest.is_empty() && lines.len() < most {
        let fitting = (1..=rest.len())
            .take_while(|&end| text_width(&rest[..end].join(" "), kind) <= width)
            .last();
        let end = match fitting {
            _ if lines.len() + 1 == most => rest.len(),
            Some(end) => end,
            None => 1,
        };
        lines.push(elide(&rest[..end].join(" "), kind, width));
        rest = &rest[end..];
    }
    lines
}

/// XML has no way to write control characters; in a picture they have no meaning either.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_stays_and_one_that_does_not_is_cut_to_the_width() {
        assert_eq!(elide("NVIDIA H200", SMALL, 500.0), "NVIDIA H200");
        let long = "NVIDIA H200 ".repeat(300);
        for width in [1.0, 40.0, 200.0, 1000.0] {
            let cut = elide(&long, SMALL, width);
            assert!(cut.ends_with('…'), "{cut}");
            assert!(cut == "…" || text_width(&cut, SMALL) <= width, "{cut}");
        }
    }

    #[test]
    fn wrapped_text_keeps_its_words_and_its_width() {
        let text = "EP costs less communication than TP up to t = 23, and more above";
        let lines = wrap(text, LABEL, 160.0, 9);
        assert!(lines.len() > 2, "{lines:?}");
        assert_eq!(lines.join(" "), text);
        assert!(lines.iter().all(|line| text_width(line, LABEL) <= 160.0));
        let cut = wrap(text, LABEL, 160.0, 2);
        assert_eq!(cut[0], lines[0]);
        assert!(cut.len() == 2 && cut[1].ends_with('…'), "{cut:?}");
        let word = wrap(&"w".repeat(900), LABEL, 160.0, 2);
        assert!(word.len() == 1 && word[0].ends_with('…'), "{word:?}");
        assert!(wrap("  ", LABEL, 160.0, 2).is_empty());
        assert!(wrap(text, LABEL, 160.0, 0).is_empty());
    }

    #[test]
    fn bold_text_is_wider() {
        assert!(text_width("eager", LABEL) > text_width("eager", Type::plain(13.0, colours::INK)));
    }

    #[test]
    fn control_characters_do_not_reach_the_document() {
        assert_eq!(printable("a\u{1}b\nc\u{FFFF}µ…"), "a b c\u{FFFD}µ…");
    }
}
