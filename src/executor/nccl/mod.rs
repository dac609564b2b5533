//! Replays plans with NCCL, one GPU a rank.
#![allow(unsafe_code)]

mod buffers;
mod comm;
mod executor;
mod issue;
mod library;
mod log;
mod profiler;
mod ready;
mod stamper;
mod sys;

pub use profiler::PLUGIN_VARIABLES;
pub(crate) use ready::on_gpus;
