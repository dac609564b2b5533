//! A stand-in for NCCL (libnccl.so.2): the functions that commbench uses, over shared memory
//! between processes, enqueued on the streams of whatever driver is loaded. Like NCCL over P2P or
//! SHM it does not notice a peer that dies: the ops that wait for it wait for ever.
#![allow(non_snake_case, clippy::missing_safety_doc)]

mod collective;
mod comm;
mod driver;
mod exchange;
mod log;
mod profiler;
mod reduce;
mod shared;
mod status;
