//! The device's clock against the host's.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::sys::{self, CUdeviceptr};

use super::gate::PORTABLE_AND_MAPPED;
use super::{Gate, SpinKernel, Stamps, Stream, check};
use crate::clock::monotonic_ns;
use crate::error::{Error, Result};

/// Times that the clocks are read together: the narrowest meeting counts.
const MEETINGS: usize = 8;

/// A device that does not answer within this is not going to, in ns.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Where a device's `globaltimer` stands against CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// To be added (wrapping) to the device's clock, in ns.
    pub to_host_ns: i64,
    /// How far that can be off, in ns.
    pub error_ns: u64,
}

/// Two words of pinned host memory to which the device tells its time.
#[derive(Debug)]
pub struct DeviceClock {
    host: *mut c_void,
    device: CUdeviceptr,
    gate: Gate,
    /// Whether the device may still write.
    busy: bool,
}

impl DeviceClock {
    /// A clock reader on the current context.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn new() -> Result<DeviceClock> {
        let gate = Gate::new()?;
        let mut host = std::ptr::null_mut();
        let mut device = 0;
        // SAFETY: plain calls with valid out-pointers; a context is current.
        unsafe {
            check(
                "cuMemHostAlloc",
                sys::cuMemHostAlloc(&mut host, Stamps::BYTES, PORTABLE_AND_MAPPED),
            )?;
            check(
                "cuMemHostGetDevicePointer",
                sys::cuMemHostGetDevicePointer_v2(&mut device, host, 0),
            )?;
        }
        Ok(DeviceClock {
            host,
            device,
            gate,
            busy: false,
        })
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: two aligned words of pinned memory, valid until drop; the device writes whole
        // words.
        unsafe { AtomicU64::from_ptr(self.host.cast::<u64>().add(index)) }
    }

    /// Reads both clocks together a few times. The device reads its own between two readings of
    /// the host's, so that the offset lies within bounds that each meeting narrows.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses, or the device does not answer.
    pub fn offset(&mut self, spin: &SpinKernel, stream: &Stream) -> Result<ClockOffset> {
        let mut bounds: Option<(i64, i64)> = None;
        for _ in 0..MEETINGS {
            let (lowest, highest) = self.meet(spin, stream)?;
            bounds = Some(match bounds {
                None => (lowest, highest),
                // Of the first: offsets can lie a wrap apart.
                Some((lo, hi)) => (
                    if lowest.wrapping_sub(lo) > 0 {
                        lowest
                    } else {
                        lo
                    },
                    if highest.wrapping_sub(hi) < 0 {
                        highest
                    } else {
                        hi
                    },
                ),
            });
        }
        let (lo, hi) = bounds.unwrap_or_default();
        let width = hi.wrapping_sub(lo).max(0);
        Ok(ClockOffset {
            to_host_ns: lo.wrapping_add(width / 2),
            // The device's clock advances in steps of up to a microsecond on older GPUs.
            error_ns: (width as u64).div_ceil(2).max(32),
        })
    }

    /// Bounds of what is to be added to the device's clock.
    fn meet(&mut self, spin: &SpinKernel, stream: &Stream) -> Result<(i64, i64)> {
        self.word(0).store(0, Ordering::SeqCst);
        self.word(1).store(0, Ordering::SeqCst);
        // The launch lies behind the gate: what is timed is the device's way to the host and back.
        self.gate.close(stream)?;
        self.busy = true;
        let launched = spin.launch_stamping(0.0, Stamps::at(self.device), stream);
        let before = monotonic_ns();
        self.gate.open();
        launched?;
        while self.word(0).load(Ordering::SeqCst) == 0 || self.word(1).load(Ordering::SeqCst) == 0 {
            if monotonic_ns() - before > PATIENCE_NS {
                return Err(
                    Error::environment("the GPU does not tell its time within a second")
                        .try_this("the same without --arrivals"),
                );
            }
            std::hint::spin_loop();
        }
        let after = monotonic_ns();
        stream.synchronize()?;
        self.busy = false;
        let [begin, end] = [0, 1].map(|index| self.word(index).load(Ordering::SeqCst));
        let apart = |host: u64, device: u64| host.wrapping_sub(device) as i64;
        Ok((apart(before, begin), apart(after, end)))
    }
}

impl Drop for DeviceClock {
    fn drop(&mut self) {
        if !self.busy {
            // SAFETY: allocated by `new`, freed once, and the device is done with it.
            let _ = unsafe { sys::cuMemFreeHost(self.host) };
        }
    }
}
