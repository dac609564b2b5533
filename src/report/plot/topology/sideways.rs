//! Draws what is beside the tree: links between processors above it, NVLink below.

use plotters::backend::DrawingBackend;

use super::super::PlotError;
use super::super::canvas::{Canvas, Stroke};
use super::super::layout::Rect;
use super::draw::{TopologyPicture, lettered, marked_rate};
use super::layout::{LANE, join_each_to_each, share_a_line};
use super::{BLUE, LINK_BLUE};
use crate::report::topology::link_words;
use crate::topology::{Link, LinkId, NodeId, NodeKind};

const STROKE: Stroke = Stroke {
    colour: BLUE,
    width: 2.0,
};

impl TopologyPicture<'_> {
    /// Links between processors, each on a line of its own above them.
    pub(super) fn sockets<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<'_, B>,
    ) -> Result<(), PlotError> {
        self.brackets(canvas, &self.places.sockets, self.places.top, -1.0)
    }

    /// NVLinks below the GPUs: each on a line of its own, or to the box of the NVSwitches.
    pub(super) fn nvlinks<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<'_, B>,
    ) -> Result<(), PlotError> {
        let links = &self.places.nvlinks;
        let to_switch: Vec<&Link> = links
            .iter()
            .map(|id| self.topology.link(*id))
            .filter(|link| self.topology.node(link.ends[1]).kind == NodeKind::NvSwitch)
            .collect();
        if to_switch.is_empty() {
            return self.brackets(canvas, links, self.places.bottom, 1.0);
        }
        for link in &to_switch {
            if let (Some(gpu), Some(switch)) = (self.area(link.ends[0]), self.area(link.ends[1])) {
                let x = middle(gpu);
                canvas.line(&[(x, gpu.bottom), (x, switch.top)], STROKE)?;
            }
        }
        let alike = to_switch
            .iter()
            .all(|link| (&link.kind, link.rate) == (&to_switch[0].kind, to_switch[0].rate));
        if let (true, Some(switch)) = (alike, self.area(to_switch[0].ends[1])) {
            let words = format!("each GPU {}", words_of(to_switch[0]));
            return lettered(
                canvas,
                (middle(switch), switch.top - 18.0),
                &[words],
                LINK_BLUE,
            );
        }
        for link in to_switch {
            if let Some(gpu) = self.area(link.ends[0]) {
                let at = (middle(gpu), gpu.bottom + 28.0);
                lettered(canvas, at, &[link_words(link)], LINK_BLUE)?;
            }
        }
        Ok(())
    }

    /// A line for each link, `step` lanes away from `edge`, with feet at its ends; or one for all.
    fn brackets<B: DrawingBackend>(
        &self,
        canvas: &mut Canvas<'_, B>,
        links: &[LinkId],
        edge: f64,
        step: f64,
    ) -> Result<(), PlotError> {
        let spans = links.iter().filter_map(|id| {
            let link = self.topology.link(*id);
            Some((link, self.span(link.ends)?))
        });
        let spans: Vec<(&Link, (f64, f64))> = spans.collect();
        if share_a_line(self.topology, links) {
            let words = match spans.first() {
                Some((first, _)) if join_each_to_each(self.topology, links) => {
                    format!("each to each: {}", words_of(first))
                }
                _ => format!("{} links: --to table lists them", spans.len()),
            };
            let y = edge + step * LANE;
            for (_, (left, right)) in &spans {
                let corners = [(*left, edge), (*left, y), (*right, y), (*right, edge)];
                canvas.line(&corners, STROKE)?;
            }
            let left = spans.iter().map(|(_, at)| at.0).fold(f64::MAX, f64::min);
            let right = spans.iter().map(|(_, at)| at.1).fold(0.0, f64::max);
            let at = ((left + right) / 2.0, y + 4.0);
            return lettered(canvas, at, &[words], LINK_BLUE);
        }
        let mut labels = Vec::with_capacity(spans.len());
        for (lane, (link, (left, right))) in spans.into_iter().enumerate() {
            let y = edge + step * LANE * (lane as f64 + 1.0);
            // Feet of several links stand beside each other.
            let shift = 6.0 * lane as f64;
            let (left, right) = (left + shift, right + shift);
            canvas.line(
                &[(left, edge), (left, y), (right, y), (right, edge)],
                STROKE,
            )?;
            labels.push((((left + right) / 2.0, y + 4.0), words_of(link)));
        }
        // After all lines: none is drawn over words.
        for (at, words) in labels {
            lettered(canvas, at, &[words], LINK_BLUE)?;
        }
        Ok(())
    }

    fn span(&self, ends: [NodeId; 2]) -> Option<(f64, f64)> {
        let (one, other) = (middle(self.area(ends[0])?), middle(self.area(ends[1])?));
        Some((one.min(other), one.max(other)))
    }
}

fn middle(area: Rect) -> f64 {
    (area.left + area.right) / 2.0
}

fn words_of(link: &Link) -> String {
    let mut words = vec![link_words(link)];
    words.extend(Some(marked_rate(link)).filter(|rate| !rate.is_empty()));
    words.extend(link.latency_us.map(|us| format!("{us} µs")));
    words.join(" · ")
}
