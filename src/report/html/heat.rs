//! Which rank is slow: every rank's median time against the median of its row.

use maud::{Markup, html};

use super::table::{row_title, scroll};
use crate::report::lists::{RANKS_TEXT, named_rank, rank_columns, rank_rows};
use crate::result::{Measurement, RunResult};
use crate::stats::percentile_sorted;

/// Where one shade ends and the next begins: a time over the row's median, less 1. Fixed, so that
/// noise of a tenth of a percent does not look like a slow rank.
const ENDS: [f64; 6] = [-0.10, -0.03, -0.01, 0.01, 0.03, 0.10];

pub(super) fn heat(run: &RunResult) -> Markup {
    // The ranks of note stand before all ranks, which may be many.
    let mut columns = rank_columns(run);
    let last = columns.pop().unwrap_or_default();
    columns.splice(1..1, ["slowest".to_string(), last]);
    let table = html! {
        table.heat aria-label="Ranks" {
            thead {
                tr { @for column in &columns { th scope="col" { (column) } } }
            }
            tbody {
                @for (one, cells) in run.results.iter().zip(rank_rows(run)) {
                    (row(one, &cells))
                }
            }
        }
    };
    html! {
        p { (RANKS_TEXT) }
        p.caption { "µs, and the difference from the row's median" }
        (scroll("Median time of each rank", table))
        (legend())
    }
}

/// `cells` as [`rank_rows`] has them: the label, a time a rank, the last to arrive.
fn row(one: &Measurement, cells: &[String]) -> Markup {
    let [label, times @ .., last] = cells else {
        return Markup::default();
    };
    let middle = row_median(&one.per_rank_us);
    html! {
        tr {
            (row_title(label))
            td { (one.slowest_rank.as_ref().map_or("–".to_string(), named_rank)) }
            td { (last) }
            @for (rank, (us, text)) in one.per_rank_us.iter().zip(times).enumerate() {
                @let apart = apart(*us, middle);
                td class={ "figure h" (shade(apart)) }
                    title={ "rank " (rank) ", " (label) ": " (text) " µs, " (words(apart)) }
                {
                    (text) span.apart { (words(apart)) }
                }
            }
        }
    }
}

fn row_median(us: &[f64]) -> f64 {
    let mut sorted = us.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return f64::NAN;
    }
    percentile_sorted(&sorted, 50.0)
}

/// A time over the row's median, less 1; `None` where there is no such ratio.
fn apart(us: f64, middle: f64) -> Option<f64> {
    Some(us / middle - 1.0).filter(|apart| apart.is_finite())
}

fn words(apart: Option<f64>) -> String {
    match apart {
        None => "–".to_string(),
        // No sign before what rounds to nothing.
        Some(apart) if apart.abs() < 0.0005 => "0.0 %".to_string(),
        Some(apart) => signed(format!("{:+.1} %", apart * 100.0)),
    }
}

/// With a minus that is as wide as a plus.
fn signed(number: String) -> String {
    number.replace('-', "−")
}

/// Number of the shade, 0 for the lightest.
fn shade(apart: Option<f64>) -> usize {
    apart.map_or(ENDS.len() / 2, |apart| {
        ENDS.iter().filter(|end| apart > **end).count()
    })
}

/// What the shades mean.
fn legend() -> Markup {
    let percent = |share: f64| signed(format!("{:+.0} %", share * 100.0));
    let text = |shade: usize| match (shade.checked_sub(1).map(|i| ENDS[i]), ENDS.get(shade)) {
        (None, Some(end)) => format!("below {}", percent(*end)),
        (Some(begin), Some(end)) => format!("{} to {}", percent(begin), percent(*end)),
        (Some(begin), None) => format!("above {}", percent(begin)),
        (None, None) => String::new(),
    };
    html! {
        ul.shades aria-label="Shades" {
            @for shade in 0..=ENDS.len() { li class={ "h" (shade) } { (text(shade)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_go_from_fast_to_slow_and_noise_has_the_middle_one() {
        let of = |us: f64| shade(apart(us, 100.0));
        let all = [80.0, 95.0, 98.0, 100.4, 102.0, 105.0, 140.0].map(of);
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(shade(apart(1.0, 0.0)), 3);
        assert_eq!(words(apart(1.0, 0.0)), "–");
        assert_eq!(words(apart(100.04, 100.0)), "0.0 %");
        assert_eq!(words(apart(99.0, 100.0)), "−1.0 %");
    }
}
