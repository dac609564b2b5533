//! A sweep over sizes as nccl-tests' JSON, version 3, for tools that read that. Its `env` holds the
//! whole environment, secrets among it; ours is empty.

use serde_json::{Value, json};

use super::sizes::is_over_sizes;
use crate::error::{Error, Result};
use crate::result::{Backend, Measurement, Mode, Placement, RunResult};

/// The version of the shape.
const VERSION: u32 = 3;

/// The file's text for a sweep in one mode that ended at `ended_at`. Times are medians of the
/// slowest rank's time, where nccl-tests writes means.
///
/// # Errors
/// Exit code 2 for a run that is no sweep over sizes in one mode, eager or graph: the shape has no
/// place for another.
pub fn nccl_tests_json(run: &RunResult, ended_at: &str) -> Result<String> {
    let mode = only_mode(run).ok_or_else(|| {
        Error::usage("nccl-tests' JSON holds a sweep over sizes in one mode, eager or graph, and no other run")
            .try_this("mpirun -np 8 commbench sweep --mode eager --nccl-tests-json FILE")
    })?;
    let rows = rows(run);
    let wrong: u64 = run.results.iter().map(|one| one.verification.wrong).sum();
    let busbw: Vec<f64> = run.results.iter().map(|one| one.busbw_gb_per_s).collect();
    let first = &run.results[0];
    let document = json!({
        "version": VERSION,
        "start_time": run.command.started_at,
        "args": run.command.argv,
        "env": [],
        "nccl_version": version_code(run.machine.nccl_version.as_deref()),
        "commbench": {
            "version": run.command.version,
            "time": "median over replays of the slowest rank's time of a call",
            "backend": run.backend,
            "shared_gpu": first.conditions.shared_gpu,
        },
        "config": config(run, mode),
        "results": rows,
        "out_of_bounds": { "count": wrong, "okay": (wrong == 0).to_string() },
        "average_bus_bandwidth": {
            "bandwidth": busbw.iter().sum::<f64>() / busbw.len() as f64,
            "okay": "unchecked",
        },
        "errors": run.failure.iter().map(|failure| &failure.text).collect::<Vec<_>>(),
        "end_time": ended_at,
    });
    let mut text = serde_json::to_string_pretty(&document)
        .map_err(|error| Error::other(format!("the sweep does not become JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

fn only_mode(run: &RunResult) -> Option<Mode> {
    let mode = run.results.first()?.mode;
    let fits =
        is_over_sizes(run) && mode != Mode::Gated && run.results.iter().all(|one| one.mode == mode);
    fits.then_some(mode)
}

/// 2.28.9 as 22809, as NCCL numbers itself since 2.9; 0 where there is none.
fn version_code(version: Option<&str>) -> u64 {
    let mut parts = version.unwrap_or_default().split('.').map(|part| {
        let digits = part.split(|letter: char| !letter.is_ascii_digit());
        digits
            .into_iter()
            .next()
            .unwrap_or_default()
            .parse()
            .unwrap_or(0)
    });
    let mut next = || parts.next().unwrap_or(0);
    next() * 10_000 + next() * 100 + next()
}

fn config(run: &RunResult, mode: Mode) -> Value {
    let sizes: Vec<u64> = sizes(run);
    let mut config = json!({
        "nthreads": 1,
        "ngpus": 1,
        "minimum_bytes": sizes.first(),
        "maximum_bytes": sizes.last(),
        "warmup_iters": run.results[0].conditions.warmup,
        "iterations": run.results[0].plan.ops,
        "aggregated_iterations": 1,
        "validation": u8::from(run.results.iter().all(is_checked)),
        "graph": u8::from(mode == Mode::Graph),
        "blocking_collectives": "false",
        "per_iter_timing": "false",
        "per_iter_skip": 0,
        "parallel_init": "false",
        "devices": devices(run),
    });
    let (step, by) = step(&sizes);
    config[step] = json!(by);
    config
}

/// The step that the sizes were made by, as far as they show it.
fn step(sizes: &[u64]) -> (&'static str, u64) {
    match sizes {
        [a, b, c, ..] if c - b == b - a => ("step_bytes", b - a),
        [a, b, ..] if b.is_multiple_of(*a) => ("step_factor", b / a),
        [a, b, ..] => ("step_bytes", b - a),
        _ => ("step_factor", 2),
    }
}

fn sizes(run: &RunResult) -> Vec<u64> {
    let points = run.results.iter();
    let mut sizes: Vec<u64> = points
        .filter_map(|one| Some(one.plan.size.as_ref()?.bytes))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn devices(run: &RunResult) -> Vec<Value> {
    let device = |rank: u32, host: &str, device: u32, bus: &str, info: &str| {
        json!({
            "rank": rank, "group": 0, "pid": 0, "hostname": host,
            "device": device, "device_hex": bus, "device_info": info,
        })
    };
    if run.backend != Backend::MpiHost {
        let gpus = run.machine.gpus.iter();
        return gpus
            .map(|gpu| device(gpu.rank, &gpu.host, gpu.device, &gpu.pci_bus_id, &gpu.name))
            .collect();
    }
    let info = "no GPU: HOST MEMORY, moved by MPI";
    let of_rank = |rank: u32| {
        let mut hosts = run.machine.hosts.iter();
        let host = hosts.find(|host| host.ranks.contains(&rank));
        device(rank, host.map_or("", |host| &host.name), 0, "", info)
    };
    (0..run.ranks).map(of_rank).collect()
}

/// One row a size: a placement that was not measured is null, as nccl-tests has it.
fn rows(run: &RunResult) -> Vec<Value> {
    let row = |bytes: u64| {
        let at = |placement: Placement| {
            run.results.iter().find(|one| {
                one.placement == placement
                    && one.plan.size.as_ref().map(|size| size.bytes) == Some(bytes)
            })
        };
        let (out, within) = (at(Placement::OutOfPlace), at(Placement::InPlace));
        let one = out.or(within)?;
        let size = one.plan.size.as_ref()?;
        Some(json!({
            "size": size.bytes,
            "count": size.count,
            "type": one.plan.dtype.nccl_tests_name(),
            "redop": size.redop,
            "root": format!("{:>6}", size.root),
            "out_of_place": out.map(figures),
            "in_place": within.map(figures),
            "actual_iterations": one.plan.ops,
            "experiment_name": "",
        }))
    };
    sizes(run).into_iter().filter_map(row).collect()
}

fn is_checked(one: &Measurement) -> bool {
    one.verified || one.verification.wrong > 0
}

fn figures(one: &Measurement) -> Value {
    let times = &one.per_op_us;
    json!({
        "time": times.median,
        "alg_bw": one.algbw_gb_per_s,
        "bus_bw": one.busbw_gb_per_s,
        "nwrong": is_checked(one).then_some(one.verification.wrong),
        "time_ci95": times.ci95,
        "time_p95": times.p95,
        "time_p99": times.p99,
        "samples": times.n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbered_as_nccl_does() {
        assert_eq!(version_code(Some("2.28.9")), 22_809);
        assert_eq!(version_code(Some("2.18.3+cuda12.2")), 21_803);
        assert_eq!(version_code(None), 0);
    }

    #[test]
    fn steps_are_found_again() {
        assert_eq!(step(&[8, 16, 32]), ("step_factor", 2));
        assert_eq!(step(&[12, 1506, 3000]), ("step_bytes", 1494));
        assert_eq!(step(&[12, 30]), ("step_bytes", 18));
        assert_eq!(step(&[8]), ("step_factor", 2));
    }
}
