//! How curves are told apart: by colour, dashes and markers at once, for readers who do not see
//! colours and for prints without any.

use maud::{Markup, html};

/// Colours are the style's, `c0` to `c5`: they differ between light and dark pages.
const COLOURS: usize = 6;

const DASHES: [Option<&str>; 6] = [
    None,
    Some("10 4"),
    Some("4 3"),
    Some("12 3 3 3"),
    Some("2 2.5"),
    Some("16 5"),
];

#[derive(Debug, Clone, Copy)]
enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Ring,
}

const MARKERS: [Marker; 6] = [
    Marker::Circle,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::Cross,
    Marker::Ring,
];

#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub class: usize,
    /// Lengths of line and gap in turn; `None` for a line without gaps.
    pub dash: Option<&'static str>,
    marker: Marker,
}

impl Look {
    /// The look of the curve with this index. After all colours, colours come with other markers.
    pub fn of(index: usize) -> Look {
        let turn = index + index / COLOURS;
        Look {
            class: index % COLOURS,
            dash: DASHES[turn % DASHES.len()],
            marker: MARKERS[turn % MARKERS.len()],
        }
    }

    /// The marker around a place.
    pub fn marker(self, x: f64, y: f64) -> Markup {
        let r = 4.0;
        let path = match self.marker {
            Marker::Circle => return html! { circle.full cx=(one(x)) cy=(one(y)) r=(r) {} },
            Marker::Ring => return html! { circle.hollow cx=(one(x)) cy=(one(y)) r=(r) {} },
            Marker::Square => closed(&[
                (x - r, y - r),
                (x + r, y - r),
                (x + r, y + r),
                (x - r, y + r),
            ]),
            Marker::Triangle => closed(&[
                (x, y - 1.3 * r),
                (x + 1.25 * r, y + r),
                (x - 1.25 * r, y + r),
            ]),
            Marker::Diamond => {
                let d = 1.35 * r;
                closed(&[(x, y - d), (x + d, y), (x, y + d), (x - d, y)])
            }
            Marker::Cross => {
                let lines = format!(
                    "M{} {}L{} {}M{} {}L{} {}",
                    one(x - r),
                    one(y - r),
                    one(x + r),
                    one(y + r),
                    one(x - r),
                    one(y + r),
                    one(x + r),
                    one(y - r)
                );
                return html! { path.lines d=(lines) {} };
            }
        };
        html! { path.full d=(path) {} }
    }

    /// A piece of the line with its marker, for the key.
    pub fn sample(self) -> Markup {
        html! {
            svg class={ "sample c" (self.class) } viewBox="0 0 40 14" width="40" height="14" aria-hidden="true" {
                path.line d="M1 7L39 7" stroke-dasharray=[self.dash] {}
                (self.marker(20.0, 7.0))
            }
        }
    }
}

/// A length with one decimal.
pub(super) fn one(length: f64) -> String {
    format!("{length:.1}")
}

/// A path through the places.
pub(super) fn path(places: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (index, (x, y)) in places.iter().enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        path.push_str(&format!("{letter}{} {}", one(*x), one(*y)));
    }
    path
}

/// A path that ends where it begins.
pub(super) fn closed(places: &[(f64, f64)]) -> String {
    path(places) + "Z"
}
