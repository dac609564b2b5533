//! Ends the job when a rank cannot go on: names the rank and where it stands, has the partial
//! result saved, and exits whatever NCCL, MPI or the driver do.
//!
//! Every rank has one, in a thread that never calls MPI. All of them read the same flight
//! recorders and come to the same judgement; the lowest rank that is able to saves and speaks.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::exit;

use super::judge::{Seen, SeriesWords, deaths_of_all, judge};
use crate::error::{Error, Exit, Result, tell};
use crate::executor::Lifeline;
use crate::flight::{End, FlightRecorder, Phase, Position};
use crate::process::{process_state, stopped_ranks_of_this_job, wake_parent};
use crate::result::Failure;
use crate::world::LaunchSite;

/// How often the ranks are looked at. Only memory is read, so that it disturbs nothing.
const LOOK: Duration = Duration::from_millis(50);

/// A look that took this long means that this very process was stopped meanwhile.
const STOPPED: Duration = Duration::from_secs(2);

/// How long NCCL is given to abort. It may never return.
const ABORT: Duration = Duration::from_millis(500);

/// How long ranks are given to finish the sample that others have, before it is saved.
const LAST_SAMPLE: Duration = Duration::from_millis(700);

/// How long an error on one rank is held back. A peer's death shows as a network error on its
/// neighbours first, and as a death only when the kernel has cleaned up after it.
const ERROR_GRACE: Duration = Duration::from_millis(1500);

/// A rank of this host and its recorder.
#[derive(Debug)]
pub struct Peer {
    pub rank: u32,
    pub recorder: FlightRecorder,
}

/// Saves what was measured: given what went wrong and the recorders of this host's ranks, returns
/// the folder.
pub type Rescue = Box<dyn Fn(&Failure, &[Peer]) -> Result<PathBuf> + Send>;

/// What the watchdog knows beside the recorders. Grows as the run sets itself up.
#[derive(Default)]
struct Contents {
    series: Vec<SeriesWords>,
    peers: Vec<Peer>,
    rescue: Option<Rescue>,
    lifeline: Option<Arc<dyn Lifeline>>,
}

struct Shared {
    rank: u32,
    ranks: u32,
    recorder: &'static FlightRecorder,
    timeout: Duration,
    armed: AtomicBool,
    /// The signal that asked this process to end; 0 for none.
    signal: Arc<AtomicUsize>,
    contents: Mutex<Contents>,
}

impl Shared {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Part of the timeout that is kept for saving and ending, so that the job is over within it.
    fn reserve(&self) -> Duration {
        (self.timeout / 4).clamp(Duration::from_secs(3), Duration::from_secs(10))
    }

    /// A standstill of this length counts.
    fn limit(&self) -> Duration {
        self.timeout.saturating_sub(self.reserve())
    }

    /// How long the others wait for the one that saves.
    fn grace(&self) -> Duration {
        self.reserve() / 2
    }
}

/// The watchdog of this rank.
pub struct Watchdog {
    shared: Arc<Shared>,
}

impl Watchdog {
    /// Starts watching; at first this rank alone. `timeout` is the longest standstill of all
    /// ranks, saving and ending included.
    ///
    /// # Errors
    /// Exit code 1 when no thread or signal handler can be had.
    pub fn start(
        site: LaunchSite,
        recorder: &'static FlightRecorder,
        timeout: Duration,
    ) -> Result<Watchdog> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)
                .map_err(|error| Error::other(format!("cannot handle signal {number}: {error}")))?;
        }
        let shared = Arc::new(Shared {
            rank: site.rank,
            ranks: site.size,
            recorder,
            timeout,
            armed: AtomicBool::new(true),
            signal,
            contents: Mutex::new(Contents::default()),
        });
        let watched = Arc::clone(&shared);
        thread::Builder::new()
            .name("watchdog".to_string())
            .spawn(move || watch(&watched))
            .map_err(|error| Error::other(format!("cannot start the watchdog: {error}")))?;
        Ok(Watchdog { shared })
    }

    /// Watches all ranks of this host from now on, this one included.
    pub fn watch_peers(&self, peers: Vec<Peer>) {
        self.shared.contents().peers = peers;
    }

    /// Gives it words for what is replayed.
    pub fn describe(&self, series: Vec<SeriesWords>) {
        self.shared.contents().series = series;
    }

    /// Gives it the library's health and its abort, where the library has them.
    pub fn set_lifeline(&self, lifeline: Option<Arc<dyn Lifeline>>) {
        self.shared.contents().lifeline = lifeline;
    }

    /// Says how to save what was measured.
    pub fn set_rescue(&self, rescue: Rescue) {
        self.shared.contents().rescue = Some(rescue);
    }

    /// Saves what was measured, for an error that the main thread met. `None` when nothing can
    /// be saved yet.
    pub fn rescue_now(&self, failure: &Failure) -> Option<Result<PathBuf>> {
        let contents = self.shared.contents();
        contents
            .rescue
            .as_ref()
            .map(|rescue| rescue(failure, &contents.peers))
    }

    /// Stops watching: the run is over, and has an outcome of its own.
    pub fn disarm(&self) {
        self.shared.armed.store(false, Ordering::SeqCst);
    }
}

/// The last position seen of a rank, and since when.
struct Track {
    position: Position,
    since: Instant,
}

fn watch(shared: &Shared) {
    let mut tracks: Vec<Track> = Vec::new();
    let mut own = Track {
        position: shared.recorder.position(),
        since: Instant::now(),
    };
    let mut error_since: Option<Instant> = None;
    let mut was_stopped = false;
    while shared.armed.load(Ordering::SeqCst) {
        let slept = Instant::now();
        thread::sleep(LOOK);
        was_stopped |= slept.elapsed() > STOPPED;
        let interrupted = match shared.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(signal as i32),
        };
        if let Some(signal) = interrupted {
            shared.recorder.ask_to_end(signal);
        }
        let contents = shared.contents();
        // Whoever was asked, the job ends: the others would take it for a death.
        let interrupted = interrupted.or_else(|| {
            let mut peers = contents.peers.iter();
            peers.find_map(|peer| peer.recorder.asked_to_end())
        });
        if contents.peers.is_empty() {
            drop(contents);
            follow(&mut own, shared.recorder.position());
            if was_stopped && interrupted.is_some() {
                // Launchers wake what they end: the others have said why.
                end_process(Exit::Other.code());
            }
            if was_stopped {
                own.since = Instant::now();
                continue;
            }
            if interrupted.is_some() || own.since.elapsed() >= shared.limit() {
                end_in_start_up(shared, interrupted);
            }
            continue;
        }
        if contents.peers.iter().any(|peer| peer.recorder.saved()) {
            // Another rank has spoken for the job; this one was stopped, or late to see it.
            drop(contents);
            thread::sleep(shared.grace());
            end_process(Exit::Other.code());
        }
        if let Some(error) = contents
            .lifeline
            .as_ref()
            .and_then(|lifeline| lifeline.async_error())
        {
            shared.recorder.fail(&asynchronous(&error));
            // It would go on with what the library still does, and be named for where it is then.
            shared.recorder.halt();
        }
        tracks.resize_with(contents.peers.len(), || Track {
            position: Position {
                step: 0,
                sample: 0,
                op: 0,
            },
            since: Instant::now(),
        });
        for (track, peer) in tracks.iter_mut().zip(&contents.peers) {
            follow(track, peer.recorder.position());
        }
        let ends: Vec<End> = contents
            .peers
            .iter()
            .map(|peer| peer.recorder.end_state())
            .collect();
        let a_death = ends.iter().any(|end| matches!(end, End::Died(_)));
        if ends.iter().any(|end| matches!(end, End::Failed(_))) {
            error_since.get_or_insert_with(Instant::now);
        }
        let an_error = error_since.is_some_and(|since| since.elapsed() >= ERROR_GRACE);
        let a_stall = tracks
            .iter()
            .all(|track| track.since.elapsed() >= shared.limit());
        if !(interrupted.is_some() || a_death || an_error || a_stall) {
            continue;
        }
        if interrupted.is_some() {
            // A launcher that ends the job over a dead rank may be faster than the news of it.
            thread::sleep(LOOK);
        }
        let seen = look_closely(&contents, &tracks);
        if contents.peers.iter().any(|peer| peer.recorder.saved()) {
            // Another rank has spoken meanwhile, and may be gone by now.
            continue;
        }
        let verdict = judge(&seen, interrupted, shared.limit());
        if let Some((failure, error)) = verdict
            && shared.armed.load(Ordering::SeqCst)
        {
            end(shared, &contents, &seen, &failure, &error);
        }
    }
}

/// An error that the library met outside any call, as the user reads it.
pub(super) fn asynchronous(words: &str) -> Error {
    Error::environment(format!("NCCL reports an error: {words}"))
        .try_this("look for another rank's error first; NCCL_DEBUG=INFO shows what NCCL did")
}

fn follow(track: &mut Track, position: Position) {
    if track.position != position {
        track.position = position;
        track.since = Instant::now();
    }
}

fn look_closely(contents: &Contents, tracks: &[Track]) -> Vec<Seen> {
    let look =
        |(peer, track): (&Peer, &Track)| look_at(peer, &contents.series, track.since.elapsed());
    contents.peers.iter().zip(tracks).map(look).collect()
}

fn look_at(peer: &Peer, series: &[SeriesWords], still_for: Duration) -> Seen {
    let series = series.get(peer.recorder.series());
    Seen {
        rank: peer.rank,
        end: peer.recorder.end_state(),
        process: process_state(peer.recorder.pid()),
        asked_to_end: peer.recorder.asked_to_end().is_some(),
        phase: peer.recorder.phase(),
        series: series.map(|series| series.label.clone()),
        ops: series.map_or(0, |series| series.ops),
        position: peer.recorder.position(),
        still_for,
    }
}

/// What to say of a job whose workers are gone: the failure, and the error to show for it. `None`
/// when none of them has died.
pub fn deaths(peers: &[Peer], series: &[SeriesWords]) -> Option<(Failure, Error)> {
    let seen: Vec<Seen> = peers
        .iter()
        .map(|peer| look_at(peer, series, Duration::ZERO))
        .collect();
    deaths_of_all(&seen)
}

/// Ends this process over a judgement that all ranks of the host share.
fn end(shared: &Shared, contents: &Contents, seen: &[Seen], failure: &Failure, error: &Error) -> ! {
    shared.recorder.halt();
    let saver = seen
        .iter()
        .find(|rank| rank.can_save() && failure.rank != Some(rank.rank))
        .or_else(|| seen.iter().find(|rank| rank.can_save()))
        .map(|rank| rank.rank);
    if saver == Some(shared.rank) {
        tell(&error.to_terminal());
        // Elsewhere none is being taken, and a launcher that ends the job has little patience.
        if matches!(shared.recorder.phase(), Phase::Sampling | Phase::Gathering) {
            await_last_sample(shared.recorder, &contents.peers);
        }
        if let Some(rescue) = &contents.rescue {
            match rescue(failure, &contents.peers) {
                Ok(folder) => tell(&format!("  what was measured is in {}", folder.display())),
                Err(error) => tell(&error.to_terminal()),
            }
        }
        shared.recorder.set_saved();
    } else {
        let deadline = Instant::now() + shared.grace();
        let saved = |peer: &Peer| Some(peer.rank) == saver && peer.recorder.saved();
        while Instant::now() < deadline && !contents.peers.iter().any(saved) {
            thread::sleep(Duration::from_millis(10));
        }
    }
    if let Some(lifeline) = &contents.lifeline {
        abort_with_deadline(Arc::clone(lifeline));
    }
    end_process(failure.exit_code);
}

/// Waits for ranks that are about to finish the sample that others have; not for ever, since a
/// rank may never do.
fn await_last_sample(own: &FlightRecorder, peers: &[Peer]) {
    let deadline = Instant::now() + LAST_SAMPLE;
    let in_step = || {
        let mut taken = peers.iter().map(|peer| peer.recorder.taken());
        let first = taken.next();
        taken.all(|one| Some(one) == first)
    };
    // No rank begins another sample without this one, which takes part in none once it is parked.
    while !(own.is_parked() && in_step()) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Ends this process at once: destructors of libraries could wait for ever.
fn end_process(code: i32) -> ! {
    wake_parent();
    exit(code)
}

/// Gives the library a moment to release the devices; whether it does makes no difference.
fn abort_with_deadline(lifeline: Arc<dyn Lifeline>) {
    let (done, wait) = mpsc::channel();
    thread::spawn(move || {
        lifeline.abort();
        let _ = done.send(());
    });
    let _ = wait.recv_timeout(ABORT);
}

/// Ends this process while the ranks do not know of each other yet.
fn end_in_start_up(shared: &Shared, interrupted: Option<i32>) -> ! {
    if let Some(signal) = interrupted {
        if shared.rank == 0 {
            tell(&format!(
                "commbench: asked to end (signal {signal}) while starting up"
            ));
        }
        end_process(Exit::Other.code());
    }
    let stopped = stopped_ranks_of_this_job();
    let speaker = (0..shared.ranks).find(|rank| !stopped.contains_key(rank));
    if speaker == Some(shared.rank) {
        let waited = shared.limit().as_secs_f64();
        let who: Vec<String> = stopped
            .iter()
            .map(|(rank, pid)| format!("rank {rank} is stopped (process {pid})"))
            .collect();
        let who = if who.is_empty() {
            "a rank has not come to MPI_Init".to_string()
        } else {
            who.join(", ")
        };
        let phase = shared.recorder.phase().words();
        let error = Error::new(
            Exit::Hung,
            format!("no progress for {waited:.1} s while {phase}: {who}"),
        )
        .try_this("mpirun -np 2 hostname shows whether the launcher itself works");
        tell(&error.to_terminal());
    } else {
        // Another speaks; the launcher would end it over this rank's exit.
        thread::sleep(Duration::from_millis(500));
    }
    end_process(Exit::Hung.code());
}
