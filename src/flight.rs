//! The flight recorder: what a rank is doing and the samples it has taken, in memory that the
//! other processes of the host can read while the rank lives and after it has died.
//!
//! Each rank has a recorder of its own, an anonymous memory file: it has no name, so nothing is
//! left behind however the processes end, and it takes no room on `/dev/shm`. Peers open it
//! through `/proc/PID/fd/N`.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use zerocopy::FromBytes;

use crate::error::{Error, Exit, Result};
use crate::result::RankSample;

/// What a rank is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Phase {
    Starting = 0,
    Connecting = 1,
    /// The first replay of a series, op by op: connections are made.
    Preparing = 2,
    Capturing = 3,
    WarmingUp = 4,
    Verifying = 5,
    Sampling = 6,
    Gathering = 7,
    /// The library is being closed.
    Closing = 8,
    Writing = 9,
    Finished = 10,
}

impl Phase {
    /// As it reads in "rank 3 stopped while …".
    pub fn words(self) -> &'static str {
        match self {
            Phase::Starting => "starting up",
            Phase::Connecting => "connecting to the other ranks",
            Phase::Preparing => "preparing",
            Phase::Capturing => "capturing",
            Phase::WarmingUp => "warming up",
            Phase::Verifying => "verifying data",
            Phase::Sampling => "sampling",
            Phase::Gathering => "gathering samples",
            Phase::Closing => "closing the library",
            Phase::Writing => "writing results",
            Phase::Finished => "finished",
        }
    }

    fn from_word(word: u64) -> Phase {
        [
            Phase::Starting,
            Phase::Connecting,
            Phase::Preparing,
            Phase::Capturing,
            Phase::WarmingUp,
            Phase::Verifying,
            Phase::Sampling,
            Phase::Gathering,
            Phase::Closing,
            Phase::Writing,
        ]
        .get(word as usize)
        .copied()
        .unwrap_or(Phase::Finished)
    }
}

/// How a rank ended, as far as its recorder tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It has not.
    Running,
    /// It met an error and cannot go on.
    Failed(Error),
    /// Its process was killed by this signal, or exited with no word (signal 0).
    Died(i32),
}

/// Position of a rank in the run, comparable: later is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Counts the phases and series entered, so that a position never goes back.
    pub step: u64,
    pub sample: u64,
    pub op: u64,
}

const PID: usize = 0;
const PHASE: usize = 1;
const STEP: usize = 2;
const SERIES: usize = 3;
const SAMPLE: usize = 4;
const OP: usize = 5;
const END_STATE: usize = 6;
const END_DETAIL: usize = 7;
const TEXT_LEN: usize = 8;
const SAVED: usize = 9;
const JOURNAL_LEN: usize = 10;
const COMPLETE: usize = 11;
const ASKED: usize = 12;
const HALTED: usize = 13;
const PARKED: usize = 14;
const TEXT: usize = 16;
const TEXT_WORDS: usize = 128;
const JOURNAL: usize = TEXT + TEXT_WORDS;
const ENTRY_WORDS: usize = 5;

/// Samples a recorder holds. Untouched pages cost nothing.
pub const JOURNAL_CAPACITY: usize = 100_000;

const WORDS: usize = JOURNAL + JOURNAL_CAPACITY * ENTRY_WORDS;

const STATE_RUNNING: u64 = 0;
const STATE_FAILED: u64 = 1;
const STATE_DIED: u64 = 2;

/// One rank's recorder. Cheap to share by reference between threads.
#[derive(Debug)]
pub struct FlightRecorder {
    words: &'static [AtomicU64],
    /// Kept open by the creator, so that peers can open it by number.
    file: File,
    /// The number under which it was asked for.
    asked_fd: i32,
}

impl FlightRecorder {
    /// A fresh recorder. The descriptor is inherited by child processes.
    ///
    /// # Errors
    /// Exit code 3 when the system gives no memory file.
    pub fn create() -> Result<FlightRecorder> {
        let fail = |error: rustix::io::Errno| {
            Error::environment(format!("no memory for the flight recorder: {error}"))
                .try_this("free some memory, or raise the container's limit")
        };
        let file: OwnedFd = memfd_create("commbench-flight", MemfdFlags::empty()).map_err(fail)?;
        ftruncate(&file, (WORDS * 8) as u64).map_err(fail)?;
        let asked_fd = file.as_raw_fd();
        Self::map(file.into(), asked_fd)
    }

    /// The recorder behind descriptor `fd` of process `pid`.
    ///
    /// # Errors
    /// Exit code 3 when this process may not open it (another user, another PID namespace).
    pub fn open(pid: u32, fd: i32) -> Result<FlightRecorder> {
        let path = format!("/proc/{pid}/fd/{fd}");
        let file = File::options()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(|error| Error::environment(format!("cannot open {path}: {error}")))?;
        Self::map(file, fd)
    }

    fn map(file: File, asked_fd: i32) -> Result<FlightRecorder> {
        let length = file.metadata().map_or(0, |data| data.len());
        if length != (WORDS * 8) as u64 {
            return Err(Error::environment(format!(
                "a flight recorder of {length} bytes is not this version's"
            )));
        }
        // SAFETY: the file is an anonymous memory file of this job, of the length just checked,
        // and is never shortened. All processes access it through atomics only. This is the one
        // place outside gpu/ and executor/nccl/ that cannot do without `unsafe`.
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::MmapMut::map_mut(&file) }.map_err(|error| {
            Error::environment(format!("cannot map the flight recorder: {error}"))
        })?;
        // Lives as long as the process: watchdog and main thread both hold it to the very end.
        let bytes: &'static mut [u8] = &mut Box::leak(Box::new(map))[..];
        let words = <[AtomicU64]>::mut_from_bytes(bytes)
            .map_err(|_| Error::other("the flight recorder's memory is misaligned"))?;
        Ok(FlightRecorder {
            words,
            file,
            asked_fd,
        })
    }

    /// The descriptor number in this process.
    pub fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// The descriptor number that it was opened by, which is its number in the process that
    /// created it and in those that inherited it from there.
    pub fn asked_fd(&self) -> i32 {
        self.asked_fd
    }

    fn set(&self, index: usize, value: u64) {
        self.words[index].store(value, Ordering::Relaxed);
    }

    fn get(&self, index: usize) -> u64 {
        self.words[index].load(Ordering::Relaxed)
    }

    /// Notes the process that does the rank's work.
    pub fn set_pid(&self, pid: u32) {
        self.set(PID, u64::from(pid));
    }

    /// The process that does the rank's work; 0 before it started.
    pub fn pid(&self) -> u32 {
        self.get(PID) as u32
    }

    /// Enters a phase; samples and ops count from zero again.
    pub fn enter(&self, phase: Phase, series: usize) {
        self.set(OP, 0);
        self.set(SAMPLE, 0);
        self.set(SERIES, series as u64);
        self.set(PHASE, phase as u64);
        self.words[STEP].fetch_add(1, Ordering::Release);
    }

    /// Notes that sample `sample` of the current phase begins.
    pub fn at_sample(&self, sample: u64) {
        self.set(OP, 0);
        self.set(SAMPLE, sample);
    }

    /// Notes that op `op` of the plan is being issued. One store: cheap enough for timed loops.
    #[inline]
    pub fn at_op(&self, op: u64) {
        self.set(OP, op);
    }

    /// Current phase.
    pub fn phase(&self) -> Phase {
        Phase::from_word(self.get(PHASE))
    }

    /// Index of the series being worked on.
    pub fn series(&self) -> usize {
        self.get(SERIES) as usize
    }

    /// How far the rank has come.
    pub fn position(&self) -> Position {
        Position {
            step: self.words[STEP].load(Ordering::Acquire),
            sample: self.get(SAMPLE),
            op: self.get(OP),
        }
    }

    /// Records that this rank cannot go on. The first word stays.
    pub fn fail(&self, error: &Error) {
        let text = serde_json::to_vec(error).unwrap_or_default();
        let text = if text.len() <= TEXT_WORDS * 8 {
            text
        } else {
            let short: String = error.what.chars().take(200).collect();
            serde_json::to_vec(&Error::new(error.exit, short)).unwrap_or_default()
        };
        for (index, chunk) in text.chunks(8).take(TEXT_WORDS).enumerate() {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.set(TEXT + index, u64::from_le_bytes(word));
        }
        self.set(TEXT_LEN, text.len().min(TEXT_WORDS * 8) as u64);
        self.end(STATE_FAILED, error.exit.code() as u64);
    }

    /// Records an error that leaves the other ranks waiting in a collective, where no message can
    /// reach them, and waits for the watchdogs of all ranks to end the job over it.
    pub fn give_up(&self, error: &Error) -> ! {
        self.fail(error);
        loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    }

    /// Notes that a signal asked this rank to end: the others end with it.
    pub fn ask_to_end(&self, signal: i32) {
        self.words[ASKED].store(signal as u64, Ordering::Release);
    }

    /// The signal that asked this rank to end.
    pub fn asked_to_end(&self) -> Option<i32> {
        match self.words[ASKED].load(Ordering::Acquire) {
            0 => None,
            signal => Some(signal as i32),
        }
    }

    /// Keeps the rank from taking further samples: what is being saved is to be all there is.
    pub fn halt(&self) {
        self.words[HALTED].store(1, Ordering::Release);
    }

    /// Waits for the end of the process where the rank was halted. To be called between samples.
    pub fn wait_if_halted(&self) {
        while self.words[HALTED].load(Ordering::Acquire) != 0 {
            self.words[PARKED].store(1, Ordering::Release);
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    }

    /// Whether the rank was halted and waits for its end.
    pub fn is_parked(&self) -> bool {
        self.words[PARKED].load(Ordering::Acquire) == 1
    }

    /// Records that the rank's process is gone (called by whoever waited for it).
    pub fn died(&self, signal: i32) {
        self.end(STATE_DIED, signal as u64);
    }

    fn end(&self, state: u64, detail: u64) {
        if self.get(END_STATE) == STATE_RUNNING {
            self.set(END_DETAIL, detail);
            self.words[END_STATE].store(state, Ordering::Release);
        }
    }

    /// How the rank ended.
    pub fn end_state(&self) -> End {
        match self.words[END_STATE].load(Ordering::Acquire) {
            STATE_FAILED => {
                let text: Vec<u8> = (0..TEXT_WORDS)
                    .flat_map(|index| self.get(TEXT + index).to_le_bytes())
                    .take(self.get(TEXT_LEN) as usize)
                    .collect();
                End::Failed(serde_json::from_slice(&text).unwrap_or_else(|_| {
                    let exit = Exit::from_code(self.get(END_DETAIL) as i32);
                    Error::new(exit, "the rank met an error that it could not write down")
                }))
            }
            STATE_DIED => End::Died(self.get(END_DETAIL) as i32),
            _ => End::Running,
        }
    }

    /// Tells the other ranks that the partial result is on disk.
    pub fn set_saved(&self) {
        self.words[SAVED].store(1, Ordering::Release);
    }

    /// Whether this rank has put the partial result on disk.
    pub fn saved(&self) -> bool {
        self.words[SAVED].load(Ordering::Acquire) == 1
    }

    /// Tells the other ranks that the complete result is on disk: no partial one may replace it.
    pub fn set_complete(&self) {
        self.words[COMPLETE].store(1, Ordering::Release);
    }

    /// Whether this rank has put the complete result on disk.
    pub fn complete(&self) -> bool {
        self.words[COMPLETE].load(Ordering::Acquire) == 1
    }

    /// Appends one sample of `series`. Beyond the capacity nothing is kept.
    pub fn journal(&self, series: usize, sample: &RankSample) {
        let length = self.get(JOURNAL_LEN) as usize;
        if length >= JOURNAL_CAPACITY {
            return;
        }
        let at = JOURNAL + length * ENTRY_WORDS;
        let entry = [
            series as u64,
            sample.device_us.to_bits(),
            sample.host_us.to_bits(),
            sample.issue_us.to_bits(),
            sample.arrival_ns,
        ];
        for (offset, word) in entry.into_iter().enumerate() {
            self.set(at + offset, word);
        }
        // A reader that sees the new length sees the whole entry.
        self.words[JOURNAL_LEN].store(length as u64 + 1, Ordering::Release);
    }

    /// Number of samples taken, over all series.
    pub fn taken(&self) -> usize {
        self.words[JOURNAL_LEN].load(Ordering::Acquire) as usize
    }

    /// The samples of `series` in the order of taking.
    pub fn samples(&self, series: usize) -> Vec<RankSample> {
        let length = self.words[JOURNAL_LEN].load(Ordering::Acquire) as usize;
        (0..length.min(JOURNAL_CAPACITY))
            .map(|index| JOURNAL + index * ENTRY_WORDS)
            .filter(|at| self.get(*at) == series as u64)
            .map(|at| RankSample {
                device_us: f64::from_bits(self.get(at + 1)),
                host_us: f64::from_bits(self.get(at + 2)),
                issue_us: f64::from_bits(self.get(at + 3)),
                arrival_ns: self.get(at + 4),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(value: f64) -> RankSample {
        RankSample {
            device_us: value,
            host_us: value + 1.0,
            issue_us: value / 2.0,
            arrival_ns: value as u64,
        }
    }

    #[test]
    fn another_mapping_sees_what_was_recorded() {
        let mine = FlightRecorder::create().unwrap();
        let theirs = FlightRecorder::open(std::process::id(), mine.fd()).unwrap();
        mine.enter(Phase::Sampling, 2);
        mine.at_sample(5);
        mine.at_op(17);
        for index in 0..3 {
            mine.journal(index % 2, &sample(index as f64));
        }
        assert_eq!(theirs.phase(), Phase::Sampling);
        assert_eq!(theirs.series(), 2);
        assert_eq!((theirs.position().sample, theirs.position().op), (5, 17));
        assert_eq!(theirs.samples(0), [sample(0.0), sample(2.0)]);
        assert_eq!(theirs.samples(1), [sample(1.0)]);
    }

    #[test]
    fn the_first_word_about_the_end_stays() {
        let recorder = FlightRecorder::create().unwrap();
        assert_eq!(recorder.end_state(), End::Running);
        let error = Error::environment("GPU 3 fell off the bus").try_this("reboot");
        recorder.fail(&error);
        recorder.died(9);
        assert_eq!(recorder.end_state(), End::Failed(error));
    }

    #[test]
    fn an_error_too_long_for_the_recorder_is_cut_not_lost() {
        let recorder = FlightRecorder::create().unwrap();
        recorder.fail(&Error::usage("x".repeat(5000)).try_this("y".repeat(5000)));
        let End::Failed(error) = recorder.end_state() else {
            panic!("no error recorded");
        };
        assert_eq!(error.exit, Exit::Usage);
        assert_eq!(error.what.len(), 200);
    }

    #[test]
    fn positions_only_go_forward_through_phases() {
        let recorder = FlightRecorder::create().unwrap();
        recorder.enter(Phase::WarmingUp, 0);
        recorder.at_sample(90);
        let before = recorder.position();
        recorder.enter(Phase::Sampling, 0);
        assert!(recorder.position() > before);
    }

    #[test]
    fn a_full_journal_keeps_what_it_has() {
        let recorder = FlightRecorder::create().unwrap();
        for _ in 0..JOURNAL_CAPACITY + 10 {
            recorder.journal(0, &sample(1.0));
        }
        assert_eq!(recorder.samples(0).len(), JOURNAL_CAPACITY);
    }
}
