//! Communicators.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use crate::enter;
use crate::shared::{self, MAX_RANKS, Region};
use crate::status::{INVALID_ARGUMENT, INVALID_USAGE, SUCCESS, SYSTEM_ERROR, Status};
use crate::{log, profiler};

/// NCCL's id: the process and descriptor of the shared region, in 128 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct UniqueId {
    pid: u32,
    fd: i32,
    mark: [u8; 120],
}

const MARK: [u8; 120] = [0x5A; 120];

/// A communicator; its handle is the address of a leaked one, so that a late call of the watchdog
/// finds memory that is still there.
pub struct Comm {
    pub region: &'static Region,
    pub rank: usize,
    pub ranks: usize,
    aborted: AtomicBool,
    async_error: AtomicI32,
}

/// Meetings of all ranks, each of which takes place once.
#[derive(Clone, Copy)]
enum Meeting {
    Init = 0,
    Connected = 1,
    Finalize = 2,
}

impl Comm {
    /// The communicator behind a handle.
    ///
    /// # Safety
    /// The handle must come from `ncclCommInitRank`.
    pub unsafe fn of(handle: *const Comm) -> &'static Comm {
        unsafe { &*handle }
    }

    pub fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::SeqCst)
    }

    /// Makes `code` the asynchronous error; the first one stays.
    pub fn fail(&self, code: Status) {
        let _ =
            self.async_error
                .compare_exchange(SUCCESS, code, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Waits for all ranks, for ever if one does not come.
    fn meet(&self, meeting: Meeting) {
        let met = &self.region.met[meeting as usize];
        met.fetch_add(1, Ordering::SeqCst);
        while (met.load(Ordering::SeqCst) as usize) < self.ranks && !self.is_aborted() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetUniqueId(id: *mut UniqueId) -> Status {
    enter!("ncclGetUniqueId");
    let Some(fd) = shared::create() else {
        return SYSTEM_ERROR;
    };
    let pid = std::process::id();
    unsafe {
        *id = UniqueId {
            pid,
            fd,
            mark: MARK,
        }
    };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommInitRank(
    handle: *mut *const Comm,
    ranks: c_int,
    id: UniqueId,
    rank: c_int,
) -> Status {
    enter!("ncclCommInitRank");
    if id.mark != MARK || ranks < 1 || ranks as usize > MAX_RANKS || !(0..ranks).contains(&rank) {
        return INVALID_ARGUMENT;
    }
    let Some(region) = shared::open(id.pid, id.fd) else {
        log::warn("the other process is gone");
        return SYSTEM_ERROR;
    };
    let comm: &'static Comm = Box::leak(Box::new(Comm {
        region,
        rank: rank as usize,
        ranks: ranks as usize,
        aborted: AtomicBool::new(false),
        async_error: AtomicI32::new(SUCCESS),
    }));
    comm.meet(Meeting::Init);
    profiler::start(comm);
    let next = (rank + 1) % ranks;
    log::info(&format!(
        "Channel 00/0 : {rank}[{rank}] -> {next}[{next}] via STAND-IN"
    ));
    comm.meet(Meeting::Connected);
    unsafe { *handle = comm };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommFinalize(handle: *const Comm) -> Status {
    enter!("ncclCommFinalize");
    unsafe { Comm::of(handle) }.meet(Meeting::Finalize);
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommDestroy(handle: *const Comm) -> Status {
    enter!("ncclCommDestroy");
    if handle.is_null() {
        return INVALID_USAGE;
    }
    profiler::stop();
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommAbort(handle: *const Comm) -> Status {
    enter!("ncclCommAbort");
    unsafe { Comm::of(handle) }
        .aborted
        .store(true, Ordering::SeqCst);
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommGetAsyncError(handle: *const Comm, error: *mut Status) -> Status {
    enter!("ncclCommGetAsyncError");
    unsafe { *error = Comm::of(handle).async_error.load(Ordering::SeqCst) };
    SUCCESS
}
