//! Readings through NVML, opened at run time like the driver.

use std::path::Path;

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::{Bits, NvmlError};

use super::reasons::reasons;
use super::{GpuProcess, GpuReading, GpuSource};

/// One GPU through NVML.
pub struct NvmlGpu {
    device: nvml_wrapper::Device<'static>,
}

impl NvmlGpu {
    /// The GPU with this UUID, as CUDA states it.
    ///
    /// # Errors
    /// A sentence where there is no NVML, or it does not know the GPU.
    pub fn open(uuid: &str) -> Result<NvmlGpu, String> {
        let nvml = Nvml::init().map_err(|error| format!("NVML cannot be used: {error}"))?;
        // Used until the process ends, as the GPU is.
        let nvml: &'static Nvml = Box::leak(Box::new(nvml));
        let device = nvml
            .device_by_uuid(uuid)
            .map_err(|error| format!("NVML does not know {uuid}: {error}"))?;
        Ok(NvmlGpu { device })
    }
}

impl GpuSource for NvmlGpu {
    fn read(&mut self) -> Result<GpuReading, String> {
        let device = &self.device;
        let bits = match device.current_throttle_reasons_strict() {
            Ok(known) => known.bits(),
            // Newer reasons than the binding knows.
            Err(NvmlError::IncorrectBits(Bits::U64(bits))) => bits,
            Err(NvmlError::GpuLost) => return Err("the GPU is lost".to_string()),
            Err(_) => 0,
        };
        Ok(GpuReading {
            sm_mhz: device.clock_info(Clock::SM).ok(),
            memory_mhz: device.clock_info(Clock::Memory).ok(),
            power_w: device.power_usage().ok().map(|mw| f64::from(mw) / 1e3),
            temperature_c: device.temperature(TemperatureSensor::Gpu).ok(),
            throttle: reasons(bits),
        })
    }

    fn processes(&mut self) -> Result<Vec<GpuProcess>, String> {
        let mut processes = self
            .device
            .running_compute_processes()
            .map_err(|error| error.to_string())?;
        if let Ok(graphics) = self.device.running_graphics_processes() {
            processes.extend(graphics);
        }
        // Of the last second or so; the driver may not tell.
        let used = self
            .device
            .process_utilization_stats(None)
            .unwrap_or_default();
        let mut found: Vec<GpuProcess> = Vec::new();
        for process in processes {
            if found.iter().any(|one| one.pid == process.pid) {
                continue;
            }
            let of_pid = used.iter().filter(|one| one.pid == process.pid);
            found.push(GpuProcess {
                pid: process.pid,
                name: command_of(process.pid),
                memory_bytes: match process.used_gpu_memory {
                    UsedGpuMemory::Used(bytes) => Some(bytes),
                    UsedGpuMemory::Unavailable => None,
                },
                sm_percent: of_pid.map(|one| one.sm_util).max(),
            });
        }
        Ok(found)
    }
}

fn command_of(pid: u32) -> Option<String> {
    let path = format!("/proc/{pid}/comm");
    let text = std::fs::read_to_string(Path::new(&path)).ok()?;
    Some(text.trim_end().to_string())
}
