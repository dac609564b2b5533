//! Time stamps.

use std::ffi::c_uint;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::enter;
use crate::status::{INVALID_HANDLE, NOT_READY, SUCCESS, Status};
use crate::stream::{Stream, Work};

/// The time of its last recording in ns since the first one of the process; 0 before.
#[derive(Debug, Default)]
pub struct Event {
    stamp_ns: AtomicU64,
}

impl Event {
    /// Takes the time now.
    pub fn stamp(&self) {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        let since = ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64;
        self.stamp_ns.store(since + 1, Ordering::SeqCst);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut *const Event, _flags: c_uint) -> Status {
    enter!("cuEventCreate");
    unsafe { *event = Arc::into_raw(Arc::new(Event::default())) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventRecord(event: *const Event, stream: *const Stream) -> Status {
    enter!("cuEventRecord");
    let event = unsafe {
        Arc::increment_strong_count(event);
        Arc::from_raw(event)
    };
    event.stamp_ns.store(0, Ordering::SeqCst);
    unsafe { Stream::of(stream) }.push(Work::Stamp(event))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(
    ms: *mut f32,
    start: *const Event,
    end: *const Event,
) -> Status {
    enter!("cuEventElapsedTime");
    if start.is_null() || end.is_null() {
        return INVALID_HANDLE;
    }
    let read = |event: *const Event| unsafe { &*event }.stamp_ns.load(Ordering::SeqCst);
    let (start, end) = (read(start), read(end));
    if start == 0 || end == 0 {
        return NOT_READY;
    }
    unsafe { *ms = (end as f64 - start as f64) as f32 / 1e6 };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventDestroy_v2(event: *const Event) -> Status {
    enter!("cuEventDestroy_v2");
    drop(unsafe { Arc::from_raw(event) });
    SUCCESS
}
