//! The estate of a rank: what its supervisor needs to save the samples in the flight recorders
//! when no worker is left to do it. An anonymous memory file, written by the worker whenever it
//! changes and outside anything timed.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::error::{Error, Result};

/// Where the two versions begin: the one being written is never the one being read.
const SLOTS: [u64; 2] = [4096, 4096 + (64 << 20)];

/// The memory file. Its first 8 bytes tell the current version: length and slot.
#[derive(Debug)]
pub struct Estate {
    file: File,
}

impl Estate {
    /// An empty estate. The descriptor is inherited by child processes.
    ///
    /// # Errors
    /// Exit code 3 when the system gives no memory file.
    pub fn create() -> Result<Estate> {
        memfd_create("commbench-estate", MemfdFlags::empty())
            .map(|file| Estate { file: file.into() })
            .map_err(|error| {
                Error::environment(format!("no memory for the rank's estate: {error}"))
                    .try_this("free some memory, or raise the container's limit")
            })
    }

    /// The estate behind descriptor `fd` of this process.
    ///
    /// # Errors
    /// Exit code 3 when there is none.
    pub fn inherited(fd: i32) -> Result<Estate> {
        let path = format!("/proc/self/fd/{fd}");
        File::options()
            .read(true)
            .write(true)
            .open(&path)
            .map(|file| Estate { file })
            .map_err(|error| Error::environment(format!("cannot open {path}: {error}")))
    }

    /// Another handle on the same memory.
    ///
    /// # Errors
    /// Exit code 3 when no descriptor is left.
    pub fn duplicate(&self) -> Result<Estate> {
        self.file
            .try_clone()
            .map(|file| Estate { file })
            .map_err(|error| Error::environment(format!("no descriptor left: {error}")))
    }

    /// The descriptor number in this process.
    pub fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Replaces what it holds. A process that dies meanwhile leaves the version before.
    ///
    /// # Errors
    /// Exit code 3 when there is no memory for it.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        let slot = match self.current() {
            Some((0, _)) => 1,
            _ => 0,
        };
        let version = (bytes.len() as u64) << 1 | slot;
        self.file
            .write_all_at(bytes, SLOTS[slot as usize])
            .and_then(|()| self.file.write_all_at(&version.to_le_bytes(), 0))
            .map_err(|error| Error::environment(format!("cannot keep the estate: {error}")))
    }

    /// What was written last; `None` before the first time.
    pub fn read(&self) -> Option<Vec<u8>> {
        let (slot, length) = self.current()?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, SLOTS[slot]).ok()?;
        Some(bytes)
    }

    fn current(&self) -> Option<(usize, usize)> {
        let mut version = [0; 8];
        self.file.read_exact_at(&mut version, 0).ok()?;
        let version = u64::from_le_bytes(version);
        Some(((version & 1) as usize, (version >> 1) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_version_is_read() {
        let estate = Estate::create().unwrap();
        assert_eq!(estate.read(), None);
        let reader = Estate::inherited(estate.fd()).unwrap();
        for text in ["one", "another, longer", "three"] {
            estate.write(text.as_bytes()).unwrap();
            assert_eq!(reader.read().unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn a_version_cut_short_does_not_replace_the_one_before() {
        let estate = Estate::create().unwrap();
        estate.write(b"whole").unwrap();
        // As a process that dies in the middle leaves it.
        estate.file.write_all_at(b"half of a ne", SLOTS[1]).unwrap();
        assert_eq!(estate.read().unwrap(), b"whole");
    }
}
