//! A wall clock that steps, to be preloaded: `COMMBENCH_STAND_IN_CLOCK=AFTER_S,STEP_S` moves what
//! programs read as the time of day by STEP_S, AFTER_S after they first ask for it. Clocks that
//! only ever go forward are left alone, as a real step leaves them.
#![allow(clippy::missing_safety_doc)]

use std::ffi::{c_int, c_long};
use std::sync::OnceLock;

use libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, clockid_t, time_t, timespec, timeval};

fn read(clock: clockid_t) -> timespec {
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the system call itself, since this library stands in front of the usual function.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock as c_long, &mut now) };
    now
}

/// Seconds to add to the time of day now.
fn step_s() -> i64 {
    static PLAN: OnceLock<(i64, i64, i64)> = OnceLock::new();
    let now = read(CLOCK_MONOTONIC).tv_sec;
    let (begin, after, step) = *PLAN.get_or_init(|| {
        let text = std::env::var("COMMBENCH_STAND_IN_CLOCK").unwrap_or_default();
        let (after, step) = text.split_once(',').unwrap_or(("0", "0"));
        (now, after.parse().unwrap_or(0), step.parse().unwrap_or(0))
    });
    if now - begin >= after { step } else { 0 }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let mut now = read(clock);
    if clock == CLOCK_REALTIME {
        now.tv_sec += step_s();
    }
    unsafe { *time = now };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut timeval, _zone: *mut libc::c_void) -> c_int {
    let now = read(CLOCK_REALTIME);
    if !time.is_null() {
        unsafe {
            *time = timeval {
                tv_sec: now.tv_sec + step_s(),
                tv_usec: now.tv_nsec / 1000,
            };
        }
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(to: *mut time_t) -> time_t {
    let now = read(CLOCK_REALTIME).tv_sec + step_s();
    if !to.is_null() {
        unsafe { *to = now };
    }
    now
}
