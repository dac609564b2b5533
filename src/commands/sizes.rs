//! `sweep`: one collective over payload sizes, as nccl-tests users know it.

use super::job::{Job, launched};
use crate::cli::{ModeArg, ReplayArgs, SizeSweepArgs, SweptArg};
use crate::clock::monotonic_ns;
use crate::error::{Error, Result};
use crate::plan::{OpKind, SizeStep, SizeSweep, SweptOp};

const NAME: &str = "sweep";

/// Runs the command on this rank and returns its exit code. What the user reads is printed, by
/// rank 0 alone.
///
/// # Errors
/// The same error on every rank, for rank 0 to print.
pub fn sweep(args: &SizeSweepArgs) -> Result<i32> {
    let started_ns = monotonic_ns();
    let site = launched(NAME)?;
    let replay = replay(args)?;
    let sweep = SizeSweep {
        op: swept(args.op),
        dtype: args.datatype,
        least_bytes: args.minbytes,
        most_bytes: args.maxbytes,
        step: match args.stepbytes {
            Some(bytes) => SizeStep::Plus(bytes),
            None => SizeStep::Times(args.stepfactor),
        },
        ops: args.iters,
    };
    Job {
        name: NAME,
        model: None,
        plans: sweep.plans(site.size)?,
        replay: &replay,
        one_mode: false,
        sampling: &args.sampling,
        machine: &args.machine,
        output: &args.output,
        nccl_tests_json: args.nccl_tests_json.as_deref(),
        question: None,
        warnings: Vec::new(),
        started_ns,
    }
    .run(site)
}

/// The op of a flag.
pub(super) fn swept(op: SweptArg) -> SweptOp {
    match op {
        SweptArg::Allreduce => SweptOp::Collective(OpKind::AllReduce),
        SweptArg::Allgather => SweptOp::Collective(OpKind::AllGather),
        SweptArg::Reducescatter => SweptOp::Collective(OpKind::ReduceScatter),
        SweptArg::Alltoall => SweptOp::Collective(OpKind::AllToAll),
        SweptArg::Broadcast => SweptOp::Collective(OpKind::Broadcast),
        SweptArg::Reduce => SweptOp::Collective(OpKind::Reduce),
        SweptArg::Sendrecv => SweptOp::SendRecv,
    }
}

/// How sizes are replayed: nccl-tests' JSON has room for one mode, and eager is nccl-tests' own.
fn replay(args: &SizeSweepArgs) -> Result<ReplayArgs> {
    let mut replay = args.replay.clone();
    let Some(path) = &args.nccl_tests_json else {
        return Ok(replay);
    };
    // Found before anything is measured.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(
            Error::environment(format!("{} cannot be written", path.display()))
                .try_this("--nccl-tests-json FILE in a folder that there is"),
        );
    }
    match replay.mode[..] {
        [] => replay.mode = vec![ModeArg::Eager],
        [ModeArg::Eager | ModeArg::Graph] => {}
        _ => {
            return Err(Error::usage(
                "nccl-tests' JSON holds one mode, eager or graph, and others were asked for",
            )
            .try_this("--mode eager, or --mode graph, with --nccl-tests-json"));
        }
    }
    Ok(replay)
}
