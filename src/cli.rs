//! Every flag, in one place.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::plan::DataType;
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
  commbench plan --model path/to/config.json --batch 64 --ranks 8
      what a step sends under each parallel plan, from the formulas

Exit codes: 0 done, 2 usage, 3 something is missing here, 4 wrong data, 5 a rank hung, 6 a rank
died, 7 a gate failed, 1 anything else.";

/// Measures what the communication of one LLM decode step costs on this machine, and why.
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
    /// List the models that are built in.
    Models,
    /// Print what one decode step sends under each parallel plan. Runs nothing, needs no ranks.
    Plan(ShowPlanArgs),
    /// Make report.md and the plots again from a result folder.
    Report(ReportArgs),
    /// Print the JSON schema of result.json.
    Schema,
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
    #[command(flatten, next_help_heading = "How long it is measured")]
    pub sampling: SamplingArgs,
    #[command(flatten, next_help_heading = "What it runs on")]
    pub machine: MachineArgs,
    #[command(flatten, next_help_heading = "What comes out")]
    pub output: OutputArgs,
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
}

/// How it is replayed.
#[derive(Debug, Args)]
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
    /// Stop sampling a mode after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "1.5", value_parser = parse_seconds)]
    pub budget: Duration,
    /// Replays of each mode before its first sample.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub warmup: u64,
    /// Most samples of a mode.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub max_samples: u64,
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
    /// NCCL library to load [default: NCCL_HOME, the system's, or a Python wheel's].
    #[arg(long, value_name = "PATH", env = "COMMBENCH_NCCL_LIB")]
    pub nccl_lib: Option<PathBuf>,
}

/// What comes out.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Folder for the results [default: out/<UTC time>-<command>].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the result as JSON to standard output, and nothing else there: --json -
    #[arg(long, value_name = "-", value_parser = ["-"])]
    pub json: Option<String>,
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
    /// Print a JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folder with result.json and samples.csv.
    pub folder: PathBuf,
}

impl ReplayArgs {
    /// The modes asked for; empty for "all there are".
    pub fn modes(&self) -> Vec<Mode> {
        let asked = |mode: Mode| {
            self.mode.iter().any(|arg| {
                matches!(
                    (arg, mode),
                    (ModeArg::Eager, Mode::Eager)
                        | (ModeArg::Gated, Mode::Gated)
                        | (ModeArg::Graph, Mode::Graph)
                )
            })
        };
        Mode::ALL.into_iter().filter(|mode| asked(*mode)).collect()
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
