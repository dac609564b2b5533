//! The picture of a machine: processors on top, GPUs at the bottom, what each link is between them,
//! and degraded links in red.

mod draw;
mod layout;
mod sideways;
#[cfg(test)]
mod tests;

use plotters::style::RGBColor;

use super::PlotError;
use super::colours;
use super::render;
use super::text::Type;
use crate::topology::Topology;

use draw::TopologyPicture;

/// Degraded links: red, as wires that should be looked at.
const RED: RGBColor = RGBColor(0xC0, 0x00, 0x00);
/// Links beside the tree.
const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xB2);

/// What stands on links.
const LINK: Type = Type::plain(11.0, colours::INK);
const LINK_RED: Type = Type::bold(11.0, RED);
const LINK_BLUE: Type = Type::plain(11.0, BLUE);
/// What stands in boxes.
const NAME: Type = Type::bold(13.0, colours::INK);
const WORDS: Type = Type::plain(11.0, colours::GREY);

/// The machine as an SVG document.
///
/// # Errors
/// When the drawing library refuses.
pub fn topology_svg(topology: &Topology) -> Result<String, PlotError> {
    render::svg(&TopologyPicture::new(topology))
}
