//! The ranks of the job. The only file that knows MPI.
//!
//! Without the `mpi` feature, and without a launcher, the world is one rank on one host.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::plan::DataType;
use crate::process::RANK_AND_SIZE_VARIABLES;

#[cfg(feature = "mpi")]
use mpi::{
    collective::{SystemOperation, UserOperation},
    datatype::{Partition, PartitionMut},
    environment::Universe,
    topology::SimpleCommunicator,
    traits::*,
};
#[cfg(feature = "mpi")]
use zerocopy::{FromBytes, IntoBytes};

/// What a launcher's variables say before MPI is up: enough to speak with one voice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchSite {
    pub rank: u32,
    pub size: u32,
}

impl LaunchSite {
    /// Reads the variables that launchers set; `None` without a launcher.
    pub fn from_environment() -> Option<LaunchSite> {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
        RANK_AND_SIZE_VARIABLES.iter().find_map(|(rank, size)| {
            Some(LaunchSite {
                rank: number(rank)?,
                size: number(size)?,
            })
        })
    }
}

/// All ranks of the job, as one of them sees them.
pub struct World {
    rank: u32,
    size: u32,
    #[cfg(feature = "mpi")]
    mpi: Option<Mpi>,
}

#[cfg(feature = "mpi")]
struct Mpi {
    world: SimpleCommunicator,
    add_bf16: UserOperation<'static>,
    add_fp16: UserOperation<'static>,
    // Last, so that the operations are freed before MPI is finalized.
    _universe: Universe,
}

impl World {
    /// A world of this process alone.
    pub fn solo() -> World {
        World {
            rank: 0,
            size: 1,
            #[cfg(feature = "mpi")]
            mpi: None,
        }
    }

    /// Joins the job's ranks through MPI.
    ///
    /// # Errors
    /// Exit code 3 when MPI cannot be initialised.
    #[cfg(feature = "mpi")]
    pub fn join() -> Result<World> {
        // The watchdog thread never calls MPI, so that the main thread alone may.
        let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled)
            .ok_or_else(|| Error::environment("MPI was initialised before commbench started"))?;
        let world = universe.world();
        Ok(World {
            rank: world.rank() as u32,
            size: world.size() as u32,
            mpi: Some(Mpi {
                world,
                add_bf16: adding::<half::bf16>(),
                add_fp16: adding::<half::f16>(),
                _universe: universe,
            }),
        })
    }

    /// Joins the job's ranks: there is one, in a build without MPI.
    ///
    /// # Errors
    /// None; the signature is that of the build with MPI.
    #[cfg(not(feature = "mpi"))]
    pub fn join() -> Result<World> {
        Ok(World::solo())
    }

    /// This process's rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Whether this rank speaks for all.
    pub fn is_root(&self) -> bool {
        self.rank == 0
    }

    /// Waits for every rank.
    pub fn barrier(&self) {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            mpi.world.barrier();
        }
    }

    /// Sends a word to `rank`, which must receive it.
    pub fn send_word(&self, rank: u32, word: u64) {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            mpi.world.process_at_rank(rank as i32).send(&word);
        }
        #[cfg(not(feature = "mpi"))]
        let _ = (rank, word);
    }

    /// The word that `rank` sends to this rank; 0 without MPI.
    pub fn receive_word(&self, rank: u32) -> u64 {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            return mpi.world.process_at_rank(rank as i32).receive::<u64>().0;
        }
        let _ = rank;
        0
    }

    /// Every rank's bytes at rank 0, in rank order; `None` elsewhere.
    fn gather_bytes(&self, mine: &[u8]) -> Option<Vec<Vec<u8>>> {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            let root = mpi.world.process_at_rank(0);
            let length = mine.len() as i32;
            if self.rank != 0 {
                root.gather_into(&length);
                root.gather_varcount_into(mine);
                return None;
            }
            let mut lengths = vec![0i32; self.size as usize];
            root.gather_into_root(&length, &mut lengths[..]);
            let starts: Vec<i32> = lengths
                .iter()
                .scan(0, |start, length| {
                    let this = *start;
                    *start += length;
                    Some(this)
                })
                .collect();
            let mut all = vec![0u8; lengths.iter().map(|length| *length as usize).sum()];
            {
                let mut partition = PartitionMut::new(&mut all[..], &lengths[..], &starts[..]);
                root.gather_varcount_into_root(mine, &mut partition);
            }
            return Some(
                starts
                    .iter()
                    .zip(&lengths)
                    .map(|(start, length)| {
                        all[*start as usize..(*start + *length) as usize].to_vec()
                    })
                    .collect(),
            );
        }
        Some(vec![mine.to_vec()])
    }

    /// Rank 0's bytes on every rank.
    fn broadcast_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            let root = mpi.world.process_at_rank(0);
            let mut length = bytes.len() as u64;
            root.broadcast_into(&mut length);
            let mut bytes = bytes;
            bytes.resize(length as usize, 0);
            root.broadcast_into(&mut bytes[..]);
            return bytes;
        }
        bytes
    }

    /// Every rank's value at rank 0, in rank order; `None` elsewhere.
    ///
    /// # Errors
    /// Exit code 1 when a value does not survive the way: a defect, not a user's mistake.
    pub fn gather<T: Serialize + DeserializeOwned>(&self, mine: &T) -> Result<Option<Vec<T>>> {
        let bytes = serde_json::to_vec(mine).map_err(internal)?;
        self.gather_bytes(&bytes)
            .map(|all| {
                all.iter()
                    .map(|bytes| serde_json::from_slice(bytes).map_err(internal))
                    .collect()
            })
            .transpose()
    }

    /// Rank 0's value on every rank. Other ranks pass `None`.
    ///
    /// # Errors
    /// Exit code 1 when the value does not survive the way: a defect, not a user's mistake.
    pub fn broadcast<T: Serialize + DeserializeOwned>(&self, value: Option<&T>) -> Result<T> {
        let bytes = match value {
            Some(value) if self.is_root() => serde_json::to_vec(value).map_err(internal)?,
            _ => Vec::new(),
        };
        serde_json::from_slice(&self.broadcast_bytes(bytes)).map_err(internal)
    }

    /// Every rank's value on every rank, in rank order.
    ///
    /// # Errors
    /// As [`World::gather`].
    pub fn all_gather<T: Serialize + DeserializeOwned>(&self, mine: &T) -> Result<Vec<T>> {
        let all = self.gather(mine)?;
        self.broadcast(all.as_ref())
    }

    /// Makes one outcome of every rank's: all succeed, or all get the error of the lowest rank
    /// that failed, with the names of the ranks that failed where not all did. Every rank must
    /// call it, whatever its own outcome was.
    ///
    /// # Errors
    /// The error of the lowest rank that has one.
    pub fn agree<T>(&self, mine: Result<T>) -> Result<T> {
        let errors = self.all_gather(&mine.as_ref().err().cloned())?;
        match common_error(errors) {
            Some(error) => Err(error),
            None => mine,
        }
    }

    /// Does `work` at rank 0 alone, and gives its outcome to every rank.
    ///
    /// # Errors
    /// The error of `work`, on every rank.
    pub fn at_root<T: Serialize + DeserializeOwned>(
        &self,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let done = self.is_root().then(work);
        let outcome: std::result::Result<T, Error> = self.broadcast(done.as_ref())?;
        outcome
    }

    /// The MPI library's own words about itself; `None` without MPI.
    pub fn mpi_library(&self) -> Option<String> {
        #[cfg(feature = "mpi")]
        if self.mpi.is_some() {
            return mpi::environment::library_version()
                .ok()
                .map(|words| words.trim_end_matches('\0').trim().to_string());
        }
        None
    }

    /// Name of the host this rank runs on.
    pub fn host_name(&self) -> String {
        #[cfg(feature = "fault-injection")]
        if let Some(name) = crate::faults::another_host(self.rank) {
            return name;
        }
        rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned()
    }

    /// Sums `send` over all ranks into `receive` through `MPI_Allreduce`. Both hold
    /// `send.len() / dtype.bytes()` elements and are aligned to 8 bytes.
    ///
    /// # Errors
    /// Exit code 1 when the buffers do not fit the datatype: a defect, not a user's mistake.
    pub fn all_reduce_sum(&self, dtype: DataType, send: &[u8], receive: &mut [u8]) -> Result<()> {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            return mpi.all_reduce_sum(dtype, send, receive);
        }
        let _ = dtype;
        receive.copy_from_slice(send);
        Ok(())
    }

    /// Sums `send` over all ranks and leaves each rank its part through
    /// `MPI_Reduce_scatter_block`. `send` holds N times the elements of `receive`.
    ///
    /// # Errors
    /// As [`World::all_reduce_sum`].
    pub fn reduce_scatter_sum(
        &self,
        dtype: DataType,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<()> {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            return mpi.reduce_scatter_sum(dtype, send, receive);
        }
        let _ = dtype;
        receive.copy_from_slice(send);
        Ok(())
    }

    /// Rank 0's bytes on every rank, in place, through `MPI_Bcast`. At most 2^31 - 1 bytes.
    pub fn broadcast_from_root(&self, buffer: &mut [u8]) {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            mpi.world.process_at_rank(0).broadcast_into(buffer);
        }
        let _ = buffer;
    }

    /// Sums `send` over all ranks into rank 0's `receive`, which is empty elsewhere, through
    /// `MPI_Reduce`.
    ///
    /// # Errors
    /// As [`World::all_reduce_sum`].
    pub fn reduce_sum_at_root(
        &self,
        dtype: DataType,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<()> {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            return mpi.reduce_sum_at_root(self.rank, dtype, send, receive);
        }
        let _ = dtype;
        receive.copy_from_slice(send);
        Ok(())
    }

    /// Every rank's `send` in the order of ranks through `MPI_Allgather`. `receive` holds N times
    /// the bytes of `send`, at most 2^31 - 1.
    pub fn all_gather_into(&self, send: &[u8], receive: &mut [u8]) {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            return mpi.world.all_gather_into(send, receive);
        }
        receive.copy_from_slice(send);
    }

    /// Equal parts of `send` to every rank, and of `receive` from every rank, in the order of
    /// ranks, through `MPI_Alltoall`. At most 2^31 - 1 bytes each.
    pub fn all_to_all(&self, send: &[u8], receive: &mut [u8]) {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            return mpi.world.all_to_all_into(send, receive);
        }
        receive.copy_from_slice(send);
    }

    /// Parts of `send` to every rank, and of `receive` from every rank, in the order of ranks,
    /// through `MPI_Alltoallv`.
    pub fn all_to_all_uneven(&self, send: &[u8], to: &Parts, receive: &mut [u8], from: &Parts) {
        #[cfg(feature = "mpi")]
        if let Some(mpi) = &self.mpi {
            let send = Partition::new(send, &to.counts[..], &to.starts[..]);
            let mut receive = PartitionMut::new(receive, &from.counts[..], &from.starts[..]);
            return mpi.world.all_to_all_varcount_into(&send, &mut receive);
        }
        let _ = (to, from);
        receive.copy_from_slice(send);
    }
}

/// How a buffer is parted among ranks: bytes and first byte of each part, as MPI counts them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    counts: Vec<i32>,
    starts: Vec<i32>,
}

impl Parts {
    /// Parts of these sizes in bytes, one after the other; `None` beyond 2^31 - 1 bytes.
    pub fn of(sizes: impl Iterator<Item = u64>) -> Option<Parts> {
        let mut parts = Parts::default();
        let mut end = 0i32;
        for size in sizes {
            let size = i32::try_from(size).ok()?;
            parts.counts.push(size);
            parts.starts.push(end);
            end = end.checked_add(size)?;
        }
        Some(parts)
    }
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::other(format!("a message between ranks was not readable: {error}"))
}

#[cfg(feature = "mpi")]
impl Mpi {
    fn all_reduce_sum(&self, dtype: DataType, send: &[u8], receive: &mut [u8]) -> Result<()> {
        match dtype {
            DataType::Bf16 => self.reduce::<u16, _>(send, receive, &self.add_bf16),
            DataType::Fp16 => self.reduce::<u16, _>(send, receive, &self.add_fp16),
            DataType::Fp32 => self.reduce::<f32, _>(send, receive, SystemOperation::sum()),
            DataType::Fp64 => self.reduce::<f64, _>(send, receive, SystemOperation::sum()),
            DataType::Int8 => self.reduce::<i8, _>(send, receive, SystemOperation::sum()),
            DataType::Int32 => self.reduce::<i32, _>(send, receive, SystemOperation::sum()),
        }
    }

    fn reduce_scatter_sum(&self, dtype: DataType, send: &[u8], receive: &mut [u8]) -> Result<()> {
        match dtype {
            DataType::Bf16 => self.scatter::<u16, _>(send, receive, &self.add_bf16),
            DataType::Fp16 => self.scatter::<u16, _>(send, receive, &self.add_fp16),
            DataType::Fp32 => self.scatter::<f32, _>(send, receive, SystemOperation::sum()),
            DataType::Fp64 => self.scatter::<f64, _>(send, receive, SystemOperation::sum()),
            DataType::Int8 => self.scatter::<i8, _>(send, receive, SystemOperation::sum()),
            DataType::Int32 => self.scatter::<i32, _>(send, receive, SystemOperation::sum()),
        }
    }

    fn reduce_sum_at_root(
        &self,
        rank: u32,
        dtype: DataType,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<()> {
        match dtype {
            DataType::Bf16 => self.collect::<u16, _>(rank, send, receive, &self.add_bf16),
            DataType::Fp16 => self.collect::<u16, _>(rank, send, receive, &self.add_fp16),
            DataType::Fp32 => self.collect::<f32, _>(rank, send, receive, SystemOperation::sum()),
            DataType::Fp64 => self.collect::<f64, _>(rank, send, receive, SystemOperation::sum()),
            DataType::Int8 => self.collect::<i8, _>(rank, send, receive, SystemOperation::sum()),
            DataType::Int32 => self.collect::<i32, _>(rank, send, receive, SystemOperation::sum()),
        }
    }

    fn collect<T, O>(&self, rank: u32, send: &[u8], receive: &mut [u8], operation: O) -> Result<()>
    where
        T: Equivalence + FromBytes + IntoBytes + zerocopy::Immutable,
        O: mpi::collective::Operation,
    {
        let (send, receive) = typed::<T>(send, receive)?;
        let root = self.world.process_at_rank(0);
        if rank == 0 {
            root.reduce_into_root(send, receive, operation);
        } else {
            root.reduce_into(send, operation);
        }
        Ok(())
    }

    fn scatter<T, O>(&self, send: &[u8], receive: &mut [u8], operation: O) -> Result<()>
    where
        T: Equivalence + FromBytes + IntoBytes + zerocopy::Immutable,
        O: mpi::collective::Operation,
    {
        let (send, receive) = typed::<T>(send, receive)?;
        self.world
            .reduce_scatter_block_into(send, receive, operation);
        Ok(())
    }

    fn reduce<T, O>(&self, send: &[u8], receive: &mut [u8], operation: O) -> Result<()>
    where
        T: Equivalence + FromBytes + IntoBytes + zerocopy::Immutable,
        O: mpi::collective::Operation,
    {
        let (send, receive) = typed::<T>(send, receive)?;
        self.world.all_reduce_into(send, receive, operation);
        Ok(())
    }
}

/// Both buffers as elements.
#[cfg(feature = "mpi")]
fn typed<'a, T>(send: &'a [u8], receive: &'a mut [u8]) -> Result<(&'a [T], &'a mut [T])>
where
    T: FromBytes + IntoBytes + zerocopy::Immutable,
{
    let misfit = || Error::other("a host buffer does not fit its datatype");
    Ok((
        <[T]>::ref_from_bytes(send).map_err(|_| misfit())?,
        <[T]>::mut_from_bytes(receive).map_err(|_| misfit())?,
    ))
}

/// MPI has no 16-bit floating-point types: the sum is an operation of our own on their bits.
#[cfg(feature = "mpi")]
fn adding<F>() -> UserOperation<'static>
where
    F: HalfFloat,
{
    UserOperation::commutative(|left, right| {
        if let (Some(left), Some(right)) = (left.downcast::<u16>(), right.downcast::<u16>()) {
            for (sum, addend) in right.iter_mut().zip(left) {
                *sum = F::add_bits(*sum, *addend);
            }
        }
    })
}

/// Addition on the bits of a 16-bit float: in f32, rounded once to nearest even.
#[cfg(feature = "mpi")]
trait HalfFloat: 'static {
    fn add_bits(left: u16, right: u16) -> u16;
}

#[cfg(feature = "mpi")]
impl HalfFloat for half::bf16 {
    #[inline]
    fn add_bits(left: u16, right: u16) -> u16 {
        let sum = half::bf16::from_bits(left).to_f32() + half::bf16::from_bits(right).to_f32();
        half::bf16::from_f32(sum).to_bits()
    }
}

#[cfg(feature = "mpi")]
impl HalfFloat for half::f16 {
    #[inline]
    fn add_bits(left: u16, right: u16) -> u16 {
        let sum = half::f16::from_bits(left).to_f32() + half::f16::from_bits(right).to_f32();
        half::f16::from_f32(sum).to_bits()
    }
}

/// What went wrong among the ranks, `errors` in rank order.
fn common_error(errors: Vec<Option<Error>>) -> Option<Error> {
    let failed: Vec<String> = (0..errors.len())
        .filter(|rank| errors[*rank].is_some())
        .map(|rank| rank.to_string())
        .collect();
    let all = failed.len() == errors.len();
    let mut error = errors.into_iter().flatten().next()?;
    if !all {
        let who = if failed.len() == 1 { "rank" } else { "ranks" };
        error.what = format!("{who} {}: {}", failed.join(", "), error.what);
    }
    Some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_every_exchange_returns_what_was_given() {
        let world = World::solo();
        assert_eq!(world.all_gather(&7).unwrap(), [7]);
        assert_eq!(world.broadcast(Some(&"x".to_string())).unwrap(), "x");
        assert_eq!(world.agree(Ok(3)).unwrap(), 3);
        assert_eq!(world.at_root(|| Ok(4)).unwrap(), 4);
        let error = Error::usage("no");
        assert_eq!(world.agree::<()>(Err(error.clone())), Err(error));
    }

    #[test]
    fn an_error_names_its_ranks_where_not_all_have_it() {
        let what = |failed: &[usize]| {
            let errors = (0..3).map(|rank| {
                let error = Error::environment(format!("out of memory ({rank})"));
                failed.contains(&rank).then_some(error)
            });
            common_error(errors.collect()).map(|error| error.what)
        };
        assert_eq!(what(&[]), None);
        assert_eq!(what(&[1]).unwrap(), "rank 1: out of memory (1)");
        assert_eq!(what(&[1, 2]).unwrap(), "ranks 1, 2: out of memory (1)");
        assert_eq!(what(&[0, 1, 2]).unwrap(), "out of memory (0)");
    }
}
