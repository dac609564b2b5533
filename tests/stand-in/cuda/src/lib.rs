//! A stand-in for the CUDA driver (libcuda.so.1): the functions that commbench uses, over host
//! memory, with one thread a stream. It keeps the driver's order of work, its captures and its
//! bounded launch queue, and is not a GPU: its device says so in its name.
#![allow(non_snake_case, clippy::missing_safety_doc)]

mod device;
mod event;
mod graph;
mod kernel;
mod memory;
mod status;
mod stream;
