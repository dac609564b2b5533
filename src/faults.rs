//! Faults on demand, for tests. Compiled only with the feature `fault-injection`, which no
//! release has.

/// Names the fault of this run, as in `corrupt:3`: data of rank 3 is changed before it is
/// checked.
const VARIABLE: &str = "COMMBENCH_FAULT";

/// Flips one bit of `bytes` where this rank's data is to be wrong.
pub fn corrupt(rank: u32, bytes: &mut [u8]) {
    if std::env::var(VARIABLE).is_ok_and(|fault| fault == format!("corrupt:{rank}"))
        && let Some(byte) = bytes.get_mut(100)
    {
        *byte ^= 1;
    }
}
