//! Messages between ranks, all of an op at once.

use std::collections::VecDeque;

use crate::comm::Comm;

/// Bytes in this process's memory for or from one peer.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    pub peer: usize,
    pub address: usize,
    pub bytes: usize,
}

/// Why an exchange did not end well.
#[derive(Debug, PartialEq)]
pub enum Broken {
    Aborted,
    /// The ranks do not agree on the messages.
    Mismatch,
}

/// Moves every message. Those with one peer go in the order given.
///
/// # Safety
/// Each message's range must be valid, and no other thread may touch those received.
pub unsafe fn exchange(comm: &Comm, sends: &[Message], receives: &[Message]) -> Result<(), Broken> {
    let mut outgoing = by_peer(sends, comm.ranks);
    let mut incoming = by_peer(receives, comm.ranks);
    loop {
        if comm.is_aborted() {
            return Err(Broken::Aborted);
        }
        let bell = comm.region.bell(comm.rank);
        let mut moved = false;
        let mut waiting = false;
        for peer in 0..comm.ranks {
            while let Some(message) = outgoing[peer].front_mut() {
                // SAFETY: the caller vouches for the range.
                let bytes = unsafe {
                    std::slice::from_raw_parts(message.address as *const u8, message.bytes)
                };
                let Some(length) = comm.region.channel(comm.rank, peer).put(bytes) else {
                    break;
                };
                moved = true;
                message.address += length;
                message.bytes -= length;
                comm.region.ring(peer);
                if message.bytes == 0 {
                    outgoing[peer].pop_front();
                }
            }
            while let Some(message) = incoming[peer].front_mut() {
                // SAFETY: the caller vouches for the range.
                let bytes = unsafe {
                    std::slice::from_raw_parts_mut(message.address as *mut u8, message.bytes)
                };
                let taken = comm.region.channel(peer, comm.rank).take(bytes);
                let Some(length) = taken.map_err(|()| Broken::Mismatch)? else {
                    break;
                };
                moved = true;
                message.address += length;
                message.bytes -= length;
                comm.region.ring(peer);
                if message.bytes == 0 {
                    incoming[peer].pop_front();
                }
            }
            waiting |= !outgoing[peer].is_empty() || !incoming[peer].is_empty();
        }
        if !waiting {
            return Ok(());
        }
        if !moved {
            comm.region.listen(comm.rank, bell);
        }
    }
}

/// A message of no bytes needs no exchange.
fn by_peer(messages: &[Message], ranks: usize) -> Vec<VecDeque<Message>> {
    let mut queues = vec![VecDeque::new(); ranks];
    for message in messages.iter().filter(|message| message.bytes > 0) {
        queues[message.peer].push_back(*message);
    }
    queues
}
