//! Streams: each a queue and a thread that works it off in order.

use std::collections::VecDeque;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::device::has_context;
use crate::enter;
use crate::event::Event;
use crate::memory::is_inside;
use crate::status::{
    self, INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, STREAM_CAPTURE_INVALID, SUCCESS, Status,
};

/// Where the host begins to wait, as it does for the driver: work behind a closed gate that is
/// more than this never gets there.
const QUEUE_LIMIT: usize = 1024;

/// A piece of stream work.
#[derive(Clone)]
pub enum Work {
    Call {
        function: unsafe extern "C" fn(*mut c_void),
        data: usize,
    },
    Fill {
        to: u64,
        value: u8,
        bytes: usize,
    },
    WaitUntil {
        address: u64,
        value: u32,
    },
    Stamp(Arc<Event>),
    /// Keeps the stream busy, and writes when it began and ended to two words where it has any.
    Spin {
        time: Duration,
        stamps: u64,
    },
    Graph(Arc<Vec<Work>>),
}

#[derive(Default)]
struct State {
    queue: VecDeque<Work>,
    /// Whether the thread is at a piece of work.
    busy: bool,
    closing: bool,
    /// What was captured so far, while capturing.
    capture: Option<Vec<Work>>,
}

/// A stream; its handle is the address of one in an `Arc`.
#[derive(Default)]
pub struct Stream {
    state: Mutex<State>,
    changed: Condvar,
}

impl Stream {
    /// The stream behind a handle.
    ///
    /// # Safety
    /// The handle must come from `cuStreamCreate` and not be destroyed yet.
    pub unsafe fn of<'a>(handle: *const Stream) -> &'a Stream {
        assert!(!handle.is_null(), "the stand-in has no default stream");
        unsafe { &*handle }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts work at the end of the queue, or into the capture that is going on.
    pub fn push(&self, work: Work) -> Status {
        let mut state = self.state();
        if let Some(capture) = &mut state.capture {
            return match work {
                Work::Graph(_) => STREAM_CAPTURE_INVALID,
                work => {
                    capture.push(work);
                    SUCCESS
                }
            };
        }
        while state.queue.len() >= QUEUE_LIMIT {
            state = self.wait(state);
        }
        state.queue.push_back(work);
        self.changed.notify_all();
        SUCCESS
    }

    fn work_off(&self) {
        loop {
            let mut state = self.state();
            state.busy = false;
            self.changed.notify_all();
            let work = loop {
                match state.queue.pop_front() {
                    Some(work) => break work,
                    None if state.closing => return,
                    None => state = self.wait(state),
                }
            };
            state.busy = true;
            drop(state);
            work.run();
        }
    }

    /// Ends the capture and returns what it holds.
    pub fn end_capture(&self) -> Option<Vec<Work>> {
        self.state().capture.take()
    }
}

impl Work {
    fn run(&self) {
        if let Work::Graph(nodes) = self {
            nodes.iter().for_each(Work::run);
            return;
        }
        if let Some(code) = stand_in_faults::strike("lost", "work") {
            status::lose(code as Status);
        }
        if status::lost().is_some() {
            return;
        }
        match self {
            // SAFETY: whoever pushed it vouches for it until it has run.
            Work::Call { function, data } => unsafe { function(*data as *mut c_void) },
            // SAFETY: the range was checked when it was pushed.
            Work::Fill { to, value, bytes } => unsafe {
                std::ptr::write_bytes(*to as *mut u8, *value, *bytes)
            },
            Work::WaitUntil { address, value } => {
                // SAFETY: four bytes inside a block, checked when it was pushed.
                let word = unsafe { AtomicU32::from_ptr(*address as *mut u32) };
                while (word.load(Ordering::SeqCst).wrapping_sub(*value) as i32) < 0 {
                    std::thread::sleep(Duration::from_micros(20));
                }
            }
            Work::Stamp(event) => event.stamp(),
            Work::Spin { time, stamps } => {
                let begin = global_timer();
                std::thread::sleep(*time);
                if *stamps != 0 {
                    // SAFETY: two words inside a block, checked when it was pushed.
                    let word = |index: usize| unsafe {
                        AtomicU64::from_ptr((*stamps as *mut u64).add(index))
                    };
                    word(0).store(begin, Ordering::SeqCst);
                    word(1).store(global_timer(), Ordering::SeqCst);
                }
            }
            Work::Graph(_) => {}
        }
    }
}

/// The device's clock in ns: of another zero in each process, as on each device.
fn global_timer() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    let begin = BEGIN.get_or_init(Instant::now);
    1_000_000 + begin.elapsed().as_nanos() as u64
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(handle: *mut *const Stream, _flags: c_uint) -> Status {
    enter!("cuStreamCreate");
    if !has_context() {
        return INVALID_CONTEXT;
    }
    let stream = Arc::new(Stream::default());
    let worker = Arc::clone(&stream);
    std::thread::spawn(move || worker.work_off());
    unsafe { *handle = Arc::into_raw(stream) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamSynchronize(handle: *const Stream) -> Status {
    enter!("cuStreamSynchronize");
    let stream = unsafe { Stream::of(handle) };
    let mut state = stream.state();
    if state.capture.is_some() {
        return STREAM_CAPTURE_INVALID;
    }
    while state.busy || !state.queue.is_empty() {
        state = stream.wait(state);
    }
    status::lost().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamDestroy_v2(handle: *const Stream) -> Status {
    enter!("cuStreamDestroy_v2");
    if handle.is_null() {
        return INVALID_HANDLE;
    }
    let stream = unsafe { Arc::from_raw(handle) };
    stream.state().closing = true;
    stream.changed.notify_all();
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamWaitValue32_v2(
    handle: *const Stream,
    address: u64,
    value: u32,
    _flags: c_uint,
) -> Status {
    enter!("cuStreamWaitValue32_v2");
    if !is_inside(address, size_of::<u32>()) {
        return INVALID_VALUE;
    }
    unsafe { Stream::of(handle) }.push(Work::WaitUntil { address, value })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchHostFunc(
    handle: *const Stream,
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
) -> Status {
    enter!("cuLaunchHostFunc");
    unsafe { Stream::of(handle) }.push(Work::Call {
        function,
        data: data as usize,
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamBeginCapture_v2(handle: *const Stream, _mode: c_int) -> Status {
    enter!("cuStreamBeginCapture_v2");
    let mut state = unsafe { Stream::of(handle) }.state();
    if state.capture.is_some() {
        return STREAM_CAPTURE_INVALID;
    }
    state.capture = Some(Vec::new());
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamIsCapturing(handle: *const Stream, status: *mut c_int) -> Status {
    enter!("cuStreamIsCapturing");
    let capturing = unsafe { Stream::of(handle) }.state().capture.is_some();
    unsafe { *status = capturing.into() };
    SUCCESS
}
