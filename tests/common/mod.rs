//! Runs the binary as users do: under mpirun, in a folder of its own.
#![allow(dead_code)] // Each test file uses a part of it.

pub mod tree;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use commbench::flight::FlightRecorder;

pub const BINARY: &str = env!("CARGO_BIN_EXE_commbench");

/// No run in these tests may last longer.
const DEADLINE: Duration = Duration::from_secs(90);

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// An empty folder of its own, removed again at the end of a test that passed.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let path =
            std::env::temp_dir().join(format!("commbench-test-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    /// Names of the files below, sorted.
    pub fn files(&self) -> Vec<String> {
        files(&self.0)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

pub fn files(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            names.extend(
                files(&entry.path())
                    .iter()
                    .map(|below| format!("{name}/{below}")),
            );
            if files(&entry.path()).is_empty() {
                names.push(format!("{name}/"));
            }
        } else {
            names.push(name);
        }
    }
    names.sort();
    names
}

/// What a finished job left behind.
#[derive(Debug)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Output {
    /// The result as JSON from the only result.json below `folder`.
    pub fn result(&self, folder: &Path) -> serde_json::Value {
        let text = std::fs::read_to_string(folder.join("result.json")).unwrap_or_else(|error| {
            panic!("no result in {}: {error}\n{self:#?}", folder.display())
        });
        serde_json::from_str(&text).unwrap()
    }

    #[track_caller]
    pub fn expect_code(self, code: i32) -> Output {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }
}

/// `mpirun -np ranks commbench arguments`, to be run in `folder`.
pub fn mpirun(folder: &Path, ranks: u32, arguments: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command
        .args([
            "--oversubscribe",
            "--bind-to",
            "none",
            "-np",
            &ranks.to_string(),
        ])
        .arg(BINARY)
        .args(arguments);
    prepare(&mut command, folder);
    command
}

/// The binary without a launcher.
pub fn alone(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments);
    prepare(&mut command, folder);
    command
}

pub fn prepare(command: &mut Command, folder: &Path) {
    command
        .current_dir(folder)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

/// Runs to the end, which must come before the deadline of all tests.
pub fn run(mut command: Command) -> Output {
    finish(command.spawn().expect("mpirun is installed"))
}

/// Waits for the end of `child`, which must come before the deadline of all tests.
pub fn finish(child: Child) -> Output {
    let (output, in_time) = finish_within(child, DEADLINE);
    assert!(in_time, "the job did not end by itself: {output:#?}");
    output
}

/// Waits for the end of `child` and kills it after `limit`; whether it ended before.
pub fn finish_within(child: Child, limit: Duration) -> (Output, bool) {
    let begin = Instant::now();
    let pid = child.id();
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        if wait.recv_timeout(limit).is_err() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    });
    let output = child.wait_with_output().unwrap();
    let _ = done.send(());
    use std::os::unix::process::ExitStatusExt;
    let took = begin.elapsed();
    let output = Output {
        code: output
            .status
            .code()
            .unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        took,
    };
    (output, took < limit)
}

/// Pid of the worker of `rank` among the processes that run in `folder`.
pub fn worker_pid(folder: &Path, rank: u32) -> Option<u32> {
    job_processes(folder)
        .into_iter()
        .find(|(_, name)| *name == format!("commbench:worker:{rank}"))
        .map(|(pid, _)| pid)
}

/// Processes of commbench that run in `folder`: pid and argv[0].
pub fn job_processes(folder: &Path) -> Vec<(u32, String)> {
    let folder = folder.canonicalize().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let here = std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder);
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let name = line.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        if here && (name.contains("commbench")) {
            found.push((pid, name));
        }
    }
    found
}

/// Waits until `ready` returns something, at most 20 s.
#[track_caller]
pub fn wait_for<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "waited for {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn signal(pid: u32, name: &str) {
    let done = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status()
        .unwrap();
    assert!(done.success(), "kill -{name} {pid}");
}

/// Folder with the stand-ins for the GPU libraries, under the names that the program looks for.
/// Built when first asked for.
pub fn stand_in() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stand-in");
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand-in/Cargo.toml");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "--manifest-path"])
            .arg(manifest)
            .arg("--target-dir")
            .arg(&target)
            // Flags of a sanitizer are for commbench alone: the stand-ins are opened by it.
            .env_remove("RUSTFLAGS")
            .status()
            .expect("cargo runs");
        assert!(built.success(), "the stand-ins do not build");
        let folder = target.join("lib");
        std::fs::create_dir_all(&folder).unwrap();
        for (built, name) in [
            ("libcuda.so", "libcuda.so.1"),
            ("libnccl.so", "libnccl.so.2"),
            ("libclock.so", "libclock.so"),
            ("libnvml.so", "libnvidia-ml.so.1"),
        ] {
            let link = folder.join(name);
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(target.join("debug").join(built), link).unwrap();
        }
        folder
    })
}

/// Makes the job find the stand-ins as it would find the real libraries, with a fault on demand
/// (see tests/stand-in/faults).
pub fn with_stand_in(command: &mut Command, fault: &str) {
    command
        .env("LD_LIBRARY_PATH", stand_in())
        .env("COMMBENCH_STAND_IN_FAULT", fault);
}

/// The recorders of all ranks, as soon as their processes are there; fewer when the job ends
/// first.
pub fn attach(child: &mut Child, ranks: u32) -> Vec<FlightRecorder> {
    let begin = Instant::now();
    let mut recorders: Vec<Option<FlightRecorder>> = (0..ranks).map(|_| None).collect();
    while begin.elapsed() < Duration::from_secs(20) && child.try_wait().unwrap().is_none() {
        for pid in descendants(child.id()) {
            let Some(rank) = worker_rank(pid) else {
                continue;
            };
            let recorder = &mut recorders[rank as usize];
            if recorder.is_none() {
                *recorder = recorder_of(pid);
            }
        }
        if recorders.iter().all(Option::is_some) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    recorders.into_iter().flatten().collect()
}

/// Every process below `pid`.
fn descendants(pid: u32) -> Vec<u32> {
    let list =
        std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = list.split_whitespace().filter_map(|pid| pid.parse().ok());
    children
        .flat_map(|child| [vec![child], descendants(child)].concat())
        .collect()
}

/// The rank whose worker the process is.
fn worker_rank(pid: u32) -> Option<u32> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    let name = line.split('\0').next()?;
    name.strip_prefix("commbench:worker:")?.parse().ok()
}

/// The recorder that a worker was given by its supervisor.
fn recorder_of(pid: u32) -> Option<FlightRecorder> {
    let variables = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let fd = variables
        .split(|byte| *byte == 0)
        .filter_map(|variable| std::str::from_utf8(variable).ok())
        .find_map(|variable| variable.strip_prefix("COMMBENCH_FLIGHT_FD="))?
        .parse()
        .ok()?;
    FlightRecorder::open(pid, fd).ok()
}
