//! The types of `result.json` and of the samples behind it. Measured and predicted results share
//! them. The schema in `schema/result.schema.json` is made from these types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::health::GpuHealth;
use crate::plan::{CurvePlace, DataType, ModelFacts, OpKind, SizePoint};
use crate::stats::{Steadiness, Summary};
use crate::verdict::Verdict;

/// Name and version of the format. A change that breaks readers takes the next number.
pub const SCHEMA: &str = "commbench/result/1";

/// Everything one run has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// Always "commbench/result/1".
    pub schema: String,
    pub status: Status,
    pub command: CommandInfo,
    pub machine: Machine,
    pub backend: Backend,
    /// Number of ranks.
    pub ranks: u32,
    /// The facts the plan was computed from.
    pub model: Option<ModelFacts>,
    pub results: Vec<Measurement>,
    /// What the figures say about the question asked; `null` where a command asks none.
    pub verdict: Option<Verdict>,
    pub warnings: Vec<Warning>,
    /// Why the run did not complete; `null` when it did.
    pub failure: Option<Failure>,
    /// Where the figures are another program's; `null` where commbench measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

/// Whose figures a result holds, where they are not commbench's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// The file as the user named it.
    pub file: String,
    /// "nccl-tests text" or "nccl-tests JSON 3".
    pub format: String,
    /// Version of the program that measured, where the file says it.
    pub tool_version: Option<String>,
    /// When it measured, as the file says it.
    pub started_at: Option<String>,
    /// What its figures are: each stands as one sample, without an interval.
    pub figure: String,
}

/// More ranks than any job has.
const MAX_RANKS: u32 = 1 << 20;

impl RunResult {
    /// Reads the text of a result.json.
    ///
    /// # Errors
    /// A sentence for text that is no result of this version, or contradicts itself.
    pub fn from_json(text: &str) -> Result<RunResult, String> {
        let run: RunResult = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if run.schema != SCHEMA {
            return Err(format!(
                "its schema is '{}', this version reads '{SCHEMA}'",
                run.schema
            ));
        }
        run.check()?;
        Ok(run)
    }

    /// The curve that a measurement is a point of, with its mode and placement where the run has
    /// several; `None` where it is a point of none.
    pub fn curve_name(&self, measured: &Measurement) -> Option<String> {
        let mut name = measured.step.as_ref()?.place.curve.clone();
        if self.results.iter().any(|one| one.mode != measured.mode) {
            name = format!("{name}, {}", measured.mode.name());
        }
        let differs = |one: &Measurement| one.placement != measured.placement;
        if self.results.iter().any(differs) {
            name = format!("{name}, {}", measured.placement.name());
        }
        Some(name)
    }

    /// What types cannot say. Tables have a column a rank, so the number of ranks must be that of
    /// the figures.
    fn check(&self) -> Result<(), String> {
        if self.ranks == 0 || self.ranks > MAX_RANKS {
            return Err(format!(
                "ranks = {} is outside 1 to {MAX_RANKS}",
                self.ranks
            ));
        }
        for one in &self.results {
            // A log has no figures of ranks.
            let ranks = if self.imported.is_some() {
                0
            } else {
                self.ranks
            };
            if one.per_rank_us.len() != ranks as usize {
                return Err(format!(
                    "per_rank_us of '{}' has {} entries for {ranks} ranks",
                    one.label,
                    one.per_rank_us.len(),
                ));
            }
            if let Some(steady) = &one.steadiness {
                steady
                    .check(one.burst_us.n)
                    .map_err(|why| format!("steadiness of '{}': {why}", one.label))?;
            }
        }
        Ok(())
    }
}

/// How far the run came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Everything asked for was measured and verified.
    Complete,
    /// The run ended early; what it had measured is here.
    Partial,
    /// The figures must not be used: data was wrong.
    Failed,
}

/// What moved the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// NCCL on GPUs.
    Nccl,
    /// MPI on host memory: says nothing about GPUs.
    MpiHost,
    /// Computed, not measured.
    Predicted,
}

/// How the program was called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandInfo {
    /// Subcommand.
    pub name: String,
    /// The command line as typed, without the launcher.
    pub argv: Vec<String>,
    /// commbench's version.
    pub version: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// Wall time of the run in seconds, from start to the writing of this file.
    pub wall_s: f64,
    /// The variables that change what NCCL, CUDA or the launcher do, from a fixed list.
    pub environment: BTreeMap<String, String>,
}

/// Where it ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    pub hosts: Vec<Host>,
    /// One entry a rank, in rank order; empty on host memory.
    pub gpus: Vec<Gpu>,
    /// GPU driver version.
    pub driver: Option<String>,
    /// CUDA version the driver supports.
    pub cuda: Option<String>,
    /// Version of the NCCL library that was loaded.
    pub nccl_version: Option<String>,
    /// Path of the NCCL library that was loaded.
    pub nccl_library: Option<String>,
    /// The MPI library's own words.
    pub mpi: Option<String>,
    /// Transports between ranks, as NCCL or MPI reported them, with the number of connections.
    pub transports: Vec<String>,
    /// Clocks, power, temperature and other processes of the ranks' GPUs around the samples, in
    /// rank order; empty where no run on GPUs came to its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health: Vec<GpuHealth>,
}

/// One host of the job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    pub name: String,
    /// Ranks on this host.
    pub ranks: Vec<u32>,
    pub cpu: String,
    /// Logical processors this host offers the job.
    pub logical_cpus: u32,
    pub memory_bytes: u64,
    pub kernel: String,
}

/// The GPU of one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    pub rank: u32,
    pub host: String,
    /// CUDA ordinal as the rank sees it.
    pub device: u32,
    pub name: String,
    pub uuid: String,
    pub pci_bus_id: String,
    pub memory_bytes: u64,
    pub l2_bytes: u64,
    pub compute_capability: String,
}

/// How a plan is issued.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One call after another.
    Eager,
    /// Enqueued behind a gate, then released: no launch cost in the time.
    Gated,
    /// One captured CUDA graph.
    Graph,
}

impl Mode {
    /// Every mode, in the order of tables.
    pub const ALL: [Mode; 3] = [Mode::Eager, Mode::Gated, Mode::Graph];

    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Eager => "eager",
            Mode::Gated => "gated",
            Mode::Graph => "graph",
        }
    }
}

/// Whether an op's result replaces its input.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    OutOfPlace,
    InPlace,
}

impl Placement {
    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Placement::OutOfPlace => "out-of-place",
            Placement::InPlace => "in-place",
        }
    }
}

/// State of the data in the GPU's cache when a sample starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Buffers {
    Warm,
    Cold,
}

/// One plan measured in one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// Unique within the run: the plan's name where there are several, mode and placement.
    pub label: String,
    pub plan: PlanSummary,
    /// Tokens one rank holds, where the plan depends on it.
    pub tokens_per_gpu: Option<u64>,
    /// The plan's part of a decode step, where it is one.
    pub step: Option<StepFigures>,
    pub mode: Mode,
    pub placement: Placement,
    /// Time of the whole plan: each sample is the slowest rank's device time, in µs.
    pub burst_us: Summary,
    /// `burst_us` over the number of ops, in µs.
    pub per_op_us: Summary,
    /// Bytes over time of an op at the median, 10⁹ B/s, as nccl-tests defines it.
    pub algbw_gb_per_s: f64,
    /// algbw times the bus factor of the op, 10⁹ B/s.
    pub busbw_gb_per_s: f64,
    /// Median device time of the plan on each rank, in µs, in rank order; empty in an imported
    /// result.
    pub per_rank_us: Vec<f64>,
    /// What an op adds to the compute before it, where there is any: the plan's time beyond the
    /// gaps of the rank that has most of them, over the ops, in µs. Where jitter makes another rank
    /// the last at each op, waiting for it is in this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_gaps_us: Option<Summary>,
    /// What each op adds, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_op: Option<OpsFigures>,
    /// Which rank comes late and what waiting for it costs, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalFigures>,
    /// Trend and outliers of the samples; `null` where there are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steadiness: Option<Steadiness>,
    /// The rank with the longest device time most often; `null` in an imported result.
    pub slowest_rank: Option<RankShare>,
    /// The rank that starts last most often: the others wait for it. `null` across hosts, whose
    /// clocks are not compared.
    pub last_to_arrive: Option<RankShare>,
    /// From the first rank's start to the last rank's start of a sample, in µs. `null` across
    /// hosts.
    pub arrival_spread_us: Option<Summary>,
    /// Host time to issue one op, in µs: time in the calls over the ops, the middle rank's of each
    /// sample. `null` where issuing and moving are one call.
    pub issue_per_op_us: Option<Summary>,
    /// Whether every element on every rank was right, before and after sampling.
    pub verified: bool,
    pub verification: Verification,
    pub conditions: Conditions,
}

/// What each op of a plan adds to the ops before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpsFigures {
    /// "prefix-plans": differences between replays of the first k ops and of the first k − 1,
    /// sampled in turns. Nothing is measured inside a replay, so that nothing is perturbed.
    pub method: String,
    pub ops: Vec<OpFigures>,
}

/// What an op, or each op of a group, adds to the ops before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpFigures {
    /// Index of the op in the plan, or of the first of the group.
    pub first_op: u64,
    /// Ops of the group.
    pub ops: u64,
    /// Difference of medians, in µs an op; below zero where noise is larger than an op.
    pub us: f64,
    /// 95 % bootstrap interval of `us`, in µs.
    pub ci95_us: [f64; 2],
    /// The same difference on each rank's own clock, in µs, in rank order.
    pub per_rank_us: Vec<f64>,
}

/// When the ranks came to each op of a plan, from replays in which each op was stamped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalFigures {
    /// Replays that were stamped and are in these figures.
    pub replays: u64,
    /// Median time of a stamped replay over that of a plain one.
    pub perturbation: f64,
    /// 95 % bootstrap interval of `perturbation`.
    pub perturbation_ci95: [f64; 2],
    /// "host-monotonic", or "globaltimer" of the GPUs.
    pub clock: String,
    /// How far the stamps of two ranks can be apart for the same moment, in µs: 0 where they read
    /// one clock.
    pub clock_error_us: f64,
    /// Why there are no figures below: stamps that make a plan longer by more than a tenth change
    /// what they are to measure.
    pub withheld: Option<String>,
    /// In rank order; empty where withheld.
    pub ranks: Vec<RankArrival>,
    /// In the order of the plan; empty where withheld.
    pub ops: Vec<OpArrival>,
    /// The rank that is late, where one is shown to be.
    pub late_rank: Option<u32>,
}

/// How one rank spends a replay. Compute, waiting and moving add up to its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankArrival {
    pub rank: u32,
    /// How much later than the middle of the other ranks it comes to an op, in µs: the median over
    /// the ops of a replay.
    pub late_us: Summary,
    /// Share of all stamped ops to which it came last, 0 to 1.
    pub last_share: f64,
    /// Between the end of an op and its being ready for the next one, in a replay, in µs.
    pub compute_us: Summary,
    /// For ranks that came later, in a replay, in µs.
    pub waiting_us: Summary,
    /// From the last rank's arrival at an op to its end here, in a replay, in µs.
    pub moving_us: Summary,
}

/// One op over all ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpArrival {
    /// Index of the op in the plan.
    pub op: u64,
    /// From the first to the last rank's arrival, in µs.
    pub spread_us: Summary,
    /// From the last rank's arrival to the last rank's end, in µs.
    pub moving_us: Summary,
    /// Median of each rank's waiting for the last one, in µs, in rank order.
    pub waiting_us: Vec<f64>,
}

/// A plan's figures as those of a whole decode step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepFigures {
    /// The curve that the figure is a point of.
    pub place: CurvePlace,
    /// Ops of a step over ops of the replay: 1 where the whole step was replayed.
    pub scale: f64,
    /// `burst_us` times `scale`, in µs.
    pub step_us: Summary,
}

/// The plan behind a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSummary {
    /// Tells it from the other plans of the run; empty where it is alone.
    pub name: String,
    /// "122 all-reduces of 14,336 B bf16".
    pub title: String,
    /// The kind of all ops; `null` where they differ.
    pub kind: Option<OpKind>,
    pub ops: u64,
    /// Payload of one op on one rank; the mean where ops differ.
    pub bytes: u64,
    /// Of the first op.
    pub dtype: DataType,
    /// Compute before an op, in µs: the mean over the ops, on the middle rank.
    pub gap_us: f64,
    /// How the numbers came about.
    pub origin: String,
    /// Where it is a point of a sweep over sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<SizePoint>,
}

/// A rank and how often it was the one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankShare {
    pub rank: u32,
    /// Share of samples, 0 to 1. With n equal ranks chance alone gives 1/n.
    pub share: f64,
}

/// What was checked of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// Elements compared, over all ranks and replays; 0 in an imported result, whose log does not
    /// say how many.
    pub elements: u64,
    pub wrong: u64,
    /// The first wrong element found.
    pub first_wrong: Option<WrongElement>,
}

/// One element that is not what the collective should have delivered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WrongElement {
    pub rank: u32,
    /// Index of the op in the plan.
    pub op: u64,
    pub element: u64,
    /// `null` where it is no finite number, which JSON cannot say.
    #[serde(deserialize_with = "number_or_nan")]
    #[schemars(with = "Option<f64>")]
    pub got: f64,
    pub expected: f64,
}

/// Damaged floats are NaN or infinite often enough, and their report must be readable too.
fn number_or_nan<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// Under which conditions a figure holds. A figure without them is not printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// "cuda-events" or "host-monotonic"; "nccl-tests" for the clock of an imported log.
    pub clock: String,
    /// Replays before the first sample.
    pub warmup: u64,
    pub buffers: Buffers,
    /// Distinct buffers the plan cycles through.
    pub buffer_slots: u64,
    /// What held the stream while the plan was enqueued, for gated replays.
    pub gate: Option<String>,
    /// Why sampling ended.
    pub stopped_by: StoppedBy,
    /// The precision asked for: half the interval's width over the median; 0 where none was.
    pub precision_asked: f64,
    /// The precision reached; `null` where there are too few samples for an interval.
    pub precision_reached: Option<f64>,
    /// Several ranks shared one GPU: says nothing about a real box.
    pub shared_gpu: bool,
    /// The library's calls behind the plan's ops: "ncclAllReduce".
    pub calls: String,
    /// Algorithm, protocol and channels, as NCCL reported them for these ops when they were
    /// enqueued before the first sample; for graphs, just before the capture. `null` where NCCL
    /// does not report them (before 2.27).
    pub nccl_choice: Option<String>,
}

/// Why sampling ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoppedBy {
    /// The median's interval was narrow enough.
    Precision,
    /// The time budget was spent first.
    Budget,
    /// The largest number of samples was reached first.
    Samples,
    /// The run was cut short.
    Failure,
    /// Another program's log holds one figure.
    Imported,
}

impl StoppedBy {
    /// The word in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            StoppedBy::Precision => "precision",
            StoppedBy::Budget => "budget",
            StoppedBy::Samples => "samples",
            StoppedBy::Failure => "failure",
            StoppedBy::Imported => "imported",
        }
    }
}

/// Something the reader of the figures should know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable name for programs.
    pub code: String,
    pub text: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// Why a run ended early.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Exit code of the process.
    pub exit_code: i32,
    pub text: String,
    /// The rank at fault, where one was found.
    pub rank: Option<u32>,
    /// The op of the plan where that rank stands.
    pub op: Option<u64>,
    /// What that rank was doing.
    pub phase: Option<String>,
}

/// One replay of a plan on one rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RankSample {
    /// Time of the plan by the conditions' clock, in µs.
    pub device_us: f64,
    /// Time of the plan by the host's clock, in µs: from the first call to the end.
    pub host_us: f64,
    /// Time spent in the calls that issue the plan, in µs.
    pub issue_us: f64,
    /// CLOCK_MONOTONIC of the host when the rank started, in ns.
    pub arrival_ns: u64,
}

/// The times of one op on one rank, in ns of the clock that the rank reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpStamp {
    /// The op before it had ended.
    pub free_ns: u64,
    /// The compute before it had ended too: the rank could begin.
    pub ready_ns: u64,
    pub end_ns: u64,
}

/// The stamps of one replay on one rank, an op each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankStamps {
    /// Which clock it read: ranks with one name read the same one.
    pub clock: String,
    /// From that clock to CLOCK_MONOTONIC of the host, in ns: to be added, wrapping.
    pub to_host_ns: i64,
    /// How far `to_host_ns` can be off, in ns.
    pub error_ns: u64,
    pub ops: Vec<OpStamp>,
}

/// All samples of one measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the plan; empty where it is alone in its run.
    pub plan: String,
    pub mode: Mode,
    pub placement: Placement,
    /// `samples[i][rank]`: every inner list has one entry a rank.
    pub samples: Vec<Vec<RankSample>>,
}

/// Name of a series, unique within a run.
pub fn series_label(plan: &str, mode: Mode, placement: Placement) -> String {
    let how = format!("{} {}", mode.name(), placement.name());
    if plan.is_empty() {
        how
    } else {
        format!("{plan} {how}")
    }
}

impl Series {
    /// Name of the series, unique within a run.
    pub fn label(&self) -> String {
        series_label(&self.plan, self.mode, self.placement)
    }

    /// The time of each sample in µs: the slowest rank's.
    pub fn burst_us(&self) -> Vec<f64> {
        let slowest =
            |ranks: &Vec<RankSample>| ranks.iter().map(|rank| rank.device_us).fold(0.0, f64::max);
        self.samples.iter().map(slowest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EAGER: &str = include_str!("../fuzz/corpus/result_json/eager.json");

    #[test]
    fn numbers_that_contradict_each_other_are_refused_with_the_value() {
        for (wrong, hint) in [
            ("\"ranks\":0,", "ranks = 0"),
            ("\"ranks\":4294967295,", "ranks = 4294967295"),
            ("\"ranks\":3,", "2 entries for 3 ranks"),
        ] {
            let error = RunResult::from_json(&EAGER.replace("\"ranks\":2,", wrong)).unwrap_err();
            assert!(error.contains(hint), "{hint}: {error}");
        }
        let mut run = RunResult::from_json(EAGER).unwrap();
        let steady = crate::stats::Steadiness::of(&[1.0; 20]).unwrap();
        let n = run.results[0].burst_us.n;
        for (outliers, drift_p, hint) in [
            (n + 1, 0.5, format!("{} outliers of {n} samples", n + 1)),
            (0, 1.5, "drift_p = 1.5".to_string()),
        ] {
            run.results[0].steadiness = Some(crate::stats::Steadiness {
                outliers,
                drift_p,
                ..steady.clone()
            });
            let error = RunResult::from_json(&serde_json::to_string(&run).unwrap()).unwrap_err();
            assert!(error.contains(&hint), "{hint}: {error}");
        }
        let other = EAGER.replace("result/1", "result/9");
        assert!(
            RunResult::from_json(&other)
                .unwrap_err()
                .contains("result/9")
        );
    }

    #[test]
    fn a_wrong_element_that_is_no_number_reads_back() {
        let mut run = RunResult::from_json(EAGER).unwrap();
        for got in [f64::NAN, f64::INFINITY] {
            run.results[0].verification.first_wrong = Some(WrongElement {
                rank: 1,
                op: 0,
                element: 0,
                got,
                expected: 1.0,
            });
            let text = serde_json::to_string(&run).unwrap();
            let again = RunResult::from_json(&text).unwrap();
            let wrong = again.results[0].verification.first_wrong.clone().unwrap();
            assert!(wrong.got.is_nan());
        }
    }
}
