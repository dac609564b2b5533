//! The ops of a plan: what each adds, and which ranks wait at which op, as maps of op × rank.

use maud::{Markup, html};

use super::table::{scroll, table};
use crate::report::arrival_words::{arrival_ops, arrival_ranks, arrival_words};
use crate::report::ops_words::{ops_table, ops_words};
use crate::result::{ArrivalFigures, Measurement, OpsFigures, RunResult};
use crate::stats::percentile_sorted;
use crate::units::significant;

/// Shades of the maps, from nothing to most: those of the middle and above in the map of ranks.
const SHADES: [&str; 4] = ["h3", "h4", "h5", "h6"];

/// Where a shade of waiting ends, in times of what moving the data of the middle op takes.
const WAITING_ENDS: [f64; 3] = [0.1, 0.5, 1.0];

/// Where a shade of an op's time ends, in times of the middle op's.
const TIME_ENDS: [f64; 3] = [1.1, 1.25, 2.0];

/// The section; `None` where no plan was looked into.
pub(super) fn ops(run: &RunResult) -> Option<Markup> {
    let looked_into = |one: &&Measurement| one.per_op.is_some() || one.arrivals.is_some();
    let found: Vec<&Measurement> = run.results.iter().filter(looked_into).collect();
    if found.is_empty() {
        return None;
    }
    let words = ops_words(run).into_iter().chain(arrival_words(run));
    Some(html! {
        ul.notes { @for line in words { li { (line.trim_start()) } } }
        @for one in found {
            @if let Some(figures) = &one.per_op { (times(one, figures)) }
            @if let Some(figures) = &one.arrivals {
                @if figures.withheld.is_none() { (waiting(one, figures)) }
            }
        }
    })
}

/// A map of what each op adds on each rank.
fn times(one: &Measurement, figures: &OpsFigures) -> Markup {
    let middle = middle(figures.ops.iter().map(|op| op.us));
    let ranks = figures.ops.first().map_or(0, |op| op.per_rank_us.len());
    let cell = |rank: usize, index: usize| -> Option<f64> {
        figures.ops.get(index)?.per_rank_us.get(rank).copied()
    };
    let name = |index: usize| figures.ops.get(index).map_or(0, |op| op.first_op);
    let map = Map {
        title: format!("Time that each op adds on each rank, {}", one.label),
        what: "adds",
        ranks,
        ops: figures.ops.len(),
        middle,
        ends: TIME_ENDS,
        of_middle: format!("times the middle op, {} µs", significant(middle)),
    };
    let (header, rows) = ops_table(figures);
    html! {
        (map.draw(&cell, &name))
        details { summary { "The figures of each op, " (one.label) } (table("What each op adds", &header, &rows, 1)) }
    }
}

/// A map of each rank's waiting at each op.
fn waiting(one: &Measurement, figures: &ArrivalFigures) -> Markup {
    let middle = middle(figures.ops.iter().map(|op| op.moving_us.median));
    let cell = |rank: usize, index: usize| -> Option<f64> {
        figures.ops.get(index)?.waiting_us.get(rank).copied()
    };
    let name = |index: usize| figures.ops.get(index).map_or(0, |op| op.op);
    let map = Map {
        title: format!("Waiting of each rank at each op, {}", one.label),
        what: "waits",
        ranks: figures.ranks.len(),
        ops: figures.ops.len(),
        middle,
        ends: WAITING_ENDS,
        of_middle: format!(
            "times what moving the data of the middle op takes, {} µs",
            significant(middle)
        ),
    };
    let (rank_header, rank_rows) = arrival_ranks(figures);
    let (header, rows) = arrival_ops(figures);
    html! {
        (table(&format!("Where the time of a replay goes, {}", one.label), &rank_header, &rank_rows, 1))
        (map.draw(&cell, &name))
        details { summary { "The figures of each op, " (one.label) } (table("Arrivals at each op", &header, &rows, 1)) }
    }
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    if all.is_empty() {
        return f64::NAN;
    }
    percentile_sorted(&all, 50.0)
}

/// A map with a row a rank and a column an op.
struct Map {
    title: String,
    /// What a rank does for the cell's time.
    what: &'static str,
    ranks: usize,
    ops: usize,
    middle: f64,
    ends: [f64; 3],
    /// What the shades count in.
    of_middle: String,
}

impl Map {
    fn draw(
        &self,
        cell: &dyn Fn(usize, usize) -> Option<f64>,
        name: &dyn Fn(usize) -> u64,
    ) -> Markup {
        let grid = html! {
            table.opmap aria-label=(self.title) {
                tbody {
                    @for rank in 0..self.ranks {
                        tr {
                            th scope="row" { "rank " (rank) }
                            @for index in 0..self.ops {
                                @let us = cell(rank, index);
                                td class=(self.shade(us)) title={
                                    "op " (name(index)) ", rank " (rank) " " (self.what) " "
                                    (us.map_or("–".to_string(), significant)) " µs"
                                } {}
                            }
                        }
                    }
                    tr {
                        th { "op" }
                        // Ops are many: the first and the last are named.
                        @if self.ops > 1 {
                            td.first colspan=(self.ops / 2) { (name(0)) }
                            td.last colspan=(self.ops - self.ops / 2) { (name(self.ops - 1)) }
                        } @else {
                            td.first { (name(0)) }
                        }
                    }
                }
            }
        };
        html! {
            p.caption { (self.title) }
            (scroll(&self.title, grid))
            ul.shades aria-label="Shades" {
                @for (index, class) in SHADES.iter().enumerate() {
                    li class=(class) { (self.shade_text(index)) }
                }
                li { (self.of_middle) }
            }
        }
    }

    fn shade(&self, us: Option<f64>) -> &'static str {
        let times = us.map_or(0.0, |us| us / self.middle);
        let above = self.ends.iter().filter(|end| times > **end).count();
        SHADES.get(above).copied().unwrap_or("h3")
    }

    fn shade_text(&self, shade: usize) -> String {
        match (
            shade.checked_sub(1).map(|i| self.ends[i]),
            self.ends.get(shade),
        ) {
            (None, Some(end)) => format!("up to {end}"),
            (Some(begin), Some(end)) => format!("{begin} to {end}"),
            (Some(begin), None) => format!("above {begin}"),
            (None, None) => String::new(),
        }
    }
}
