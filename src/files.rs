//! Reading files that others wrote: never more of them than was agreed.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Why a file was not read. The texts are clauses with the file as their subject.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file says that it is larger than the limit.
    #[error("has {size} bytes, and at most {limit} are read")]
    TooLarge { size: u64, limit: u64 },
    /// A pipe or device, which say no size, went on after the limit.
    #[error("goes on after {limit} bytes, and no more are read")]
    Endless { limit: u64 },
    /// Not UTF-8.
    #[error("is no text from byte {valid_up_to} on")]
    NoText { valid_up_to: usize },
}

/// The text of a file of at most `limit` bytes, which may be a pipe.
///
/// # Errors
/// As [`ReadError`] says. No more than `limit` bytes and one are read in any case.
pub fn read_text(path: &Path, limit: u64) -> Result<String, ReadError> {
    let size = std::fs::metadata(path)?.len();
    if size > limit {
        return Err(ReadError::TooLarge { size, limit });
    }
    // Devices and pipes say 0 bytes, and a file may grow: the limit holds for what is read as well.
    let mut bytes = Vec::new();
    File::open(path)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::Endless { limit });
    }
    String::from_utf8(bytes).map_err(|error| ReadError::NoText {
        valid_up_to: error.utf8_error().valid_up_to(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_for_files_and_for_what_has_no_size() {
        let path = std::env::temp_dir().join(format!("commbench-files-{}", std::process::id()));
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        let said = |path: &Path, limit| read_text(path, limit).unwrap_err().to_string();
        assert_eq!(said(&path, 4), "has 5 bytes, and at most 4 are read");
        assert!(said(Path::new("/dev/zero"), 4).starts_with("goes on after 4"));
        std::fs::write(&path, b"ab\xff").unwrap();
        assert_eq!(said(&path, 5), "is no text from byte 2 on");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(read_text(&path, 5), Err(ReadError::Io(_))));
        assert!(matches!(
            read_text(&std::env::temp_dir(), 1 << 20),
            Err(ReadError::Io(_))
        ));
    }
}
