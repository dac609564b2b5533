//! From a burst measured with several gaps to its picture.

use super::plot::about::{badges, footer, subtitle};
use super::plot::gaps::{GapLine, GapPicture, GapPoint};
use super::table::title;
use crate::result::{Measurement, RunResult, series_label};

/// Whether one burst was measured with several gaps.
pub(super) fn has_gaps(run: &RunResult) -> bool {
    let Some(first) = run.results.first() else {
        return false;
    };
    let alike = |one: &Measurement| one.step.is_none() && one.plan.title == first.plan.title;
    let differs = |one: &Measurement| one.plan.gap_us != first.plan.gap_us;
    run.results.iter().all(alike) && run.results.iter().any(differs)
}

/// What an op adds to the compute before it over the gaps; `None` where there is one gap.
pub(super) fn gap_picture(run: &RunResult) -> Option<GapPicture> {
    if !has_gaps(run) {
        return None;
    }
    let placements_differ = run
        .results
        .windows(2)
        .any(|pair| pair[0].placement != pair[1].placement);
    let mut lines: Vec<GapLine> = Vec::new();
    for one in &run.results {
        let name = match placements_differ {
            true => series_label("", one.mode, one.placement),
            false => one.mode.name().to_string(),
        };
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point(one)),
            None => lines.push(GapLine {
                name,
                points: vec![point(one)],
            }),
        }
    }
    for line in &mut lines {
        line.points
            .sort_by(|one, other| one.gap_us.total_cmp(&other.gap_us));
    }
    let measured: Vec<&Measurement> = run.results.iter().collect();
    Some(GapPicture {
        title: title(run)?,
        subtitle: subtitle(run, &measured),
        badges: badges(run, &measured),
        footer: footer(run, &[]),
        lines,
    })
}

fn point(one: &Measurement) -> GapPoint {
    let left = one.without_gaps_us.as_ref().unwrap_or(&one.per_op_us);
    GapPoint {
        gap_us: one.plan.gap_us,
        us: left.median,
        ci95_us: left.ci95,
    }
}
