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
    pub(super) fn all_reduce_sum(
        &self,
        send: u64,
        receive: u64,
        count: u64,
        dtype: DataType,
        stream: &Stream,
    ) -> Result<()> {
        // SAFETY: the addresses lie in device buffers that outlive the stream's work, each with
        // room for `count` elements (the executor lays them out).
        let result = unsafe {
            self.library.api.ncclAllReduce(
                send as *const c_void,
                receive as *mut c_void,
                count as usize,
                nccl_type(dtype),
                sys::ncclSum,
                self.raw,
                stream.raw().cast(),
            )
        };
        if result == sys::ncclSuccess {
            Ok(())
        } else {
            check(&self.library, "ncclAllReduce", result)
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
