//! What the lines around a table say of the run.

use super::lines::words;
use super::{Device, Log};

/// Takes from a comment line what it says. `line` is without its `#`.
pub(super) fn read(line: &str, log: &mut Log) {
    let words = words(line);
    match words[..] {
        ["nccl-tests", "version", version, ..] => {
            log.tests_version = Some(version.to_string());
            let code = words
                .iter()
                .find_map(|word| word.strip_prefix("nccl-library="));
            if let Some(version) = code.and_then(|code| version_of(code.parse().ok()?)) {
                log.nccl_version.get_or_insert(version);
            }
        }
        ["Collective", "test", "starting:", program, ..] => log.program = Some(name_of(program)),
        ["nThread", ..] => settings(&words, log),
        ["Blocking", "Enabled:", ..] => log.blocking = true,
        ["Rank", ..] => {
            if let Some(device) = device(line) {
                log.devices.push(device);
            }
        }
        _ => {}
    }
}

/// Takes from any other line what NCCL or a shell said.
pub(super) fn overhear(line: &str, log: &mut Log) {
    if let Some((_, after)) = line.split_once("NCCL version ") {
        let version = after.split(['+', ' ']).next().unwrap_or_default();
        if version.starts_with(|first: char| first.is_ascii_digit()) {
            log.nccl_version.get_or_insert(version.to_string());
        }
    }
    let program = line.split_whitespace().find(|word| {
        let name = name_of(word);
        name.ends_with("_perf") && !name.starts_with('-')
    });
    if let (None, Some(program)) = (&log.program, program) {
        log.program = Some(name_of(program));
    }
}

/// "./build/all_reduce_perf_mpi" is all_reduce_perf.
pub(super) fn name_of(program: &str) -> String {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.strip_suffix("_mpi").unwrap_or(name).to_string()
}

/// "2.28.9" of 22809, and "2.8.4" of 2804: the numbers changed with 2.9.
pub(super) fn version_of(code: u64) -> Option<String> {
    let scale = match code {
        0..2_000 => return None,
        2_000..10_000 => 1_000,
        _ => 10_000,
    };
    let (major, rest) = (code / scale, code % scale);
    Some(format!("{major}.{}.{}", rest / 100, rest % 100))
}

/// "nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg
/// iters: 1 validation: 1 graph: 0": words changed over the versions, so each is looked for.
fn settings(words: &[&str], log: &mut Log) {
    for (at, word) in words.iter().enumerate() {
        let value = words.get(at + 1).and_then(|value| value.parse().ok());
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        match (before, *word) {
            ("warmup", "iters:") => log.warmup = value,
            ("agg", "iters:") => log.aggregated = value,
            (_, "iters:") => log.iterations = value,
            (_, "graph:") => log.graph = value,
            (_, "maxBytes") => log.most_bytes = value,
            _ => {}
        }
    }
}

/// "Rank  0 Group  0 Pid  71 on  node1 device  0 [0000:18:00] NVIDIA H200".
fn device(line: &str) -> Option<Device> {
    let (before, after) = line.split_once('[')?;
    let (bus, name) = after.split_once(']')?;
    let words: Vec<&str> = before.split_whitespace().collect();
    let after = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1).copied()
    };
    Some(Device {
        rank: after("Rank")?.parse().ok()?,
        host: after("on")?.to_string(),
        device: after("device")?.parse().ok()?,
        bus: bus.trim().to_string(),
        name: name.trim().to_string(),
    })
}
