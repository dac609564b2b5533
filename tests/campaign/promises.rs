//! What every trial must keep: the deadline, the exit code, the names, the samples, the files, and
//! that nothing is left behind.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use commbench::flight::{FlightRecorder, Phase};
use serde_json::Value;

use crate::common::{Output, files};
use crate::fault::{Fault, Moment, RANKS, Victim};
use crate::ledger::{Kept, Outcome};
use crate::trial::TIMEOUT_S;

/// Series that a run can have.
const SERIES: usize = 3;

/// From the fault to the end: the timeout, what a supervisor waits for others to save, and what
/// a busy machine adds.
const DEADLINE: Duration = Duration::from_secs(TIMEOUT_S + 5 + 4);

/// What was seen of the job from outside.
pub struct Traces {
    pub recorders: Vec<FlightRecorder>,
    pub strikes_at: Option<Instant>,
    /// What the victim was doing when it was hit.
    pub phase: Option<Phase>,
    /// Samples of each series that all ranks had taken then.
    pub samples_before: Vec<usize>,
    pub has_struck: bool,
    /// Where a victim stood that was stopped, and the samples that all ranks had taken then: it
    /// moves on a little when it is woken to be ended, after the result was saved.
    pub stopped: Option<(u64, Vec<usize>)>,
    pub ended_at: Instant,
    pub launcher_hung: bool,
    /// Whether the job ended before the test ended it.
    pub in_time: bool,
    /// Processes and shared memory that were left.
    pub processes: Vec<String>,
    pub memory_left: Vec<String>,
}

impl Traces {
    pub fn new(recorders: Vec<FlightRecorder>) -> Traces {
        Traces {
            recorders,
            strikes_at: None,
            phase: None,
            samples_before: vec![0; SERIES],
            has_struck: false,
            stopped: None,
            ended_at: Instant::now(),
            launcher_hung: false,
            in_time: true,
            processes: Vec::new(),
            memory_left: Vec::new(),
        }
    }

    /// Notes how far the job is, right before the victim is hit.
    pub fn note_the_strike(&mut self, rank: u32) {
        self.samples_before = self.complete_samples();
        self.phase = self.recorders.get(rank as usize).map(FlightRecorder::phase);
        self.strikes_at = Some(Instant::now());
    }

    /// Samples of each series that all ranks have taken.
    pub fn complete_samples(&self) -> Vec<usize> {
        let taken = |series: usize| {
            let of_rank = |recorder: &FlightRecorder| recorder.samples(series).len();
            self.recorders.iter().map(of_rank).min().unwrap_or(0)
        };
        (0..SERIES).map(taken).collect()
    }
}

/// Checks everything that can be checked; the promises that were broken, as an error.
pub fn check(fault: &Fault, folder: &Path, output: &Output, traces: &Traces) -> Outcome {
    let mut broken = Vec::new();
    let out = folder.join("o");
    let took = traces
        .strikes_at
        .map_or(Duration::ZERO, |strike| traces.ended_at - strike);
    let run_itself = match fault {
        Fault::Signal { .. } => Duration::ZERO,
        // The whole run, since the fault strikes somewhere in it.
        _ => Duration::from_secs(8),
    };
    if !traces.in_time {
        broken.push("the job did not end by itself".to_string());
    }
    if took > DEADLINE + run_itself && !traces.launcher_hung {
        broken.push(format!("ended only after {took:?}"));
    }
    if !traces.processes.is_empty() {
        broken.push(format!("processes left: {:?}", traces.processes));
    }
    if !traces.memory_left.is_empty() {
        broken.push(format!("shared memory left: {:?}", traces.memory_left));
    }
    let half: Vec<String> = files(folder)
        .into_iter()
        .filter(|name| name.contains("tmp") || name.contains("probe"))
        .collect();
    if !half.is_empty() {
        broken.push(format!("half files: {half:?}"));
    }
    let text = fs::read_to_string(out.join("result.json")).ok();
    let result = text.and_then(|text| {
        serde_json::from_str::<Value>(&text)
            .map_err(|error| broken.push(format!("result.json: {error}")))
            .ok()
    });
    let status = result
        .as_ref()
        .map_or("none", |result| result["status"].as_str().unwrap_or("?"));
    if let Some(result) = &result {
        broken.extend(samples_are_kept(result, &out, traces));
        broken.extend(names_are_right(fault, result, traces));
    }
    broken.extend(the_end_is_right(fault, output, status, traces));
    broken.extend(a_result_is_there(fault, status, traces));
    let spoken = output.stderr.matches("commbench: error:").count();
    if spoken > 1 && !output.stderr.contains("cannot write") {
        broken.push(format!("{spoken} errors instead of one voice"));
    }
    let moment = match (fault, traces.phase) {
        (_, _) if !struck(fault, output, traces) => "not reached".to_string(),
        (Fault::Signal { .. }, Some(phase)) => phase.words().to_string(),
        (Fault::Library { function, .. }, _) if *function != "op" && *function != "work" => {
            "in a call".to_string()
        }
        _ => "any".to_string(),
    };
    let waived = if traces.launcher_hung {
        " (mpirun itself hung: waived)"
    } else {
        ""
    };
    match broken.is_empty() {
        true => Ok(Kept {
            moment,
            ending: format!("exit {}, result {status}{waived}", output.code),
        }),
        false => Err(format!("{}\n{output:#?}", broken.join("\n  "))),
    }
}

/// Whether anything came of the fault.
fn struck(fault: &Fault, output: &Output, traces: &Traces) -> bool {
    match fault {
        Fault::Signal { .. } => traces.has_struck,
        Fault::Library { kind, .. } => output.code != 0 || *kind == "op ends late",
        _ => true,
    }
}

/// Every sample that all ranks had taken is in the result, and whole.
fn samples_are_kept(result: &Value, out: &Path, traces: &Traces) -> Vec<String> {
    let mut broken = Vec::new();
    let mut counted = 0;
    let mut labels = vec![
        "eager out-of-place",
        "gated out-of-place",
        "graph out-of-place",
    ];
    // A mode that is not measured is no series.
    labels.retain(|label| !is_waived(result, label));
    let after = match &traces.stopped {
        Some((_, samples)) => samples.clone(),
        None => traces.complete_samples(),
    };
    let known = traces.recorders.len() == RANKS as usize;
    let results = result["results"].as_array().cloned().unwrap_or_default();
    for one in &results {
        let n = one["burst_us"]["n"].as_u64().unwrap_or(0) as usize;
        counted += n;
        let Some(index) = labels.iter().position(|label| one["label"] == *label) else {
            broken.push(format!("unknown series {}", one["label"]));
            continue;
        };
        if known && n != after[index] {
            let taken = after[index];
            broken.push(format!("{}: {n} samples of {taken}", labels[index]));
        }
    }
    let taken: usize = after.iter().sum();
    if known && counted != taken {
        broken.push(format!("{counted} samples in all of {taken}"));
    }
    let before: usize = traces.samples_before.iter().sum();
    if counted < before {
        broken.push(format!("{counted} samples of {before} before the fault"));
    }
    let csv = fs::read_to_string(out.join("samples.csv")).unwrap_or_default();
    let rows = csv.lines().count().saturating_sub(1);
    // A disk that fills up may lose the table, but not half of it.
    if !csv.is_empty() && rows != counted * RANKS as usize {
        broken.push(format!("{rows} rows for {counted} samples"));
    }
    broken
}

fn is_waived(result: &Value, label: &str) -> bool {
    let warnings = result["warnings"].as_array().into_iter().flatten();
    warnings
        .filter(|warning| warning["code"] == "mode-waived")
        .any(|warning| {
            warning["text"]
                .as_str()
                .is_some_and(|text| text.contains(label))
        })
}

/// The rank and op that the failure names are the victim's.
fn names_are_right(fault: &Fault, result: &Value, traces: &Traces) -> Vec<String> {
    let mut broken = Vec::new();
    let failure = &result["failure"];
    if failure.is_null() {
        return broken;
    }
    let named = failure["rank"].as_u64().map(|rank| rank as u32);
    let (victim, must_be_named) = match fault {
        Fault::Signal {
            name: "KILL" | "STOP",
            victim: Victim::Worker(rank),
            ..
        } => (Some(*rank), true),
        Fault::Signal {
            name: "KILL",
            victim: Victim::Supervisor(rank),
            ..
        } => (Some(*rank), false),
        Fault::Library { kind, rank, .. } => {
            let in_one_place = matches!(
                *kind,
                "NCCL error" | "CUDA error" | "device lost" | "asynchronous error"
            );
            (Some(*rank), in_one_place)
        }
        _ => (None, false),
    };
    match (named, victim) {
        (Some(named), Some(victim)) if named != victim => {
            broken.push(format!("rank {named} is named instead of {victim}"));
        }
        (Some(named), None) => {
            broken.push(format!("rank {named} is named, and nobody is at fault"))
        }
        (None, Some(victim)) if must_be_named => {
            let text = failure["text"].as_str().unwrap_or_default();
            if !text.contains(&format!("rank {victim}")) {
                broken.push(format!("rank {victim} is not named: {text}"));
            }
        }
        _ => {}
    }
    let stands = |rank: u32| match &traces.stopped {
        Some((op, _)) => Some(*op),
        None => Some(traces.recorders.get(rank as usize)?.position().op),
    };
    if let (Some(op), Some(rank)) = (failure["op"].as_u64(), named)
        && let Some(stands) = stands(rank)
        && stands != op
    {
        broken.push(format!("op {op} is named, rank {rank} stands at {stands}"));
    }
    broken
}

/// The exit code fits what happened, and so do the words.
fn the_end_is_right(fault: &Fault, output: &Output, status: &str, traces: &Traces) -> Vec<String> {
    let mut broken = Vec::new();
    let late = matches!(traces.phase, Some(Phase::Writing | Phase::Finished)) || !traces.has_struck;
    let codes: &[i32] = match fault {
        _ if traces.launcher_hung => return broken,
        Fault::Signal { name, victim, .. } => match (*name, victim) {
            ("KILL", Victim::Worker(_)) if late => &[0, 6],
            ("KILL", Victim::Worker(_)) => &[6],
            ("STOP", Victim::Worker(_)) if late => &[0, 5],
            ("STOP", Victim::Worker(_)) => &[5],
            ("STOP", Victim::Supervisor(_)) => &[0],
            // Open MPI 4.1's mpirun can take processes that ended in order while it was stopped
            // for ones that did not (1 of 510 trials); the result must be whole all the same.
            ("STOP", Victim::Launcher)
                if status == "complete" && output.stderr.contains("exiting improperly") =>
            {
                &[1]
            }
            ("STOP", Victim::Launcher) => &[0],
            ("KILL", Victim::Supervisor(_)) if late => &[0, 1, 6, 137],
            ("KILL", Victim::Supervisor(_)) => &[1, 6, 137],
            ("KILL", Victim::Launcher) => &[0, 137],
            (_, Victim::Worker(_) | Victim::Supervisor(_)) if late => &[0, 1, 143, 130],
            (_, Victim::Worker(_) | Victim::Supervisor(_)) => &[1, 143, 130],
            (_, Victim::Launcher) if late => &[0, 1, 143, 130],
            (_, Victim::Launcher) => &[1, 143, 130],
        },
        Fault::Library { kind, function, .. } => match *kind {
            "NCCL error" | "CUDA error" => &[0, 3],
            "op never ends" | "op and abort never end" | "call never returns" => &[0, 5],
            "op ends late" => &[0],
            "wrong element" => &[0, 4],
            "asynchronous error" | "device lost" => &[0, 3],
            other => unreachable!("{other} {function}"),
        },
        Fault::DiskFull { .. } | Fault::ReadOnly { .. } => &[0, 3],
        Fault::ClockStep { .. } => &[0],
        // MPI itself may refuse to start.
        Fault::SharedMemoryFull { .. } => &[0, 1, 3, 5, 6],
    };
    if !codes.contains(&output.code) {
        broken.push(format!("exit code {} is none of {codes:?}", output.code));
    }
    if output.code == 0
        && status != "complete"
        && !matches!(
            fault,
            Fault::Signal {
                victim: Victim::Launcher,
                ..
            }
        )
    {
        broken.push(format!("exit code 0 with a result that is {status}"));
    }
    if output.code != 0
        && output.stderr.trim().is_empty()
        && output.stdout.trim().is_empty()
        && !matches!(
            fault,
            Fault::Signal {
                victim: Victim::Launcher,
                ..
            }
        )
    {
        broken.push("not a word about it".to_string());
    }
    broken
}

/// A job that was hit while it replayed leaves a result.
fn a_result_is_there(fault: &Fault, status: &str, traces: &Traces) -> Option<String> {
    let Fault::Signal { moment, .. } = fault else {
        return None;
    };
    let replayed = matches!(
        traces.phase,
        Some(
            Phase::WarmingUp
                | Phase::Verifying
                | Phase::Sampling
                | Phase::Gathering
                | Phase::Writing
        )
    );
    let must = replayed && traces.has_struck && !matches!(moment, Moment::Start(_));
    (must && status == "none").then(|| "no result was saved".to_string())
}
