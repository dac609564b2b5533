//! What a run has measured so far, shared between the main thread and the watchdog.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::executor::{ExecutorConditions, Variant};
use crate::plan::Plan;
use crate::result::{RankSample, RankStamps, Series, StoppedBy, Verification, series_label};

/// One series in the making.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SeriesState {
    pub variant: Variant,
    /// Name of the variant's plan; empty where it is alone.
    pub plan: String,
    /// `samples[i][rank]`; filled at rank 0. The flight recorders hold them too.
    #[serde(skip)]
    pub samples: Vec<Vec<RankSample>>,
    /// `stamps[replay][rank]` of the first replays of a plan with stamps; filled at rank 0, and
    /// lost with it.
    #[serde(skip)]
    pub stamps: Vec<Vec<RankStamps>>,
    /// Findings of all ranks so far.
    pub verification: Verification,
    /// Replays before the first sample.
    pub warmup: u64,
    /// Why sampling ended; `None` while it goes on.
    pub stopped_by: Option<StoppedBy>,
    /// Known once the executor is ready for the variant.
    pub conditions: Option<ExecutorConditions>,
}

/// Everything measured so far.
#[derive(Debug, Default)]
pub struct RunState {
    pub series: Vec<SeriesState>,
}

/// Puts the state where it outlives this process.
pub type Keeper = Box<dyn Fn(&RunState) + Send>;

/// The run's state behind a lock.
#[derive(Clone, Default)]
pub struct SharedState {
    state: Arc<Mutex<RunState>>,
    keeper: Arc<Mutex<Option<Keeper>>>,
}

impl std::fmt::Debug for SharedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.lock().fmt(f)
    }
}

impl SharedState {
    /// A state with one empty series a variant of `plans`.
    pub fn new(variants: &[Variant], plans: &[Plan], warmup: u64) -> SharedState {
        let series = variants
            .iter()
            .map(|variant| SeriesState {
                variant: *variant,
                plan: plans[variant.plan].name.clone(),
                samples: Vec::new(),
                stamps: Vec::new(),
                verification: Verification {
                    elements: 0,
                    wrong: 0,
                    first_wrong: None,
                },
                warmup,
                stopped_by: None,
                conditions: None,
            })
            .collect();
        Self::of(series)
    }

    /// A state with these series.
    pub fn of(series: Vec<SeriesState>) -> SharedState {
        SharedState {
            state: Arc::new(Mutex::new(RunState { series })),
            keeper: Arc::default(),
        }
    }

    /// Says where the state is kept.
    pub fn set_keeper(&self, keeper: Keeper) {
        *self.keeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(keeper);
        self.keep();
    }

    /// Keeps the state as it is now. To be called at every change but new samples, which the
    /// flight recorders keep.
    pub fn keep(&self) {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(keeper) = &*keeper {
            keeper(&self.lock());
        }
    }

    /// Locks the state. A panic elsewhere does not make what was measured unreadable.
    pub fn lock(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeriesState {
    /// A copy without its samples.
    pub fn bare(&self) -> SeriesState {
        SeriesState {
            variant: self.variant,
            plan: self.plan.clone(),
            samples: Vec::new(),
            stamps: Vec::new(),
            verification: self.verification.clone(),
            warmup: self.warmup,
            stopped_by: self.stopped_by,
            conditions: self.conditions.clone(),
        }
    }

    /// Name of the series, unique within a run.
    pub fn label(&self) -> String {
        series_label(&self.plan, self.variant.mode, self.variant.placement)
    }

    /// The samples as results have them.
    pub fn to_series(&self) -> Series {
        Series {
            plan: self.plan.clone(),
            mode: self.variant.mode,
            placement: self.variant.placement,
            samples: self.samples.clone(),
        }
    }
}
