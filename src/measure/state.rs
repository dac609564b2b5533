//! What a run has measured so far, shared between the main thread and the watchdog.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::executor::{ExecutorConditions, Variant};
use crate::result::{RankSample, Series, StoppedBy, Verification};

/// One series in the making.
#[derive(Debug, Clone)]
pub struct SeriesState {
    pub variant: Variant,
    /// `samples[i][rank]`; filled at rank 0.
    pub samples: Vec<Vec<RankSample>>,
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

/// The run's state behind a lock.
#[derive(Debug, Clone, Default)]
pub struct SharedState(Arc<Mutex<RunState>>);

impl SharedState {
    /// A state with one empty series a variant.
    pub fn new(variants: &[Variant], warmup: u64) -> SharedState {
        let series = variants
            .iter()
            .map(|variant| SeriesState {
                variant: *variant,
                samples: Vec::new(),
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
        SharedState(Arc::new(Mutex::new(RunState { series })))
    }

    /// Locks the state. A panic elsewhere does not make what was measured unreadable.
    pub fn lock(&self) -> MutexGuard<'_, RunState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeriesState {
    /// The samples as results have them.
    pub fn to_series(&self) -> Series {
        Series {
            mode: self.variant.mode,
            placement: self.variant.placement,
            samples: self.samples.clone(),
        }
    }
}
