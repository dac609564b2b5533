//! Saving without a worker: what each rank puts into its estate, and what a supervisor does with it
//! when all workers of the job have died at once.

use serde::{Deserialize, Serialize};

use super::run::RunFrame;
use crate::error::{Result, tell};
use crate::estate::Estate;
use crate::flight::FlightRecorder;
use crate::measure::{Keeper, Peer, SeriesState, SeriesWords, SharedState, deaths};
use crate::process::{ProcessState, process_state};
use crate::report::OutputFolder;

/// What an estate holds, as JSON.
#[derive(Serialize, Deserialize)]
struct Contents {
    frame: RunFrame,
    series: Vec<SeriesState>,
    folder: OutputFolder,
    /// The supervisors of all ranks in rank order: process, and descriptor of the recorder.
    supervisors: Vec<(u32, i32)>,
}

/// What keeps a run's state in `estate`.
///
/// # Errors
/// Exit code 3 when the system has no descriptor left.
pub(super) fn keeper(
    estate: &Estate,
    frame: &RunFrame,
    folder: &OutputFolder,
    supervisors: &[(u32, i32)],
) -> Result<Keeper> {
    let estate = estate.duplicate()?;
    let (frame, folder, supervisors) = (frame.clone(), folder.clone(), supervisors.to_vec());
    Ok(Box::new(move |state| {
        let contents = Contents {
            frame: frame.clone(),
            series: state.series.iter().map(SeriesState::bare).collect(),
            folder: folder.clone(),
            supervisors: supervisors.clone(),
        };
        let kept = serde_json::to_vec(&contents)
            .map_err(|error| error.to_string())
            .and_then(|bytes| estate.write(&bytes).map_err(|error| error.what));
        if let Err(error) = kept {
            tracing::warn!("the run's state is not kept for the supervisor: {error}");
        }
    }))
}

/// What saves the job that an estate holds, if no worker is left that could; to be called now and
/// then while the supervisor of a dead worker waits. `None` where it is not this rank's to do, or
/// the job had nothing to save yet.
pub(super) fn executor(estate: &Estate, rank: u32) -> Option<Box<dyn Fn()>> {
    let contents: Contents = serde_json::from_slice(&estate.read()?)
        .inspect_err(|error| tracing::warn!("the estate cannot be read: {error}"))
        .ok()?;
    // Recorders of other hosts cannot be read, and a worker there may live.
    if !contents.frame.one_host || rank != 0 {
        return None;
    }
    let open = |(rank, (pid, fd)): (usize, &(u32, i32))| {
        let recorder = FlightRecorder::open(*pid, *fd).ok()?;
        Some(Peer {
            rank: rank as u32,
            recorder,
        })
    };
    let peers: Option<Vec<Peer>> = contents.supervisors.iter().enumerate().map(open).collect();
    let peers = peers?;
    Some(Box::new(move || {
        let can_save = |peer: &Peer| process_state(peer.recorder.pid()) != ProcessState::Gone;
        let is_saved = |peer: &Peer| peer.recorder.saved() || peer.recorder.complete();
        if !peers.iter().any(|peer| can_save(peer) || is_saved(peer)) {
            contents.save(&peers);
        }
    }))
}

impl Contents {
    fn save(&self, peers: &[Peer]) {
        let words = |one: &SeriesState| SeriesWords {
            label: one.label(),
            ops: self.frame.plans[one.variant.plan].summary.ops,
        };
        let words: Vec<SeriesWords> = self.series.iter().map(words).collect();
        let Some((failure, error)) = deaths(peers, &words) else {
            return;
        };
        tell(&error.to_terminal());
        let state = SharedState::of(self.series.clone());
        match self.frame.rescue(&state, &self.folder, &failure, peers) {
            Ok(folder) => tell(&format!("  what was measured is in {}", folder.display())),
            Err(error) => tell(&error.to_terminal()),
        }
        if let Some(own) = peers.first() {
            own.recorder.set_saved();
        }
    }
}
