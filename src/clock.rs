//! The clocks in use.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CLOCK_MONOTONIC: the same clock for every process of a host, never set back.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Microseconds from `start_ns` to `end_ns`.
pub fn us_between(start_ns: u64, end_ns: u64) -> f64 {
    end_ns.saturating_sub(start_ns) as f64 / 1e3
}

/// The time of day as `2026-01-31T12:00:00Z`, and in the form used in folder names,
/// `20260131T120000Z`.
pub fn utc_now() -> (String, String) {
    use time::macros::format_description;
    let now = time::OffsetDateTime::now_utc();
    let readable = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
    let compact = format_description!("[year][month][day]T[hour][minute][second]Z");
    (
        now.format(readable).unwrap_or_default(),
        now.format(compact).unwrap_or_default(),
    )
}
