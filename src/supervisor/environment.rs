//! What a worker's environment has beside its supervisor's: it must stand before NCCL reads it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::error::{Error, Result, tell};
use crate::executor::NCCL_LOG_FD_VARIABLE;

/// Where the loader looks for the GPU libraries, before the system's folders.
const LOADER_VARIABLE: &str = "LD_LIBRARY_PATH";

/// Gives the worker a loader's search path without the working folder. `speaks` tells the user of
/// folders that were left out.
pub(super) fn set_loader_path(command: &mut Command, speaks: bool) {
    let Ok(path) = std::env::var(LOADER_VARIABLE) else {
        return;
    };
    let (kept, left_out) = absolute_folders(&path);
    command.env(LOADER_VARIABLE, kept);
    if speaks && !left_out.is_empty() {
        tell(&format!(
            "commbench: note: {LOADER_VARIABLE}: '{}' is no absolute path and is not searched for GPU libraries",
            left_out.join("', '")
        ));
    }
}

/// The folders of a search path that do not depend on the working folder, and the others. An
/// empty entry means the working folder to the loader, and stands in many a PATH by accident:
/// whoever can write there must not choose the driver.
fn absolute_folders(path: &str) -> (String, Vec<&str>) {
    let (kept, left_out): (Vec<&str>, Vec<&str>) = path
        .split([':', ';'])
        .filter(|folder| !folder.is_empty())
        .partition(|folder| folder.starts_with('/'));
    (kept.join(":"), left_out)
}

/// A nameless file for NCCL's log, unless the user has a use for that log.
pub(super) fn nccl_log() -> Result<Option<File>> {
    if std::env::var_os("NCCL_DEBUG").is_some() || std::env::var_os("NCCL_DEBUG_FILE").is_some() {
        return Ok(None);
    }
    memfd_create("commbench-nccl-log", MemfdFlags::empty())
        .map(|file| Some(File::from(file)))
        .map_err(|error| Error::environment(format!("no memory for NCCL's log: {error}")))
}

/// INIT holds the transports and warnings; it logs nothing while ops are issued.
pub(super) fn nccl_log_variables(log: &File) -> [(&'static str, String); 4] {
    let fd = log.as_raw_fd();
    [
        ("NCCL_DEBUG", "INFO".to_string()),
        ("NCCL_DEBUG_SUBSYS", "INIT".to_string()),
        ("NCCL_DEBUG_FILE", format!("/proc/self/fd/{fd}")),
        (NCCL_LOG_FD_VARIABLE, fd.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_working_folder_is_never_searched_for_libraries() {
        assert_eq!(absolute_folders("/a:/b"), ("/a:/b".to_string(), vec![]));
        assert_eq!(absolute_folders(":/a::"), ("/a".to_string(), vec![]));
        assert_eq!(
            absolute_folders(".:/a;lib"),
            ("/a".to_string(), vec![".", "lib"])
        );
        assert_eq!(absolute_folders(""), (String::new(), vec![]));
    }
}
