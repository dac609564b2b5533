//! commbench measures what the communication of one decode step costs on this machine.
//!
//! Data flows one way: a [`plan`] is made, an executor replays it, samples come back as
//! result types, and a report shows them.

#![deny(unsafe_code)]

pub mod error;
pub mod plan;
pub mod result;
pub mod stats;
pub mod units;
