//! Memory that the ranks of a communicator share: an anonymous memory file of the process that
//! made the communicator's id, which the others open through /proc. Nothing of it has a name that
//! could be left behind.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

pub const MAX_RANKS: usize = 64;
pub const CHUNK: usize = 64 << 10;
const SLOTS: u64 = 2;

/// One direction between two ranks: a ring of two chunks.
#[repr(C)]
pub struct Channel {
    written: AtomicU64,
    read: AtomicU64,
    lengths: [AtomicU32; SLOTS as usize],
    data: [[u8; CHUNK]; SLOTS as usize],
}

#[repr(C)]
pub struct Region {
    /// How many ranks have come to each of the meetings of this communicator.
    pub met: [AtomicU32; 4],
    /// Rung whenever something changes for the rank.
    doorbells: [AtomicU32; MAX_RANKS],
    channels: [[Channel; MAX_RANKS]; MAX_RANKS],
}

/// A fresh region; returns its descriptor, which stays open as long as the process.
pub fn create() -> Option<i32> {
    // SAFETY: plain system calls.
    unsafe {
        let fd = libc::memfd_create(c"stand-in-nccl".as_ptr(), 0);
        let sized = fd >= 0 && libc::ftruncate(fd, size_of::<Region>() as i64) == 0;
        sized.then_some(fd)
    }
}

/// The region behind descriptor `fd` of process `pid`, mapped for the life of this process.
pub fn open(pid: u32, fd: i32) -> Option<&'static Region> {
    let file = if pid == std::process::id() {
        // SAFETY: a copy of this process's own descriptor.
        unsafe { File::from_raw_fd(libc::dup(fd)) }
    } else {
        let path = format!("/proc/{pid}/fd/{fd}");
        File::options().read(true).write(true).open(path).ok()?
    };
    // SAFETY: maps a file of exactly this size; all zero bytes are a valid region.
    unsafe {
        let address = libc::mmap(
            std::ptr::null_mut::<c_void>(),
            size_of::<Region>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        (address != libc::MAP_FAILED).then(|| &*address.cast::<Region>())
    }
}

impl Region {
    pub fn channel(&self, from: usize, to: usize) -> &Channel {
        &self.channels[from][to]
    }

    /// Tells `rank` that something changed.
    pub fn ring(&self, rank: usize) {
        let bell = &self.doorbells[rank];
        bell.fetch_add(1, Ordering::SeqCst);
        // SAFETY: wakes waiters on a word of the shared mapping.
        unsafe { libc::syscall(libc::SYS_futex, bell.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    /// The state of the bell, to be read before looking for changes.
    pub fn bell(&self, rank: usize) -> u32 {
        self.doorbells[rank].load(Ordering::SeqCst)
    }

    /// Waits until the bell is no longer at `seen`, for a while at most.
    pub fn listen(&self, rank: usize, seen: u32) {
        const WHILE: Duration = Duration::from_millis(20);
        let timeout = libc::timespec {
            tv_sec: 0,
            tv_nsec: WHILE.as_nanos() as i64,
        };
        // SAFETY: waits on a word of the shared mapping.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.doorbells[rank].as_ptr(),
                libc::FUTEX_WAIT,
                seen,
                &timeout,
            )
        };
    }
}

impl Channel {
    /// Puts up to a chunk of `bytes` into the ring; how many, or none while it is full.
    pub fn put(&self, bytes: &[u8]) -> Option<usize> {
        let written = self.written.load(Ordering::Relaxed);
        if written - self.read.load(Ordering::Acquire) >= SLOTS {
            return None;
        }
        let slot = (written % SLOTS) as usize;
        let length = bytes.len().min(CHUNK);
        self.lengths[slot].store(length as u32, Ordering::Relaxed);
        // SAFETY: only this rank writes this slot until `written` says that it is full.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.data[slot].as_ptr().cast_mut(),
                length,
            );
        }
        self.written.store(written + 1, Ordering::Release);
        Some(length)
    }

    /// Takes the next chunk into the front of `bytes`; its length, or none while there is none.
    /// A chunk that does not fit is an error: the ranks do not agree on the message.
    pub fn take(&self, bytes: &mut [u8]) -> Result<Option<usize>, ()> {
        let read = self.read.load(Ordering::Relaxed);
        if self.written.load(Ordering::Acquire) == read {
            return Ok(None);
        }
        let slot = (read % SLOTS) as usize;
        let length = self.lengths[slot].load(Ordering::Relaxed) as usize;
        let to = bytes.get_mut(..length).ok_or(())?;
        to.copy_from_slice(&self.data[slot][..length]);
        self.read.store(read + 1, Ordering::Release);
        Ok(Some(length))
    }
}
