//! Snapshots of everything a run writes and prints, from one made-up run.

use std::collections::BTreeMap;

use super::assemble::{Figures, PlanOutline, measurement};
use super::{exporters, terminal_report};
use crate::executor::ExecutorConditions;
use crate::plan::{BurstRequest, Plan, allreduce_burst, load_model};
use crate::result::{
    Backend, Buffers, CommandInfo, Gpu, Host, Machine, Mode, Placement, RankSample, RunResult,
    SCHEMA, Series, Status, StoppedBy, Verification, Warning, WrongElement,
};

fn plan() -> Plan {
    let request = BurstRequest {
        batch: 1,
        ..BurstRequest::default()
    };
    allreduce_burst(&load_model("kimi-k2.5").unwrap(), &request).unwrap()
}

/// Two ranks; rank 1 starts 2 µs after rank 0 and takes 1 µs less.
fn series(mode: Mode, base_us: f64, n: usize) -> Series {
    let sample = |index: usize| {
        let us = base_us + (index * 7 % 11) as f64;
        let rank = |late: f64| RankSample {
            device_us: us - late / 2.0,
            host_us: us + 10.0,
            issue_us: 915.0 + late,
            arrival_ns: 1_000_000 * index as u64 + (late * 1e3) as u64,
        };
        vec![rank(0.0), rank(2.0)]
    };
    Series {
        plan: String::new(),
        mode,
        placement: Placement::OutOfPlace,
        samples: (0..n).map(sample).collect(),
    }
}

pub(super) fn run() -> (RunResult, Vec<Series>) {
    let outline = PlanOutline::of(&plan(), 2);
    let all = vec![
        series(Mode::Eager, 1640.0, 120),
        series(Mode::Graph, 1590.0, 24),
    ];
    let verification = Verification {
        elements: 3_497_984,
        wrong: 0,
        first_wrong: None,
    };
    let measure = |one: &Series| {
        let conditions = ExecutorConditions {
            clock: "cuda-events".into(),
            buffer_slots: 122,
            gate: None,
            nccl_choice: Some("Ring/LL, 1 channel, 512 threads".to_string()),
            calls: "ncclAllReduce".into(),
            issue_is_separate: true,
        };
        let figures = Figures {
            plan: &outline,
            buffers: Buffers::Warm,
            precision_asked: 0.02,
            shared_gpu: false,
            one_host: true,
            warmup: 5,
            stopped_by: StoppedBy::Precision,
            conditions: &conditions,
            verification: &verification,
        };
        measurement(one, &figures).unwrap()
    };
    let gpu = |rank: u32| Gpu {
        rank,
        host: "node|1".to_string(),
        device: rank,
        name: "NVIDIA RTX PRO 6000".to_string(),
        uuid: format!("GPU-{rank}"),
        pci_bus_id: format!("0000:0{rank}:00.0"),
        memory_bytes: 96 << 30,
        l2_bytes: 128 << 20,
        compute_capability: "12.0".to_string(),
    };
    let run = RunResult {
        schema: SCHEMA.to_string(),
        status: Status::Complete,
        command: CommandInfo {
            name: "allreduce-burst".to_string(),
            argv: ["commbench", "allreduce-burst"].map(String::from).to_vec(),
            version: "0.0.0".to_string(),
            started_at: "2026-01-31T12:00:00Z".to_string(),
            wall_s: 2.5,
            environment: BTreeMap::from([("NCCL_PROTO".to_string(), "LL`*".to_string())]),
        },
        machine: Machine {
            hosts: vec![Host {
                name: "node|1".to_string(),
                ranks: vec![0, 1],
                cpu: "AMD EPYC 9575F".to_string(),
                logical_cpus: 128,
                memory_bytes: 1 << 40,
                kernel: "6.8.0".to_string(),
            }],
            gpus: vec![gpu(0), gpu(1)],
            driver: Some("580.95".to_string()),
            cuda: Some("13.0".to_string()),
            nccl_version: Some("2.28.9".to_string()),
            nccl_library: Some("/usr/lib/libnccl.so.2".to_string()),
            mpi: Some("Open MPI 4.1.6".to_string()),
            transports: vec!["SHM/direct/direct (16)".to_string()],
            health: Vec::new(),
        },
        backend: Backend::Nccl,
        ranks: 2,
        model: Some(load_model("kimi-k2.5").unwrap()),
        results: all.iter().map(measure).collect(),
        verdict: None,
        warnings: vec![Warning {
            code: "mode-waived".to_string(),
            text: "not measured: gated out-of-place (no such thing here)".to_string(),
            remedy: None,
        }],
        failure: None,
        imported: None,
    };
    (run, all)
}

fn file(name: &str, run: &RunResult, series: &[Series]) -> String {
    let exporter = exporters()
        .into_iter()
        .find(|exporter| exporter.file_name() == name)
        .unwrap();
    String::from_utf8(exporter.export(run, series).unwrap()).unwrap()
}

#[test]
fn the_terminal_report() {
    let (run, _) = run();
    let text = terminal_report(&run, "out/x", &["result.json", "burst.svg"], false);
    insta::assert_snapshot!(text);
}

#[test]
fn the_terminal_report_of_a_shared_gpu_with_wrong_data_cut_short() {
    let (mut run, _) = run();
    run.status = Status::Failed;
    for one in &mut run.results {
        one.conditions.shared_gpu = true;
    }
    run.results[1].verified = false;
    run.results[1].verification.wrong = 3;
    run.results[1].verification.first_wrong = Some(WrongElement {
        rank: 1,
        op: 17,
        element: 4500,
        got: 25.0,
        expected: 24.0,
    });
    run.failure = Some(crate::result::Failure {
        exit_code: 6,
        text: "rank 1 was killed (signal 9)".to_string(),
        rank: Some(1),
        op: None,
        phase: None,
    });
    insta::assert_snapshot!(terminal_report(&run, "out/x", &[], false));
}

#[test]
fn report_md() {
    let (run, series) = run();
    insta::assert_snapshot!(file("report.md", &run, &series));
}

#[test]
fn result_json() {
    let (run, series) = run();
    let text = file("result.json", &run, &series);
    let back: RunResult = serde_json::from_str(&text).unwrap();
    assert_eq!(back, run, "what is written reads back to the last bit");
    insta::assert_snapshot!(text);
}

#[test]
fn samples_csv() {
    let (run, mut series) = run();
    series[0].samples.truncate(3);
    series[1].samples.truncate(2);
    insta::assert_snapshot!(file("samples.csv", &run, &series));
}
