//! This rank in step with the others.

use crate::error::Result;
use crate::executor::{Executor, Variant};
use crate::flight::FlightRecorder;
use crate::result::RankSample;
use crate::world::World;

/// This rank's place in the job while it measures.
pub(super) struct Rank<'a> {
    pub world: &'a World,
    pub recorder: &'a FlightRecorder,
}

impl Rank<'_> {
    /// Passes a success on. With other ranks in the job an error does not return: they wait in a
    /// collective by now.
    pub fn guard<T>(&self, outcome: Result<T>) -> Result<T> {
        match outcome {
            Err(error) if self.world.size() > 1 => self.recorder.give_up(&error),
            outcome => outcome,
        }
    }
}

/// Replays the plan once on all ranks together.
pub(super) fn replay(
    rank: &Rank<'_>,
    executor: &mut dyn Executor,
    variant: Variant,
) -> Result<RankSample> {
    rank.recorder.wait_if_halted();
    rank.guard(executor.stage(variant))?;
    rank.world.barrier();
    rank.guard(executor.fire(variant))
}
