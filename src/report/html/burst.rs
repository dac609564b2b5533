//! The plot of a run without curves, burst.svg or sizes.svg as it is, within the page.

use base64::prelude::{BASE64_STANDARD, Engine};
use maud::{Markup, html};

use super::table::scroll;
use crate::report::plot::curve::{CURVE_SIZE, curve_svg};
use crate::report::plot::{BurstPlot, PlotError};
use crate::report::sizes::size_picture;
use crate::report::table::title;
use crate::result::{RunResult, Series};

/// Every sample, where a run has one plan or a few.
pub(super) fn burst(run: &RunResult, series: &[Series]) -> Markup {
    let words = "Time of every sample, their distribution, and the time of one op";
    picture(
        run,
        "Plot of every sample",
        words,
        (1200, 820),
        BurstPlot { run, series }.svg(),
    )
}

/// Time over the size of a call.
pub(super) fn sizes(run: &RunResult) -> Markup {
    let Some(sizes) = size_picture(run) else {
        return html! {};
    };
    let words = "Time of one call over its size, a line for each mode";
    picture(
        run,
        "Plot of the sizes",
        words,
        CURVE_SIZE,
        curve_svg(&sizes),
    )
}

/// As a picture, not as markup of the page: what stands in a picture can neither run nor reach
/// out, whatever a label holds.
fn picture(
    run: &RunResult,
    caption: &str,
    words: &str,
    (width, height): (u32, u32),
    svg: Result<String, PlotError>,
) -> Markup {
    let name = title(run).unwrap_or_default();
    html! {
        @match svg {
            Ok(svg) => (scroll(caption, html! {
                img.burst width=(width) height=(height) src={
                    "data:image/svg+xml;base64," (BASE64_STANDARD.encode(svg))
                } alt={ (words) ": " (name) ". The table has the figures." };
            }))
            Err(error) => p { "No plot: " (error) "." }
        }
    }
}
