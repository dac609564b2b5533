//! Captured work that one launch replays.

use cudarc::driver::sys::{self, CUgraphExec, CUstreamCaptureMode};

use super::{Stream, check};
use crate::error::Result;

/// An instantiated graph. NCCL demands that it is dropped before the communicator it captured.
#[derive(Debug)]
pub struct Graph {
    exec: CUgraphExec,
    nodes: usize,
}

/// Captures what `enqueue` puts on `stream` into a graph; nothing runs meanwhile.
///
/// The capture is thread-local, since the watchdog thread's calls would break a global one.
///
/// # Errors
/// The error of `enqueue`, or exit code 3 when the driver refuses.
pub fn capture(stream: &Stream, enqueue: impl FnOnce() -> Result<()>) -> Result<Graph> {
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    // SAFETY: the stream's handle is valid.
    check("cuStreamBeginCapture", unsafe {
        sys::cuStreamBeginCapture_v2(stream.raw(), mode)
    })?;
    let enqueued = enqueue();
    let mut graph = std::ptr::null_mut();
    // SAFETY: the capture that began above ends here, whatever came of it.
    let ended = check("cuStreamEndCapture", unsafe {
        sys::cuStreamEndCapture(stream.raw(), &mut graph)
    });
    enqueued?;
    ended?;
    let mut exec = std::ptr::null_mut();
    let mut nodes = 0usize;
    // SAFETY: `graph` is the valid graph just captured; a null node list asks for the count only;
    // the template is not needed once it is instantiated.
    unsafe {
        let counted = sys::cuGraphGetNodes(graph, std::ptr::null_mut(), &mut nodes);
        let instantiated = sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0);
        let _ = sys::cuGraphDestroy(graph);
        check("cuGraphGetNodes", counted)?;
        check("cuGraphInstantiate", instantiated)?;
    }
    let graph = Graph { exec, nodes };
    // SAFETY: both handles are valid.
    check("cuGraphUpload", unsafe {
        sys::cuGraphUpload(graph.exec, stream.raw())
    })?;
    Ok(graph)
}

impl Graph {
    /// Enqueues one replay.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn launch(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both handles are valid for as long as their owners.
        check("cuGraphLaunch", unsafe {
            sys::cuGraphLaunch(self.exec, stream.raw())
        })
    }

    /// Number of nodes captured.
    pub fn nodes(&self) -> usize {
        self.nodes
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: instantiated by `capture`, destroyed once.
        let _ = unsafe { sys::cuGraphExecDestroy(self.exec) };
    }
}
