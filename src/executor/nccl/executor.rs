//! The executor on GPUs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::buffers::{Layout, NcclBuffers};
use super::comm::{CommLifeline, Communicator, UniqueId};
use super::issue::{Buffer, calls_of, issue};
use super::library::Library;
use super::stamper::OpStamper;
use super::{log, profiler};
use crate::clock::{monotonic_ns, us_between};
use crate::error::{Error, Result};
use crate::executor::pattern::{Checked, POISON};
use crate::executor::{DataCheck, Executor, ExecutorConditions, Lifeline, Variant};
use crate::flight::{FlightRecorder, Phase};
use crate::gpu::{DeviceBuffer, Event, Gate, Graph, SpinKernel, Stream, capture};
use crate::plan::{Exchange, OpKind, Plan};
use crate::result::{Buffers, Mode, Placement, RankSample, RankStamps};

/// A closed gate lets work pile up: beyond about 1,024 launches the driver makes the host wait,
/// and the gate would never open. Events and NCCL's own launches take their share of these.
const MAX_GATED_OPS: usize = 512;

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
    graphs: BTreeMap<Variant, Graph>,
    /// One for all modes, or a second for graphs: while a captured graph lives, NCCL makes every
    /// call on its communicator dearer (on sockets by a host callback, 4 of 14 µs on one box), and
    /// eager times would hold that.
    communicators: Vec<Communicator>,
    stream: Stream,
    start: Event,
    stop: Event,
    gate: Option<Gate>,
    can_gate: bool,
    /// Where some plan has gaps or stamps.
    spin: Option<SpinKernel>,
    /// Where some plan has stamps.
    stamper: Option<OpStamper>,
    send: DeviceBuffer,
    receive: DeviceBuffer,
    eviction: Option<DeviceBuffer>,
    choices: BTreeMap<Variant, Option<String>>,
    staged_issue_us: f64,
    request: NcclRequest,
    /// One a plan.
    layouts: Vec<Layout>,
    plans: &'a [Plan],
    has_all_to_all: bool,
    recorder: &'a FlightRecorder,
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
        plans: &'a [Plan],
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
            spin: buffers.spin,
            stamper: buffers.stamper,
            send: buffers.send,
            receive: buffers.receive,
            eviction: buffers.eviction,
            choices: BTreeMap::new(),
            staged_issue_us: 0.0,
            request,
            layouts: buffers.layouts,
            plans,
            has_all_to_all: library.has_all_to_all(),
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

    /// Puts one op of the variant's plan on the stream.
    #[inline]
    fn enqueue_op(
        &self,
        communicator: &Communicator,
        index: usize,
        variant: Variant,
    ) -> Result<()> {
        let plan = &self.plans[variant.plan];
        let slots = &self.layouts[variant.plan].slots;
        self.recorder.at_op(index as u64);
        let offset = (slots.of_op(index) * slots.stride) as usize;
        let receive = self.receive.address(offset);
        let buffer = Buffer {
            send: match variant.placement {
                Placement::OutOfPlace => self.send.address(offset),
                Placement::InPlace => receive,
            },
            receive,
            stream: &self.stream,
        };
        let op = &plan.ops[index];
        if let Some(spin) = &self.spin {
            match &self.stamper {
                Some(stamper) if plan.stamped => {
                    spin.launch_stamping(op.gap_us, stamper.before(index), &self.stream)?;
                }
                _ if op.gap_us > 0.0 => spin.launch(op.gap_us, &self.stream)?,
                _ => {}
            }
        }
        let native = self.is_native(plan);
        issue(communicator, op, native, buffer, &self.request)
    }

    /// Whether even all-to-alls of `plan` are NCCL's own call.
    fn is_native(&self, plan: &Plan) -> bool {
        match plan.exchange {
            Exchange::Auto => self.has_all_to_all,
            Exchange::Native => true,
            Exchange::Grouped => false,
        }
    }

    /// Puts the variant's whole plan on the stream, one call an op.
    fn enqueue(&self, variant: Variant) -> Result<()> {
        let communicator = self.communicator(variant.mode);
        let ops = self.plans[variant.plan].ops.len();
        for index in 0..ops {
            self.enqueue_op(communicator, index, variant)?;
        }
        if let (true, Some(spin), Some(stamper)) =
            (self.plans[variant.plan].stamped, &self.spin, &self.stamper)
        {
            spin.launch_stamping(0.0, stamper.before(ops), &self.stream)?;
        }
        self.recorder.at_op(ops as u64);
        Ok(())
    }

    /// Replays the plan waiting for each op, so that one that hangs is known by its number: the
    /// host runs far ahead of the device otherwise. Links that do not work show here, since NCCL
    /// connects when an op first needs it.
    fn replay_step_by_step(&self, variant: Variant) -> Result<()> {
        let communicator = self.communicator(variant.mode);
        let ops = self.plans[variant.plan].ops.len();
        for index in 0..ops {
            self.enqueue_op(communicator, index, variant)?;
            self.stream.synchronize()?;
        }
        self.recorder.at_op(ops as u64);
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
            self.graphs.insert(variant, graph);
            self.stream.synchronize()?;
        }
        self.choices.insert(variant, choice);
        Ok(())
    }

    fn stage(&mut self, variant: Variant) -> Result<()> {
        if let Some(eviction) = &self.eviction {
            eviction.fill(0, &self.stream)?;
            self.stream.synchronize()?;
        }
        if let (true, Some(spin), Some(stamper)) = (
            self.plans[variant.plan].stamped,
            &self.spin,
            &mut self.stamper,
        ) {
            stamper.meet(spin, &self.stream)?;
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
                    .get(&variant)
                    .ok_or_else(|| Error::other("a graph replay was not prepared"))?;
                let arrival_ns = monotonic_ns();
                self.start.record(&self.stream)?;
                let begin = monotonic_ns();
                graph.launch(&self.stream)?;
                let issue_us = us_between(begin, monotonic_ns());
                self.stop.record(&self.stream)?;
                self.recorder
                    .at_op(self.plans[variant.plan].ops.len() as u64);
                self.sample(arrival_ns, issue_us)
            }
        }
    }

    fn stamps(&mut self, variant: Variant) -> Result<RankStamps> {
        let stamper = self
            .stamper
            .as_ref()
            .ok_or_else(|| Error::other("a plan without stamps was asked for them"))?;
        stamper.read(self.plans[variant.plan].ops.len())
    }

    fn reset_data(&mut self, variant: Variant) -> Result<()> {
        self.receive.fill(POISON, &self.stream)?;
        self.stream.synchronize()?;
        let input = match variant.placement {
            Placement::OutOfPlace => &self.send,
            Placement::InPlace => &self.receive,
        };
        let layout = &self.layouts[variant.plan];
        let mut bytes = vec![0u8; layout.slots.stride as usize];
        for slot in 0..layout.slots.count {
            layout.pattern.fill(self.request.rank, slot, &mut bytes);
            input.write((slot * layout.slots.stride) as usize, &bytes)?;
        }
        Ok(())
    }

    fn check_data(&mut self, variant: Variant) -> Result<DataCheck> {
        let (rank, ranks) = (self.request.rank, self.request.ranks);
        let plan = &self.plans[variant.plan];
        let layout = &self.layouts[variant.plan];
        let mut check = DataCheck::default();
        let mut bytes = vec![0u8; layout.slots.stride as usize];
        for slot in 0..layout.slots.count {
            let index = layout.slots.last_op_of(slot, plan.ops.len());
            let op = &plan.ops[index as usize];
            let output = &mut bytes[..op.output_bytes(rank, ranks) as usize];
            self.receive
                .read((slot * layout.slots.stride) as usize, output)?;
            #[cfg(feature = "fault-injection")]
            crate::faults::corrupt(rank, output);
            let checked = Checked {
                rank,
                slot,
                index,
                op,
            };
            check.merge(layout.pattern.check(checked, output));
        }
        Ok(check)
    }

    fn conditions(&self, variant: Variant) -> ExecutorConditions {
        let plan = &self.plans[variant.plan];
        ExecutorConditions {
            clock: "cuda-events".into(),
            buffer_slots: self.layouts[variant.plan].slots.count,
            gate: (variant.mode == Mode::Gated)
                .then_some("stream waits for a value in pinned host memory".into()),
            nccl_choice: self.choices.get(&variant).cloned().flatten(),
            calls: calls_of(plan, self.is_native(plan)).into(),
            issue_is_separate: true,
        }
    }

    fn why_not(&self, variant: Variant) -> Option<String> {
        let plan = &self.plans[variant.plan];
        // A gap is a launch too, and a stamp.
        let gaps = plan.ops.iter().filter(|op| op.gap_us > 0.0).count();
        let launches = plan.ops.len() + if plan.stamped { plan.ops.len() } else { gaps };
        if plan.stamped && !self.can_gate {
            return Some(
                "stamps need a driver that lets a stream wait for a value in memory".to_string(),
            );
        }
        if variant.placement == Placement::InPlace && plan.kind() != Some(OpKind::AllReduce) {
            return Some("only all-reduces are replayed in place".to_string());
        }
        if plan.exchange == Exchange::Native && !self.has_all_to_all {
            return Some("this NCCL has no ncclAlltoAll (since 2.28)".to_string());
        }
        match variant.mode {
            Mode::Gated if !self.can_gate => {
                Some("this driver does not let a stream wait for a value in memory".to_string())
            }
            Mode::Gated if launches > MAX_GATED_OPS => Some(format!(
                "{launches} ops and gaps do not fit the launch queue behind a gate (at most {MAX_GATED_OPS})"
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
