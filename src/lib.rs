//! commbench measures what the communication of one decode step costs on this machine.
//!
//! Data flows one way: a [`plan`] is made, an executor replays it, samples come back as
//! [`result`] types, and a [`report`] shows them.

#![deny(unsafe_code)]

pub mod cli;
pub mod clock;
pub mod commands;
pub mod compare;
pub mod error;
pub mod estate;
pub mod executor;
#[cfg(feature = "fault-injection")]
pub mod faults;
pub mod files;
pub mod flight;
#[doc(hidden)]
pub mod fuzzing;
pub mod gpu;
pub mod health;
pub mod import;
pub mod measure;
pub mod plan;
pub mod process;
pub mod report;
pub mod result;
pub mod stats;
pub mod supervisor;
pub mod topology;
pub mod units;
pub mod verdict;
pub mod world;
