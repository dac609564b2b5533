//! Collectives: checked and enqueued by the calling thread, carried out by the stream's.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::time::Duration;

use crate::comm::Comm;
use crate::driver::{self, RawStream};
use crate::enter;
use crate::exchange::{Broken, Message, exchange};
use crate::profiler;
use crate::reduce::{add, can_add, element_bytes};
use crate::status::{
    INTERNAL_ERROR, INVALID_ARGUMENT, INVALID_USAGE, SUCCESS, Status, UNHANDLED_CUDA_ERROR,
};

const SUM: c_int = 0;

/// What an op does; addresses and lengths in bytes.
#[derive(Debug, Clone)]
enum Kind {
    AllReduce {
        send: usize,
        receive: usize,
        bytes: usize,
        datatype: c_int,
    },
    AllGather {
        send: usize,
        receive: usize,
        bytes: usize,
    },
    ReduceScatter {
        send: usize,
        receive: usize,
        bytes: usize,
        datatype: c_int,
    },
    AllToAll {
        send: usize,
        receive: usize,
        bytes: usize,
    },
    PointToPoint {
        sends: Vec<Message>,
        receives: Vec<Message>,
    },
}

struct Op {
    comm: &'static Comm,
    kind: Kind,
    /// A captured op runs as often as its graph does.
    keep: bool,
}

unsafe extern "C" fn run(data: *mut c_void) {
    let op = data.cast::<Op>();
    // SAFETY: enqueued by `enqueue`, which leaked it for this call.
    unsafe { (*op).carry_out() };
    // SAFETY: as above; one that is kept is never freed.
    if unsafe { !(*op).keep } {
        drop(unsafe { Box::from_raw(op) });
    }
}

impl Op {
    fn carry_out(&self) {
        if let Some(code) = stand_in_faults::strike("async", "op") {
            self.comm.fail(code as Status);
        }
        if let Some(ms) = stand_in_faults::strike("late", "op") {
            std::thread::sleep(Duration::from_millis(ms as u64));
        }
        if stand_in_faults::strike("hang", "op").is_some() {
            while !self.comm.is_aborted() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        // SAFETY: the caller of the collective vouches for its buffers until it is done.
        match unsafe { self.kind.move_data(self.comm) } {
            Ok(()) | Err(Broken::Aborted) => {}
            Err(Broken::Mismatch) => self.comm.fail(INTERNAL_ERROR),
        }
        if stand_in_faults::strike("corrupt", "op").is_some() {
            let (address, bytes) = self.kind.output();
            if bytes > 0 {
                // SAFETY: inside the op's own output.
                unsafe { *((address + bytes / 2) as *mut u8) ^= 1 };
            }
        }
    }
}

unsafe fn bytes_at<'a>(address: usize, length: usize) -> &'a mut [u8] {
    unsafe { std::slice::from_raw_parts_mut(address as *mut u8, length) }
}

impl Kind {
    /// Address and length of what the op writes, or of its first part.
    fn output(&self) -> (usize, usize) {
        match self {
            Kind::AllReduce { receive, bytes, .. }
            | Kind::AllGather { receive, bytes, .. }
            | Kind::ReduceScatter { receive, bytes, .. }
            | Kind::AllToAll { receive, bytes, .. } => (*receive, *bytes),
            Kind::PointToPoint { receives, .. } => receives
                .first()
                .map_or((0, 0), |one| (one.address, one.bytes)),
        }
    }

    /// # Safety
    /// The buffers must be valid.
    unsafe fn move_data(&self, comm: &Comm) -> Result<(), Broken> {
        let peers = || (0..comm.ranks).filter(|peer| *peer != comm.rank);
        match self {
            Kind::AllReduce {
                send,
                receive,
                bytes,
                datatype,
            } => unsafe {
                let all = |peer| Message {
                    peer,
                    address: *send,
                    bytes: *bytes,
                };
                let sum = reduce(comm, *send, *bytes, *datatype, peers().map(all).collect())?;
                bytes_at(*receive, *bytes).copy_from_slice(&sum);
            },
            Kind::ReduceScatter {
                send,
                receive,
                bytes,
                datatype,
            } => unsafe {
                let part = |peer| Message {
                    peer,
                    address: send + peer * bytes,
                    bytes: *bytes,
                };
                let own = send + comm.rank * bytes;
                let sum = reduce(comm, own, *bytes, *datatype, peers().map(part).collect())?;
                bytes_at(*receive, *bytes).copy_from_slice(&sum);
            },
            Kind::AllGather {
                send,
                receive,
                bytes,
            } => unsafe {
                let all = |peer| Message {
                    peer,
                    address: *send,
                    bytes: *bytes,
                };
                let part = |peer| Message {
                    peer,
                    address: receive + peer * bytes,
                    bytes: *bytes,
                };
                let sends: Vec<_> = peers().map(all).collect();
                let receives: Vec<_> = peers().map(part).collect();
                exchange(comm, &sends, &receives)?;
                let own = bytes_at(*send, *bytes).to_vec();
                bytes_at(receive + comm.rank * bytes, *bytes).copy_from_slice(&own);
            },
            Kind::AllToAll {
                send,
                receive,
                bytes,
            } => unsafe {
                let part = |base: &usize, peer| Message {
                    peer,
                    address: base + peer * bytes,
                    bytes: *bytes,
                };
                let sends: Vec<_> = peers().map(|peer| part(send, peer)).collect();
                let receives: Vec<_> = peers().map(|peer| part(receive, peer)).collect();
                exchange(comm, &sends, &receives)?;
                let own = bytes_at(send + comm.rank * bytes, *bytes).to_vec();
                bytes_at(receive + comm.rank * bytes, *bytes).copy_from_slice(&own);
            },
            Kind::PointToPoint { sends, receives } => unsafe {
                exchange(comm, sends, receives)?;
            },
        }
        Ok(())
    }
}

/// Sends what is given, and sums `own` with one piece from each peer, in the order of ranks.
unsafe fn reduce(
    comm: &Comm,
    own: usize,
    bytes: usize,
    datatype: c_int,
    sends: Vec<Message>,
) -> Result<Vec<u8>, Broken> {
    let mut scratch = vec![0u8; bytes * comm.ranks];
    let base = scratch.as_mut_ptr() as usize;
    let receives: Vec<Message> = sends
        .iter()
        .map(|send| Message {
            peer: send.peer,
            address: base + send.peer * bytes,
            bytes,
        })
        .collect();
    unsafe { exchange(comm, &sends, &receives)? };
    let own = unsafe { bytes_at(own, bytes) };
    scratch[comm.rank * bytes..][..bytes].copy_from_slice(own);
    let (sum, others) = scratch.split_at_mut(bytes);
    for more in others.chunks_exact(bytes.max(1)) {
        add(datatype, sum, more);
    }
    Ok(sum.to_vec())
}

fn enqueue(comm: *const Comm, stream: RawStream, kind: Kind) -> Status {
    if comm.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: not null; the caller vouches for the handle.
    let comm = unsafe { Comm::of(comm) };
    profiler::enqueued(comm, kind.output().1);
    let keep = driver::is_capturing(stream);
    let op = Box::into_raw(Box::new(Op { comm, kind, keep }));
    match driver::launch(stream, run, op.cast()) {
        0 => SUCCESS,
        _ => UNHANDLED_CUDA_ERROR,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclAllReduce(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    datatype: c_int,
    operation: c_int,
    comm: *const Comm,
    stream: RawStream,
) -> Status {
    enter!("ncclAllReduce");
    if operation != SUM || !can_add(datatype) {
        return INVALID_ARGUMENT;
    }
    let bytes = count * element_bytes(datatype).unwrap_or(0);
    let (send, receive) = (send as usize, receive as usize);
    enqueue(
        comm,
        stream,
        Kind::AllReduce {
            send,
            receive,
            bytes,
            datatype,
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclReduceScatter(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    datatype: c_int,
    operation: c_int,
    comm: *const Comm,
    stream: RawStream,
) -> Status {
    enter!("ncclReduceScatter");
    if operation != SUM || !can_add(datatype) {
        return INVALID_ARGUMENT;
    }
    let bytes = count * element_bytes(datatype).unwrap_or(0);
    let (send, receive) = (send as usize, receive as usize);
    enqueue(
        comm,
        stream,
        Kind::ReduceScatter {
            send,
            receive,
            bytes,
            datatype,
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclAllGather(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    datatype: c_int,
    comm: *const Comm,
    stream: RawStream,
) -> Status {
    enter!("ncclAllGather");
    let Some(size) = element_bytes(datatype) else {
        return INVALID_ARGUMENT;
    };
    let (send, receive, bytes) = (send as usize, receive as usize, count * size);
    enqueue(
        comm,
        stream,
        Kind::AllGather {
            send,
            receive,
            bytes,
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclAlltoAll(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    datatype: c_int,
    comm: *const Comm,
    stream: RawStream,
) -> Status {
    enter!("ncclAlltoAll");
    let Some(size) = element_bytes(datatype) else {
        return INVALID_ARGUMENT;
    };
    let (send, receive, bytes) = (send as usize, receive as usize, count * size);
    enqueue(
        comm,
        stream,
        Kind::AllToAll {
            send,
            receive,
            bytes,
        },
    )
}

/// The sends and receives of an open group of this thread.
#[derive(Default)]
struct Group {
    depth: usize,
    comm: usize,
    stream: usize,
    sends: Vec<Message>,
    receives: Vec<Message>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGroupStart() -> Status {
    enter!("ncclGroupStart");
    GROUP.with_borrow_mut(|group| group.depth += 1);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGroupEnd() -> Status {
    enter!("ncclGroupEnd");
    let ended = GROUP.with_borrow_mut(|group| {
        if group.depth == 0 {
            return Err(INVALID_USAGE);
        }
        group.depth -= 1;
        Ok((group.depth == 0).then(|| std::mem::take(group)))
    });
    match ended {
        Ok(Some(group)) if group.comm != 0 => enqueue(
            group.comm as *const Comm,
            group.stream as RawStream,
            Kind::PointToPoint {
                sends: group.sends,
                receives: group.receives,
            },
        ),
        Ok(_) => SUCCESS,
        Err(code) => code,
    }
}

/// Adds one message to the open group, or carries it out as a group of its own.
fn point_to_point(comm: *const Comm, stream: RawStream, add: impl FnOnce(&mut Group)) -> Status {
    if comm.is_null() {
        return INVALID_ARGUMENT;
    }
    ncclGroupStart();
    GROUP.with_borrow_mut(|group| {
        group.comm = comm as usize;
        group.stream = stream as usize;
        add(group);
    });
    ncclGroupEnd()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclSend(
    send: *const c_void,
    count: usize,
    datatype: c_int,
    peer: c_int,
    comm: *const Comm,
    stream: RawStream,
) -> Status {
    enter!("ncclSend");
    let Some(size) = element_bytes(datatype) else {
        return INVALID_ARGUMENT;
    };
    let message = Message {
        peer: peer as usize,
        address: send as usize,
        bytes: count * size,
    };
    point_to_point(comm, stream, |group| group.sends.push(message))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclRecv(
    receive: *mut c_void,
    count: usize,
    datatype: c_int,
    peer: c_int,
    comm: *const Comm,
    stream: RawStream,
) -> Status {
    enter!("ncclRecv");
    let Some(size) = element_bytes(datatype) else {
        return INVALID_ARGUMENT;
    };
    let message = Message {
        peer: peer as usize,
        address: receive as usize,
        bytes: count * size,
    };
    point_to_point(comm, stream, |group| group.receives.push(message))
}
