//! A profiler plugin inside the program: NCCL tells it what it chose for a call.
//!
//! `NCCL_PROFILER_PLUGIN=STATIC_PLUGIN` makes NCCL (2.27 and later for this interface's version)
//! look the plugin up in the running program. Its event mask is NCCL's own variable: it is raised
//! for one untimed replay and zero again before anything is timed.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use super::sys::{ncclResult_t, ncclSuccess};

/// What makes NCCL find the plugin; to be in the environment before NCCL starts.
pub const PLUGIN_VARIABLES: [(&str, &str); 1] = [("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN")];

/// Bit and type of a collective's event.
const EVENT_COLLECTIVE: c_int = 1 << 1;

/// Bit and type of the event of a send or a receive.
const EVENT_POINT_TO_POINT: c_int = 1 << 2;

/// NCCL's event mask, handed over at initialisation.
static MASK: AtomicPtr<c_int> = AtomicPtr::new(std::ptr::null_mut());

static HEARD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A collective's event, version 4 of the interface.
#[repr(C)]
struct CollectiveEvent {
    kind: u8,
    parent: *mut c_void,
    rank: c_int,
    sequence: u64,
    function: *const c_char,
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    root: c_int,
    datatype: *const c_char,
    channels: u8,
    warps: u8,
    algorithm: *const c_char,
    protocol: *const c_char,
}

/// The event of a send or a receive, version 4 of the interface.
#[repr(C)]
struct PointToPointEvent {
    kind: u8,
    parent: *mut c_void,
    rank: c_int,
    function: *const c_char,
    buffer: *mut c_void,
    datatype: *const c_char,
    count: usize,
    peer: c_int,
    channels: u8,
}

type Init = unsafe extern "C" fn(
    *mut *mut c_void,
    *mut c_int,
    *const c_char,
    u64,
    c_int,
    c_int,
    c_int,
    *const c_void,
) -> ncclResult_t;

/// The plugin's table, version 4 of the interface.
#[repr(C)]
pub struct Plugin {
    name: *const c_char,
    init: Init,
    start_event: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *const c_void) -> ncclResult_t,
    stop_event: unsafe extern "C" fn(*mut c_void) -> ncclResult_t,
    record_state: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> ncclResult_t,
    finalize: unsafe extern "C" fn(*mut c_void) -> ncclResult_t,
}

// SAFETY: read-only after its construction at compile time.
unsafe impl Sync for Plugin {}

/// The symbol NCCL looks up.
// SAFETY: the name belongs to NCCL's plugin interface; nothing else in the program defines it.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
#[used]
pub static ncclProfiler_v4: Plugin = Plugin {
    name: c"commbench".as_ptr(),
    init,
    start_event,
    stop_event,
    record_state,
    finalize,
};

unsafe extern "C" fn init(
    context: *mut *mut c_void,
    mask: *mut c_int,
    _name: *const c_char,
    _hash: u64,
    _nodes: c_int,
    _ranks: c_int,
    _rank: c_int,
    _log: *const c_void,
) -> ncclResult_t {
    // SAFETY: NCCL passes valid out-pointers; the mask is a variable that lives as long as NCCL.
    unsafe {
        *context = std::ptr::null_mut();
        *mask = 0;
    }
    MASK.store(mask, Ordering::Release);
    ncclSuccess
}

unsafe extern "C" fn start_event(
    _context: *mut c_void,
    handle: *mut *mut c_void,
    event: *const c_void,
) -> ncclResult_t {
    // SAFETY: NCCL passes a valid out-pointer. A null handle tells it that no stop is wanted.
    unsafe { *handle = std::ptr::null_mut() };
    // SAFETY: every event begins with its type.
    let kind = c_int::from(unsafe { *event.cast::<u8>() });
    if kind == EVENT_POINT_TO_POINT {
        // SAFETY: the type says that it is such an event of the version that was looked up.
        let event = unsafe { &*event.cast::<PointToPointEvent>() };
        // NCCL 2.28 reports the event before it has counted the channels.
        hear(match event.channels {
            0 => "send/recv".to_string(),
            channels => format!("send/recv, {}", counted_channels(channels)),
        });
    }
    if kind != EVENT_COLLECTIVE {
        return ncclSuccess;
    }
    // SAFETY: the type says that it is a collective's event of the version that was looked up.
    let event = unsafe { &*event.cast::<CollectiveEvent>() };
    let text = |pointer: *const c_char| {
        if pointer.is_null() {
            return "?".to_string();
        }
        // SAFETY: not null; NCCL's strings are static and NUL-terminated.
        let text = unsafe { CStr::from_ptr(pointer) }.to_string_lossy();
        let mut letters = text.chars();
        match letters.next() {
            // "RING" reads Ring; "LL" and "LL128" stay.
            Some(first) if !text.starts_with("LL") && !text.starts_with("NVLS") => {
                first.to_uppercase().to_string() + &letters.as_str().to_lowercase()
            }
            _ => text.into_owned(),
        }
    };
    hear(format!(
        "{}/{}, {}, {} threads",
        text(event.algorithm),
        text(event.protocol),
        counted_channels(event.channels),
        u32::from(event.warps) * 32
    ));
    ncclSuccess
}

fn counted_channels(channels: u8) -> String {
    let plural = if channels == 1 { "" } else { "s" };
    format!("{channels} channel{plural}")
}

fn hear(words: String) {
    HEARD
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(words);
}

unsafe extern "C" fn stop_event(_handle: *mut c_void) -> ncclResult_t {
    ncclSuccess
}

unsafe extern "C" fn record_state(
    _handle: *mut c_void,
    _state: c_int,
    _arguments: *mut c_void,
) -> ncclResult_t {
    ncclSuccess
}

unsafe extern "C" fn finalize(_context: *mut c_void) -> ncclResult_t {
    MASK.store(std::ptr::null_mut(), Ordering::Release);
    ncclSuccess
}

fn set_mask(value: c_int) {
    let mask = MASK.load(Ordering::Acquire);
    if !mask.is_null() {
        // SAFETY: NCCL's own variable, which it reads atomically; valid until `finalize`.
        unsafe { std::sync::atomic::AtomicI32::from_ptr(mask) }.store(value, Ordering::Relaxed);
    }
}

/// Runs `work`, which enqueues collectives from this thread, and returns what NCCL chose for
/// them: `None` when NCCL did not say (older than 2.27, or the user set another profiler).
pub(super) fn listen<T>(work: impl FnOnce() -> T) -> (T, Option<String>) {
    // Keeps the linker from dropping the table that only NCCL refers to.
    std::hint::black_box(&raw const ncclProfiler_v4);
    HEARD.lock().unwrap_or_else(PoisonError::into_inner).clear();
    set_mask(EVENT_COLLECTIVE | EVENT_POINT_TO_POINT);
    let done = work();
    set_mask(0);
    let heard: Vec<String> = HEARD
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
        .cloned()
        .collect();
    (done, (!heard.is_empty()).then(|| heard.join("; ")))
}
