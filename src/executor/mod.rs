//! Ways to move the data of a plan. Each replays the same plan and returns the same samples.

pub mod assign;
pub mod choose;
pub mod expected;
pub mod host;
#[cfg(feature = "mpi")]
pub mod nccl;
pub mod pattern;
pub mod slots;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::plan::Plan;
use crate::result::{Mode, Placement, RankSample, RankStamps, WrongElement, series_label};

/// Tells a rank which descriptor holds NCCL's log; set by its supervisor.
pub const NCCL_LOG_FD_VARIABLE: &str = "COMMBENCH_NCCL_LOG_FD";

/// What one series replays, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Variant {
    /// Index of the plan in the executor's list.
    pub plan: usize,
    pub mode: Mode,
    pub placement: Placement,
}

impl Variant {
    /// The name of the series, unique within a run.
    pub fn label(self, plans: &[Plan]) -> String {
        series_label(&plans[self.plan].name, self.mode, self.placement)
    }
}

/// What checking one rank's output found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DataCheck {
    /// Elements compared.
    pub elements: u64,
    pub wrong: u64,
    pub first_wrong: Option<WrongElement>,
}

impl DataCheck {
    /// Adds another check's findings; the first wrong element stays the first.
    pub fn merge(&mut self, other: DataCheck) {
        self.elements += other.elements;
        self.wrong += other.wrong;
        if self.first_wrong.is_none() {
            self.first_wrong = other.first_wrong;
        }
    }
}

/// What the watchdog may do with the library that moves the data, from its own thread.
pub trait Lifeline: Send + Sync {
    /// An error that the library met outside any call; `None` while it is well.
    fn async_error(&self) -> Option<String>;
    /// Asks the library to give up. May never return.
    fn abort(&self);
}

/// Something that can replay plans on this rank, together with the same thing on every other.
///
/// A replay is [`stage`](Executor::stage) on every rank, a barrier, then
/// [`fire`](Executor::fire): what belongs before the clock starts is in the first, so that the
/// barrier stands in one place, the sampling loop.
pub trait Executor {
    /// Makes everything ready for this variant, collectively: buffers, connections, captures.
    ///
    /// # Errors
    /// As the library underneath reports them.
    fn prepare(&mut self, variant: Variant) -> Result<()>;

    /// What of a replay comes before the barrier.
    ///
    /// # Errors
    /// As the library underneath reports them.
    fn stage(&mut self, variant: Variant) -> Result<()>;

    /// Replays the variant's plan once and waits for its end.
    ///
    /// # Errors
    /// As the library underneath reports them.
    fn fire(&mut self, variant: Variant) -> Result<RankSample>;

    /// The stamps of the last replay, which was of a plan with stamps.
    ///
    /// # Errors
    /// As the library underneath reports them.
    fn stamps(&mut self, variant: Variant) -> Result<RankStamps>;

    /// Writes fresh input and poisons every output, before a replay that is to be checked.
    ///
    /// # Errors
    /// As the library underneath reports them.
    fn reset_data(&mut self, variant: Variant) -> Result<()>;

    /// Compares every element of every output with what the variant's plan should
    /// have delivered.
    ///
    /// # Errors
    /// As the library underneath reports them.
    fn check_data(&mut self, variant: Variant) -> Result<DataCheck>;

    /// The conditions of this variant that only the executor knows.
    fn conditions(&self, variant: Variant) -> ExecutorConditions;

    /// Why this executor cannot replay the plan in this variant on this rank; `None` when it can.
    fn why_not(&self, variant: Variant) -> Option<String>;

    /// The watchdog's handle on the library underneath, where it has one.
    fn lifeline(&self) -> Option<Arc<dyn Lifeline>>;

    /// Transports of this rank's connections, as the library reported them, with their number.
    fn transports(&self) -> BTreeMap<String, u64>;

    /// Releases the library in good order. Collective.
    ///
    /// # Errors
    /// As the library underneath reports them.
    fn close(self: Box<Self>) -> Result<()>;
}

/// Conditions of a figure that only the executor knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecutorConditions {
    /// "cuda-events" or "host-monotonic".
    pub clock: Cow<'static, str>,
    /// Distinct buffers the plan cycles through.
    pub buffer_slots: u64,
    /// What held the stream while the plan was enqueued.
    pub gate: Option<Cow<'static, str>>,
    /// What NCCL chose for the plan's ops, in its own words.
    pub nccl_choice: Option<String>,
    /// The library's calls behind the plan's ops.
    pub calls: Cow<'static, str>,
    /// Whether issuing is apart from moving, so that its time means something.
    pub issue_is_separate: bool,
}
