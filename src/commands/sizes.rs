//! `sweep`: one collective over payload sizes, as nccl-tests users know it.

use super::job::{Job, launched};
use crate::cli::{SizeSweepArgs, SweptArg};
use crate::clock::monotonic_ns;
use crate::error::Result;
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
    let sweep = SizeSweep {
        op: match args.op {
            SweptArg::Allreduce => SweptOp::Collective(OpKind::AllReduce),
            SweptArg::Allgather => SweptOp::Collective(OpKind::AllGather),
            SweptArg::Reducescatter => SweptOp::Collective(OpKind::ReduceScatter),
            SweptArg::Alltoall => SweptOp::Collective(OpKind::AllToAll),
            SweptArg::Broadcast => SweptOp::Collective(OpKind::Broadcast),
            SweptArg::Reduce => SweptOp::Collective(OpKind::Reduce),
            SweptArg::Sendrecv => SweptOp::SendRecv,
        },
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
        replay: &args.replay,
        one_mode: false,
        sampling: &args.sampling,
        machine: &args.machine,
        output: &args.output,
        question: None,
        warnings: Vec::new(),
        started_ns,
    }
    .run(site)
}
