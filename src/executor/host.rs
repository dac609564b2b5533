//! Replays a plan with MPI collectives on host memory. Its figures say nothing about GPUs; it
//! makes the whole tool usable on any machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use zerocopy::IntoBytes;

use super::pattern::{POISON, Pattern};
use super::slots::Slots;
use super::{DataCheck, Executor, ExecutorConditions, Lifeline, Variant};
use crate::clock::{monotonic_ns, us_between};
use crate::error::{Error, Result};
use crate::flight::FlightRecorder;
use crate::plan::{OpKind, Plan};
use crate::result::{Buffers, Mode, Placement, RankSample};
use crate::units::format_bytes;
use crate::world::World;

/// Share of the processor's caches that one rank's buffers may take and still count as warm.
const CACHE_BYTES: u64 = 4 << 20;

/// Overwritten before each sample where cold buffers are asked for: more than the caches hold.
const EVICTION_BYTES: usize = 64 << 20;

/// MPI counts elements in 32 bits.
const MAX_ELEMENTS: u64 = i32::MAX as u64;

/// The executor on host memory.
pub struct HostExecutor<'a> {
    world: &'a World,
    recorder: &'a FlightRecorder,
    plan: &'a Plan,
    pattern: Pattern,
    slots: Slots,
    // Words, so that every element type is aligned.
    send: Vec<u64>,
    receive: Vec<u64>,
    eviction: Vec<u64>,
}

impl<'a> HostExecutor<'a> {
    /// Allocates the plan's buffers; `memory_bytes` is this rank's share of free memory.
    ///
    /// # Errors
    /// Exit code 2 for a payload beyond MPI's counts, 3 when memory does not hold the buffers.
    pub fn new(
        world: &'a World,
        recorder: &'a FlightRecorder,
        plan: &'a Plan,
        buffers: Buffers,
        memory_bytes: u64,
    ) -> Result<HostExecutor<'a>> {
        for op in &plan.ops {
            if op.count() > MAX_ELEMENTS {
                return Err(Error::usage(format!(
                    "MPI counts at most {MAX_ELEMENTS} elements a call; {} of {} are {}",
                    format_bytes(op.bytes),
                    op.dtype,
                    op.count()
                ))
                .try_this("a smaller --bytes or --batch"));
            }
        }
        let pattern = Pattern::new(plan.ops[0].dtype, world.size())?;
        let slots = Slots::for_plan(plan, buffers, false, CACHE_BYTES);
        let eviction_bytes = match buffers {
            Buffers::Warm => 0,
            Buffers::Cold => EVICTION_BYTES,
        };
        let needed = slots
            .slab_bytes()
            .and_then(|slab| slab.checked_mul(2))
            .and_then(|slabs| slabs.checked_add(eviction_bytes as u64))
            .filter(|needed| *needed <= memory_bytes)
            .ok_or_else(|| {
                Error::environment(format!(
                    "the buffers of {} do not fit this rank's share of free memory, {}",
                    plan.label,
                    format_bytes(memory_bytes)
                ))
                .try_this("fewer --ops, smaller --bytes, or --buffers warm")
            })?;
        let words = (needed as usize - eviction_bytes) / 2 / 8;
        Ok(HostExecutor {
            world,
            recorder,
            plan,
            pattern,
            slots,
            send: vec![0; words],
            receive: vec![0; words],
            eviction: vec![0; eviction_bytes / 8],
        })
    }
}

impl Executor for HostExecutor<'_> {
    fn prepare(&mut self, variant: Variant) -> Result<()> {
        match self.why_not(variant) {
            Some(why) => Err(Error::usage(format!("{}: {why}", variant.label()))),
            None => Ok(()),
        }
    }

    fn stage(&mut self, _variant: Variant) -> Result<()> {
        for word in &mut self.eviction {
            *word = word.wrapping_add(1);
        }
        std::hint::black_box(&self.eviction);
        Ok(())
    }

    fn fire(&mut self, _variant: Variant) -> Result<RankSample> {
        #[cfg(feature = "fault-injection")]
        crate::faults::panic_in_a_replay(self.world.rank());
        let send = self.send.as_bytes();
        let receive = self.receive.as_mut_bytes();
        let arrival_ns = monotonic_ns();
        for (index, op) in self.plan.ops.iter().enumerate() {
            self.recorder.at_op(index as u64);
            let start = (self.slots.of_op(index) * self.slots.stride) as usize;
            let range = start..start + op.bytes as usize;
            match op.kind {
                OpKind::AllReduce => self.world.all_reduce_sum(
                    op.dtype,
                    &send[range.clone()],
                    &mut receive[range],
                )?,
            }
        }
        let us = us_between(arrival_ns, monotonic_ns());
        Ok(RankSample {
            device_us: us,
            host_us: us,
            issue_us: us,
            arrival_ns,
        })
    }

    fn reset_data(&mut self, _variant: Variant) -> Result<()> {
        let stride = self.slots.stride as usize;
        let rank = self.world.rank();
        for (slot, bytes) in self.send.as_mut_bytes().chunks_mut(stride).enumerate() {
            self.pattern.fill(rank, slot as u64, bytes);
        }
        self.receive.as_mut_bytes().fill(POISON);
        Ok(())
    }

    fn check_data(&mut self, _variant: Variant) -> Result<DataCheck> {
        #[cfg(feature = "fault-injection")]
        crate::faults::corrupt(self.world.rank(), self.receive.as_mut_bytes());
        let mut check = DataCheck::default();
        let stride = self.slots.stride as usize;
        for (slot, bytes) in self.receive.as_bytes().chunks(stride).enumerate() {
            let op = self.slots.last_op_of(slot as u64, self.plan.ops.len());
            let payload = &bytes[..self.plan.ops[op as usize].bytes as usize];
            let (wrong, first_wrong) =
                self.pattern
                    .check(self.world.rank(), slot as u64, op, payload);
            check.merge(DataCheck {
                elements: self.plan.ops[op as usize].count(),
                wrong,
                first_wrong,
            });
        }
        Ok(check)
    }

    fn conditions(&self, _variant: Variant) -> ExecutorConditions {
        ExecutorConditions {
            clock: "host-monotonic".into(),
            buffer_slots: self.slots.count,
            gate: None,
            nccl_choice: None,
            issue_is_separate: false,
        }
    }

    fn why_not(&self, variant: Variant) -> Option<String> {
        let why = match variant {
            Variant {
                mode: Mode::Gated | Mode::Graph,
                ..
            } => "host memory has no stream to gate or capture",
            Variant {
                placement: Placement::InPlace,
                ..
            } => "the MPI binding in use offers no in-place all-reduce",
            _ => return None,
        };
        Some(why.to_string())
    }

    fn lifeline(&self) -> Option<Arc<dyn Lifeline>> {
        None
    }

    fn transports(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    fn close(self: Box<Self>) -> Result<()> {
        #[cfg(feature = "fault-injection")]
        crate::faults::closing(self.world.rank())?;
        Ok(())
    }
}
