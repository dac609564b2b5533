//! The executor on GPUs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::comm::{CommLifeline, Communicator, UniqueId};
use super::library::Library;
use super::{log, profiler};
use crate::clock::{monotonic_ns, us_between};
use crate::error::{Error, Result};
use crate::executor::pattern::{POISON, Pattern};
use crate::executor::slots::Slots;
use crate::executor::{DataCheck, Executor, ExecutorConditions, Lifeline, Variant};
use crate::flight::{FlightRecorder, Phase};
use crate::gpu::{Context, DeviceBuffer, Event, Gate, Graph, Stream, capture};
use crate::plan::{OpKind, Plan};
use crate::result::{Buffers, Mode, Placement, RankSample};
use crate::units::format_bytes;

/// A closed gate lets work pile up: beyond about 1,024 launches the driver makes the host wait,
/// and the gate would never open. Events and NCCL's own launches take their share of these.
const MAX_GATED_OPS: usize = 512;

/// Overwritten before each sample where cold buffers are asked for, in units of the L2's size.
const EVICTION_L2S: u64 = 4;

/// Share of the free memory that buffers may take, in percent: NCCL needs its own.
const MEMORY_PERCENT: u64 = 80;

/// What the executor is made for.
#[derive(Debug, Clone, Copy)]
pub struct NcclRequest {
    pub rank: u32,
    pub ranks: u32,
    pub buffers: Buffers,
    /// Whether some variant runs in place.
    pub in_place: bool,
    pub l2_bytes: u64,
    /// Ranks that take memory from the same GPU.
    pub ranks_on_gpu: u64,
    /// Whether graph and other replays are both asked for.
    pub graph_apart: bool,
}

impl NcclRequest {
    /// Communicators the executor needs, each with an id of its own.
    pub fn communicators(&self) -> usize {
        if self.graph_apart { 2 } else { 1 }
    }
}

/// The executor on one rank's GPU.
// Fields drop in the order written: graphs before the communicator whose ops they captured.
pub struct NcclExecutor<'a> {
    graphs: BTreeMap<Placement, Graph>,
    /// One for all modes, or a second for graphs: while a captured graph lives, NCCL makes every
    /// call on its communicator dearer (on sockets by a host callback, 4 of 14 µs on one box), and
    /// eager times would hold that.
    communicators: Vec<Communicator>,
    stream: Stream,
    start: Event,
    stop: Event,
    gate: Option<Gate>,
    can_gate: bool,
    send: DeviceBuffer,
    receive: DeviceBuffer,
    eviction: Option<DeviceBuffer>,
    choices: BTreeMap<(Mode, Placement), Option<String>>,
    staged_issue_us: f64,
    request: NcclRequest,
    pattern: Pattern,
    slots: Slots,
    plan: &'a Plan,
    recorder: &'a FlightRecorder,
}

/// The buffers of one rank: allocated before the communicator is made, so that a full GPU is an
/// ordinary error on every rank and not a hang in NCCL.
pub struct NcclBuffers {
    send: DeviceBuffer,
    receive: DeviceBuffer,
    eviction: Option<DeviceBuffer>,
    slots: Slots,
    pattern: Pattern,
}

impl NcclBuffers {
    /// Lays out and allocates the plan's buffers on the current device.
    ///
    /// # Errors
    /// Exit code 3 when the GPU's free memory does not hold them.
    pub fn new(plan: &Plan, request: NcclRequest, context: &Context) -> Result<NcclBuffers> {
        let pattern = Pattern::new(plan.ops[0].dtype, request.ranks)?;
        let slots = Slots::for_plan(plan, request.buffers, request.in_place, request.l2_bytes);
        let eviction_bytes = match request.buffers {
            Buffers::Warm => 0,
            Buffers::Cold => EVICTION_L2S * request.l2_bytes,
        };
        let share = context.free_bytes()? / 100 * MEMORY_PERCENT / request.ranks_on_gpu;
        let slab = slots
            .slab_bytes()
            .filter(|slab| {
                slab.checked_mul(2)
                    .and_then(|slabs| slabs.checked_add(eviction_bytes))
                    .is_some_and(|needed| needed <= share)
            })
            .ok_or_else(|| {
                Error::environment(format!(
                    "the buffers of {} ({} slots of {} twice) do not fit rank {}'s share of free GPU memory, {}",
                    plan.label,
                    slots.count,
                    format_bytes(slots.stride),
                    request.rank,
                    format_bytes(share)
                ))
                .try_this("fewer --ops, smaller --bytes, --buffers warm, or --placement out")
            })?;
        let eviction = match eviction_bytes {
            0 => None,
            bytes => Some(DeviceBuffer::new(bytes as usize)?),
        };
        Ok(NcclBuffers {
            send: DeviceBuffer::new(slab as usize)?,
            receive: DeviceBuffer::new(slab as usize)?,
            eviction,
            slots,
            pattern,
        })
    }
}

impl<'a> NcclExecutor<'a> {
    /// Joins one communicator an id. Collective; the rank's device context must be current.
    ///
    /// # Errors
    /// Exit code 3 with NCCL's or the driver's words.
    pub fn join(
        library: Arc<Library>,
        ids: &[UniqueId],
        buffers: NcclBuffers,
        request: NcclRequest,
        plan: &'a Plan,
        recorder: &'a FlightRecorder,
    ) -> Result<NcclExecutor<'a>> {
        let join = |id| Communicator::join(Arc::clone(&library), id, request.rank, request.ranks);
        let communicators = ids.iter().map(join).collect::<Result<Vec<_>>>()?;
        Ok(NcclExecutor {
            graphs: BTreeMap::new(),
            communicators,
            stream: Stream::new()?,
            start: Event::new()?,
            stop: Event::new()?,
            gate: None,
            can_gate: Gate::is_supported(),
            send: buffers.send,
            receive: buffers.receive,
            eviction: buffers.eviction,
            choices: BTreeMap::new(),
            staged_issue_us: 0.0,
            request,
            pattern: buffers.pattern,
            slots: buffers.slots,
            plan,
            recorder,
        })
    }

    fn communicator(&self, mode: Mode) -> &Communicator {
        match (mode, self.communicators.as_slice()) {
            (Mode::Graph, [.., last]) => last,
            (_, [first, ..]) => first,
            (_, []) => unreachable!("`join` is given at least one id"),
        }
    }

    /// Puts one op of the plan on the stream.
    #[inline]
    fn enqueue_op(
        &self,
        communicator: &Communicator,
        index: usize,
        variant: Variant,
    ) -> Result<()> {
        let op = &self.plan.ops[index];
        self.recorder.at_op(index as u64);
        let offset = (self.slots.of_op(index) * self.slots.stride) as usize;
        let receive = self.receive.address(offset);
        let send = match variant.placement {
            Placement::OutOfPlace => self.send.address(offset),
            Placement::InPlace => receive,
        };
        match op.kind {
            OpKind::AllReduce => {
                communicator.all_reduce_sum(send, receive, op.count(), op.dtype, &self.stream)
            }
        }
    }

    /// Puts the whole plan on the stream, one call an op.
    fn enqueue(&self, variant: Variant) -> Result<()> {
        let communicator = self.communicator(variant.mode);
        for index in 0..self.plan.ops.len() {
            self.enqueue_op(communicator, index, variant)?;
        }
        self.recorder.at_op(self.plan.ops.len() as u64);
        Ok(())
    }

    /// Replays the plan waiting for each op, so that one that hangs is known by its number: the
    /// host runs far ahead of the device otherwise. Links that do not work show here, since NCCL
    /// connects when an op first needs it.
    fn replay_step_by_step(&self, variant: Variant) -> Result<()> {
        let communicator = self.communicator(variant.mode);
        for index in 0..self.plan.ops.len() {
            self.enqueue_op(communicator, index, variant)?;
            self.stream.synchronize()?;
        }
        self.recorder.at_op(self.plan.ops.len() as u64);
        Ok(())
    }

    fn sample(&self, arrival_ns: u64, issue_us: f64) -> Result<RankSample> {
        self.stream.synchronize()?;
        Ok(RankSample {
            device_us: self.stop.us_since(&self.start)?,
            host_us: us_between(arrival_ns, monotonic_ns()),
            issue_us,
            arrival_ns,
        })
    }
}

impl Executor for NcclExecutor<'_> {
    fn prepare(&mut self, variant: Variant) -> Result<()> {
        if variant.mode == Mode::Gated && self.gate.is_none() {
            self.gate = Some(Gate::new()?);
        }
        // NCCL connects lazily: once through the plan makes every connection that it needs,
        // which must not happen inside a capture.
        let (replayed, choice) = profiler::listen(|| self.replay_step_by_step(variant));
        replayed?;
        if variant.mode == Mode::Graph {
            // Not listened to: NCCL would report captured ops at every launch, in timed ones too.
            // It chooses by the same arguments as in the replay just listened to.
            self.recorder
                .enter(Phase::Capturing, self.recorder.series());
            let graph = capture(&self.stream, || self.enqueue(variant))?;
            self.graphs.insert(variant.placement, graph);
            self.stream.synchronize()?;
        }
        self.choices
            .insert((variant.mode, variant.placement), choice);
        Ok(())
    }

    fn stage(&mut self, variant: Variant) -> Result<()> {
        if let Some(eviction) = &self.eviction {
            eviction.fill(0, &self.stream)?;
            self.stream.synchronize()?;
        }
        if variant.mode == Mode::Gated {
            let gate = self
                .gate
                .as_mut()
                .ok_or_else(|| Error::other("a gated replay was not prepared"))?;
            gate.close(&self.stream)?;
            self.start.record(&self.stream)?;
            let begin = monotonic_ns();
            self.enqueue(variant)?;
            self.staged_issue_us = us_between(begin, monotonic_ns());
            self.stop.record(&self.stream)?;
        }
        Ok(())
    }

    fn fire(&mut self, variant: Variant) -> Result<RankSample> {
        match variant.mode {
            Mode::Eager => {
                let arrival_ns = monotonic_ns();
                self.start.record(&self.stream)?;
                let begin = monotonic_ns();
                self.enqueue(variant)?;
                let issue_us = us_between(begin, monotonic_ns());
                self.stop.record(&self.stream)?;
                self.sample(arrival_ns, issue_us)
            }
            Mode::Gated => {
                let arrival_ns = monotonic_ns();
                if let Some(gate) = &self.gate {
                    gate.open();
                }
                self.sample(arrival_ns, self.staged_issue_us)
            }
            Mode::Graph => {
                let graph = self
                    .graphs
                    .get(&variant.placement)
                    .ok_or_else(|| Error::other("a graph replay was not prepared"))?;
                let arrival_ns = monotonic_ns();
                self.start.record(&self.stream)?;
                let begin = monotonic_ns();
                graph.launch(&self.stream)?;
                let issue_us = us_between(begin, monotonic_ns());
                self.stop.record(&self.stream)?;
                self.recorder.at_op(self.plan.ops.len() as u64);
                self.sample(arrival_ns, issue_us)
            }
        }
    }

    fn reset_data(&mut self, variant: Variant) -> Result<()> {
        self.receive.fill(POISON, &self.stream)?;
        self.stream.synchronize()?;
        let input = match variant.placement {
            Placement::OutOfPlace => &self.send,
            Placement::InPlace => &self.receive,
        };
        let mut bytes = vec![0u8; self.plan.largest_op_bytes() as usize];
        for slot in 0..self.slots.count {
            self.pattern.fill(self.request.rank, slot, &mut bytes);
            input.write((slot * self.slots.stride) as usize, &bytes)?;
        }
        Ok(())
    }

    fn check_data(&mut self, _variant: Variant) -> Result<DataCheck> {
        let mut check = DataCheck::default();
        let mut bytes = vec![0u8; self.plan.largest_op_bytes() as usize];
        for slot in 0..self.slots.count {
            let op_index = self.slots.last_op_of(slot, self.plan.ops.len());
            let op = &self.plan.ops[op_index as usize];
            let payload = &mut bytes[..op.bytes as usize];
            self.receive
                .read((slot * self.slots.stride) as usize, payload)?;
            #[cfg(feature = "fault-injection")]
            crate::faults::corrupt(self.request.rank, payload);
            let (wrong, first_wrong) =
                self.pattern
                    .check(self.request.rank, slot, op_index, payload);
            check.merge(DataCheck {
                elements: op.count(),
                wrong,
                first_wrong,
            });
        }
        Ok(check)
    }

    fn conditions(&self, variant: Variant) -> ExecutorConditions {
        ExecutorConditions {
            clock: "cuda-events".into(),
            buffer_slots: self.slots.count,
            gate: (variant.mode == Mode::Gated)
                .then_some("stream waits for a value in pinned host memory".into()),
            nccl_choice: self
                .choices
                .get(&(variant.mode, variant.placement))
                .cloned()
                .flatten(),
            issue_is_separate: true,
        }
    }

    fn why_not(&self, variant: Variant) -> Option<String> {
        let ops = self.plan.ops.len();
        match variant.mode {
            Mode::Gated if !self.can_gate => {
                Some("this driver does not let a stream wait for a value in memory".to_string())
            }
            Mode::Gated if ops > MAX_GATED_OPS => Some(format!(
                "{ops} ops do not fit the launch queue behind a gate (at most {MAX_GATED_OPS})"
            )),
            _ => None,
        }
    }

    fn lifeline(&self) -> Option<Arc<dyn Lifeline>> {
        Some(Arc::new(CommLifeline::of(&self.communicators)))
    }

    fn transports(&self) -> BTreeMap<String, u64> {
        log::transports()
    }

    fn close(self: Box<Self>) -> Result<()> {
        let NcclExecutor {
            graphs,
            communicators,
            stream,
            ..
        } = *self;
        stream.synchronize()?;
        drop(graphs);
        communicators
            .into_iter()
            .try_for_each(Communicator::destroy)
    }
}
