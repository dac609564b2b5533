//! Colours, dashes and markers. Lines are told apart by all three, for readers who do not see
//! colours and for prints without any.

use plotters::style::{RGBAColor, RGBColor};

pub const WHITE: RGBColor = RGBColor(255, 255, 255);
/// Text and lines that carry the message.
pub const INK: RGBColor = RGBColor(0x1F, 0x23, 0x28);
/// Text of second rank.
pub const GREY: RGBColor = RGBColor(0x5B, 0x63, 0x6D);
/// The lines of axes.
pub const AXIS: RGBColor = RGBColor(0x8B, 0x93, 0x9C);
pub const GRID: RGBColor = RGBColor(0xE4, 0xE7, 0xEB);
/// One rank's time: half transparent, so that many ranks at one place look darker.
pub const RANK_DOT: RGBAColor = RGBAColor(0x6E, 0x76, 0x81, 0.5);
/// Warnings: vermillion, a shade darker than Okabe and Ito's for white text to stand out.
pub const WARNING: RGBColor = RGBColor(0xC2, 0x4E, 0x00);

/// The shape of the points of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Ring,
}

/// How one measurement is drawn in every panel.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub colour: RGBColor,
    /// Lengths of line and gap in turn, in logical pixels; empty for a line without gaps.
    pub dash: &'static [f64],
    pub marker: Marker,
}

/// The colours of Okabe and Ito without yellow, too faint on white, and without vermillion, which
/// is for warnings.
pub const LOOKS: [Look; 6] = [
    Look {
        colour: RGBColor(0x00, 0x72, 0xB2),
        dash: &[],
        marker: Marker::Circle,
    },
    Look {
        colour: RGBColor(0xE6, 0x9F, 0x00),
        dash: &[10.0, 4.0],
        marker: Marker::Square,
    },
    Look {
        colour: RGBColor(0x00, 0x9E, 0x73),
        dash: &[4.0, 3.0],
        marker: Marker::Triangle,
    },
    Look {
        colour: RGBColor(0xCC, 0x79, 0xA7),
        dash: &[12.0, 3.0, 3.0, 3.0],
        marker: Marker::Diamond,
    },
    Look {
        colour: RGBColor(0x33, 0x33, 0x33),
        dash: &[2.0, 2.5],
        marker: Marker::Cross,
    },
    Look {
        colour: RGBColor(0x56, 0xB4, 0xE9),
        dash: &[16.0, 5.0],
        marker: Marker::Ring,
    },
];
