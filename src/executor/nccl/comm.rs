//! A safe communicator.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::library::Library;
use super::{log, sys};
use crate::error::{Error, Result};
use crate::executor::Lifeline;
use crate::gpu::Stream;
use crate::plan::DataType;

/// The id that makes processes one communicator: made by one, handed to all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UniqueId(Vec<u8>);

impl UniqueId {
    /// A fresh id. Starts NCCL's bootstrap in this process.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words.
    pub fn new(library: &Library) -> Result<UniqueId> {
        // SAFETY: plain bytes; the call fills all of them.
        let mut id: sys::ncclUniqueId = unsafe { std::mem::zeroed() };
        // SAFETY: a plain call with a valid out-pointer.
        let result = unsafe { library.api.ncclGetUniqueId(&mut id) };
        check(library, "ncclGetUniqueId", result)?;
        Ok(UniqueId(id.internal.map(|byte| byte as u8).to_vec()))
    }

    fn raw(&self) -> sys::ncclUniqueId {
        // SAFETY: plain bytes.
        let mut id: sys::ncclUniqueId = unsafe { std::mem::zeroed() };
        for (to, from) in id.internal.iter_mut().zip(&self.0) {
            *to = *from as i8;
        }
        id
    }
}

/// A communicator over all ranks, on the device whose context was current when it was made.
///
/// Not destroyed on drop: after an error that could wait for ever. Call
/// [`Communicator::destroy`] once every graph that captured its ops is gone.
#[derive(Debug)]
pub struct Communicator {
    library: Arc<Library>,
    raw: sys::ncclComm_t,
}

/// What most calls are made of.
///
/// The addresses lie in device buffers that outlive the stream's work and have room for what the
/// call moves: the executor lays them out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    /// Device addresses.
    pub send: u64,
    pub receive: u64,
    /// Elements, as NCCL's call of that name counts them.
    pub count: u64,
    pub dtype: DataType,
    pub stream: &'a Stream,
}

/// What the watchdog may do with communicators from its own thread.
#[derive(Debug)]
pub struct CommLifeline {
    of: Vec<(Arc<Library>, sys::ncclComm_t)>,
}

// SAFETY: NCCL allows ncclCommGetAsyncError and ncclCommAbort from any thread while others use
// the communicator; it offers nothing else.
unsafe impl Send for CommLifeline {}
// SAFETY: as above.
unsafe impl Sync for CommLifeline {}

fn check(library: &Library, call: &str, result: sys::ncclResult_t) -> Result<()> {
    if result == sys::ncclSuccess {
        return Ok(());
    }
    let detail = match library.api.ncclGetLastError {
        Ok(get) => {
            // SAFETY: null asks for this thread's last error; NCCL owns the string.
            let text = unsafe { get(std::ptr::null_mut()) };
            if text.is_null() {
                String::new()
            } else {
                // SAFETY: not null, and NUL-terminated by NCCL.
                unsafe { CStr::from_ptr(text) }
                    .to_string_lossy()
                    .trim()
                    .to_string()
            }
        }
        Err(_) => String::new(),
    };
    let mut what = format!("NCCL call {call} failed: {}", library.words(result));
    for detail in [Some(detail), log::last_warning()].into_iter().flatten() {
        if !detail.is_empty() {
            what.push_str("; ");
            what.push_str(&detail.replace('\n', " "));
            break;
        }
    }
    Err(Error::environment(what)
        .try_this("NCCL_DEBUG=INFO shows what NCCL did before (set it before mpirun)"))
}

impl Communicator {
    /// Joins `ranks` processes into one communicator. Collective.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words.
    pub fn join(library: Arc<Library>, id: &UniqueId, rank: u32, ranks: u32) -> Result<Self> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: a valid out-pointer and id; a device context is current.
        let result = unsafe {
            library
                .api
                .ncclCommInitRank(&mut raw, ranks as i32, id.raw(), rank as i32)
        };
        check(&library, "ncclCommInitRank", result)?;
        Ok(Communicator { library, raw })
    }

    /// Enqueues the sum over all ranks of `count` elements at device address `send` into
    /// `receive`; equal addresses reduce in place.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words.
    #[inline]
    pub(super) fn all_reduce_sum(&self, call: Call<'_>) -> Result<()> {
        // SAFETY: as `Call` promises, with room for `count` elements on both sides.
        let result = unsafe {
            self.library.api.ncclAllReduce(
                call.send as *const c_void,
                call.receive as *mut c_void,
                call.count as usize,
                nccl_type(call.dtype),
                sys::ncclSum,
                self.raw,
                call.stream.raw().cast(),
            )
        };
        self.passed("ncclAllReduce", result)
    }

    /// Enqueues the sum over all ranks, of which each rank gets its part of `count` elements.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words.
    #[inline]
    pub(super) fn reduce_scatter_sum(&self, call: Call<'_>) -> Result<()> {
        // SAFETY: as `Call` promises; `send` has room for `count` elements a rank.
        let result = unsafe {
            self.library.api.ncclReduceScatter(
                call.send as *const c_void,
                call.receive as *mut c_void,
                call.count as usize,
                nccl_type(call.dtype),
                sys::ncclSum,
                self.raw,
                call.stream.raw().cast(),
            )
        };
        self.passed("ncclReduceScatter", result)
    }

    /// Enqueues the gathering of `count` elements from each rank on every rank.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words.
    #[inline]
    pub(super) fn all_gather(&self, call: Call<'_>) -> Result<()> {
        // SAFETY: as `Call` promises; `receive` has room for `count` elements a rank.
        let result = unsafe {
            self.library.api.ncclAllGather(
                call.send as *const c_void,
                call.receive as *mut c_void,
                call.count as usize,
                nccl_type(call.dtype),
                self.raw,
                call.stream.raw().cast(),
            )
        };
        self.passed("ncclAllGather", result)
    }

    /// Enqueues the copying of rank 0's `count` elements at `send` to `receive` on every rank.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words.
    #[inline]
    pub(super) fn broadcast(&self, call: Call<'_>) -> Result<()> {
        // SAFETY: as `Call` promises.
        let result = unsafe {
            self.library.api.ncclBroadcast(
                call.send as *const c_void,
                call.receive as *mut c_void,
                call.count as usize,
                nccl_type(call.dtype),
                0,
                self.raw,
                call.stream.raw().cast(),
            )
        };
        self.passed("ncclBroadcast", result)
    }

    /// Enqueues the sum over all ranks of `count` elements at `send` into rank 0's `receive`.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words.
    #[inline]
    pub(super) fn reduce_sum(&self, call: Call<'_>) -> Result<()> {
        // SAFETY: as `Call` promises.
        let result = unsafe {
            self.library.api.ncclReduce(
                call.send as *const c_void,
                call.receive as *mut c_void,
                call.count as usize,
                nccl_type(call.dtype),
                sys::ncclSum,
                0,
                self.raw,
                call.stream.raw().cast(),
            )
        };
        self.passed("ncclReduce", result)
    }

    /// Enqueues the exchange of `count` elements between every two ranks by NCCL's own call, which
    /// the library must have (see [`Library::has_all_to_all`]).
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words.
    #[inline]
    pub(super) fn all_to_all(&self, call: Call<'_>) -> Result<()> {
        // SAFETY: as `Call` promises, with room for `count` elements a rank on both sides.
        let result = unsafe {
            self.library.all_to_all(
                call.send as *const c_void,
                call.receive as *mut c_void,
                call.count as usize,
                nccl_type(call.dtype),
                self.raw,
                call.stream.raw().cast(),
            )
        };
        self.passed("ncclAlltoAll", result)
    }

    /// Enqueues what `calls` issues as one group: sends and receives that need each other.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words, or the error of `calls`.
    #[inline]
    pub(super) fn group(&self, calls: impl FnOnce() -> Result<()>) -> Result<()> {
        // SAFETY: plain calls; every start is followed by its end.
        let started = unsafe { self.library.api.ncclGroupStart() };
        self.passed("ncclGroupStart", started)?;
        let done = calls();
        // SAFETY: as above.
        let ended = unsafe { self.library.api.ncclGroupEnd() };
        done?;
        self.passed("ncclGroupEnd", ended)
    }

    /// Enqueues the sending of `count` elements at `send` to `peer`; within a group.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words.
    #[inline]
    pub(super) fn send(&self, call: Call<'_>, peer: u32) -> Result<()> {
        // SAFETY: as `Call` promises.
        let result = unsafe {
            self.library.api.ncclSend(
                call.send as *const c_void,
                call.count as usize,
                nccl_type(call.dtype),
                peer as i32,
                self.raw,
                call.stream.raw().cast(),
            )
        };
        self.passed("ncclSend", result)
    }

    /// Enqueues the receiving of `count` elements at `receive` from `peer`; within a group.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words.
    #[inline]
    pub(super) fn receive(&self, call: Call<'_>, peer: u32) -> Result<()> {
        // SAFETY: as `Call` promises.
        let result = unsafe {
            self.library.api.ncclRecv(
                call.receive as *mut c_void,
                call.count as usize,
                nccl_type(call.dtype),
                peer as i32,
                self.raw,
                call.stream.raw().cast(),
            )
        };
        self.passed("ncclRecv", result)
    }

    #[inline]
    fn passed(&self, call: &str, result: sys::ncclResult_t) -> Result<()> {
        if result == sys::ncclSuccess {
            Ok(())
        } else {
            check(&self.library, call, result)
        }
    }

    /// Ends the communicator. Collective; waits for its work.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's words.
    pub fn destroy(self) -> Result<()> {
        // SAFETY: the handle is valid and `self` is consumed, so it is never used again.
        let (finalized, destroyed) = unsafe {
            (
                self.library.api.ncclCommFinalize(self.raw),
                self.library.api.ncclCommDestroy(self.raw),
            )
        };
        check(&self.library, "ncclCommFinalize", finalized)?;
        check(&self.library, "ncclCommDestroy", destroyed)
    }
}

impl CommLifeline {
    /// A handle on all of `communicators`, which must outlive its use.
    pub fn of(communicators: &[Communicator]) -> CommLifeline {
        let handle = |one: &Communicator| (Arc::clone(&one.library), one.raw);
        CommLifeline {
            of: communicators.iter().map(handle).collect(),
        }
    }
}

impl Lifeline for CommLifeline {
    /// Sees errors of the network and of NCCL's own threads, not a peer that died behind P2P or
    /// SHM.
    fn async_error(&self) -> Option<String> {
        const IN_PROGRESS: sys::ncclResult_t = 7;
        self.of.iter().find_map(|(library, raw)| {
            let mut error = sys::ncclSuccess;
            // SAFETY: allowed from any thread while the communicator lives.
            let result = unsafe { library.api.ncclCommGetAsyncError(*raw, &mut error) };
            let fault = match result {
                sys::ncclSuccess => error,
                result => result,
            };
            (fault != sys::ncclSuccess && fault != IN_PROGRESS).then(|| {
                let warning = log::last_warning().map_or(String::new(), |text| format!("; {text}"));
                format!("{}{warning}", library.words(fault))
            })
        })
    }

    fn abort(&self) {
        for (library, raw) in &self.of {
            // SAFETY: allowed from any thread; the process ends right after, whatever this does.
            unsafe { library.api.ncclCommAbort(*raw) };
        }
    }
}

fn nccl_type(dtype: DataType) -> sys::ncclDataType_t {
    // The values are part of NCCL's ABI; older headers lack the name of the last one.
    match dtype {
        DataType::Int8 => 0,
        DataType::Int32 => 2,
        DataType::Fp16 => 6,
        DataType::Fp32 => 7,
        DataType::Fp64 => 8,
        DataType::Bf16 => 9,
    }
}
