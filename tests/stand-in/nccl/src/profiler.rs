//! The profiler plugin inside the running program, version 4 of NCCL's interface: told of each
//! collective that is enqueued while its event mask asks for it.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use crate::comm::Comm;

const COLLECTIVE: c_int = 1 << 1;

#[repr(C)]
struct Event {
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

#[repr(C)]
struct Plugin {
    name: *const c_char,
    init: unsafe extern "C" fn(
        *mut *mut c_void,
        *mut c_int,
        *const c_char,
        u64,
        c_int,
        c_int,
        c_int,
        *const c_void,
    ) -> c_int,
    start_event: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *const c_void) -> c_int,
    stop_event: unsafe extern "C" fn(*mut c_void) -> c_int,
    record_state: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

static MASK: AtomicI32 = AtomicI32::new(0);

/// Communicators that the plugin serves.
static USERS: AtomicUsize = AtomicUsize::new(0);

fn plugin() -> Option<&'static Plugin> {
    static PLUGIN: OnceLock<usize> = OnceLock::new();
    let address = *PLUGIN.get_or_init(|| {
        if std::env::var("NCCL_PROFILER_PLUGIN").as_deref() != Ok("STATIC_PLUGIN") {
            return 0;
        }
        // SAFETY: looks for a symbol of the running program.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"ncclProfiler_v4".as_ptr()) as usize }
    });
    // SAFETY: null, or the program's table of the version that its name states.
    unsafe { (address as *const Plugin).as_ref() }
}

pub fn start(comm: &Comm) {
    let Some(plugin) = plugin() else { return };
    USERS.fetch_add(1, Ordering::SeqCst);
    let mut context = std::ptr::null_mut();
    // SAFETY: the plugin's own function, with valid pointers; the mask lives for ever.
    unsafe {
        (plugin.init)(
            &mut context,
            MASK.as_ptr(),
            c"stand-in".as_ptr(),
            0,
            1,
            comm.ranks as c_int,
            comm.rank as c_int,
            std::ptr::null(),
        )
    };
}

pub fn stop() {
    if let Some(plugin) = plugin()
        && USERS.fetch_sub(1, Ordering::SeqCst) == 1
    {
        // SAFETY: the plugin's own function; its context is null.
        unsafe { (plugin.finalize)(std::ptr::null_mut()) };
    }
}

/// Tells the plugin of a collective, where it wants to hear of it.
pub fn enqueued(comm: &Comm, count: usize) {
    let Some(plugin) = plugin() else { return };
    if MASK.load(Ordering::Relaxed) & COLLECTIVE == 0 {
        return;
    }
    let event = Event {
        kind: COLLECTIVE as u8,
        parent: std::ptr::null_mut(),
        rank: comm.rank as c_int,
        sequence: 0,
        function: c"AllReduce".as_ptr(),
        send: std::ptr::null(),
        receive: std::ptr::null_mut(),
        count,
        root: 0,
        datatype: c"".as_ptr(),
        channels: 1,
        warps: 1,
        algorithm: c"STAND-IN".as_ptr(),
        protocol: c"none".as_ptr(),
    };
    let mut handle = std::ptr::null_mut();
    // SAFETY: valid pointers for the duration of the call.
    unsafe {
        (plugin.start_event)(std::ptr::null_mut(), &mut handle, (&raw const event).cast());
        if !handle.is_null() {
            (plugin.stop_event)(handle);
        }
    }
}
