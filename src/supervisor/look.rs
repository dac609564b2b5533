//! The supervisor's look at its launcher and its worker while the worker runs.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Error, Exit, tell};
use crate::process::{ProcessState, process_state, shared_memory_of, shared_memory_of_this_rank};
use crate::world::LaunchSite;

/// How often a supervisor looks after its launcher and its worker.
const LOOK: Duration = Duration::from_millis(200);

/// How long a worker that is ended may take to save what it has.
const LAST_MOMENTS: Duration = Duration::from_secs(6);

/// What the looks have found; filled while the worker runs.
#[derive(Debug, Default)]
pub(super) struct Looked {
    over_a_stop: AtomicBool,
    /// Shared memory of a worker whose launcher is gone, which cleans up after it otherwise.
    orphaned: Mutex<Option<Vec<PathBuf>>>,
}

impl Looked {
    /// Whether the worker was ended because it stayed stopped.
    pub fn ended_over_a_stop(&self) -> bool {
        self.over_a_stop.load(Ordering::SeqCst)
    }

    /// Removes what the worker and its launcher would have removed. For when the worker is gone.
    pub fn remove_orphaned_memory(&self) {
        let orphaned = self.orphaned.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mapped) = orphaned.as_ref() else {
            return;
        };
        // Made after the look, by a worker that was still starting up.
        let later = shared_memory_of_this_rank();
        for path in mapped.iter().chain(&later) {
            // Each rank of the host tries: the first one succeeds.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Ends the worker when the launcher is gone, which tells nobody when it is killed outright, and
/// when it stays stopped though no other rank is left that could say so. A worker that is ended
/// wakes up to save what it has.
pub(super) fn look_after(site: LaunchSite, worker: u32, timeout: Duration) -> Arc<Looked> {
    let looked = Arc::new(Looked::default());
    let Some(pid) = Pid::from_raw(worker as i32) else {
        return looked;
    };
    let found = Arc::clone(&looked);
    std::thread::spawn(move || {
        let launcher = rustix::process::getppid();
        let mut stopped_since: Option<Instant> = None;
        loop {
            std::thread::sleep(LOOK);
            if rustix::process::getppid() != launcher {
                let memory = shared_memory_of(worker);
                *found
                    .orphaned
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner) = Some(memory);
                return end(pid);
            }
            if process_state(worker) != ProcessState::Stopped {
                stopped_since = None;
                continue;
            }
            if stopped_since.get_or_insert_with(Instant::now).elapsed() >= timeout {
                break;
            }
        }
        found.over_a_stop.store(true, Ordering::SeqCst);
        let error = Error::new(
            Exit::Hung,
            format!(
                "rank {} was stopped (SIGSTOP or a debugger) for {:.0} s and is ended",
                site.rank,
                timeout.as_secs_f64()
            ),
        );
        tell(&error.to_terminal());
        end(pid);
    });
    looked
}

/// Asks a worker to end, wakes it where it is stopped, and kills it if that does not help.
fn end(worker: Pid) {
    let _ = kill_process(worker, Signal::TERM);
    let _ = kill_process(worker, Signal::CONT);
    std::thread::sleep(LAST_MOMENTS);
    let _ = kill_process(worker, Signal::KILL);
}
