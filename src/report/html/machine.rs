//! Where it ran.

use maud::{Markup, html};

use super::table::table;
use crate::report::lists::{GPU_COLUMNS, gpu_rows};
use crate::result::{Backend, Host, RunResult};
use crate::units::{format_bytes, group_thousands};

const HOST_COLUMNS: [&str; 6] = ["host", "ranks", "processor", "CPUs", "memory", "kernel"];

pub(super) fn machine(run: &RunResult) -> Markup {
    let machine = &run.machine;
    let nccl = match (&machine.nccl_version, &machine.nccl_library) {
        (Some(version), Some(path)) => Some(format!("{version} ({path})")),
        (version, _) => version.clone(),
    };
    let transports = (!machine.transports.is_empty()).then(|| machine.transports.join(", "));
    let lines = [
        ("Data moved by", Some(backend(run.backend).to_string())),
        ("Ranks", Some(group_thousands(u64::from(run.ranks)))),
        ("GPU driver", machine.driver.clone()),
        ("CUDA", machine.cuda.clone()),
        ("NCCL", nccl),
        ("MPI", machine.mpi.clone()),
        ("Transports", transports),
    ];
    let hosts: Vec<Vec<String>> = machine.hosts.iter().map(host_row).collect();
    html! {
        dl {
            @for (name, value) in &lines {
                @if let Some(value) = value { dt { (name) } dd { (value) } }
            }
        }
        @if !hosts.is_empty() {
            (table("Hosts", &HOST_COLUMNS.map(str::to_string), &hosts, HOST_COLUMNS.len()))
        }
        @if !machine.gpus.is_empty() {
            (table("GPUs", &GPU_COLUMNS.map(str::to_string), &gpu_rows(run), GPU_COLUMNS.len()))
        }
    }
}

fn backend(backend: Backend) -> &'static str {
    match backend {
        Backend::Nccl => "NCCL, on GPUs",
        Backend::MpiHost => "MPI, on host memory",
        Backend::Predicted => "nothing: computed",
    }
}

/// A dash for what a log does not say.
fn known(text: String, missing: bool) -> String {
    if missing { "–".to_string() } else { text }
}

fn host_row(host: &Host) -> Vec<String> {
    let ranks: Vec<String> = host.ranks.iter().map(u32::to_string).collect();
    vec![
        host.name.clone(),
        ranks.join(", "),
        known(host.cpu.clone(), host.cpu.is_empty()),
        known(
            group_thousands(u64::from(host.logical_cpus)),
            host.logical_cpus == 0,
        ),
        known(format_bytes(host.memory_bytes), host.memory_bytes == 0),
        known(host.kernel.clone(), host.kernel.is_empty()),
    ]
}
