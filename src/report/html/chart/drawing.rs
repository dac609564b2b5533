//! The picture itself.

use maud::{Markup, html};

use super::axis::{LogAxis, tick_text};
use super::look::{Look, closed, one, path};
use super::points::{Crossing, Point, Points};
use crate::units::group_thousands;

/// In the picture's own units, of which a letter is 13 high.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub width: f64,
    pub height: f64,
}

/// Around the plot: axis names and tick labels.
const LEFT: f64 = 54.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BELOW: f64 = 48.0;
/// Between the labels of two ticks of the lower axis.
const LEAST_DISTANCE: f64 = 34.0;
/// Height of a tick's room on the upright axis.
const TICK_HEIGHT: f64 = 56.0;

/// The points on their axes.
pub(super) struct Drawing<'a> {
    points: &'a Points,
    size: Size,
    tokens: LogAxis,
    times: LogAxis,
}

impl<'a> Drawing<'a> {
    /// `None` without any point.
    pub fn new(points: &'a Points, size: Size) -> Option<Drawing<'a>> {
        let all = points.all();
        let times = |point: &Point| {
            let ends = point.ci95.into_iter().flatten();
            ends.chain([point.value]).collect::<Vec<f64>>()
        };
        Some(Drawing {
            points,
            size,
            tokens: LogAxis::around(all.iter().map(|point| point.tokens))?,
            times: LogAxis::around(all.iter().flat_map(times))?,
        })
    }

    /// The place of every point.
    pub fn places(&self) -> Vec<(f64, f64)> {
        let tenth = |length: f64| (length * 10.0).round() / 10.0;
        let place = |point: &Point| {
            let (x, y) = self.place(point);
            (tenth(x), tenth(y))
        };
        self.points.all().iter().map(place).collect()
    }

    fn right(&self) -> f64 {
        self.size.width - RIGHT
    }

    fn bottom(&self) -> f64 {
        self.size.height - BELOW
    }

    fn x(&self, tokens: f64) -> f64 {
        LEFT + self.tokens.share(tokens) * (self.right() - LEFT)
    }

    fn y(&self, time: f64) -> f64 {
        self.bottom() - self.times.share(time) * (self.bottom() - TOP)
    }

    fn place(&self, point: &Point) -> (f64, f64) {
        (self.x(point.tokens), self.y(point.value))
    }

    /// `of` names what the times are of.
    pub fn svg(&self, of: &str, ranks: u32) -> Markup {
        let Size { width, height } = self.size;
        html! {
            svg viewBox={ "0 0 " (width) " " (height) } role="img"
                aria-label={ (of) " over tokens per GPU; the table below has the figures" }
            {
                (self.upright_axis(of))
                (self.lower_axis(ranks))
                @for (index, crossing) in self.points.crossings.iter().enumerate() {
                    (self.crossing(crossing, index))
                }
                @for curve in self.points.by_curve() { (self.band(curve)) }
                @for curve in self.points.by_curve() { (self.line(curve)) }
                @for curve in self.points.by_curve() { (self.marks(curve)) }
                // Around the point that the script shows.
                circle.ring r="9" cx="0" cy="0" visibility="hidden" {}
            }
        }
    }

    fn upright_axis(&self, of: &str) -> Markup {
        let wanted = ((self.bottom() - TOP) / TICK_HEIGHT) as usize;
        html! {
            text.name x="4" y="14" { (of) }
            @for tick in self.times.ticks(wanted) {
                @let y = self.y(tick);
                path.grid d=(path(&[(LEFT, y), (self.right(), y)])) {}
                text.tick x=(one(LEFT - 7.0)) y=(one(y + 4.5)) text-anchor="end" { (tick_text(tick)) }
            }
        }
    }

    /// Ticks at the measured t, as many as have room.
    fn lower_axis(&self, ranks: u32) -> Markup {
        let mut measured: Vec<f64> = self.points.all().iter().map(|point| point.tokens).collect();
        measured.sort_by(f64::total_cmp);
        measured.dedup();
        let mut shown: Vec<f64> = Vec::new();
        for tokens in &measured {
            let room = |last: &f64| self.x(*tokens) - self.x(*last) >= LEAST_DISTANCE;
            if shown.last().is_none_or(room) {
                shown.push(*tokens);
            }
        }
        let bottom = self.bottom();
        html! {
            @for tokens in &measured {
                @let x = self.x(*tokens);
                path.axis d=(path(&[(x, bottom), (x, bottom + 5.0)])) {}
            }
            @for tokens in &shown {
                text.tick x=(one(self.x(*tokens))) y=(one(bottom + 19.0)) text-anchor="middle" {
                    (group_thousands(*tokens as u64))
                }
            }
            path.axis d=(path(&[(LEFT, TOP), (LEFT, bottom), (self.right(), bottom)])) {}
            text.name x=(one((LEFT + self.right()) / 2.0)) y=(one(bottom + 40.0)) text-anchor="middle" {
                "t, tokens per GPU (batch B = " (ranks) "·t)"
            }
        }
    }

    /// A crossover that lies within the picture, with its interval.
    fn crossing(&self, crossing: &Crossing, index: usize) -> Markup {
        let ends = crossing.ci95;
        let inside = ends
            .iter()
            .chain([&crossing.tokens])
            .all(|t| self.tokens.contains(*t));
        if !inside {
            return Markup::default();
        }
        let [lo, hi] = ends.map(|tokens| self.x(tokens));
        let x = self.x(crossing.tokens);
        let top = TOP + 18.0 * index as f64;
        let (at, anchor) = if x < (LEFT + self.right()) / 2.0 {
            (hi.max(x) + 6.0, "start")
        } else {
            (lo.min(x) - 6.0, "end")
        };
        let bottom = self.bottom();
        html! {
            path.crossing-band d=(closed(&[(lo, top), (hi, top), (hi, bottom), (lo, bottom)])) {}
            path.crossing d=(path(&[(x, top), (x, bottom)])) {}
            text.crossing-name x=(one(at)) y=(one(top + 12.0)) text-anchor=(anchor) {
                "t = " (crossing.text)
            }
        }
    }

    /// The intervals as a band, where neighbours have one.
    fn band(&self, curve: &[Point]) -> Markup {
        let corners = |one: &Point, next: &Point| {
            let ([lo, hi], [next_lo, next_hi]) = (one.ci95?, next.ci95?);
            let (x, next_x) = (self.x(one.tokens), self.x(next.tokens));
            Some(closed(&[
                (x, self.y(hi)),
                (next_x, self.y(next_hi)),
                (next_x, self.y(next_lo)),
                (x, self.y(lo)),
            ]))
        };
        let pieces = curve
            .windows(2)
            .filter_map(|pair| corners(&pair[0], &pair[1]));
        let all: String = pieces.collect();
        html! {
            @if !all.is_empty() {
                path class={ "band c" (class(curve)) } d=(all) {}
            }
        }
    }

    fn line(&self, curve: &[Point]) -> Markup {
        let places: Vec<(f64, f64)> = curve.iter().map(|point| self.place(point)).collect();
        let look = Look::of(curve.first().map_or(0, |point| point.curve));
        html! {
            path class={ "line c" (look.class) } d=(path(&places)) stroke-dasharray=[look.dash] {}
        }
    }

    /// Every point with the bar of its interval.
    fn marks(&self, curve: &[Point]) -> Markup {
        let look = Look::of(curve.first().map_or(0, |point| point.curve));
        html! {
            g class={ "c" (look.class) } {
                @for point in curve {
                    @let (x, y) = self.place(point);
                    @if let Some([lo, hi]) = point.ci95 {
                        path.bar d=(path(&[(x, self.y(lo)), (x, self.y(hi))])) {}
                    }
                    (look.marker(x, y))
                    @if !point.verified {
                        text.crossed x=(one(x + 7.0)) y=(one(y - 7.0)) { "WRONG" }
                    }
                }
            }
        }
    }
}

fn class(curve: &[Point]) -> usize {
    Look::of(curve.first().map_or(0, |point| point.curve)).class
}
