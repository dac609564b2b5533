//! Replays a plan with NCCL, one GPU a rank.
#![allow(unsafe_code)]

mod comm;
mod executor;
mod library;
mod log;
mod profiler;
mod ready;
mod sys;

pub use profiler::PLUGIN_VARIABLES;
pub(crate) use ready::on_gpus;
