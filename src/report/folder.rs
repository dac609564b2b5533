//! The folder of a run's files. Each file is written without a name and named once it is whole, so
//! that no reader ever sees half of one and a writer that is killed leaves nothing.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Written and removed again when the folder is made: a full disk is found before measuring.
const PROBE_BYTES: usize = 256 * 1024;

/// Others may read results; the umask may take more away.
const FILE_MODE: u32 = 0o644;

/// The file of a run that must not be there yet.
const RESULT_FILE: &str = "result.json";

/// A folder that can be written to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OutputFolder {
    path: PathBuf,
    /// The folders that this run made, innermost first: it may remove them again when nothing
    /// came of it.
    made: Vec<PathBuf>,
}

impl OutputFolder {
    /// Makes sure of the folder: `asked`, or `out/<time>-<command>` below the working folder.
    ///
    /// # Errors
    /// Exit code 2 when it already holds a result, 3 when it cannot be written to or is full.
    pub fn create(asked: Option<&Path>, utc: &str, command: &str) -> Result<OutputFolder> {
        let path = match asked {
            Some(path) => path.to_path_buf(),
            None => free_name(&Path::new("out").join(format!("{utc}-{command}"))),
        };
        let refuse = |error: io::Error| {
            Error::environment(format!(
                "cannot write to the output folder {}: {}",
                path.display(),
                reason(&error)
            ))
            .try_this("--out DIR with a folder that can be written to and has room")
        };
        if fs::symlink_metadata(path.join(RESULT_FILE)).is_ok() {
            return Err(Error::usage(format!(
                "the output folder {} already holds a result",
                path.display()
            ))
            .try_this("--out with another folder; without --out every run gets its own"));
        }
        let made = path
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_path_buf)
            .collect();
        // Others may read results and nobody else may change them, whatever the umask allows.
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&path)
            .map_err(refuse)?;
        let folder = OutputFolder {
            path: path.clone(),
            made,
        };
        if let Err(error) = folder.probe() {
            folder.remove_if_empty();
            return Err(refuse(error));
        }
        Ok(folder)
    }

    /// Writes a file and removes it again.
    fn probe(&self) -> io::Result<()> {
        let bytes = vec![0u8; PROBE_BYTES];
        if self.nameless(&bytes)?.is_none() {
            self.write("probe", &bytes)?;
            fs::remove_file(self.path.join("probe"))?;
        }
        Ok(())
    }

    /// A file of `bytes` without a name, which the system frees when its writer dies; `None` where
    /// the file system has no such files.
    fn nameless(&self, bytes: &[u8]) -> io::Result<Option<File>> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let mut file = match open(&self.path, flags, Mode::from_raw_mode(FILE_MODE)) {
            Ok(file) => File::from(file),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(Some(file))
    }

    /// A folder that is there already, to write files of its run again.
    pub fn existing(path: &Path) -> OutputFolder {
        OutputFolder {
            path: path.to_path_buf(),
            made: Vec::new(),
        }
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file whole or not at all.
    ///
    /// # Errors
    /// The system's error; nothing is left of the file then.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let place = self.path.join(name);
        let temporary = self
            .path
            .join(format!(".{name}.{}.tmp", std::process::id()));
        let done = match self.nameless(bytes)? {
            Some(file) => {
                let named = give_name(&file, &place);
                if named != Err(Errno::EXIST) {
                    return Ok(named?);
                }
                // A name cannot be given over another file, only moved there.
                give_name(&file, &temporary).map_err(io::Error::from)
            }
            None => create_new(&temporary).and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()
            }),
        };
        let done = done.and_then(|()| fs::rename(&temporary, &place));
        if done.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        done
    }

    /// Removes what a process that died while it wrote has left of the files `names`. To be called
    /// when nobody else of the job writes any more.
    pub fn remove_half_files(&self, names: &[&str]) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let temporary = entry.file_name();
            let name = name_of_temporary(&temporary);
            if name.is_some_and(|name| names.contains(&name)) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Removes the folder again if this run made it and put nothing into it.
    pub fn remove_if_empty(&self) {
        for folder in &self.made {
            // Refused by the system where something is in it.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The name that a file is to have once it is whole, of the one that [`OutputFolder::write`] gives
/// it until then.
fn name_of_temporary(temporary: &OsStr) -> Option<&str> {
    let name = temporary.to_str()?.strip_prefix('.')?;
    let (name, process) = name.strip_suffix(".tmp")?.rsplit_once('.')?;
    let is_number = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(name)
}

/// Names a nameless file.
fn give_name(file: &File, path: &Path) -> rustix::io::Result<()> {
    // The one way that needs no privilege: through the descriptor's entry in /proc.
    let entry = format!("/proc/self/fd/{}", file.as_raw_fd());
    linkat(CWD, entry, CWD, path, AtFlags::SYMLINK_FOLLOW)
}

/// Never follows a link: the name must not exist.
fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(path)
}

fn free_name(wanted: &Path) -> PathBuf {
    let mut path = wanted.to_path_buf();
    let mut number = 2;
    while path.exists() {
        path.set_file_name(format!(
            "{}-{number}",
            wanted.file_name().unwrap_or_default().to_string_lossy()
        ));
        number += 1;
    }
    path
}

/// The system's words without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_string(),
        None => text,
    }
}

/// An error of writing results, as the user reads it.
pub(crate) fn write_error(folder: &Path, name: &str, error: &io::Error) -> Error {
    Error::environment(format!(
        "cannot write {}: {}",
        folder.join(name).display(),
        reason(error)
    ))
    .try_this("make room there, or --out DIR with another folder, and run again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("commbench-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn a_second_run_does_not_overwrite_the_first() {
        let path = scratch("folder-twice");
        let folder = OutputFolder::create(Some(&path), "", "").unwrap();
        folder.write("result.json", b"{}").unwrap();
        let error = OutputFolder::create(Some(&path), "", "").unwrap_err();
        assert!(error.what.contains("already holds a result"));
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn an_unused_folder_goes_again_but_never_the_users_own() {
        let path = scratch("folder-unused");
        OutputFolder::create(Some(&path.join("below")), "", "")
            .unwrap()
            .remove_if_empty();
        assert!(!path.exists());
        fs::create_dir(&path).unwrap();
        OutputFolder::create(Some(&path), "", "")
            .unwrap()
            .remove_if_empty();
        assert!(path.exists());
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_file_in_the_way_is_exit_code_3_with_the_path() {
        let path = scratch("folder-file");
        fs::write(&path, "").unwrap();
        let error = OutputFolder::create(Some(&path.join("below")), "", "").unwrap_err();
        assert_eq!(error.exit, crate::error::Exit::Environment);
        assert!(error.what.contains("folder-file"), "{}", error.what);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_has_no_name_before_it_is_whole() {
        let path = scratch("folder-nameless");
        let folder = OutputFolder::create(Some(&path), "", "").unwrap();
        let names = || fs::read_dir(&path).unwrap().count();
        let written = folder.nameless(b"whole").unwrap();
        assert_eq!(names(), 0, "a writer killed here would leave a file");
        if let Some(file) = written {
            give_name(&file, &path.join("whole")).unwrap();
            assert_eq!(fs::read_to_string(path.join("whole")).unwrap(), "whole");
        }
        for text in ["first", "second"] {
            folder.write("twice", text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(path.join("twice")).unwrap(), text);
        }
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn links_are_replaced_not_followed() {
        let path = scratch("folder-link");
        let outside = scratch("folder-link-outside");
        fs::write(&outside, "keep").unwrap();
        let folder = OutputFolder::create(Some(&path), "", "").unwrap();
        std::os::unix::fs::symlink(&outside, path.join("report.md")).unwrap();
        folder.write("report.md", b"new").unwrap();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "keep");
        assert_eq!(fs::read_to_string(path.join("report.md")).unwrap(), "new");
        fs::remove_dir_all(&path).unwrap();
        fs::remove_file(&outside).unwrap();
    }

    #[test]
    fn half_files_of_a_run_go_and_the_users_own_stay() {
        let path = scratch("folder-half");
        let folder = OutputFolder::create(Some(&path), "", "").unwrap();
        for name in [
            ".result.json.12.tmp",
            ".notes.12.tmp",
            ".result.json.x.tmp",
            "a.tmp",
        ] {
            fs::write(path.join(name), "half").unwrap();
        }
        folder.remove_half_files(&["result.json"]);
        let mut left: Vec<_> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".notes.12.tmp", ".result.json.x.tmp", "a.tmp"]);
        fs::remove_dir_all(&path).unwrap();
    }
}
