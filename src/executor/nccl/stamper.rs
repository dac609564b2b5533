//! Stamps of ops on the device.

use crate::error::Result;
use crate::gpu::{ClockOffset, DeviceBuffer, DeviceClock, SpinKernel, Stamps, Stream};
use crate::result::{OpStamp, RankStamps};

/// Where kernels between the ops write down when they ran, and what their clock means.
pub(super) struct OpStamper {
    /// A pair of stamps before each op, and one after the last.
    stamps: DeviceBuffer,
    clock: DeviceClock,
    offset: ClockOffset,
    /// Ranks on one device read one clock.
    name: String,
}

impl OpStamper {
    /// For plans of at most `ops` ops on the current device, which is `uuid`.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn new(ops: usize, uuid: &str) -> Result<OpStamper> {
        Ok(OpStamper {
            stamps: DeviceBuffer::new((ops + 1) * Stamps::BYTES)?,
            clock: DeviceClock::new()?,
            offset: ClockOffset {
                to_host_ns: 0,
                error_ns: u64::MAX,
            },
            name: format!("globaltimer of {uuid}"),
        })
    }

    /// Reads the device's clock and the host's together: they drift apart.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses, or the device does not answer.
    pub fn meet(&mut self, spin: &SpinKernel, stream: &Stream) -> Result<()> {
        self.offset = self.clock.offset(spin, stream)?;
        Ok(())
    }

    /// Where the kernel before op `index` writes.
    #[inline]
    pub fn before(&self, index: usize) -> Stamps<'_> {
        Stamps::of(&self.stamps, index)
    }

    /// The stamps of a replay of `ops` ops that has ended.
    ///
    /// # Errors
    /// Exit code 3 when the driver refuses.
    pub fn read(&self, ops: usize) -> Result<RankStamps> {
        let mut bytes = vec![0u8; (ops + 1) * Stamps::BYTES];
        self.stamps.read(0, &mut bytes)?;
        let words: Vec<u64> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .collect();
        let pairs = words.as_chunks::<2>().0;
        let stamp = |(pair, next): (&[u64; 2], &[u64; 2])| OpStamp {
            free_ns: pair[0],
            ready_ns: pair[1],
            end_ns: next[0],
        };
        Ok(RankStamps {
            clock: self.name.clone(),
            to_host_ns: self.offset.to_host_ns,
            error_ns: self.offset.error_ns,
            ops: pairs.iter().zip(&pairs[1..]).map(stamp).collect(),
        })
    }
}
