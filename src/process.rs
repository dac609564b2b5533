//! Other processes of this host, as /proc shows them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// What the kernel says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// Running, or waiting for something.
    Alive,
    /// Stopped by a signal or a debugger.
    Stopped,
    /// Waiting in the kernel where no signal reaches it, in a driver for instance.
    Stuck,
    /// Gone, or dead and not yet waited for.
    Gone,
}

/// State of process `pid`.
pub fn process_state(pid: u32) -> ProcessState {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return ProcessState::Gone;
    };
    state_in(&stat)
}

/// Flag of a process that is on its way out (PF_EXITING in the kernel): releasing a GPU's context
/// can take it a second.
const EXITING: u64 = 0x4;

/// The state in a line of /proc/PID/stat. The name in brackets may itself hold spaces and
/// brackets; behind it come the state's letter and, six fields on, the flags.
fn state_in(stat: &str) -> ProcessState {
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let flags = fields.get(6).and_then(|flags| flags.parse::<u64>().ok());
    if flags.is_some_and(|flags| flags & EXITING != 0) {
        return ProcessState::Gone;
    }
    match fields.first().copied() {
        Some("T" | "t") => ProcessState::Stopped,
        Some("D") => ProcessState::Stuck,
        Some("Z" | "X" | "x") | None => ProcessState::Gone,
        Some(_) => ProcessState::Alive,
    }
}

/// Wakes the parent process if it is stopped: a supervisor that was stopped alone would never
/// see that its worker has ended, and the launcher would wait for it for ever.
pub fn wake_parent() {
    if let Some(parent) = rustix::process::getppid() {
        let _ = rustix::process::kill_process(parent, rustix::process::Signal::CONT);
    }
}

/// How shared memory that belongs to one job alone is named: by Open MPI and by NCCL. Other names
/// may be anybody's, the GPU driver's among them.
const OF_ONE_JOB: [&str; 3] = ["vader_segment.", "sm_segment.", "nccl-"];

/// Files of shared memory that process `pid` has mapped and that belong to its job.
pub fn shared_memory_of(pid: u32) -> Vec<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mut paths: Vec<PathBuf> = maps.lines().filter_map(job_memory_in).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The path in a line of /proc/PID/maps, where it is shared memory of one job.
fn job_memory_in(line: &str) -> Option<PathBuf> {
    let path = &line[line.find("/dev/shm/")?..];
    let name = path.strip_prefix("/dev/shm/")?;
    let ours = OF_ONE_JOB.iter().any(|start| name.starts_with(start));
    (ours && !name.contains('/') && !name.ends_with(" (deleted)")).then(|| PathBuf::from(path))
}

/// Files of shared memory that Open MPI makes for this rank, by their names: those of a process
/// that had not mapped them yet when it was looked at.
/// Source: btl/vader and btl/sm of Open MPI, KIND.HOST.UID.JOB.LOCALRANK with the job in hex.
pub fn shared_memory_of_this_rank() -> Vec<PathBuf> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let (Some(job), Some(rank)) = (
        number("OMPI_MCA_ess_base_jobid"),
        number("OMPI_COMM_WORLD_LOCAL_RANK"),
    ) else {
        return Vec::new();
    };
    let user = rustix::process::geteuid().as_raw();
    fs::read_dir("/dev/shm")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            name.to_str()
                .is_some_and(|name| is_segment_of(name, user, job, rank))
        })
        .map(|entry| entry.path())
        .collect()
}

fn is_segment_of(name: &str, user: u32, job: u32, rank: u32) -> bool {
    let kind = name.starts_with("vader_segment.") || name.starts_with("sm_segment.");
    kind && name.ends_with(&format!(".{user}.{job:x}.{rank}"))
}

/// Variables in which launchers tell a process its rank and the number of ranks: those of Open
/// MPI, MPICH (PMI) and Slurm.
pub(crate) const RANK_AND_SIZE_VARIABLES: [(&str, &str); 3] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

/// Variables in which launchers name the job: processes with the same value belong together.
const JOB_VARIABLES: [&str; 4] = [
    "PMIX_NAMESPACE",
    "OMPI_MCA_ess_base_jobid",
    "PMI_JOBID",
    "SLURM_JOB_ID",
];

/// Ranks of this process's own job on this host that are stopped, with the stopped process.
/// For the time before the ranks know of each other.
pub fn stopped_ranks_of_this_job() -> BTreeMap<u32, u32> {
    let Some((name, job)) = JOB_VARIABLES
        .iter()
        .find_map(|name| Some((*name, std::env::var(name).ok()?)))
    else {
        return BTreeMap::new();
    };
    let mut stopped = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|text| text.parse().ok())
        else {
            continue;
        };
        let Ok(environment) = fs::read(entry.path().join("environ")) else {
            continue;
        };
        let variable = |wanted: &str| {
            environment.split(|byte| *byte == 0).find_map(|entry| {
                let text = std::str::from_utf8(entry).ok()?;
                text.strip_prefix(wanted)?.strip_prefix('=')
            })
        };
        if variable(name) != Some(job.as_str()) || process_state(pid) != ProcessState::Stopped {
            continue;
        }
        let rank = RANK_AND_SIZE_VARIABLES
            .iter()
            .find_map(|(rank, _)| variable(rank)?.parse::<u32>().ok());
        if let Some(rank) = rank {
            stopped.insert(rank, pid);
        }
    }
    stopped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_behind_awkward_names() {
        assert_eq!(state_in("12 (cat) S 1 2"), ProcessState::Alive);
        assert_eq!(state_in("12 (a) T b) T 1 2"), ProcessState::Stopped);
        assert_eq!(state_in("12 (x) Z 1"), ProcessState::Gone);
        assert_eq!(state_in("12 (x) D 1"), ProcessState::Stuck);
        assert_eq!(
            state_in("12 (x) R 1 12 12 0 -1 4194560 5 0"),
            ProcessState::Alive
        );
        assert_eq!(
            state_in("12 (x) R 1 12 12 0 -1 4194564 5 0"),
            ProcessState::Gone
        );
        assert_eq!(state_in(""), ProcessState::Gone);
    }

    #[test]
    fn this_process_is_alive_and_an_impossible_one_is_gone() {
        assert_eq!(process_state(std::process::id()), ProcessState::Alive);
        assert_eq!(process_state(u32::MAX), ProcessState::Gone);
    }

    #[test]
    fn a_segment_has_user_job_and_rank_in_its_name() {
        let name = "vader_segment.vm.0.fa30001.1";
        assert!(is_segment_of(name, 0, 0xfa3_0001, 1));
        for (user, job, rank) in [(1, 0xfa3_0001, 1), (0, 0xfa3_0002, 1), (0, 0xfa3_0001, 2)] {
            assert!(!is_segment_of(name, user, job, rank));
        }
        assert!(!is_segment_of("nccl-x.0.fa30001.1", 0, 0xfa3_0001, 1));
    }

    #[test]
    fn only_memory_of_one_job_is_taken_for_it() {
        let start = "7f28815fd000-7f28819fe000 rw-s 00000000 00:1b 543    ";
        let path = |name: &str| job_memory_in(&format!("{start}{name}"));
        let ours = "/dev/shm/vader_segment.vm.0.7d5e0001.2";
        assert_eq!(path(ours), Some(PathBuf::from(ours)));
        assert_eq!(path("/dev/shm/nccl-x1"), Some("/dev/shm/nccl-x1".into()));
        for other in [
            "/dev/shm/cuda.shm.0.1.1",
            "/dev/shm/nccl-x (deleted)",
            "/usr/lib/nccl-x",
            "",
        ] {
            assert_eq!(path(other), None, "{other}");
        }
    }
}
