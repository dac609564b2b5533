//! What is read of a GPU, as it stands in result.json.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of one rank's GPU around the samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuHealth {
    pub rank: u32,
    pub host: String,
    pub uuid: String,
    /// Why nothing could be read; `null` where it could.
    pub unreadable: Option<String>,
    /// Interval of readings while samples were taken, in ms; `null` where the GPU was read only
    /// between rounds of samples, so that no reading could disturb one.
    pub poll_ms: Option<u64>,
    /// Before warm-up.
    pub before: Option<GpuReading>,
    /// From the end of warm-up to the last sample.
    pub sampling: Option<ReadingRange>,
    /// After the last check of the data.
    pub after: Option<GpuReading>,
    /// Processes on the GPU that are no ranks of the job.
    pub others: Vec<OtherProcess>,
}

/// One reading. What a GPU does not tell is `null`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuReading {
    pub sm_mhz: Option<u32>,
    pub memory_mhz: Option<u32>,
    /// Power in W; newer GPUs give the mean of the last second.
    pub power_w: Option<f64>,
    pub temperature_c: Option<u32>,
    /// What holds the clocks down, in words: "power cap", "thermal slowdown (hardware)", ….
    pub throttle: Vec<String>,
}

/// Several readings: the lowest and the highest of each figure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReadingRange {
    pub readings: u64,
    pub sm_mhz: Option<[u32; 2]>,
    pub memory_mhz: Option<[u32; 2]>,
    pub power_w: Option<[f64; 2]>,
    pub temperature_c: Option<[u32; 2]>,
    /// In how many of the readings something held the clocks down.
    pub throttle: Vec<ThrottleCount>,
}

/// A reason to hold the clocks down, and how often it was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThrottleCount {
    pub reason: String,
    pub readings: u64,
}

/// A process of somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherProcess {
    pub pid: u32,
    /// Its command's name, where this user may see it.
    pub name: Option<String>,
    /// GPU memory it holds, in bytes.
    pub memory_bytes: Option<u64>,
    /// The most of the SMs' time that it had in a reading, in percent; `null` where the driver
    /// does not tell.
    pub sm_percent: Option<u32>,
}

impl ReadingRange {
    /// Takes one more reading in.
    pub fn add(&mut self, reading: &GpuReading) {
        self.readings += 1;
        widen(&mut self.sm_mhz, reading.sm_mhz);
        widen(&mut self.memory_mhz, reading.memory_mhz);
        widen(&mut self.power_w, reading.power_w);
        widen(&mut self.temperature_c, reading.temperature_c);
        for reason in &reading.throttle {
            match self.throttle.iter_mut().find(|one| one.reason == *reason) {
                Some(one) => one.readings += 1,
                None => self.throttle.push(ThrottleCount {
                    reason: reason.clone(),
                    readings: 1,
                }),
            }
        }
    }
}

fn widen<T: PartialOrd + Copy>(range: &mut Option<[T; 2]>, value: Option<T>) {
    let Some(value) = value else { return };
    let [lowest, highest] = range.get_or_insert([value, value]);
    if value < *lowest {
        *lowest = value;
    }
    if value > *highest {
        *highest = value;
    }
}
