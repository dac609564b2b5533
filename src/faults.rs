//! Faults on demand, for tests. Compiled only with the feature `fault-injection`, which no
//! release has.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// Names the fault of this run: `corrupt:3` changes data of rank 3 before it is checked, `panic:3`
/// makes rank 3 panic in its 30th replay, `close:3` makes rank 3 fail to close its library, `apart:3` puts rank
/// 3 on a host of its own with another clock.
const VARIABLE: &str = "COMMBENCH_FAULT";

fn is_asked(fault: &str, rank: u32) -> bool {
    std::env::var(VARIABLE).is_ok_and(|asked| asked == format!("{fault}:{rank}"))
}

/// The name of the host that this rank is to say it runs on: `apart:3` puts rank 3 on one of its
/// own.
pub fn another_host(rank: u32) -> Option<String> {
    is_asked("apart", rank).then(|| "elsewhere".to_string())
}

/// The clock of that host: it has another zero, and is faster by 50 parts in a million.
pub fn clock_of_another_host(rank: u32, ns: u64) -> u64 {
    if is_asked("apart", rank) {
        return ns + 7_000_000_000 + ns / 20_000;
    }
    ns
}

/// Panics in the 30th replay where this rank is to.
pub fn panic_in_a_replay(rank: u32) {
    static REPLAYS: AtomicUsize = AtomicUsize::new(0);
    if REPLAYS.fetch_add(1, Ordering::Relaxed) == 30 && is_asked("panic", rank) {
        panic!("as the test asked");
    }
}

/// An error where this rank is to fail to close its library.
///
/// # Errors
/// Exit code 3, where asked for.
pub fn closing(rank: u32) -> Result<()> {
    if is_asked("close", rank) {
        return Err(Error::environment("the library does not close"));
    }
    Ok(())
}

/// Flips one bit of `bytes` where this rank's data is to be wrong.
pub fn corrupt(rank: u32, bytes: &mut [u8]) {
    if is_asked("corrupt", rank)
        && let Some(byte) = bytes.get_mut(100)
    {
        *byte ^= 1;
    }
}
