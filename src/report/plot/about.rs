//! What every picture of a run says of it around its panels.

use std::collections::BTreeMap;

use crate::result::{Backend, Buffers, Gpu, Measurement, RunResult, Status};
use crate::units::group_thousands;

/// Names from outside get this much room in the subtitle, in letters, so that what follows them
/// is seen as well.
const LONGEST_NAME: usize = 48;

/// "1 rank", "8 ranks".
pub fn count(number: u64, one: &str, many: &str) -> String {
    let word = if number == 1 { one } else { many };
    format!("{} {word}", group_thousands(number))
}

/// What moved the data, on what, and under which conditions.
pub fn subtitle(run: &RunResult, measured: &[&Measurement]) -> String {
    let mut parts = vec![backend(run)];
    parts.extend(hardware(run));
    let first = measured[0];
    parts.push(
        shared_by_all(measured, |m| m.placement.name())
            .unwrap_or("both placements")
            .to_string(),
    );
    let buffers = shared_by_all(measured, |m| match m.conditions.buffers {
        Buffers::Warm => "warm buffers",
        Buffers::Cold => "cold buffers",
    });
    if run.imported.is_none() {
        parts.push(buffers.unwrap_or("warm and cold buffers").to_string());
    }
    parts.extend(hosts(run));
    if let (Some(tokens), true) = (
        first.tokens_per_gpu,
        measured
            .iter()
            .all(|one| one.tokens_per_gpu == first.tokens_per_gpu),
    ) {
        parts.push(format!("{} per GPU", count(tokens, "token", "tokens")));
    }
    if let Some(Some(choice)) = shared_by_all(measured, |m| m.conditions.nccl_choice.as_deref()) {
        parts.push(shorten(choice));
    }
    parts.push(
        shared_by_all(measured, |m| m.conditions.clock.as_str())
            .map_or("several clocks".to_string(), |clock| {
                format!("clock {}", shorten(clock))
            }),
    );
    parts.join(" · ")
}

/// The value that all rows have in common.
fn shared_by_all<'r, T: PartialEq>(
    measured: &'r [&Measurement],
    value: impl Fn(&'r Measurement) -> T,
) -> Option<T> {
    let first = value(measured[0]);
    measured
        .iter()
        .all(|one| value(one) == first)
        .then_some(first)
}

fn shorten(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_string();
    }
    let kept: String = name.chars().take(LONGEST_NAME - 1).collect();
    format!("{}…", kept.trim_end())
}

fn backend(run: &RunResult) -> String {
    match run.backend {
        Backend::Nccl => match &run.machine.nccl_version {
            Some(version) => format!("NCCL {}", shorten(version)),
            None => "NCCL".to_string(),
        },
        Backend::MpiHost => "MPI on host memory".to_string(),
        Backend::Predicted => "Computed".to_string(),
    }
}

/// The GPUs with their numbers, or the processors.
fn hardware(run: &RunResult) -> Option<String> {
    let gpus = &run.machine.gpus;
    let names = if gpus.is_empty() {
        let cpus = run.machine.hosts.iter().map(|host| host.cpu.as_str());
        tally(cpus)
    } else {
        // Ranks that share a GPU name it once each.
        let identity = |gpu: &'_ Gpu| (gpu.host.clone(), gpu.uuid.clone(), gpu.pci_bus_id.clone());
        let single: BTreeMap<_, &str> = gpus
            .iter()
            .map(|gpu| (identity(gpu), gpu.name.as_str()))
            .collect();
        tally(single.into_values())
    };
    let devices: usize = names.values().sum();
    let parts: Vec<String> = names
        .into_iter()
        .map(|(name, number)| match (number, gpus.is_empty()) {
            (1, true) => shorten(name),
            _ => format!("{number} × {}", shorten(name)),
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    let mut text = parts.join(" + ");
    if gpus.len() > devices {
        text = format!("{text} for {} ranks", gpus.len());
    }
    Some(text)
}

/// How often each name occurs, in the order of the names.
fn tally<'n>(names: impl Iterator<Item = &'n str>) -> BTreeMap<&'n str, usize> {
    let mut numbers = BTreeMap::new();
    for name in names.filter(|name| !name.is_empty()) {
        *numbers.entry(name).or_insert(0) += 1;
    }
    numbers
}

fn hosts(run: &RunResult) -> Option<String> {
    match run.machine.hosts.as_slice() {
        [] => None,
        [host] => Some(format!("host {}", shorten(&host.name))),
        [first, rest @ ..] => Some(format!(
            "{} hosts ({}, …)",
            rest.len() + 1,
            shorten(&first.name)
        )),
    }
}

pub fn badges(run: &RunResult, measured: &[&Measurement]) -> Vec<&'static str> {
    let wrong = run.status == Status::Failed || run.results.iter().any(|m| !m.verified);
    // Whoever looks at no data may well have right ones.
    let unchecked = run.imported.is_some() && run.status != Status::Failed && wrong;
    let shared = measured.iter().any(|one| one.conditions.shared_gpu);
    let all = [
        (run.backend == Backend::Predicted, "PREDICTED"),
        (run.imported.is_some(), "IMPORTED: not measured here"),
        (
            run.backend == Backend::MpiHost,
            "HOST MEMORY: not GPU figures",
        ),
        (shared, "SHARED GPU: not representative of a real box"),
        (wrong && !unchecked, "WRONG DATA"),
        (unchecked, "NOT VERIFIED"),
        (run.status == Status::Partial, "PARTIAL"),
    ];
    all.into_iter()
        .filter_map(|(applies, text)| applies.then_some(text))
        .collect()
}

pub fn footer(run: &RunResult, left_out: &[String]) -> String {
    let mut text = format!(
        "commbench {}, started {}",
        run.command.version, run.command.started_at
    );
    if !left_out.is_empty() {
        // First, because the end is what an ellipsis takes.
        text = format!("Not shown: {} · {text}", left_out.join(", "));
    }
    text
}
