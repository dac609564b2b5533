//! Faults on demand. `COMMBENCH_STAND_IN_FAULT` holds them, separated by commas, each as
//! `EFFECT:SUBJECT@RANK#NTH=VALUE`:
//!
//! | effect | subject | what happens |
//! | --- | --- | --- |
//! | `fail` | a function | its NTH call returns the error code VALUE |
//! | `hang` | a function, or `op` | the NTH call, or collective on the stream, never ends |
//! | `late` | a function, or `op` | the NTH ends VALUE ms late |
//! | `corrupt` | `op` | one element of the NTH collective's output is wrong |
//! | `async` | `op` | from the NTH collective on, the communicator's asynchronous error is VALUE |
//! | `lost` | `work` | from the NTH piece of stream work on, every driver call returns VALUE |
//! | `answer` | a function | it answers VALUE |
//!
//! NTH counts from 1, which is also the default; `#5+` means the fifth and all later ones.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const VARIABLE: &str = "COMMBENCH_STAND_IN_FAULT";

#[derive(Debug)]
struct Fault {
    effect: String,
    subject: String,
    rank: u32,
    nth: u64,
    and_later: bool,
    value: i64,
    seen: AtomicU64,
}

impl Fault {
    /// Reads one fault; `None` when the text is none.
    fn parse(text: &str) -> Option<Fault> {
        let (effect, rest) = text.split_once(':')?;
        let (subject, rest) = rest.split_once('@')?;
        let (rest, value) = rest.split_once('=').unwrap_or((rest, "0"));
        let (rank, nth) = rest.split_once('#').unwrap_or((rest, "1"));
        Some(Fault {
            effect: effect.to_string(),
            subject: subject.to_string(),
            rank: rank.parse().ok()?,
            and_later: nth.ends_with('+'),
            nth: nth.trim_end_matches('+').parse().ok()?,
            value: value.parse().ok()?,
            seen: AtomicU64::new(0),
        })
    }

    fn strikes(&self) -> bool {
        let count = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        count == self.nth || (self.and_later && count > self.nth)
    }
}

/// The rank of this process, as its launcher told it; 0 without one.
pub fn rank() -> u32 {
    static RANK: OnceLock<u32> = OnceLock::new();
    *RANK.get_or_init(|| {
        ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"]
            .iter()
            .find_map(|name| std::env::var(name).ok()?.parse().ok())
            .unwrap_or(0)
    })
}

fn of_this_rank() -> &'static [Fault] {
    static FAULTS: OnceLock<Vec<Fault>> = OnceLock::new();
    FAULTS.get_or_init(|| {
        let text = std::env::var(VARIABLE).unwrap_or_default();
        text.split(',')
            .filter(|one| !one.is_empty())
            .map(|one| {
                // A fault that is not understood must not pass for a run without one.
                Fault::parse(one).unwrap_or_else(|| {
                    eprintln!("{VARIABLE}: '{one}' is not EFFECT:SUBJECT@RANK#NTH=VALUE");
                    std::process::abort()
                })
            })
            .filter(|fault| fault.rank == rank())
            .collect()
    })
}

/// Counts one occasion of `subject` for `effect`, and returns the value of the fault that strikes
/// at it.
pub fn strike(effect: &str, subject: &str) -> Option<i64> {
    of_this_rank()
        .iter()
        .filter(|fault| fault.effect == effect && fault.subject == subject)
        // Each counts every occasion, also one that another fault strikes at.
        .fold(None, |found, fault| {
            fault.strikes().then_some(fault.value).or(found)
        })
}

/// Never returns.
pub fn hang() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// What every function does first: hangs, waits or names the error code to return.
pub fn enter(function: &str) -> Option<i32> {
    if strike("hang", function).is_some() {
        hang();
    }
    if let Some(ms) = strike("late", function) {
        std::thread::sleep(Duration::from_millis(ms as u64));
    }
    strike("fail", function).map(|code| code as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read() {
        let fault = Fault::parse("fail:ncclAllReduce@3#500=6").unwrap();
        assert_eq!((fault.rank, fault.nth, fault.value), (3, 500, 6));
        let hits: Vec<bool> = (0..501).map(|_| fault.strikes()).collect();
        assert_eq!(hits.iter().filter(|hit| **hit).count(), 1);
        assert!(hits[499]);
        let later = Fault::parse("async:op@0#2+=3").unwrap();
        assert_eq!([(); 3].map(|()| later.strikes()), [false, true, true]);
        assert!(Fault::parse("nonsense").is_none());
    }
}
