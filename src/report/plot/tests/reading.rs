//! Reads an SVG back, as far as tests need it.

use crate::report::plot::canvas::SUBPIXELS;
use crate::report::plot::colours::INK;
use crate::report::plot::layout::Rect;
use crate::report::plot::text::{Type, text_width};

/// A text of the figure and the room that it takes, in logical pixels.
#[derive(Debug, Clone)]
pub struct Text {
    pub words: String,
    pub size: f64,
    pub room: Rect,
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    let end = start + tag[start..].find('"')?;
    Some(&tag[start..end])
}

/// Width and height of a document in logical pixels.
pub fn size(svg: &str) -> (f64, f64) {
    let number = |name| attribute(svg, name).unwrap().parse::<f64>().unwrap();
    (number("width"), number("height"))
}

/// All texts of a document of plotters' making.
pub fn texts(svg: &str) -> Vec<Text> {
    let mut found = Vec::new();
    for piece in svg.split("<text").skip(1) {
        let (tag, rest) = piece.split_once('>').unwrap();
        let words = rest.split_once("</text>").unwrap().0.trim();
        let words = words
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&apos;", "'")
            .replace("&amp;", "&");
        let units = f64::from(SUBPIXELS);
        let number = |name| attribute(tag, name).unwrap().parse::<f64>().unwrap() / units;
        let size = number("font-size");
        let bold = attribute(tag, "font-weight") == Some("bold");
        let kind = Type {
            size,
            bold,
            colour: INK,
        };
        let width = text_width(&words, kind);
        let left = match attribute(tag, "text-anchor").unwrap() {
            "start" => number("x"),
            "middle" => number("x") - width / 2.0,
            _ => number("x") - width,
        };
        let baseline = number("y") + 0.76 * size;
        found.push(Text {
            words,
            size,
            // Capitals and descenders; the line's full height may well touch its neighbour's.
            room: Rect::new(
                left,
                baseline - 0.73 * size,
                left + width,
                baseline + 0.2 * size,
            ),
        });
    }
    found
}

/// Panics where texts overlap, leave the page, or are too small to read.
pub fn assert_legible(svg: &str, case: &str) {
    let texts = texts(svg);
    let (width, height) = size(svg);
    assert!(texts.len() > 10, "{case}");
    for (index, text) in texts.iter().enumerate() {
        let room = text.room;
        assert!(text.size >= 11.999, "{case}: {text:?}");
        assert!(
            room.left >= 0.0 && room.top >= 0.0 && room.right <= width && room.bottom <= height,
            "{case}: off the page: {text:?}"
        );
        for other in &texts[..index] {
            let apart = room.right <= other.room.left
                || other.room.right <= room.left
                || room.bottom <= other.room.top
                || other.room.bottom <= room.top;
            assert!(apart, "{case}: {text:?} overlaps {other:?}");
        }
    }
}
