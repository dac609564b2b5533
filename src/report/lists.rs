//! Rows of the tables that pages have and terminals do not: plans, ranks, GPUs.

use crate::result::{RankShare, RunResult};
use crate::units::{format_bytes, significant};

/// Column titles of [`plan_rows`].
pub(super) const PLAN_COLUMNS: [&str; 3] = ["plan", "ops of a replay", "origin"];

/// What each plan of a run sends, and how its numbers came about.
pub(super) fn plan_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut seen: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for one in &run.results {
        if !seen.contains(&one.plan.name.as_str()) {
            seen.push(&one.plan.name);
            rows.push(vec![
                one.plan.name.clone(),
                one.plan.title.clone(),
                one.plan.origin.clone(),
            ]);
        }
    }
    rows
}

/// Column titles of [`rank_rows`].
pub(super) fn rank_columns(run: &RunResult) -> Vec<String> {
    let mut columns = vec!["mode".to_string()];
    columns.extend((0..run.ranks).map(|rank| format!("rank {rank}")));
    columns.push("last to arrive".to_string());
    columns
}

/// Above [`rank_rows`].
pub(super) const RANKS_TEXT: &str = "Median time of the plan on each rank, in µs. A rank that starts late makes the others wait: its own time is the shortest.";

/// Median time of the plan on each rank, in µs, one row a measurement.
pub(super) fn rank_rows(run: &RunResult) -> Vec<Vec<String>> {
    run.results
        .iter()
        .map(|one| {
            let mut row = vec![one.label.clone()];
            row.extend(one.per_rank_us.iter().map(|us| significant(*us)));
            row.push(
                one.last_to_arrive
                    .as_ref()
                    .map_or("–".to_string(), named_rank),
            );
            row
        })
        .collect()
}

/// "rank 5 (74 %)"
pub(super) fn named_rank(share: &RankShare) -> String {
    format!("rank {} ({:.0} %)", share.rank, share.share * 100.0)
}

/// Column titles of [`gpu_rows`].
pub(super) const GPU_COLUMNS: [&str; 6] = ["rank", "host", "device", "GPU", "PCI bus", "memory"];

/// The GPU of each rank.
pub(super) fn gpu_rows(run: &RunResult) -> Vec<Vec<String>> {
    run.machine
        .gpus
        .iter()
        .map(|gpu| {
            vec![
                gpu.rank.to_string(),
                gpu.host.clone(),
                gpu.device.to_string(),
                gpu.name.clone(),
                gpu.pci_bus_id.clone(),
                match gpu.memory_bytes {
                    0 => "–".to_string(),
                    bytes => format_bytes(bytes),
                },
            ]
        })
        .collect()
}
