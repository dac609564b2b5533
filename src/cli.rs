//! Every flag, in one place.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::plan::{DataType, LateRank, MAX_GAP_US, TokenFormat, parse_tokens};
use crate::result::{Buffers, Mode, Placement};
use crate::units::parse_bytes;

const AFTER_HELP: &str = "\
Examples:
  mpirun -np 8 commbench allreduce-burst
      one decode step of Kimi-K2.5 with TP=8: 122 all-reduces of 14,336 B
  mpirun -np 8 commbench allreduce-burst --batch 32 --mode graph
      the same step for 32 tokens, replayed as a CUDA graph
  mpirun -np 8 commbench allreduce-burst --ops 100 --bytes 64K --dtype fp32
      any other burst
  mpirun -np 8 commbench feasibility --model deepseek-v3
      whether Expert Parallelism would cost less communication, and from how many tokens per GPU
  mpirun -np 8 commbench alltoall-sweep --tokens 1..256
      the all-to-all alone, over tokens per GPU
  commbench plan --model path/to/config.json --batch 64 --ranks 8
      what a step sends under each parallel plan, from the formulas
  commbench compare out/before out/after --gate 5%
      what got slower, by how much, and how sure that is
  commbench topo --to svg > box.svg
      how this machine's GPUs are connected, as a picture; --from FILE for any other machine

Exit codes: 0 done, 2 usage, 3 something is missing here, 4 wrong data, 5 a rank hung, 6 a rank
died, 7 a gate failed, 1 anything else.";

/// Measures what the communication of one LLM decode step costs on this machine, and whether Expert
/// Parallelism would cost less than Tensor Parallelism.
#[derive(Debug, Parser)]
#[command(name = "commbench", version, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Replay the all-reduces of one decode step as a burst (Tensor Parallelism).
    AllreduceBurst(Box<BurstArgs>),
    /// Measure the all-to-all of MoE layers over tokens per GPU.
    AlltoallSweep(Box<SweepArgs>),
    /// Measure from how many tokens per GPU Expert Parallelism costs less communication than
    /// Tensor Parallelism: the EP-feasibility curve.
    Feasibility(Box<FeasibilityArgs>),
    /// Sweep one collective over payload sizes, with nccl-tests' flags.
    Sweep(Box<SizeSweepArgs>),
    /// Replay any list of ops from a plan file (`commbench plan --save` writes one).
    Replay(Box<PlanFileArgs>),
    /// List the models that are built in.
    Models,
    /// Print what one decode step sends under each parallel plan. Runs nothing, needs no ranks.
    Plan(ShowPlanArgs),
    /// Make the reports and the plots again from a result folder.
    Report(ReportArgs),
    /// Compare result folders: what got slower or faster, by how much, and how sure that is.
    Compare(CompareArgs),
    /// Make a result of a log of nccl-tests, to show, plot and compare it as one of commbench's own.
    Import(ImportArgs),
    /// Show how the GPUs of a machine are connected: this one, a built-in one, or one from a file.
    Topo(TopoArgs),
    /// Print the JSON schema of result.json, or of what `compare --json` writes.
    Schema(SchemaArgs),
}

/// Which library moves the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendArg {
    /// NCCL on GPUs; MPI on host memory where no rank sees a GPU.
    Auto,
    /// NCCL, one GPU a rank.
    Nccl,
    /// MPI on host memory: shows how the tool works, says nothing about GPUs.
    Host,
}

/// Modes as flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// One call after another.
    Eager,
    /// Enqueued behind a gate, then released: no launch cost in the time.
    Gated,
    /// One captured CUDA graph.
    Graph,
}

/// Placements as flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlacementArg {
    /// Input and output apart.
    Out,
    /// The output replaces the input.
    In,
    /// One after the other.
    Both,
}

/// Buffers as flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BuffersArg {
    /// Data in the GPU's L2 where it fits.
    Warm,
    /// Every op has buffers of its own, and the L2 is overwritten before each sample.
    Cold,
}

/// `allreduce-burst`.
#[derive(Debug, Args)]
pub struct BurstArgs {
    #[command(flatten, next_help_heading = "What is sent")]
    pub plan: PlanArgs,
    #[command(flatten, next_help_heading = "How it is replayed")]
    pub replay: ReplayArgs,
    #[command(flatten, next_help_heading = "What is looked at inside")]
    pub inside: InsideArgs,
    #[command(flatten, next_help_heading = "How long it is measured")]
    pub sampling: SamplingArgs,
    #[command(flatten, next_help_heading = "What it runs on")]
    pub machine: MachineArgs,
    #[command(flatten, next_help_heading = "What comes out")]
    pub output: OutputArgs,
}

/// What is looked at inside a plan.
#[derive(Debug, Args)]
pub struct InsideArgs {
    /// Measure what each op adds: the first k ops are replayed for every k, with nothing measured
    /// inside a replay.
    #[arg(long)]
    pub per_op: bool,
    /// Find the rank that comes late, and what waiting for it costs: replays of their own, with
    /// each op stamped on each rank. What the stamps cost is printed.
    #[arg(long)]
    pub arrivals: bool,
}

/// What is sent.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Built-in model (see `commbench models`), a Hugging Face config.json, or a model file (TOML).
    #[arg(long, value_name = "NAME|FILE", default_value = "kimi-k2.5")]
    pub model: String,
    /// Tokens in the step, over all ranks.
    #[arg(
        long,
        value_name = "TOKENS",
        default_value_t = 1,
        conflicts_with = "bytes"
    )]
    pub batch: u64,
    /// Number of all-reduces [default: 2 a layer of the model].
    #[arg(long, value_name = "N")]
    pub ops: Option<u64>,
    /// Payload of each all-reduce; K, M, G are binary [default: hidden size × element × batch].
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub bytes: Option<u64>,
    /// bf16, fp16, fp32, fp64, int8 or int32; nccl-tests' names work too [default: the model's].
    #[arg(long, value_name = "TYPE")]
    pub dtype: Option<DataType>,
    /// Add the embedding's all-reduce and the logits' all-gather to the layers' all-reduces.
    #[arg(long, conflicts_with_all = ["ops", "bytes"])]
    pub full_step: bool,
    /// Compute before each op: a kernel that spins this long. The times hold it. A list measures
    /// each: 0,10,20,50.
    #[arg(long, value_name = "US[,US…]", default_value = "0", value_delimiter = ',', value_parser = parse_gap)]
    pub gap_us: Vec<f64>,
    /// Up to so much more before each op, another time on every rank: ranks arrive apart.
    #[arg(long, value_name = "US", default_value_t = 0.0, value_parser = parse_gap)]
    pub gap_jitter_us: f64,
    /// Seed of the jitter.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub gap_seed: u64,
    /// So much more before each op on one rank alone: 3:50 makes rank 3 late by 50 µs.
    #[arg(long, value_name = "RANK:US", value_parser = parse_late)]
    pub late_rank: Option<LateRank>,
}

/// `alltoall-sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    #[command(flatten, next_help_heading = "What is sent")]
    pub curve: CurveArgs,
    /// Where tokens go: split evenly over all ranks, as published sweeps do, or as a model routes
    /// them.
    #[arg(long, value_enum, default_value_t = PayloadArg::Uniform, help_heading = "What is sent")]
    pub payload: PayloadArg,
    /// How equal parts are sent; several, comma-separated, are compared.
    #[arg(
        long = "impl",
        value_name = "IMPL",
        value_delimiter = ',',
        default_value = "auto",
        help_heading = "What is sent"
    )]
    pub implementation: Vec<ImplArg>,
    #[command(flatten, next_help_heading = "How it is replayed")]
    pub replay: ReplayArgs,
    #[command(flatten, next_help_heading = "How long it is measured")]
    pub sampling: SamplingArgs,
    #[command(flatten, next_help_heading = "What it runs on")]
    pub machine: MachineArgs,
    #[command(flatten, next_help_heading = "What comes out")]
    pub output: OutputArgs,
}

/// `feasibility`.
#[derive(Debug, Args)]
pub struct FeasibilityArgs {
    #[command(flatten, next_help_heading = "What is sent")]
    pub curve: CurveArgs,
    /// Where tokens go: as a model routes them, or split evenly over all ranks.
    #[arg(long, value_enum, default_value_t = PayloadArg::Routed, help_heading = "What is sent")]
    pub payload: PayloadArg,
    /// Time of a whole decode step in ms: communication is then told as a share of it, too.
    #[arg(long, value_name = "MS", help_heading = "What comes out")]
    pub tpot_ms: Option<f64>,
    /// How steps are replayed [default: graph on GPUs, eager on host memory].
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        help_heading = "How it is replayed"
    )]
    pub mode: Option<ModeArg>,
    /// State of the caches when a sample starts.
    #[arg(long, value_enum, default_value_t = BuffersArg::Warm, help_heading = "How it is replayed")]
    pub buffers: BuffersArg,
    #[command(flatten, next_help_heading = "How long it is measured")]
    pub sampling: SamplingArgs,
    #[command(flatten, next_help_heading = "What it runs on")]
    pub machine: MachineArgs,
    #[command(flatten, next_help_heading = "What comes out")]
    pub output: OutputArgs,
}

/// `sweep`.
#[derive(Debug, Args)]
pub struct SizeSweepArgs {
    /// What is called.
    #[arg(long, value_enum, default_value_t = SweptArg::Allreduce, help_heading = "What is sent")]
    pub op: SweptArg,
    /// Smallest size; of an all-gather what it delivers, of all others what a rank hands over.
    #[arg(short = 'b', long, value_name = "SIZE", default_value = "8", value_parser = parse_bytes, help_heading = "What is sent")]
    pub minbytes: u64,
    /// Largest size.
    #[arg(short = 'e', long, value_name = "SIZE", default_value = "64M", value_parser = parse_bytes, help_heading = "What is sent")]
    pub maxbytes: u64,
    /// Factor from one size to the next.
    #[arg(
        short = 'f',
        long,
        value_name = "N",
        default_value_t = 2,
        help_heading = "What is sent"
    )]
    pub stepfactor: u64,
    /// Bytes from one size to the next, instead of a factor.
    #[arg(short = 'i', long, value_name = "SIZE", value_parser = parse_bytes, conflicts_with = "stepfactor", help_heading = "What is sent")]
    pub stepbytes: Option<u64>,
    /// Element type.
    #[arg(
        short = 'd',
        long,
        value_name = "TYPE",
        default_value = "bf16",
        help_heading = "What is sent"
    )]
    pub datatype: DataType,
    /// Calls of one replay: a time is that of a replay over these.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value_t = 20,
        help_heading = "What is sent"
    )]
    pub iters: u64,
    #[command(flatten, next_help_heading = "How it is replayed")]
    pub replay: ReplayArgs,
    #[command(flatten, next_help_heading = "How long it is measured")]
    pub sampling: SamplingArgs,
    #[command(flatten, next_help_heading = "What it runs on")]
    pub machine: MachineArgs,
    #[command(flatten, next_help_heading = "What comes out")]
    pub output: OutputArgs,
    /// Write the sweep to this file as well, as nccl-tests' JSON (version 3) without its dump of the
    /// environment. The shape holds one mode: eager, or --mode graph.
    #[arg(long, value_name = "FILE", help_heading = "What comes out")]
    pub nccl_tests_json: Option<PathBuf>,
}

/// What `sweep` calls, as flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SweptArg {
    Allreduce,
    Allgather,
    Reducescatter,
    Alltoall,
    /// To the next rank, from the one before.
    Sendrecv,
    /// From rank 0.
    Broadcast,
    /// To rank 0.
    Reduce,
}

/// `replay`.
#[derive(Debug, Args)]
pub struct PlanFileArgs {
    /// Plan file (TOML).
    #[arg(value_name = "PLAN.toml")]
    pub plan: PathBuf,
    #[command(flatten, next_help_heading = "How it is replayed")]
    pub replay: ReplayArgs,
    #[command(flatten, next_help_heading = "What is looked at inside")]
    pub inside: InsideArgs,
    #[command(flatten, next_help_heading = "How long it is measured")]
    pub sampling: SamplingArgs,
    #[command(flatten, next_help_heading = "What it runs on")]
    pub machine: MachineArgs,
    #[command(flatten, next_help_heading = "What comes out")]
    pub output: OutputArgs,
}

/// Payloads as flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PayloadArg {
    /// A rank's tokens split evenly over all ranks.
    Uniform,
    /// Each token once to every distinct rank that holds one of its experts.
    Routed,
}

/// Ways to send equal parts, as flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImplArg {
    /// The library's own call where it has one, grouped sends and receives else.
    Auto,
    /// ncclAlltoAll (NCCL 2.28 and later), MPI_Alltoall.
    Native,
    /// A send and a receive for each peer, as one group.
    Grouped,
}

/// What curves over tokens per GPU are made of.
#[derive(Debug, Args)]
pub struct CurveArgs {
    /// Built-in model (see `commbench models`), a Hugging Face config.json, or a model file (TOML).
    #[arg(long, value_name = "NAME|FILE", default_value = "kimi-k2.5")]
    pub model: String,
    /// Tokens per GPU: 1,2,4 or 1..256 (doubling) or 16..64+8 or 1..1000x10.
    #[arg(long, value_name = "LIST", default_value = "1..256", value_parser = parse_points)]
    pub tokens: Points,
    /// How unequal experts are in routed payloads: the i-th most popular has weight 1/i^SKEW.
    #[arg(long, value_name = "SKEW", default_value_t = 0.0)]
    pub skew: f64,
    /// Seed of routed payloads.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub formats: FormatArgs,
    /// Replay as many layers of the step as stay within this many bytes a rank, at least one, and
    /// scale to all.
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = parse_bytes)]
    pub replay_bytes: u64,
}

/// What a token of an all-to-all is made of.
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// Element type of dispatched tokens; fp8 carries a scale for each 128 elements [default: the
    /// model's].
    #[arg(long, value_name = "TYPE", value_parser = parse_token_format)]
    pub dispatch_dtype: Option<TokenFormat>,
    /// Element type of combined tokens [default: the model's].
    #[arg(long, value_name = "TYPE", value_parser = parse_token_format)]
    pub combine_dtype: Option<TokenFormat>,
}

/// Tokens per GPU, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Points(pub Vec<u64>);

fn parse_points(text: &str) -> Result<Points, String> {
    parse_tokens(text).map(Points)
}

fn parse_token_format(text: &str) -> Result<TokenFormat, String> {
    if text.eq_ignore_ascii_case("fp8") {
        return Ok(TokenFormat::Fp8);
    }
    text.parse().map(TokenFormat::Elements)
}

/// How it is replayed.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// Modes to measure, comma-separated [default: all that the backend has].
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub mode: Vec<ModeArg>,
    /// Whether the output replaces the input.
    #[arg(long, value_enum, default_value_t = PlacementArg::Out)]
    pub placement: PlacementArg,
    /// State of the caches when a sample starts.
    #[arg(long, value_enum, default_value_t = BuffersArg::Warm)]
    pub buffers: BuffersArg,
}

/// How long it is measured.
#[derive(Debug, Args)]
pub struct SamplingArgs {
    /// Stop once the median's 95 % interval is within ± this.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = parse_precision)]
    pub precision: f64,
    /// Stop sampling a series after this many seconds [default: 1.5; of a point of a curve 0.3, and
    /// not before 10 samples].
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub budget: Option<Duration>,
    /// Replays of each series before its first sample.
    #[arg(short = 'w', long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub warmup: u64,
    /// Most samples of a series [default: 10,000; less where a run has many series].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub max_samples: Option<u64>,
    /// End the run when no rank makes progress for this many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_timeout)]
    pub timeout: Duration,
}

/// What it runs on.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// What moves the data.
    #[arg(long, value_enum, default_value_t = BackendArg::Auto)]
    pub backend: BackendArg,
    /// GPUs by local rank, comma-separated, as CUDA numbers them [default: local rank i takes i].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub devices: Option<Vec<u32>>,
    /// Let ranks share a GPU. Tries the tool out; its figures say nothing of a real box.
    #[arg(long)]
    pub share_gpu: bool,
    /// Read clocks, power and temperature every so many ms while samples are taken, and not only
    /// between their rounds. Readings can disturb what is measured.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub gpu_poll: Option<u64>,
    /// NCCL library to load [default: NCCL_HOME, the system's, or a Python wheel's].
    #[arg(long, value_name = "PATH", env = "COMMBENCH_NCCL_LIB")]
    pub nccl_lib: Option<PathBuf>,
}

/// What comes out.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Folder for the results [default: out/TIME-COMMAND, TIME in UTC].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the result as JSON to standard output, and nothing else there: --json -
    #[arg(long, value_name = "-", value_parser = ["-"])]
    pub json: Option<String>,
    /// Say of each figure how it was obtained, below the tables.
    #[arg(long, conflicts_with = "json")]
    pub explain: bool,
}

/// `plan`.
#[derive(Debug, Args)]
pub struct ShowPlanArgs {
    /// Built-in model (see `commbench models`), a Hugging Face config.json, or a model file (TOML).
    #[arg(long, value_name = "NAME|FILE", default_value = "kimi-k2.5")]
    pub model: String,
    /// Tokens in the step, over all ranks.
    #[arg(long, value_name = "TOKENS", default_value_t = 1)]
    pub batch: u64,
    /// GPUs that share the model.
    #[arg(long, value_name = "N")]
    pub ranks: u64,
    #[command(flatten)]
    pub formats: FormatArgs,
    /// Print a JSON object instead of a table.
    #[arg(long, conflicts_with = "save")]
    pub json: bool,
    /// Write the step's ops as a plan file for `commbench replay`.
    #[arg(long, value_name = "PLAN.toml")]
    pub save: Option<PathBuf>,
    /// Which parallel plan to save.
    #[arg(long, value_enum, value_name = "PLAN", default_value_t = ParallelArg::Tp, requires = "save")]
    pub parallel: ParallelArg,
}

/// Parallel plans as flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ParallelArg {
    /// Tensor Parallelism: all-reduces.
    Tp,
    /// Data-parallel attention and Expert Parallelism over all-to-alls, routed without skew.
    EpAllToAll,
    /// Data-parallel attention and Expert Parallelism over all-gather and reduce-scatter.
    EpAllGather,
}

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder with result.json and samples.csv.
    pub folder: PathBuf,
    /// Say of each figure how it was obtained, below the tables.
    #[arg(long)]
    pub explain: bool,
}

/// `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// What nccl-tests printed, or the file of its --output_file (JSON).
    pub file: PathBuf,
    /// The collective, where the log does not say it.
    #[arg(long, value_enum)]
    pub op: Option<SweptArg>,
    /// The number of ranks, where the log does not say it.
    #[arg(long, value_name = "N")]
    pub ranks: Option<u32>,
    /// Which table of a log with several, from 1.
    #[arg(long, value_name = "K")]
    pub table: Option<usize>,
    /// Of a log with several element types, the one to take.
    #[arg(short = 'd', long, value_name = "TYPE")]
    pub datatype: Option<DataType>,
    /// Of a log with several reductions, the one to take.
    #[arg(long, value_name = "REDOP")]
    pub redop: Option<String>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Result folders, the first to compare the others with. A comma joins runs of the same thing:
    /// A1,A2,A3 B1,B2,B3.
    #[arg(required = true, num_args = 1.., value_name = "FOLDER[,FOLDER…]")]
    pub sides: Vec<String>,
    /// End with exit code 7 where a plan is shown to be slower by more than this.
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub gate: Option<f64>,
    /// Standard deviation that runs of the same thing are taken to differ by, where a side has
    /// fewer than three runs to show it.
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = parse_share)]
    pub drift: f64,
    /// Modes to compare, comma-separated [default: all].
    #[arg(long, value_name = "MODE", value_delimiter = ',')]
    pub mode: Vec<ModeArg>,
    /// Compare runs of different things too, and say what differs.
    #[arg(long)]
    pub unlike: bool,
    /// Write the comparison as JSON; - prints it instead of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Say of each ratio how it was obtained, below the table.
    #[arg(long)]
    pub explain: bool,
}

impl CompareArgs {
    /// The modes asked for; empty for all.
    pub fn modes(&self) -> Vec<Mode> {
        modes(&self.mode)
    }
}

/// `topo`.
#[derive(Debug, Args)]
pub struct TopoArgs {
    /// A built-in machine (two-switches-8g, hgx-h200-8g; a name that is none lists all), a topology
    /// file (TOML), an NCCL topology file (XML), or what `nvidia-smi topo -m` printed [default: this
    /// machine].
    #[arg(long, value_name = "NAME|FILE")]
    pub from: Option<String>,
    /// What to write to standard output.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = TopoFormat::Table)]
    pub to: TopoFormat,
    /// Read this machine's files below another folder: for tests.
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/",
        hide = true,
        conflicts_with = "from"
    )]
    pub root: PathBuf,
}

/// Ways to write a topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TopoFormat {
    /// Every part with its link, and what lies between each two GPUs.
    Table,
    /// commbench's own format, to be changed by hand.
    Toml,
    /// For NCCL_TOPO_FILE. A file that came from NCCL is written as it was.
    NcclXml,
    /// For Graphviz.
    Dot,
    /// A picture of the tree.
    Svg,
}

/// `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which file.
    #[arg(value_enum, default_value_t = SchemaArg::Result)]
    pub of: SchemaArg,
}

/// Files with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaArg {
    /// result.json.
    Result,
    /// What `compare --json` writes.
    Comparison,
}

/// In the order of tables, each once.
fn modes(asked: &[ModeArg]) -> Vec<Mode> {
    let is_asked = |mode: &Mode| {
        asked.iter().any(|arg| {
            matches!(
                (arg, mode),
                (ModeArg::Eager, Mode::Eager)
                    | (ModeArg::Gated, Mode::Gated)
                    | (ModeArg::Graph, Mode::Graph)
            )
        })
    };
    Mode::ALL.into_iter().filter(is_asked).collect()
}

impl ReplayArgs {
    /// The modes asked for; empty for "all there are".
    pub fn modes(&self) -> Vec<Mode> {
        modes(&self.mode)
    }

    /// The placements asked for.
    pub fn placements(&self) -> Vec<Placement> {
        match self.placement {
            PlacementArg::Out => vec![Placement::OutOfPlace],
            PlacementArg::In => vec![Placement::InPlace],
            PlacementArg::Both => vec![Placement::OutOfPlace, Placement::InPlace],
        }
    }

    /// The state of caches asked for.
    pub fn buffers(&self) -> Buffers {
        match self.buffers {
            BuffersArg::Warm => Buffers::Warm,
            BuffersArg::Cold => Buffers::Cold,
        }
    }
}

/// Microseconds from 0 to a second.
fn parse_gap(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(us) if (0.0..=MAX_GAP_US).contains(&us) => Ok(us),
        _ => Err(format!("'{text}' is not 0 to {MAX_GAP_US} µs")),
    }
}

/// `3:50`: rank 3, 50 µs.
fn parse_late(text: &str) -> Result<LateRank, String> {
    let parts = text.split_once(':').and_then(|(rank, us)| {
        let rank = rank.trim().parse().ok()?;
        Some((rank, us))
    });
    match parts {
        Some((rank, us)) => Ok(LateRank {
            rank,
            us: parse_gap(us)?,
        }),
        None => Err(format!(
            "'{text}' is no rank and time: 3:50 is rank 3, 50 µs"
        )),
    }
}

/// `2%` or `0.02`, more than 0 and less than 100 %.
pub(crate) fn parse_precision(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        // The smallest numbers become zero on the way from percent.
        Ok(value) if value * scale > 0.0 && value * scale < 1.0 => Ok(value * scale),
        _ => Err(format!("'{text}' is no precision (write 2% or 0.02)")),
    }
}

/// `5%` or `0.05`, from 0 and less than 100 %.
fn parse_share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if (0.0..1.0).contains(&(value * scale)) => Ok(value * scale),
        _ => Err(format!(
            "'{text}' is no share from 0 to 100 % (write 5% or 0.05)"
        )),
    }
}

pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    seconds_within(text, 0.01, 86_400.0)
}

/// Three seconds of it are for saving and ending, and the rest must outlast a slow moment.
pub(crate) fn parse_timeout(text: &str) -> Result<Duration, String> {
    seconds_within(text, 5.0, 86_400.0)
}

fn seconds_within(text: &str, least: f64, most: f64) -> Result<Duration, String> {
    match text.trim_end_matches('s').trim().parse::<f64>() {
        Ok(seconds) if (least..=most).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("'{text}' is not {least} to {most} seconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn precisions_and_times_are_read_and_nonsense_is_not() {
        assert_eq!(parse_precision("2%"), Ok(0.02));
        assert_eq!(parse_precision("0.05"), Ok(0.05));
        assert_eq!(parse_seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_seconds("3s"), Ok(Duration::from_secs(3)));
        for bad in ["0", "-1", "100%", "NaN", "x", "", "1e-323%"] {
            assert!(parse_precision(bad).is_err(), "{bad}");
            assert!(parse_seconds(bad).is_err() || bad == "1", "{bad}");
        }
        for bad in ["inf", "NaN", "1e9", "4"] {
            assert!(parse_timeout(bad).is_err(), "{bad}");
        }
    }
}
