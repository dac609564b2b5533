//! One trial: a job, a fault, and what is left of both.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use commbench::flight::Phase;

use crate::common::{
    BINARY, Scratch, attach, finish_within, job_processes, mpirun, prepare, signal, stand_in,
    with_stand_in,
};
use crate::fault::{Fault, Moment, RANKS, Victim};
use crate::ledger::Outcome;
use crate::promises::{self, Traces};

pub const TIMEOUT_S: u64 = 6;

/// Runs the job with the fault and checks every promise.
pub fn run(fault: &Fault) -> Outcome {
    let scratch = Scratch::new();
    let memory_before = shared_memory();
    let mut child = command(fault, &scratch.0).spawn().unwrap();
    let recorders = attach(&mut child, RANKS);
    let mut traces = Traces::new(recorders);
    match fault {
        Fault::Signal { .. } => strike(fault, &child, &mut traces),
        // These strike by themselves.
        _ => traces.strikes_at = Some(Instant::now()),
    }
    let launcher = child.id();
    let lingering = watch_for_a_lingering_launcher(&scratch.0, launcher);
    let (output, in_time) = finish_within(child, Duration::from_secs(40));
    traces.in_time = in_time;
    traces.ended_at = Instant::now();
    traces.launcher_hung = lingering.join().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    traces.processes = wait_for_none(&scratch.0);
    traces.memory_left = shared_memory()
        .difference(&memory_before)
        .filter(|name| !is_mapped(name))
        .cloned()
        .collect();
    for (pid, _) in job_processes(&scratch.0) {
        signal(pid, "KILL");
    }
    promises::check(fault, &scratch.0, &output, &traces)
}

fn command(fault: &Fault, folder: &Path) -> Command {
    let mut arguments = vec![
        "allreduce-burst",
        "--ops",
        "20",
        "--warmup",
        "3",
        "--timeout",
        "6",
        "--precision",
        "0.0001%",
        "--budget",
        "0.5",
    ];
    if !fault.on_gpus() {
        arguments.extend(["--backend", "host"]);
    }
    let job = |out: &str| {
        format!(
            "mpirun --oversubscribe --bind-to none -np {RANKS} {BINARY} {} --out {out}",
            arguments.join(" ")
        )
    };
    // A file system of its own, whose files are copied out of it at the end.
    let on_disk = |size: &str, meanwhile: &str| {
        let script = format!(
            "mkdir disk && mount -t tmpfs -o size={size} tmpfs disk && {{ {meanwhile} {}; code=$?; \
             mkdir -p o && cp -a disk/o/. o/ 2>/dev/null; exit $code; }}",
            job("disk/o")
        );
        in_own_mounts(&script)
    };
    let mut command = match fault {
        Fault::DiskFull { kib } => on_disk(&format!("{kib}k"), ""),
        Fault::ReadOnly { after_ms } => {
            let seconds = *after_ms as f64 / 1e3;
            on_disk(
                "20m",
                &format!("(sleep {seconds}; mount -o remount,ro disk) >/dev/null 2>&1 &"),
            )
        }
        Fault::SharedMemoryFull { kib } => {
            // A size of 0 would mean no limit.
            let size = (*kib).max(4);
            in_own_mounts(&format!(
                "mount -t tmpfs -o size={size}k tmpfs /dev/shm && exec {}",
                job("o")
            ))
        }
        _ => {
            arguments.extend(["--out", "o"]);
            mpirun(folder, RANKS, &arguments)
        }
    };
    prepare(&mut command, folder);
    match fault {
        Fault::Library { text, .. } => with_stand_in(&mut command, text),
        Fault::Signal { on_gpus: true, .. } => with_stand_in(&mut command, ""),
        Fault::ClockStep { after_s, step_s } => {
            command
                .env("LD_PRELOAD", stand_in().join("libclock.so"))
                .env("COMMBENCH_STAND_IN_CLOCK", format!("{after_s},{step_s}"));
        }
        _ => {}
    }
    // A group of its own, so that what the job starts can be told from what the tests start.
    command.process_group(0);
    command
}

fn in_own_mounts(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]);
    command.stdin(Stdio::null());
    command
}

/// Sends the signal when its moment has come.
fn strike(fault: &Fault, child: &Child, traces: &mut Traces) {
    let Fault::Signal {
        name,
        victim,
        moment,
        ..
    } = fault
    else {
        return;
    };
    let rank = match victim {
        Victim::Worker(rank) | Victim::Supervisor(rank) => *rank,
        Victim::Launcher => 0,
    };
    let Some(recorder) = traces.recorders.get(rank as usize) else {
        return;
    };
    match moment {
        Moment::Start(ms) => std::thread::sleep(Duration::from_millis(*ms)),
        Moment::In(phase, delay_us) => {
            let begin = Instant::now();
            while recorder.phase() != *phase && !passed(recorder.phase(), *phase) {
                if recorder.phase() == Phase::Finished || begin.elapsed() > Duration::from_secs(20)
                {
                    break;
                }
                std::hint::spin_loop();
            }
            std::thread::sleep(Duration::from_micros(*delay_us));
        }
    }
    let worker = recorder.pid();
    let pid = match victim {
        Victim::Worker(_) => Some(worker),
        Victim::Supervisor(_) => parent_of(worker),
        Victim::Launcher => Some(child.id()),
    };
    traces.note_the_strike(rank);
    let Some(pid) = pid.filter(|pid| Path::new(&format!("/proc/{pid}")).exists()) else {
        return;
    };
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .stderr(Stdio::null())
        .status();
    traces.has_struck = sent.is_ok_and(|status| status.success());
    if *name == "STOP" && matches!(victim, Victim::Worker(_)) {
        std::thread::sleep(Duration::from_millis(500));
        let samples = traces.complete_samples();
        traces.stopped = traces
            .recorders
            .get(rank as usize)
            .map(|recorder| (recorder.position().op, samples));
    }
    if *name == "STOP" && *victim == Victim::Launcher {
        // Nobody can end a launcher that is stopped: it goes on when it is woken.
        std::thread::sleep(Duration::from_millis(2_500));
        signal(pid, "CONT");
    }
}

/// Whether the phase is over and does not come again: those up to the warm-up come once for each
/// series, and the first ones once.
fn passed(now: Phase, wanted: Phase) -> bool {
    let once = |phase: Phase| matches!(phase, Phase::Starting | Phase::Connecting);
    let early = |phase: Phase| {
        matches!(
            phase,
            Phase::Preparing | Phase::Capturing | Phase::WarmingUp
        )
    };
    let late = |phase: Phase| matches!(phase, Phase::Sampling | Phase::Gathering);
    (once(wanted) && !once(now)) || (early(wanted) && late(now))
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Open MPI 4.1's mpirun now and then waits for ever with no rank left, when a rank is killed in
/// the milliseconds in which it connects to mpirun. It is ended then; returns whether it was.
fn watch_for_a_lingering_launcher(folder: &Path, launcher: u32) -> std::thread::JoinHandle<bool> {
    let folder = folder.to_path_buf();
    std::thread::spawn(move || {
        let process = format!("/proc/{launcher}");
        let mut alone_since: Option<Instant> = None;
        while Path::new(&process).exists() && !is_zombie(launcher) {
            std::thread::sleep(Duration::from_millis(50));
            if job_processes(&folder)
                .iter()
                .any(|(_, name)| !name.contains("mpirun"))
            {
                alone_since = None;
                continue;
            }
            let since = alone_since.get_or_insert_with(Instant::now);
            if since.elapsed() > Duration::from_secs(8) {
                signal(launcher, "KILL");
                return true;
            }
        }
        false
    })
}

fn is_zombie(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('Z'))
    })
}

/// Names of the job's processes that are still there after a while.
fn wait_for_none(folder: &Path) -> Vec<String> {
    let begin = Instant::now();
    loop {
        let left = job_processes(folder);
        // A worker that outlives its launcher has its watchdog's deadline to end.
        if left.is_empty() || begin.elapsed() > Duration::from_secs(TIMEOUT_S + 4) {
            return left.into_iter().map(|(_, name)| name).collect();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn shared_memory() -> BTreeSet<String> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Whether some process of this machine still uses the segment: then it is another job's.
fn is_mapped(name: &str) -> bool {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .any(|process| {
            fs::read_to_string(process.path().join("maps"))
                .is_ok_and(|maps| maps.contains(&format!("/dev/shm/{name}")))
        })
}
