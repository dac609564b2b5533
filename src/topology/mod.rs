//! The machine: what the operating system says of a host. Knows neither MPI nor CUDA.

mod host;

pub use host::{HostFacts, host_facts};
