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

/// A collective's buffers: addresses, and the length of one rank's part in bytes.
#[derive(Debug, Clone, Copy)]
struct Buffers {
    send: usize,
    receive: usize,
    bytes: usize,
    datatype: c_int,
}

/// What an op does.
#[derive(Debug, Clone)]
enum Kind {
    AllReduce(Buffers),
    AllGather(Buffers),
    ReduceScatter(Buffers),
    AllToAll(Buffers),
    /// The sum of all ranks' inputs at this root.
    Reduce(Buffers, usize),
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
            Kind::AllReduce(buffers)
            | Kind::AllGather(buffers)
            | Kind::ReduceScatter(buffers)
            | Kind::AllToAll(buffers) => (buffers.receive, buffers.bytes),
            Kind::Reduce(buffers, _) => (buffers.receive, buffers.bytes),
            Kind::PointToPoint { receives, .. } => receives
                .first()
                .map_or((0, 0), |one| (one.address, one.bytes)),
        }
    }

    /// # Safety
    /// The buffers must be valid.
    unsafe fn move_data(&self, comm: &Comm) -> Result<(), Broken> {
        unsafe {
            match self {
                Kind::AllReduce(buffers) => reduce(comm, *buffers, whole),
                Kind::ReduceScatter(buffers) => reduce(comm, *buffers, part),
                Kind::AllGather(buffers) => spread(comm, *buffers, whole),
                Kind::AllToAll(buffers) => spread(comm, *buffers, part),
                Kind::Reduce(buffers, root) => reduce_at(comm, *buffers, *root),
                Kind::PointToPoint { sends, receives } => exchange(comm, sends, receives),
            }
        }
    }
}

/// Where in a rank's input the piece for `rank` begins.
type PieceFor = fn(Buffers, usize) -> usize;

/// Everyone gets all of it.
fn whole(buffers: Buffers, _rank: usize) -> usize {
    buffers.send
}

/// Everyone gets a part of it.
fn part(buffers: Buffers, rank: usize) -> usize {
    buffers.send + rank * buffers.bytes
}

/// Sends each peer its piece, and puts a piece from each at its place behind `base`.
unsafe fn swap(
    comm: &Comm,
    buffers: Buffers,
    piece_for: PieceFor,
    base: usize,
) -> Result<(), Broken> {
    let bytes = buffers.bytes;
    let peers = || (0..comm.ranks).filter(|peer| *peer != comm.rank);
    let sends: Vec<Message> = peers()
        .map(|peer| Message {
            peer,
            address: piece_for(buffers, peer),
            bytes,
        })
        .collect();
    let receives: Vec<Message> = peers()
        .map(|peer| Message {
            peer,
            address: base + peer * bytes,
            bytes,
        })
        .collect();
    unsafe {
        exchange(comm, &sends, &receives)?;
        let own = bytes_at(piece_for(buffers, comm.rank), bytes).to_vec();
        bytes_at(base + comm.rank * bytes, bytes).copy_from_slice(&own);
    }
    Ok(())
}

/// Leaves the pieces side by side in the output.
unsafe fn spread(comm: &Comm, buffers: Buffers, piece_for: PieceFor) -> Result<(), Broken> {
    unsafe { swap(comm, buffers, piece_for, buffers.receive) }
}

/// Sums the pieces in the order of ranks.
unsafe fn reduce(comm: &Comm, buffers: Buffers, piece_for: PieceFor) -> Result<(), Broken> {
    let bytes = buffers.bytes;
    let mut pieces = vec![0u8; bytes * comm.ranks];
    unsafe { swap(comm, buffers, piece_for, pieces.as_mut_ptr() as usize)? };
    let (sum, others) = pieces.split_at_mut(bytes);
    for more in others.chunks_exact(bytes.max(1)) {
        add(buffers.datatype, sum, more);
    }
    unsafe { bytes_at(buffers.receive, bytes).copy_from_slice(sum) };
    Ok(())
}

/// Sums at the root alone; the others' outputs are left as they are.
unsafe fn reduce_at(comm: &Comm, buffers: Buffers, root: usize) -> Result<(), Broken> {
    let mut aside = vec![0u8; buffers.bytes];
    let receive = if comm.rank == root {
        buffers.receive
    } else {
        aside.as_mut_ptr() as usize
    };
    unsafe { reduce(comm, Buffers { receive, ..buffers }, whole) }
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

/// Enqueues a collective of `count` elements a part; `operation` is there where it sums.
fn collective(
    kind: fn(Buffers) -> Kind,
    (send, receive): (*const c_void, *mut c_void),
    (count, datatype): (usize, c_int),
    operation: Option<c_int>,
    comm: *const Comm,
    stream: RawStream,
) -> Status {
    let Some(size) = element_bytes(datatype) else {
        return INVALID_ARGUMENT;
    };
    if operation.is_some_and(|operation| operation != SUM || !can_add(datatype)) {
        return INVALID_ARGUMENT;
    }
    let buffers = Buffers {
        send: send as usize,
        receive: receive as usize,
        bytes: count * size,
        datatype,
    };
    enqueue(comm, stream, kind(buffers))
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
    let (buffers, elements) = ((send, receive), (count, datatype));
    collective(
        Kind::AllReduce,
        buffers,
        elements,
        Some(operation),
        comm,
        stream,
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
    let (buffers, elements) = ((send, receive), (count, datatype));
    collective(
        Kind::ReduceScatter,
        buffers,
        elements,
        Some(operation),
        comm,
        stream,
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
    let (buffers, elements) = ((send, receive), (count, datatype));
    collective(Kind::AllGather, buffers, elements, None, comm, stream)
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
    let (buffers, elements) = ((send, receive), (count, datatype));
    collective(Kind::AllToAll, buffers, elements, None, comm, stream)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // NCCL's own list.
pub unsafe extern "C" fn ncclReduce(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    datatype: c_int,
    operation: c_int,
    root: c_int,
    comm: *const Comm,
    stream: RawStream,
) -> Status {
    enter!("ncclReduce");
    let Some(size) = element_bytes(datatype) else {
        return INVALID_ARGUMENT;
    };
    if operation != SUM || !can_add(datatype) {
        return INVALID_ARGUMENT;
    }
    let buffers = Buffers {
        send: send as usize,
        receive: receive as usize,
        bytes: count * size,
        datatype,
    };
    enqueue(comm, stream, Kind::Reduce(buffers, root as usize))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclBroadcast(
    send: *const c_void,
    receive: *mut c_void,
    count: usize,
    datatype: c_int,
    root: c_int,
    comm: *const Comm,
    stream: RawStream,
) -> Status {
    enter!("ncclBroadcast");
    let Some(size) = element_bytes(datatype) else {
        return INVALID_ARGUMENT;
    };
    if comm.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: not null; the caller vouches for the handle.
    let (rank, ranks) = unsafe { (Comm::of(comm).rank, Comm::of(comm).ranks) };
    let message = |peer, address| Message {
        peer,
        address,
        bytes: count * size,
    };
    let root = root as usize;
    let sends = if rank == root {
        (0..ranks)
            .map(|peer| message(peer, send as usize))
            .collect()
    } else {
        Vec::new()
    };
    let receives = vec![message(root, receive as usize)];
    enqueue(comm, stream, Kind::PointToPoint { sends, receives })
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
