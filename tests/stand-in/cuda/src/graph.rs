//! Captured work.

use std::ffi::{c_ulonglong, c_void};
use std::sync::Arc;

use crate::enter;
use crate::status::{STREAM_CAPTURE_INVALID, SUCCESS, Status};
use crate::stream::{Stream, Work};

/// Handles of graphs and of instantiated graphs are addresses of these in an `Arc`.
pub type Nodes = Vec<Work>;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamEndCapture(
    stream: *const Stream,
    graph: *mut *const Nodes,
) -> Status {
    enter!("cuStreamEndCapture");
    match unsafe { Stream::of(stream) }.end_capture() {
        Some(nodes) => {
            unsafe { *graph = Arc::into_raw(Arc::new(nodes)) };
            SUCCESS
        }
        None => STREAM_CAPTURE_INVALID,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphGetNodes(
    graph: *const Nodes,
    _nodes: *mut *mut c_void,
    count: *mut usize,
) -> Status {
    enter!("cuGraphGetNodes");
    unsafe { *count = (*graph).len() };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiateWithFlags(
    exec: *mut *const Nodes,
    graph: *const Nodes,
    _flags: c_ulonglong,
) -> Status {
    enter!("cuGraphInstantiateWithFlags");
    unsafe {
        Arc::increment_strong_count(graph);
        *exec = graph;
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphDestroy(graph: *const Nodes) -> Status {
    enter!("cuGraphDestroy");
    drop(unsafe { Arc::from_raw(graph) });
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphUpload(_exec: *const Nodes, _stream: *const Stream) -> Status {
    enter!("cuGraphUpload");
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphLaunch(exec: *const Nodes, stream: *const Stream) -> Status {
    enter!("cuGraphLaunch");
    let nodes = unsafe {
        Arc::increment_strong_count(exec);
        Arc::from_raw(exec)
    };
    unsafe { Stream::of(stream) }.push(Work::Graph(nodes))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecDestroy(exec: *const Nodes) -> Status {
    enter!("cuGraphExecDestroy");
    drop(unsafe { Arc::from_raw(exec) });
    SUCCESS
}
