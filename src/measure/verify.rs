//! Checks, outside anything timed, that a replay delivers the right data.

use super::rank::{Rank, replay};
use crate::error::Result;
use crate::executor::{DataCheck, Executor, Variant};
use crate::flight::Phase;
use crate::result::Verification;

/// Replays the plan once on fresh data with poisoned outputs, checks every element on every rank
/// and adds the findings to `so_far`, the same on every rank.
pub(super) fn verify(
    rank: &Rank<'_>,
    executor: &mut dyn Executor,
    variant: Variant,
    series: usize,
    so_far: &mut Verification,
) -> Result<()> {
    rank.recorder.enter(Phase::Verifying, series);
    rank.guard(executor.reset_data(variant))?;
    replay(rank, executor, variant)?;
    let mine = rank.guard(executor.check_data(variant))?;
    let all = rank
        .world
        .all_gather(&(mine.elements, mine.wrong, mine.first_wrong))?;
    let mut check = DataCheck::default();
    for (elements, wrong, first_wrong) in all {
        check.merge(DataCheck {
            elements,
            wrong,
            first_wrong,
        });
    }
    so_far.elements += check.elements;
    so_far.wrong += check.wrong;
    if so_far.first_wrong.is_none() {
        so_far.first_wrong = check.first_wrong;
    }
    Ok(())
}
