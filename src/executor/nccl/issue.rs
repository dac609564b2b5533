//! From an op to NCCL's calls.

use super::comm::{Call, Communicator};
use super::executor::NcclRequest;
use crate::error::Result;
use crate::gpu::Stream;
use crate::plan::{Op, OpKind, Plan};

/// Where an op's data lies on the device, and the stream that its calls go to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buffer<'a> {
    /// Device addresses.
    pub send: u64,
    pub receive: u64,
    pub stream: &'a Stream,
}

/// Issues `op` on this rank. `native`: even all-to-alls are NCCL's own call, and one group of
/// sends and receives else. Ops are never grouped with each other: NCCL would fuse them.
///
/// # Errors
/// Exit code 3 with NCCL's words.
#[inline]
pub(super) fn issue(
    communicator: &Communicator,
    op: &Op,
    native: bool,
    buffer: Buffer<'_>,
    on: &NcclRequest,
) -> Result<()> {
    let element = op.dtype.bytes();
    let call = Call {
        send: buffer.send,
        receive: buffer.receive,
        count: op.bytes / element,
        dtype: op.dtype,
        stream: buffer.stream,
    };
    let ranks = u64::from(on.ranks);
    let per_rank = Call {
        count: call.count / ranks,
        ..call
    };
    match (&op.traffic, op.kind) {
        (None, OpKind::AllReduce) => communicator.all_reduce_sum(call),
        (None, OpKind::AllGather) => communicator.all_gather(call),
        (None, OpKind::Broadcast) => communicator.broadcast(call),
        (None, OpKind::Reduce) => communicator.reduce_sum(call),
        (None, OpKind::ReduceScatter) => communicator.reduce_scatter_sum(per_rank),
        (None, OpKind::AllToAll) if native => communicator.all_to_all(per_rank),
        (None, OpKind::AllToAll) => {
            let part = per_rank.count * element;
            exchange(communicator, call, on.ranks, |peer| {
                let at = u64::from(peer) * part;
                [(at, part), (at, part)]
            })
        }
        (Some(traffic), _) => {
            let me = on.rank;
            exchange(communicator, call, on.ranks, |peer| {
                [
                    (traffic.input_offset(me, peer), traffic.bytes(me, peer)),
                    (traffic.output_offset(me, peer), traffic.bytes(peer, me)),
                ]
            })
        }
    }
}

/// One group of a send to and a receive from each rank. `parts` tells of a peer where its parts of
/// input and output begin and how long they are, in bytes.
#[inline]
fn exchange(
    communicator: &Communicator,
    call: Call<'_>,
    ranks: u32,
    parts: impl Fn(u32) -> [(u64, u64); 2],
) -> Result<()> {
    let element = call.dtype.bytes();
    communicator.group(|| {
        for peer in 0..ranks {
            let [(from, sent), (to, received)] = parts(peer);
            if sent > 0 {
                let part = Call {
                    send: call.send + from,
                    count: sent / element,
                    ..call
                };
                communicator.send(part, peer)?;
            }
            if received > 0 {
                let part = Call {
                    receive: call.receive + to,
                    count: received / element,
                    ..call
                };
                communicator.receive(part, peer)?;
            }
        }
        Ok(())
    })
}

/// The calls behind a plan's ops, each once.
pub(super) fn calls_of(plan: &Plan, native: bool) -> String {
    let mut calls: Vec<&str> = Vec::new();
    for op in &plan.ops {
        let call = match (&op.traffic, op.kind) {
            (None, OpKind::AllReduce) => "ncclAllReduce",
            (None, OpKind::AllGather) => "ncclAllGather",
            (None, OpKind::Broadcast) => "ncclBroadcast",
            (None, OpKind::Reduce) => "ncclReduce",
            (None, OpKind::ReduceScatter) => "ncclReduceScatter",
            (None, OpKind::AllToAll) if native => "ncclAlltoAll",
            (None, OpKind::AllToAll) => "grouped ncclSend and ncclRecv",
            (Some(_), _) => "grouped ncclSend and ncclRecv, uneven",
        };
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
    calls.join(", ")
}
