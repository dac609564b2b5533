//! What can happen, and to whom.

use commbench::flight::Phase;

use crate::dice::Dice;

pub const RANKS: u32 = 3;

/// Kinds of faults that are drawn in turn.
pub const KINDS: u64 = 12;

/// Whom a signal hits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Victim {
    /// The process that does a rank's work.
    Worker(u32),
    /// The process that the launcher started for a rank.
    Supervisor(u32),
    Launcher,
}

/// When a signal strikes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Moment {
    /// So many ms after the rank's process is there.
    Start(u64),
    /// So many µs after the victim (or rank 0) has entered the phase.
    In(Phase, u64),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    Signal {
        name: &'static str,
        victim: Victim,
        moment: Moment,
        /// On the stand-ins for GPUs; else on host memory.
        on_gpus: bool,
    },
    /// A fault of the GPU libraries, in the stand-ins' words.
    Library {
        kind: &'static str,
        function: &'static str,
        rank: u32,
        text: String,
    },
    DiskFull {
        kib: u64,
    },
    ReadOnly {
        after_ms: u64,
    },
    ClockStep {
        after_s: u64,
        step_s: i64,
    },
    SharedMemoryFull {
        kib: u64,
    },
}

const PHASES: [Phase; 8] = [
    Phase::Connecting,
    Phase::Preparing,
    Phase::Capturing,
    Phase::WarmingUp,
    Phase::Verifying,
    Phase::Sampling,
    Phase::Gathering,
    Phase::Writing,
];

/// NCCL's functions in use. The two that run at the end are listed as often as those that run
/// thousands of times.
const NCCL: [&str; 8] = [
    "ncclAllReduce",
    "ncclAllReduce",
    "ncclCommInitRank",
    "ncclGetUniqueId",
    "ncclCommFinalize",
    "ncclCommDestroy",
    "ncclGetVersion",
    "ncclCommGetAsyncError",
];

/// The driver's functions in use.
const CUDA: [&str; 28] = [
    "cuInit",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetUuid",
    "cuDeviceGetPCIBusId",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuCtxSetCurrent",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2",
    "cuMemsetD8Async",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamWaitValue32_v2",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphGetNodes",
    "cuGraphInstantiateWithFlags",
    "cuGraphUpload",
    "cuGraphLaunch",
    "cuEventRecord",
    "cuEventElapsedTime",
];

impl Fault {
    /// The fault of trial `index`: the kind by turns, the rest by `dice`.
    pub fn draw(index: u64, dice: &mut Dice) -> Fault {
        let rank = dice.between(0, u64::from(RANKS) - 1) as u32;
        let library = |kind, function, text| Fault::Library {
            kind,
            function,
            rank,
            text,
        };
        match index % KINDS {
            0 => Self::signal("KILL", Victim::Worker(rank), dice),
            1 => Self::signal("STOP", Victim::Worker(rank), dice),
            2 => {
                let name = dice.one_of(&["TERM", "INT"]);
                Self::signal(name, Victim::Worker(rank), dice)
            }
            3 => {
                let name = dice.one_of(&["KILL", "STOP", "TERM", "INT"]);
                Self::signal(name, Victim::Supervisor(rank), dice)
            }
            4 => {
                let name = dice.one_of(&["TERM", "INT"]);
                Self::signal(name, Victim::Launcher, dice)
            }
            5 => {
                let name = dice.one_of(&["KILL", "KILL", "STOP"]);
                Self::signal(name, Victim::Launcher, dice)
            }
            6 => {
                let function = dice.one_of(&NCCL);
                let code = dice.between(1, 6);
                let nth = Self::occasion(function, dice);
                library(
                    "NCCL error",
                    function,
                    format!("fail:{function}@{rank}#{nth}={code}"),
                )
            }
            7 => {
                let function = dice.one_of(&CUDA);
                let code = dice.one_of(&[1, 2, 201, 214, 400, 700, 719, 999]);
                let nth = Self::occasion(function, dice);
                library(
                    "CUDA error",
                    function,
                    format!("fail:{function}@{rank}#{nth}={code}"),
                )
            }
            8 => {
                let nth = dice.of_any_size(1_000);
                match dice.between(0, 3) {
                    0 => library("op never ends", "op", format!("hang:op@{rank}#{nth}")),
                    1 => {
                        let aborts: Vec<String> = (0..RANKS)
                            .map(|rank| format!("hang:ncclCommAbort@{rank}#1+"))
                            .collect();
                        let text = format!("hang:op@{rank}#{nth},{}", aborts.join(","));
                        library("op and abort never end", "op", text)
                    }
                    2 => {
                        let ms = dice.between(100, 2_500);
                        library("op ends late", "op", format!("late:op@{rank}#{nth}={ms}"))
                    }
                    _ => {
                        let function = match dice.between(0, 1) {
                            0 => dice.one_of(&NCCL),
                            _ => dice.one_of(&CUDA),
                        };
                        let nth = Self::occasion(function, dice);
                        let text = format!("hang:{function}@{rank}#{nth}");
                        library("call never returns", function, text)
                    }
                }
            }
            9 => {
                let nth = dice.of_any_size(1_000);
                match dice.between(0, 2) {
                    0 => library("wrong element", "op", format!("corrupt:op@{rank}#{nth}")),
                    1 => {
                        let code = dice.between(1, 6);
                        let text = format!("async:op@{rank}#{nth}={code}");
                        library("asynchronous error", "op", text)
                    }
                    _ => {
                        let code = dice.one_of(&[214, 700, 719, 999]);
                        let text = format!("lost:work@{rank}#{nth}={code}");
                        library("device lost", "work", text)
                    }
                }
            }
            10 => match dice.between(0, 1) {
                0 => Fault::DiskFull {
                    kib: dice.between(64, 480),
                },
                _ => Fault::ReadOnly {
                    after_ms: dice.between(100, 3_500),
                },
            },
            _ => match dice.between(0, 1) {
                0 => Fault::ClockStep {
                    after_s: dice.between(0, 2),
                    step_s: dice.one_of(&[-86_400, -3_600, -1, 1, 3_600, 86_400]),
                },
                _ => Fault::SharedMemoryFull {
                    kib: dice.one_of(&[0, 64, 1_024, 5_000, 9_000]),
                },
            },
        }
    }

    fn signal(name: &'static str, victim: Victim, dice: &mut Dice) -> Fault {
        let moment = match dice.between(0, 5) {
            0 => Moment::Start(dice.between(0, 600)),
            _ => Moment::In(dice.one_of(&PHASES), dice.of_any_size(30_000)),
        };
        // Nothing is captured on host memory.
        let captures = matches!(moment, Moment::In(Phase::Capturing, _));
        Fault::Signal {
            name,
            victim,
            moment,
            on_gpus: captures || dice.between(0, 1) == 0,
        }
    }

    /// Which call of a function fails: functions of the start are called a few times.
    fn occasion(function: &str, dice: &mut Dice) -> u64 {
        match function {
            "ncclAllReduce"
            | "cuEventRecord"
            | "cuStreamSynchronize"
            | "cuMemcpyHtoD_v2"
            | "cuMemcpyDtoH_v2"
            | "cuEventElapsedTime"
            | "cuGraphLaunch" => dice.of_any_size(1_000),
            "ncclCommGetAsyncError" => dice.of_any_size(60),
            _ => dice.between(1, 3),
        }
    }

    /// Rows of the table: what happened.
    pub fn what(&self) -> String {
        match self {
            Fault::Signal { name, victim, .. } => {
                let whom = match victim {
                    Victim::Worker(_) => "a rank's worker",
                    Victim::Supervisor(_) => "a rank's supervisor",
                    Victim::Launcher => "mpirun",
                };
                format!("SIG{name} to {whom}")
            }
            Fault::Library { kind, .. } => (*kind).to_string(),
            Fault::DiskFull { .. } => "disk full".to_string(),
            Fault::ReadOnly { .. } => "output turns read-only".to_string(),
            Fault::ClockStep { .. } => "clock steps".to_string(),
            Fault::SharedMemoryFull { .. } => "/dev/shm full".to_string(),
        }
    }

    /// Whether the job replays on the stand-ins for GPUs.
    pub fn on_gpus(&self) -> bool {
        match self {
            Fault::Signal { on_gpus, .. } => *on_gpus,
            Fault::Library { .. } => true,
            _ => false,
        }
    }
}
