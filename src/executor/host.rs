//! Replays plans with MPI collectives on host memory. Its figures say nothing about GPUs; it
//! makes the whole tool usable on any machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use zerocopy::IntoBytes;

use super::pattern::{Checked, POISON, Pattern};
use super::slots::Slots;
use super::{DataCheck, Executor, ExecutorConditions, Lifeline, Variant};
use crate::clock::{monotonic_ns, us_between};
use crate::error::{Error, Result};
use crate::flight::FlightRecorder;
use crate::plan::{Exchange, Op, OpKind, Plan};
use crate::result::{Buffers, Mode, OpStamp, Placement, RankSample, RankStamps};
use crate::units::format_bytes;
use crate::world::{Parts, World};

/// Share of the processor's caches that one rank's buffers may take and still count as warm.
const CACHE_BYTES: u64 = 4 << 20;

/// Overwritten before each sample where cold buffers are asked for: more than the caches hold.
const EVICTION_BYTES: usize = 64 << 20;

/// MPI counts in 32 bits: elements where it adds, bytes where it copies.
const MAX_COUNT: u64 = i32::MAX as u64;

/// The executor on host memory.
pub struct HostExecutor<'a> {
    world: &'a World,
    recorder: &'a FlightRecorder,
    plans: &'a [Plan],
    /// One a plan.
    layouts: Vec<Layout>,
    // Words, so that every element type is aligned.
    send: Vec<u64>,
    receive: Vec<u64>,
    eviction: Vec<u64>,
    /// Of the last replay, where its plan is stamped.
    stamps: Vec<OpStamp>,
}

/// How one plan's data lies in the buffers.
struct Layout {
    pattern: Pattern,
    slots: Slots,
    /// For each op, what an uneven exchange sends and receives.
    parts: Vec<Option<(Parts, Parts)>>,
}

impl Layout {
    fn new(plan: &Plan, world: &World, buffers: Buffers) -> Result<Layout> {
        let ranks = world.size();
        for op in &plan.ops {
            let count = largest_count(op, ranks);
            if count > MAX_COUNT {
                return Err(Error::usage(format!(
                    "MPI counts at most {MAX_COUNT} a call; {} of {} {} are {count}",
                    op.kind,
                    format_bytes(op.bytes),
                    op.dtype
                ))
                .try_this("a smaller --bytes, --batch or --tokens"));
            }
        }
        let parts = |op: &Op| {
            let traffic = op.traffic.as_ref()?;
            let me = world.rank();
            let sent = Parts::of((0..ranks).map(|to| traffic.bytes(me, to)))?;
            let received = Parts::of((0..ranks).map(|from| traffic.bytes(from, me)))?;
            Some((sent, received))
        };
        Ok(Layout {
            pattern: Pattern::new(plan.checked_dtype()?, ranks)?,
            slots: Slots::for_plan(plan, ranks, buffers, false, CACHE_BYTES),
            parts: plan.ops.iter().map(parts).collect(),
        })
    }
}

/// The largest count that MPI is given for `op`.
fn largest_count(op: &Op, ranks: u32) -> u64 {
    if op.kind.reduces() {
        op.bytes / op.dtype.bytes()
    } else {
        op.buffer_bytes(ranks)
    }
}

impl<'a> HostExecutor<'a> {
    /// Allocates the plans' buffers; `memory_bytes` is this rank's share of free memory.
    ///
    /// # Errors
    /// Exit code 2 for a payload beyond MPI's counts, 3 when memory does not hold the buffers.
    pub fn new(
        world: &'a World,
        recorder: &'a FlightRecorder,
        plans: &'a [Plan],
        buffers: Buffers,
        memory_bytes: u64,
    ) -> Result<HostExecutor<'a>> {
        let mut layouts = Vec::new();
        let mut slab_bytes = 0;
        let eviction_bytes = match buffers {
            Buffers::Warm => 0,
            Buffers::Cold => EVICTION_BYTES,
        };
        for plan in plans {
            let layout = Layout::new(plan, world, buffers)?;
            let slab = layout
                .slots
                .slab_bytes()
                .filter(|slab| {
                    slab.checked_mul(2)
                        .and_then(|slabs| slabs.checked_add(eviction_bytes as u64))
                        .is_some_and(|needed| needed <= memory_bytes)
                })
                .ok_or_else(|| {
                    Error::environment(format!(
                        "the buffers of {} do not fit this rank's share of free memory, {}",
                        plan.label,
                        format_bytes(memory_bytes)
                    ))
                    .try_this("fewer --ops, smaller --bytes or --tokens, or --buffers warm")
                })?;
            slab_bytes = slab_bytes.max(slab);
            layouts.push(layout);
        }
        let words = (slab_bytes / 8) as usize;
        Ok(HostExecutor {
            world,
            recorder,
            plans,
            layouts,
            send: vec![0; words],
            receive: vec![0; words],
            eviction: vec![0; eviction_bytes / 8],
            stamps: Vec::new(),
        })
    }
}

impl HostExecutor<'_> {
    /// The stamps of the last replay, by this host's clock.
    fn stamps_of_this_host(&self) -> Vec<OpStamp> {
        let stamps = self.stamps.clone();
        #[cfg(feature = "fault-injection")]
        let stamps = {
            let ahead = |ns| crate::faults::clock_of_another_host(self.world.rank(), ns);
            let moved = stamps.into_iter().map(|stamp| OpStamp {
                free_ns: ahead(stamp.free_ns),
                ready_ns: ahead(stamp.ready_ns),
                end_ns: ahead(stamp.end_ns),
            });
            moved.collect()
        };
        stamps
    }
}

impl Executor for HostExecutor<'_> {
    fn prepare(&mut self, variant: Variant) -> Result<()> {
        match self.why_not(variant) {
            Some(why) => Err(Error::usage(format!(
                "{}: {why}",
                variant.label(self.plans)
            ))),
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

    fn fire(&mut self, variant: Variant) -> Result<RankSample> {
        let (world, rank) = (self.world, self.world.rank());
        #[cfg(feature = "fault-injection")]
        crate::faults::panic_in_a_replay(rank);
        let plan = &self.plans[variant.plan];
        let layout = &self.layouts[variant.plan];
        let send = self.send.as_bytes();
        let receive = self.receive.as_mut_bytes();
        self.stamps.clear();
        if plan.stamped {
            self.stamps.reserve(plan.ops.len());
        }
        let arrival_ns = monotonic_ns();
        let mut free_ns = arrival_ns;
        for (index, op) in plan.ops.iter().enumerate() {
            self.recorder.at_op(index as u64);
            if op.gap_us > 0.0 {
                spin(op.gap_us);
            }
            let ready_ns = if plan.stamped { monotonic_ns() } else { 0 };
            let start = (layout.slots.of_op(index) * layout.slots.stride) as usize;
            let send = &send[start..start + op.input_bytes(rank) as usize];
            let receive = &mut receive[start..start + op.output_bytes(rank, world.size()) as usize];
            match (&layout.parts[index], op.kind) {
                (Some((to, from)), _) => world.all_to_all_uneven(send, to, receive, from),
                (None, OpKind::AllReduce) => world.all_reduce_sum(op.dtype, send, receive)?,
                (None, OpKind::ReduceScatter) => {
                    world.reduce_scatter_sum(op.dtype, send, receive)?;
                }
                (None, OpKind::AllGather) => world.all_gather_into(send, receive),
                (None, OpKind::AllToAll) => world.all_to_all(send, receive),
                (None, OpKind::Broadcast) => world.broadcast_from_root(receive),
                (None, OpKind::Reduce) => world.reduce_sum_at_root(op.dtype, send, receive)?,
            }
            if plan.stamped {
                let end_ns = monotonic_ns();
                self.stamps.push(OpStamp {
                    free_ns,
                    ready_ns,
                    end_ns,
                });
                free_ns = end_ns;
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

    fn stamps(&mut self, _variant: Variant) -> Result<RankStamps> {
        Ok(RankStamps {
            clock: format!("host-monotonic of {}", self.world.host_name()),
            to_host_ns: 0,
            error_ns: 0,
            ops: self.stamps_of_this_host(),
        })
    }

    fn reset_data(&mut self, variant: Variant) -> Result<()> {
        let layout = &self.layouts[variant.plan];
        let stride = layout.slots.stride as usize;
        let rank = self.world.rank();
        for (slot, bytes) in self.send.as_mut_bytes().chunks_mut(stride).enumerate() {
            layout.pattern.fill(rank, slot as u64, bytes);
        }
        let plan = &self.plans[variant.plan];
        let receive = self.receive.as_mut_bytes();
        receive.fill(POISON);
        // MPI broadcasts out of and into one buffer.
        if rank == 0 && plan.ops.iter().any(|op| op.kind == OpKind::Broadcast) {
            for (slot, bytes) in receive.chunks_mut(stride).enumerate() {
                layout.pattern.fill(rank, slot as u64, bytes);
            }
        }
        Ok(())
    }

    fn check_data(&mut self, variant: Variant) -> Result<DataCheck> {
        let rank = self.world.rank();
        #[cfg(feature = "fault-injection")]
        crate::faults::corrupt(rank, self.receive.as_mut_bytes());
        let plan = &self.plans[variant.plan];
        let layout = &self.layouts[variant.plan];
        let mut check = DataCheck::default();
        for slot in 0..layout.slots.count {
            let index = layout.slots.last_op_of(slot, plan.ops.len());
            let op = &plan.ops[index as usize];
            let checked = Checked {
                rank,
                slot,
                index,
                op,
            };
            let start = (slot * layout.slots.stride) as usize;
            let bytes = op.output_bytes(rank, self.world.size()) as usize;
            let output = &self.receive.as_bytes()[start..start + bytes];
            check.merge(layout.pattern.check(checked, output));
        }
        Ok(check)
    }

    fn conditions(&self, variant: Variant) -> ExecutorConditions {
        let mut calls: Vec<&str> = Vec::new();
        for op in &self.plans[variant.plan].ops {
            let call = match (&op.traffic, op.kind) {
                (Some(_), _) => "MPI_Alltoallv",
                (None, OpKind::AllReduce) => "MPI_Allreduce",
                (None, OpKind::ReduceScatter) => "MPI_Reduce_scatter_block",
                (None, OpKind::AllGather) => "MPI_Allgather",
                (None, OpKind::AllToAll) => "MPI_Alltoall",
                (None, OpKind::Broadcast) => "MPI_Bcast",
                (None, OpKind::Reduce) => "MPI_Reduce",
            };
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
        ExecutorConditions {
            clock: "host-monotonic".into(),
            buffer_slots: self.layouts[variant.plan].slots.count,
            gate: None,
            nccl_choice: None,
            calls: calls.join(", ").into(),
            issue_is_separate: false,
        }
    }

    fn why_not(&self, variant: Variant) -> Option<String> {
        let plan = &self.plans[variant.plan];
        let why = match variant {
            Variant {
                mode: Mode::Gated | Mode::Graph,
                ..
            } => "host memory has no stream to gate or capture",
            Variant {
                placement: Placement::InPlace,
                ..
            } => "the MPI binding in use offers no in-place all-reduce",
            _ if mixes_broadcasts(plan) => {
                "broadcasts and other ops would share one buffer on host memory"
            }
            _ if plan.exchange == Exchange::Grouped => "MPI has no groups of sends and receives",
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

/// Keeps the processor busy for `us` microseconds.
fn spin(us: f64) {
    let begin = monotonic_ns();
    while us_between(begin, monotonic_ns()) < us {
        std::hint::spin_loop();
    }
}

/// Whether a plan has broadcasts and other ops.
fn mixes_broadcasts(plan: &Plan) -> bool {
    let broadcasts = plan.ops.iter().filter(|op| op.kind == OpKind::Broadcast);
    let count = broadcasts.count();
    count > 0 && count < plan.ops.len()
}
