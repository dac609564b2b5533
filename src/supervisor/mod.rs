//! The process that the launcher starts for each rank. It starts the rank's real work as a child
//! and waits for it, so that a rank that is killed (out of memory, a crash in a library, kill -9)
//! leaves someone behind who knows it: the other ranks hear of it before the launcher does, and
//! have time to save what was measured.
//!
//! It also is where the environment of NCCL is set up, before NCCL can read it.

mod environment;
mod look;
mod terminals;

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::{Error, Exit, Result, tell};
use crate::estate::Estate;
use crate::flight::{FlightRecorder, Phase};
use crate::world::LaunchSite;
use environment::{nccl_log, nccl_log_variables, set_loader_path};
use look::look_after;
pub use terminals::Terminals;
use terminals::{TERMINALS_VARIABLE, launcher_terminals};

/// Holds the descriptor number of the rank's flight recorder; marks the child as a worker.
const FLIGHT_VARIABLE: &str = "COMMBENCH_FLIGHT_FD";

/// Holds the descriptor number of the rank's estate.
const ESTATE_VARIABLE: &str = "COMMBENCH_ESTATE_FD";

/// How long a supervisor stays after its worker's death, for the others to save. The launcher
/// kills them all once it is gone.
const MOURNING: Duration = Duration::from_secs(5);

/// What a worker has of its supervisor.
#[derive(Debug)]
pub struct Worker {
    pub recorder: FlightRecorder,
    pub estate: Estate,
    pub terminals: Terminals,
}

impl Worker {
    /// What this process got from its supervisor; `None` when it has none.
    ///
    /// # Errors
    /// Exit code 3 when the recorder cannot be opened.
    pub fn from_supervisor() -> Result<Option<Worker>> {
        let Some(fd) = descriptor_in(FLIGHT_VARIABLE)? else {
            return Ok(None);
        };
        let Some(estate) = descriptor_in(ESTATE_VARIABLE)? else {
            return Ok(None);
        };
        // The supervisor may be killed: then this rank saves and ends like an interrupted one.
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
        let recorder = FlightRecorder::open(std::process::id(), fd)?;
        recorder.set_pid(std::process::id());
        let terminals = std::env::var(TERMINALS_VARIABLE).unwrap_or_default();
        Ok(Some(Worker {
            recorder,
            estate: Estate::inherited(estate)?,
            terminals: Terminals::from_text(&terminals),
        }))
    }
}

/// The descriptor number in one of this program's own variables.
fn descriptor_in(variable: &str) -> Result<Option<i32>> {
    let Ok(text) = std::env::var(variable) else {
        return Ok(None);
    };
    let own_use = || {
        Error::usage(format!(
            "{variable} is '{text}': it is for commbench's own use"
        ))
        .try_this(format!("unset {variable}"))
    };
    text.parse().map(Some).map_err(|_| own_use())
}

/// Runs this program again as the rank's worker and returns the exit code for the launcher.
/// `environment` is what the worker has in addition; a worker that stays stopped for `timeout`
/// is ended. `executor` makes of an estate what saves it when all workers of the job are gone.
///
/// # Errors
/// Exit code 3 when no child can be started.
pub fn supervise(
    site: LaunchSite,
    timeout: Duration,
    environment: &[(&str, String)],
    executor: impl FnOnce(&Estate, u32) -> Option<Box<dyn Fn()>>,
) -> Result<i32> {
    let recorder = FlightRecorder::create()?;
    let estate = Estate::create()?;
    let program = std::env::current_exe()
        .map_err(|error| Error::other(format!("cannot find this program itself: {error}")))?;
    let nccl_log = nccl_log()?;
    let mut command = Command::new(program);
    command
        // What ps and pkill show, so that a person can tell worker and supervisor apart.
        .arg0(format!("commbench:worker:{}", site.rank))
        .args(std::env::args_os().skip(1))
        .env(FLIGHT_VARIABLE, recorder.fd().to_string())
        .env(ESTATE_VARIABLE, estate.fd().to_string())
        .env(TERMINALS_VARIABLE, launcher_terminals());
    for (name, value) in environment {
        command.env(name, value);
    }
    set_loader_path(&mut command, site.rank == 0);
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
    let looked = look_after(site, child.id(), timeout);
    let status = child
        .wait()
        .map_err(|error| Error::other(format!("cannot wait for rank {}: {error}", site.rank)))?;
    looked.remove_orphaned_memory();
    if looked.ended_over_a_stop() {
        return Ok(Exit::Hung.code());
    }
    Ok(outcome(site, &recorder, status, || {
        executor(&estate, site.rank)
    }))
}

/// The exit code of a rank whose worker ended with `status`. While it waits for others to save,
/// it lets the estate be executed.
fn outcome(
    site: LaunchSite,
    recorder: &FlightRecorder,
    status: ExitStatus,
    executor: impl FnOnce() -> Option<Box<dyn Fn()>>,
) -> i32 {
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
        let execute = executor();
        while Instant::now() < deadline {
            std::thread::sleep(MOURNING / 20);
            if let Some(execute) = &execute {
                execute();
            }
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
