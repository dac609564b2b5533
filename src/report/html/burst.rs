//! The plot of a run without curves: burst.svg as it is, within the page.

use base64::prelude::{BASE64_STANDARD, Engine};
use maud::{Markup, html};

use super::table::scroll;
use crate::report::plot::BurstPlot;
use crate::report::table::title;
use crate::result::{RunResult, Series};

/// As a picture, not as markup of the page: what stands in a picture can neither run nor reach
/// out, whatever a label holds.
pub(super) fn burst(run: &RunResult, series: &[Series]) -> Markup {
    let name = title(run).unwrap_or_default();
    let plot = BurstPlot { run, series }.svg();
    html! {
        @match plot {
            Ok(svg) => (scroll("Plot of every sample", html! {
                img.burst width="1200" height="820" src={
                    "data:image/svg+xml;base64," (BASE64_STANDARD.encode(svg))
                } alt={
                    "Time of every sample, their distribution, and the time of one op: " (name)
                    ". The table has the figures."
                };
            }))
            Err(error) => p { "No plot: " (error) "." }
        }
    }
}
