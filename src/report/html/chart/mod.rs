//! The curves of a run, drawn into the page: time over tokens per GPU, both logarithmic.
//!
//! The picture is whole without the script, which adds the figures of the point nearest to the
//! pointer. There is one picture for wide pages and one for narrow ones, since letters must not
//! shrink with it; the style shows one of them.

mod axis;
mod drawing;
mod look;
mod points;

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::escape::json_for_script;
use crate::report::curves::{Of, curves, times_of};
use crate::result::RunResult;
use drawing::{Drawing, Size};
use look::Look;
use points::{PointWords, Points};

/// Both pictures, by the class that shows one of them.
const SIZES: [(&str, Size); 2] = [
    (
        "wide",
        Size {
            width: 880.0,
            height: 440.0,
        },
    ),
    (
        "narrow",
        Size {
            width: 400.0,
            height: 400.0,
        },
    ),
];

/// What the times are, for the axis.
fn axis_name(of: Of) -> &'static str {
    match of {
        Of::Op => "µs an op",
        Of::Step => "ms of communication a decode step",
    }
}

/// The pictures and their key.
pub(super) fn chart(run: &RunResult) -> Markup {
    let points = Points::of(run);
    html! {
        figure {
            @for (class, size) in SIZES { (picture(run, &points, class, size)) }
            figcaption {
                (key(run))
                @for line in points.captions() { p { (line) } }
            }
        }
    }
}

fn picture(run: &RunResult, points: &Points, class: &str, size: Size) -> Markup {
    let Some(drawing) = Drawing::new(points, size) else {
        return html! { p class=(class) { "No curve: no time of this run can be drawn." } };
    };
    let of = times_of(run);
    html! {
        div class={ "chart " (class) } data-chart=(class) {
            (drawing.svg(axis_name(of), run.ranks))
            // Filled by the script.
            div.tip aria-live="polite" {}
        }
    }
}

/// Which line is whose.
fn key(run: &RunResult) -> Markup {
    html! {
        ul.key aria-label="Curves" {
            @for (index, curve) in curves(run).iter().enumerate() {
                li { (Look::of(index).sample()) " " (curve.name) }
            }
        }
    }
}

/// What the script needs, for the end of the page: the figures of every point in words, and where
/// the pictures have it.
#[derive(Serialize)]
struct Data<'a> {
    points: &'a [PointWords],
    charts: Vec<Places>,
}

#[derive(Serialize)]
struct Places {
    chart: &'static str,
    /// The place of each point in the picture's own units.
    places: Vec<(f64, f64)>,
}

pub(super) fn data_block(run: &RunResult) -> Markup {
    let points = Points::of(run);
    let charts = SIZES
        .into_iter()
        .filter_map(|(chart, size)| {
            let places = Drawing::new(&points, size)?.places();
            Some(Places { chart, places })
        })
        .collect();
    let data = Data {
        points: points.words(),
        charts,
    };
    html! {
        script type="application/json" id="data" { (PreEscaped(json_for_script(&data))) }
    }
}
