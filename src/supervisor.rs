//! The process that the launcher starts for each rank. It starts the rank's real work as a child
//! and waits for it, so that a rank that is killed (out of memory, a crash in a library, kill -9)
//! leaves someone behind who knows it: the other ranks hear of it before the launcher does, and
//! have time to save what was measured.
//!
//! It also is where the environment of NCCL is set up, before NCCL can read it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use rustix::termios::tcgetwinsize;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::{Error, Exit, Result, tell};
use crate::executor::NCCL_LOG_FD_VARIABLE;
use crate::flight::{FlightRecorder, Phase};
use crate::process::{ProcessState, process_state};
use crate::world::LaunchSite;

/// Holds the descriptor number of the rank's flight recorder; marks the child as a worker.
const FLIGHT_VARIABLE: &str = "COMMBENCH_FLIGHT_FD";

/// Whether standard output and standard error of the launcher end on a terminal, and how wide
/// that is: "out=120,err=120", one of them or neither.
const TERMINALS_VARIABLE: &str = "COMMBENCH_TERMINALS";

/// Where the loader looks for the GPU libraries, before the system's folders.
const LOADER_VARIABLE: &str = "LD_LIBRARY_PATH";

/// How long a supervisor stays after its worker's death, for the others to save. The launcher
/// kills them all once it is gone.
const MOURNING: Duration = Duration::from_secs(5);

/// How often a supervisor looks after its launcher and its worker.
const LOOK: Duration = Duration::from_millis(200);

/// How long a worker that is ended may take to save what it has.
const LAST_MOMENTS: Duration = Duration::from_secs(4);

/// What a worker has of its supervisor.
#[derive(Debug)]
pub struct Worker {
    pub recorder: FlightRecorder,
    pub terminals: Terminals,
}

/// Which of the launcher's outputs end on a terminal, with its width in columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminals {
    pub out: Option<u16>,
    pub err: Option<u16>,
}

impl Terminals {
    fn from_text(text: &str) -> Terminals {
        let columns = |wanted: &str| {
            text.split(',').find_map(|part| {
                let (name, columns) = part.split_once('=')?;
                (name == wanted).then(|| columns.parse().ok())?
            })
        };
        Terminals {
            out: columns("out"),
            err: columns("err"),
        }
    }
}

impl Worker {
    /// What this process got from its supervisor; `None` when it has none.
    ///
    /// # Errors
    /// Exit code 3 when the recorder cannot be opened.
    pub fn from_supervisor() -> Result<Option<Worker>> {
        let Ok(fd) = std::env::var(FLIGHT_VARIABLE) else {
            return Ok(None);
        };
        let fd: i32 = fd.parse().map_err(|_| {
            Error::usage(format!(
                "{FLIGHT_VARIABLE} is '{fd}': it is for commbench's own use"
            ))
            .try_this(format!("unset {FLIGHT_VARIABLE}"))
        })?;
        // The supervisor may be killed: then this rank saves and ends like an interrupted one.
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
        let recorder = FlightRecorder::open(std::process::id(), fd)?;
        recorder.set_pid(std::process::id());
        let terminals = std::env::var(TERMINALS_VARIABLE).unwrap_or_default();
        Ok(Some(Worker {
            recorder,
            terminals: Terminals::from_text(&terminals),
        }))
    }
}

/// Runs this program again as the rank's worker and returns the exit code for the launcher.
/// `environment` is what the worker has in addition; a worker that stays stopped for `timeout`
/// is ended.
///
/// # Errors
/// Exit code 3 when no child can be started.
pub fn supervise(
    site: LaunchSite,
    timeout: Duration,
    environment: &[(&str, String)],
) -> Result<i32> {
    let recorder = FlightRecorder::create()?;
    let program = std::env::current_exe()
        .map_err(|error| Error::other(format!("cannot find this program itself: {error}")))?;
    let nccl_log = nccl_log()?;
    let mut command = Command::new(program);
    command
        // What ps and pkill show, so that a person can tell worker and supervisor apart.
        .arg0(format!("commbench:worker:{}", site.rank))
        .args(std::env::args_os().skip(1))
        .env(FLIGHT_VARIABLE, recorder.fd().to_string())
        .env(TERMINALS_VARIABLE, launcher_terminals());
    for (name, value) in environment {
        command.env(name, value);
    }
    if let Ok(path) = std::env::var(LOADER_VARIABLE) {
        let (kept, left_out) = absolute_folders(&path);
        command.env(LOADER_VARIABLE, kept);
        if site.rank == 0 && !left_out.is_empty() {
            tell(&format!(
                "commbench: note: {LOADER_VARIABLE}: '{}' is no absolute path and is not searched for GPU libraries",
                left_out.join("', '")
            ));
        }
    }
    if let Some(log) = &nccl_log {
        for (name, value) in nccl_log_variables(log) {
            command.env(name, value);
        }
    }
    let mut child = command
        .spawn()
        .map_err(|error| Error::environment(format!("cannot start rank {}: {error}", site.rank)))?;
    recorder.set_pid(child.id());
    pass_signals_on(child.id())?;
    let ended_over_a_stop = look_after(site, child.id(), timeout);
    let status = child
        .wait()
        .map_err(|error| Error::other(format!("cannot wait for rank {}: {error}", site.rank)))?;
    if ended_over_a_stop.load(Ordering::SeqCst) {
        return Ok(Exit::Hung.code());
    }
    Ok(outcome(site, &recorder, status))
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

/// Ends the worker when the launcher is gone, which tells nobody when it is killed outright, and
/// when it stays stopped though no other rank is left that could say so. A worker that is ended
/// wakes up to save what it has. Returns whether it was ended over a stop.
fn look_after(site: LaunchSite, worker: u32, timeout: Duration) -> Arc<AtomicBool> {
    let over_a_stop = Arc::new(AtomicBool::new(false));
    let Some(pid) = Pid::from_raw(worker as i32) else {
        return over_a_stop;
    };
    let ended = Arc::clone(&over_a_stop);
    std::thread::spawn(move || {
        let launcher = rustix::process::getppid();
        let mut stopped_since: Option<Instant> = None;
        loop {
            std::thread::sleep(LOOK);
            if rustix::process::getppid() != launcher {
                let _ = kill_process(pid, Signal::TERM);
                return;
            }
            if process_state(worker) != ProcessState::Stopped {
                stopped_since = None;
                continue;
            }
            if stopped_since.get_or_insert_with(Instant::now).elapsed() >= timeout {
                break;
            }
        }
        ended.store(true, Ordering::SeqCst);
        let error = Error::new(
            Exit::Hung,
            format!(
                "rank {} was stopped (SIGSTOP or a debugger) for {:.0} s and is ended",
                site.rank,
                timeout.as_secs_f64()
            ),
        );
        tell(&error.to_terminal());
        let _ = kill_process(pid, Signal::TERM);
        let _ = kill_process(pid, Signal::CONT);
        std::thread::sleep(LAST_MOMENTS);
        let _ = kill_process(pid, Signal::KILL);
    });
    over_a_stop
}

fn outcome(site: LaunchSite, recorder: &FlightRecorder, status: ExitStatus) -> i32 {
    // A worker that ends with one of our codes has said what there was to say. Any other is a
    // library's exit, or a panic that nothing caught.
    if let Some(code @ 0..=7) = status.code() {
        return code;
    }
    let signal = status.signal().unwrap_or(0);
    let alone = recorder.phase() == Phase::Starting;
    recorder.died(signal);
    if alone {
        // The others do not watch this recorder yet.
        let error = Error::new(
            Exit::RankDied,
            format!("rank {} died while starting up ({status})", site.rank),
        );
        tell(&error.to_terminal());
        return Exit::RankDied.code();
    }
    if recorder.phase() != Phase::Finished {
        let deadline = Instant::now() + MOURNING;
        while Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Exit::RankDied.code()
}

/// Passes on what asks the rank to end, for launchers that signal one process and not the group.
fn pass_signals_on(child: u32) -> Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGCONT])
        .map_err(|error| Error::other(format!("cannot handle signals: {error}")))?;
    let Some(pid) = Pid::from_raw(child as i32) else {
        return Ok(());
    };
    std::thread::spawn(move || {
        for number in signals.forever() {
            let signal = match number {
                SIGTERM => Signal::TERM,
                SIGINT => Signal::INT,
                SIGHUP => Signal::HUP,
                _ => Signal::CONT,
            };
            let _ = kill_process(pid, signal);
        }
    });
    Ok(())
}

/// A nameless file for NCCL's log, unless the user has a use for that log.
fn nccl_log() -> Result<Option<File>> {
    if std::env::var_os("NCCL_DEBUG").is_some() || std::env::var_os("NCCL_DEBUG_FILE").is_some() {
        return Ok(None);
    }
    memfd_create("commbench-nccl-log", MemfdFlags::empty())
        .map(|file| Some(File::from(file)))
        .map_err(|error| Error::environment(format!("no memory for NCCL's log: {error}")))
}

/// INIT holds the transports and warnings; it logs nothing while ops are issued.
fn nccl_log_variables(log: &File) -> [(&'static str, String); 4] {
    let fd = log.as_raw_fd();
    [
        ("NCCL_DEBUG", "INFO".to_string()),
        ("NCCL_DEBUG_SUBSYS", "INIT".to_string()),
        ("NCCL_DEBUG_FILE", format!("/proc/self/fd/{fd}")),
        (NCCL_LOG_FD_VARIABLE, fd.to_string()),
    ]
}

/// Which outputs end on a terminal, at the launcher's end. The descriptors of this process tell
/// nothing: Open MPI gives every rank a pseudo-terminal as standard output, and a pipe as
/// standard error.
fn launcher_terminals() -> String {
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let columns = |fd: i32| {
        let target = std::fs::read_link(format!("/proc/{parent}/fd/{fd}")).ok()?;
        if !target.starts_with("/dev/pts/") && !target.starts_with("/dev/tty") {
            return None;
        }
        // A terminal that does not tell its size is as wide as terminals were.
        let size = File::open(&target)
            .ok()
            .and_then(|terminal| tcgetwinsize(&terminal).ok());
        Some(size.map_or(80, |size| size.ws_col.max(40)))
    };
    [(1, "out"), (2, "err")]
        .iter()
        .filter_map(|(fd, name)| Some(format!("{name}={}", columns(*fd)?)))
        .collect::<Vec<_>>()
        .join(",")
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

    #[test]
    fn terminals_are_read_back() {
        let of = |text: &str| {
            let terminals = Terminals::from_text(text);
            (terminals.out, terminals.err)
        };
        assert_eq!(of("out=120,err=80"), (Some(120), Some(80)));
        assert_eq!(of("err=99"), (None, Some(99)));
        assert_eq!(of(""), (None, None));
        assert_eq!(of("out,err=x"), (None, None));
    }
}
