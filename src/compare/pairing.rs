//! Which series of which runs belong together.

use super::ratio::Level;
use super::{Side, StoredRun};
use crate::result::{Measurement, Mode, Placement, Series, series_label};

/// A plan in one mode and placement.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub label: String,
    pub plan: String,
    pub title: String,
    pub mode: Mode,
    pub placement: Placement,
}

/// The places of a side in the order of its first run, then what later runs have more.
pub(super) fn places(side: &Side, modes: &[Mode]) -> Vec<Place> {
    let mut found: Vec<Place> = Vec::new();
    for one in side.runs.iter().flat_map(|run| &run.run.results) {
        let wanted = modes.is_empty() || modes.contains(&one.mode);
        let place = place(one);
        if wanted && !found.iter().any(|known| known.label == place.label) {
            found.push(place);
        }
    }
    found
}

fn place(one: &Measurement) -> Place {
    Place {
        label: series_label(&one.plan.name, one.mode, one.placement),
        plan: one.plan.name.clone(),
        title: one.plan.title.clone(),
        mode: one.mode,
        placement: one.placement,
    }
}

impl Place {
    /// The series of each run that has one.
    pub fn levels(&self, side: &Side) -> Vec<Level> {
        let is_mine = |series: &&Series| {
            series.plan == self.plan
                && series.mode == self.mode
                && series.placement == self.placement
        };
        let of_run = |(index, run): (usize, &StoredRun)| {
            if run.run.imported.is_some() {
                let mut measured = run.run.results.iter();
                let one = measured.find(|one| place(one).label == self.label)?;
                return Level::new(index, vec![one.burst_us.median]);
            }
            let series = run.series.iter().find(is_mine)?;
            Level::new(index, series.burst_us())
        };
        side.runs.iter().enumerate().filter_map(of_run).collect()
    }
}
