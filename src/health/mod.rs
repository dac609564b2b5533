//! The state of the GPUs around a run: clocks, power, temperature, what slows them, and who else
//! is on them. A figure from a GPU that slowed down, or was shared, is another figure.

mod driver_gpus;
mod judge;
mod nvml;
mod others;
mod reading;
mod reasons;
mod watch;

pub use driver_gpus::driver_gpus;
pub use judge::{health_warnings, health_words};
pub use nvml::NvmlGpu;
pub use reading::{GpuHealth, GpuReading, OtherProcess, ReadingRange, ThrottleCount};
pub use watch::Watch;

/// A GPU that can be read: NVML's, or one of a test.
pub trait GpuSource: Send {
    /// Clocks, power, temperature, and what holds the clocks down.
    ///
    /// # Errors
    /// A sentence where the GPU cannot be read at all.
    fn read(&mut self) -> Result<GpuReading, String>;

    /// Every process that has a context on the GPU.
    ///
    /// # Errors
    /// A sentence where the driver does not tell.
    fn processes(&mut self) -> Result<Vec<GpuProcess>, String>;
}

/// A process with a context on a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuProcess {
    pub pid: u32,
    pub name: Option<String>,
    pub memory_bytes: Option<u64>,
    pub sm_percent: Option<u32>,
}
