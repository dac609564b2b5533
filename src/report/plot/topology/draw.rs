//! Draws the tree: boxes, and the links between them with what they carry.

use plotters::backend::DrawingBackend;
use plotters::style::{Color, RGBColor};

use super::super::PlotError;
use super::super::canvas::{Align, Canvas, Stroke};
use super::super::colours;
use super::super::layout::Rect;
use super::super::render::Picture;
use super::super::text::{SMALL, Type, elide, text_width, wrap};
use super::layout::{MARGIN, Places};
use super::{LINK, LINK_RED, NAME, RED, WORDS};
use crate::report::topology::{link_words, node_words, rate_words, size_words};
use crate::topology::{Basis, Link, LinkKind, NodeId, NodeKind, Topology};

const TITLE: Type = Type::bold(20.0, colours::INK);
/// Lines of text on a link.
const LINE: f64 = 14.0;

/// A machine and where its parts stand.
pub(super) struct TopologyPicture<'a> {
    pub topology: &'a Topology,
    pub places: Places,
    /// The model that all GPUs share.
    gpu_model: Option<String>,
}

impl<'a> TopologyPicture<'a> {
    pub fn new(topology: &'a Topology) -> Self {
        TopologyPicture {
            topology,
            places: Places::new(topology),
            gpu_model: common_model(topology),
        }
    }

    pub fn area(&self, id: NodeId) -> Option<Rect> {
        self.places.boxes[id.index()]
    }

    fn heading<B: DrawingBackend>(&self, canvas: &mut Canvas<'_, B>) -> Result<(), PlotError> {
        let width = self.places.width - 2.0 * MARGIN;
        let title = elide(&self.topology.name, TITLE, width);
        canvas.text((MARGIN, 36.0), &title, TITLE, Align::Left)?;
        let mut size = size_words(self.topology);
        if let Some(model) = &self.gpu_model {
            size.push_str(&format!("; GPUs: {model}"));
        }
        let size = elide(&size, SMALL, width);
        canvas.text((MARGIN, 57.0), &size, SMALL, Align::Left)?;
        for (line, text) in wrap(&self.topology.source, SMALL, width, 2)
            .iter()
            .enumerate()
        {
            let y = 74.0 + 16.0 * line as f64;
            canvas.text((MARGIN, y), text, SMALL, Align::Left)?;
        }
        Ok(())
    }

    fn footer<B: DrawingBackend>(&self, canvas: &mut Canvas<'_, B>) -> Result<(), PlotError> {
        let mut words = "GB/s of one direction; the other carries as much at the same time. PCIe: lanes × transfers less the line code, which no copy reaches.".to_string();
        if self.topology.rests_on(Basis::Nccl) {
            words.push_str(" *: a constant of NCCL's.");
        }
        let width = self.places.width - 2.0 * MARGIN;
        let mut y = self.places.height - 30.0;
        for line in wrap(&words, SMALL, width, 2) {
            canvas.text((MARGIN, y), &line, SMALL, Align::Left)?;
            y += 16.0;
        }
        if self.topology.links().iter().any(Link::is_degraded) {
            let red = Type::bold(12.0, RED);
            let words = "Red: links that run below what both of their ends can do.";
            let y = self.places.height - 46.0;
            canvas.text((MARGIN, y), words, red, Align::Left)?;
        }
        Ok(())
    }

    fn part<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<'_, B>,
        id: NodeId,
    ) -> Result<(), PlotError> {
        let Some(area) = self.area(id) else {
            return Ok(());
        };
        let node = self.topology.node(id);
        let (border, fill) = look(&node.kind);
        boxed(canvas, area, border, fill)?;
        let room = area.width() - 8.0;
        let x = (area.left + area.right) / 2.0;
        let middle = (area.top + area.bottom) / 2.0;
        let words = match &node.kind {
            // An address is too wide for a narrow box; a model that all share stands in the heading.
            NodeKind::Gpu(_) if self.gpu_model.is_some() => String::new(),
            NodeKind::Gpu(gpu) => gpu.model.clone().unwrap_or_default(),
            NodeKind::RootPort(port) => port.host_bridge.clone().map_or_else(
                || "root port".to_string(),
                |bridge| format!("root port, {bridge}"),
            ),
            _ => node_words(node),
        };
        let name = elide(&node.name, NAME, room);
        if words.is_empty() {
            return canvas.text((x, middle + 5.0), &name, NAME, Align::Centre);
        }
        canvas.text((x, middle - 3.0), &name, NAME, Align::Centre)?;
        let words = elide(&words, WORDS, room);
        canvas.text((x, middle + 13.0), &words, WORDS, Align::Centre)
    }

    /// The link from a part up: down from the upper box, straight above the part.
    fn link_above<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<'_, B>,
        id: NodeId,
    ) -> Result<(), PlotError> {
        let Some((link, upper)) = self.topology.above(id) else {
            return Ok(());
        };
        let (Some(area), Some(above)) = (self.area(id), self.area(upper)) else {
            return Ok(());
        };
        let link = self.topology.link(link);
        let x = (area.left + area.right) / 2.0;
        let (colour, kind, width) = match link.is_degraded() {
            true => (RED, LINK_RED, 3.0),
            false => (colours::AXIS, LINK, 2.0),
        };
        let stroke = Stroke { colour, width };
        canvas.line(&[(x, above.bottom), (x, area.top)], stroke)?;
        if let LinkKind::Internal = link.kind {
            return Ok(());
        }
        let lines = label(link, area.width());
        let first = area.top - 16.0 - LINE * (lines.len() as f64 - 1.0);
        lettered(canvas, (x, first), &lines, kind)
    }
}

fn common_model(topology: &Topology) -> Option<String> {
    let model = |id: &NodeId| match &topology.node(*id).kind {
        NodeKind::Gpu(gpu) => gpu.model.as_ref(),
        _ => None,
    };
    let first = model(topology.gpus().first()?)?;
    let is_common = topology.gpus().iter().all(|id| model(id) == Some(first));
    is_common.then(|| first.clone())
}

/// What a link is: on one line where that fits, else on several.
fn label(link: &Link, room: f64) -> Vec<String> {
    let mut words = match link.is_degraded() {
        // "Gen3 x8 of Gen5 x16" is too long for a narrow part.
        true => {
            let whole = link_words(link);
            match whole.split_once(" of ") {
                Some((now, max)) => vec![now.to_string(), format!("of {max}")],
                None => vec![whole],
            }
        }
        false => vec![link_words(link)],
    };
    words.extend(Some(marked_rate(link)).filter(|rate| !rate.is_empty()));
    words.extend(link.latency_us.map(|us| format!("{us} µs")));
    let whole = words.join(" · ");
    if text_width(&whole, LINK_RED) <= room {
        vec![whole]
    } else {
        words
    }
}

/// The rate, with a mark where it is NCCL's.
pub(super) fn marked_rate(link: &Link) -> String {
    match link.rate {
        Some(rate) if rate.basis == Basis::Nccl => format!("{} *", rate_words(link)),
        _ => rate_words(link),
    }
}

/// Lines of text, centred, on paper that hides the line behind.
pub(super) fn lettered<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    (x, first): (f64, f64),
    lines: &[String],
    kind: Type,
) -> Result<(), PlotError> {
    let width = lines
        .iter()
        .map(|line| text_width(line, kind))
        .fold(0.0, f64::max);
    let below = first + LINE * (lines.len() as f64 - 1.0) + 4.0;
    let paper = Rect::new(
        x - width / 2.0 - 3.0,
        first - 12.0,
        x + width / 2.0 + 3.0,
        below,
    );
    canvas.rect(paper, colours::WHITE.to_rgba())?;
    for (place, line) in lines.iter().enumerate() {
        let y = first + LINE * place as f64;
        canvas.text((x, y), line, kind, Align::Centre)?;
    }
    Ok(())
}

pub(super) fn boxed<B: DrawingBackend>(
    canvas: &mut Canvas<'_, B>,
    area: Rect,
    border: RGBColor,
    fill: RGBColor,
) -> Result<(), PlotError> {
    canvas.rect(area, border.to_rgba())?;
    let edge = 1.5;
    let inner = Rect::new(
        area.left + edge,
        area.top + edge,
        area.right - edge,
        area.bottom - edge,
    );
    canvas.rect(inner, fill.to_rgba())
}

/// Border and paper of a part.
fn look(kind: &NodeKind) -> (RGBColor, RGBColor) {
    match kind {
        NodeKind::Cpu(_) => (RGBColor(0x00, 0x72, 0xB2), RGBColor(0xE6, 0xF1, 0xF8)),
        NodeKind::Gpu(_) => (RGBColor(0x00, 0x9E, 0x73), RGBColor(0xE6, 0xF5, 0xF0)),
        NodeKind::Switch(_) | NodeKind::NvSwitch => {
            (RGBColor(0xB8, 0x7E, 0x00), RGBColor(0xFD, 0xF3, 0xDF))
        }
        NodeKind::RootPort(_) | NodeKind::Nic | NodeKind::Device => {
            (colours::AXIS, RGBColor(0xF6, 0xF7, 0xF8))
        }
    }
}

impl Picture for TopologyPicture<'_> {
    fn size(&self) -> (u32, u32) {
        (
            self.places.width.ceil() as u32,
            self.places.height.ceil() as u32,
        )
    }

    fn draw<B: DrawingBackend>(&self, canvas: &mut Canvas<'_, B>) -> Result<(), PlotError> {
        self.heading(canvas)?;
        self.sockets(canvas)?;
        self.nvlinks(canvas)?;
        for id in self.topology.node_ids() {
            self.link_above(canvas, id)?;
        }
        for id in self.topology.node_ids() {
            self.part(canvas, id)?;
        }
        self.footer(canvas)
    }
}
