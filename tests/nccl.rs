//! The NCCL executor, on stand-ins for the GPU libraries: modes, data, choices, devices and every
//! kind of fault. Figures of these runs mean nothing.

#![cfg(feature = "mpi")]

mod common;

use std::process::Command;
use std::time::Duration;

use common::{Output, Scratch, job_processes, mpirun, run, wait_for, with_stand_in};
use serde_json::Value;

const RANKS: u32 = 3;

/// `--timeout` of the jobs. Everything takes longer under a sanitizer, where its script sets more.
fn timeout_s() -> u64 {
    let told = std::env::var("COMMBENCH_TESTS_TIMEOUT_S");
    told.map_or(6, |text| text.parse().expect("a number of seconds"))
}

fn burst(scratch: &Scratch, ranks: u32, fault: &str, more: &[&str]) -> Command {
    let timeout = timeout_s().to_string();
    let mut arguments = vec!["allreduce-burst", "--out", "o", "--timeout", &timeout];
    arguments.extend(more);
    let mut command = mpirun(&scratch.0, ranks, &arguments);
    with_stand_in(&mut command, fault);
    command
}

/// Short enough for many of them.
const SHORT: [&str; 4] = ["--ops", "20", "--warmup", "2"];

/// Runs a job that fails, and checks what holds for every failure.
fn failing(fault: &str, code: i32, more: &[&str]) -> (Output, Option<Value>) {
    let scratch = Scratch::new();
    let output = run(burst(&scratch, RANKS, fault, &[&SHORT, more].concat()));
    assert_eq!(output.code, code, "{fault}: {output:#?}");
    assert!(
        output.took < Duration::from_secs(timeout_s() + 8),
        "{fault}: {output:#?}"
    );
    wait_for("every process to be gone", || {
        job_processes(&scratch.0).is_empty().then_some(())
    });
    let files = scratch.files();
    assert!(files.iter().all(|name| !name.contains("tmp")), "{files:?}");
    let text = std::fs::read_to_string(scratch.0.join("o/result.json")).ok();
    let result: Option<Value> = text.map(|text| serde_json::from_str(&text).unwrap());
    if let Some(result) = &result {
        samples_are_whole(&scratch, result);
    }
    (output, result)
}

/// Every sample in the table has all its ranks, and the result counts as many.
fn samples_are_whole(scratch: &Scratch, result: &Value) {
    let counted: u64 = result["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["burst_us"]["n"].as_u64().unwrap())
        .sum();
    let csv = std::fs::read_to_string(scratch.0.join("o/samples.csv")).unwrap_or_default();
    let rows = csv.lines().count().saturating_sub(1) as u64;
    assert_eq!(rows, counted * u64::from(RANKS));
}

#[test]
fn eight_ranks_replay_every_mode_with_right_data() {
    let scratch = Scratch::new();
    let output = run(burst(
        &scratch,
        8,
        "",
        &["--budget", "0.3", "--placement", "both"],
    ))
    .expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    assert_eq!(result["status"], "complete");
    assert_eq!(result["backend"], "nccl");
    let labels: Vec<&str> = result["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["label"].as_str().unwrap())
        .collect();
    assert_eq!(
        labels,
        [
            "eager out-of-place",
            "eager in-place",
            "gated out-of-place",
            "gated in-place",
            "graph out-of-place",
            "graph in-place"
        ]
    );
    for one in result["results"].as_array().unwrap() {
        assert_eq!(one["verified"], true);
        // Once before sampling and once after: the last op of each buffer, on every rank.
        let slots = one["conditions"]["buffer_slots"].as_u64().unwrap();
        assert_eq!(one["verification"]["elements"], 2 * slots * 7168 * 8);
        assert_eq!(one["conditions"]["clock"], "cuda-events");
        assert_eq!(
            one["conditions"]["nccl_choice"],
            "Stand-in/None, 1 channel, 32 threads"
        );
        assert_eq!(
            one["conditions"]["gate"].is_string(),
            one["mode"] == "gated"
        );
    }
    assert_eq!(result["machine"]["nccl_version"], "2.28.9");
    // Nobody takes these for figures of a GPU.
    for name in ["result.json", "report.md", "report.html", "burst.svg"] {
        let text = std::fs::read_to_string(scratch.0.join("o").join(name)).unwrap();
        assert!(text.contains("NOT A GPU"), "{name}");
    }
    assert!(output.stdout.contains("NOT A GPU"), "{}", output.stdout);
}

#[test]
fn cold_buffers_and_other_datatypes_are_verified_too() {
    for dtype in ["fp16", "fp32", "fp64", "int8", "int32"] {
        let scratch = Scratch::new();
        let arguments = ["--dtype", dtype, "--buffers", "cold", "--bytes", "100K"];
        let output = run(burst(&scratch, 2, "", &[&SHORT[..], &arguments].concat()));
        let result = output.expect_code(0).result(&scratch.0.join("o"));
        assert_eq!(result["status"], "complete", "{dtype}");
    }
}

#[test]
fn a_wrong_element_is_found_and_placed() {
    // 20 step-by-step, 2 warm-up replays, then the replay that is checked.
    let (output, result) = failing("corrupt:op@1#75", 4, &["--mode", "eager"]);
    let result = result.unwrap();
    assert_eq!(result["status"], "failed");
    let first = &result["results"][0]["verification"]["first_wrong"];
    assert_eq!((&first["rank"], &first["op"]), (&1.into(), &14.into()));
    assert_eq!(first["element"], 3584, "the middle byte");
    assert!(output.stdout.contains("WRONG DATA"), "{}", output.stdout);
}

#[test]
fn every_error_code_of_a_collective_names_rank_op_and_reason() {
    let words = [
        (1, "unhandled cuda error"),
        (2, "unhandled system error"),
        (3, "internal error"),
        (4, "invalid argument"),
        (5, "invalid usage"),
        (6, "remote process exited"),
    ];
    for (code, words) in words {
        // The 13th op of the first series' step-by-step replay, or of a later replay.
        let nth = if code % 2 == 0 { 13 } else { 20 * 6 + 13 };
        let fault = format!("fail:ncclAllReduce@2#{nth}={code}");
        let (output, result) = failing(&fault, 3, &["--mode", "eager"]);
        let failure = &result.unwrap()["failure"];
        assert_eq!(failure["rank"], 2, "{fault}");
        assert_eq!(failure["op"], 12, "{fault}");
        assert!(output.stderr.contains(words), "{fault}: {}", output.stderr);
        assert_eq!(
            output.stderr.matches("error:").count(),
            1,
            "{}",
            output.stderr
        );
    }
}

#[test]
fn errors_while_joining_name_the_rank_and_leave_nothing() {
    for (fault, words) in [
        ("fail:ncclCommInitRank@1#1=2", "unhandled system error"),
        ("fail:ncclGetUniqueId@0#1=3", "internal error"),
        ("fail:cuMemAlloc_v2@2#1=2", "out of memory"),
        ("fail:cuDevicePrimaryCtxRetain@1#1=999", "unknown error"),
        ("fail:cuInit@1#1=999", "unknown error"),
    ] {
        let (output, result) = failing(fault, 3, &[]);
        assert!(output.stderr.contains(words), "{fault}: {}", output.stderr);
        assert!(result.is_none(), "{fault}: nothing was measured");
        if !fault.contains("@0") {
            let rank = &fault[fault.find('@').unwrap() + 1..][..1];
            let name = format!("rank {rank}");
            assert!(output.stderr.contains(&name), "{fault}: {}", output.stderr);
        }
    }
}

#[test]
fn a_lost_device_names_the_rank_and_keeps_samples() {
    // Work items of a replay: 20 ops and two time stamps.
    let (output, result) = failing("lost:work@1#400=719", 3, &["--mode", "eager"]);
    let result = result.unwrap();
    assert_eq!(result["failure"]["rank"], 1);
    assert!(
        output.stderr.contains("unspecified launch failure"),
        "{}",
        output.stderr
    );
    assert!(result["results"][0]["burst_us"]["n"].as_u64().unwrap() >= 6);
}

#[test]
fn an_error_that_nccl_meets_by_itself_ends_the_job() {
    let (output, result) = failing(
        "async:op@1#300=6",
        3,
        &["--budget", "30", "--mode", "eager"],
    );
    assert_eq!(result.unwrap()["failure"]["rank"], 1);
    assert!(
        output.stderr.contains("remote process exited"),
        "{}",
        output.stderr
    );
}

#[test]
fn an_op_that_never_ends_is_named_when_it_hangs_at_first_use() {
    let (output, result) = failing("hang:op@1#7", 5, &["--mode", "eager"]);
    // Every rank waits in the same op: its number is known, not whose fault it is.
    let text =
        "all 3 ranks of this host stand still while preparing eager out-of-place, op 6 of 20";
    assert!(output.stderr.contains(text), "{}", output.stderr);
    let failure = &result.unwrap()["failure"];
    assert_eq!(
        (&failure["op"], &failure["rank"]),
        (&6.into(), &Value::Null)
    );
}

#[test]
fn an_op_that_never_ends_in_a_timed_replay_costs_no_sample() {
    for mode in ["eager", "gated", "graph"] {
        let (output, result) = failing("hang:op@1#300", 5, &["--mode", mode]);
        let text = format!("while sampling {mode} out-of-place");
        assert!(output.stderr.contains(&text), "{}", output.stderr);
        let result = result.unwrap();
        assert!(result["results"][0]["burst_us"]["n"].as_u64().unwrap() >= 6);
    }
}

#[test]
fn an_abort_that_never_returns_does_not_keep_the_job() {
    let faults = "hang:op@1#7,hang:ncclCommAbort@0,hang:ncclCommAbort@1,hang:ncclCommAbort@2";
    failing(faults, 5, &["--mode", "eager"]);
}

#[test]
fn calls_that_never_return_end_the_job_in_time() {
    for (fault, words) in [
        ("hang:ncclCommInitRank@1", "connecting to the other ranks"),
        (
            "hang:cuStreamEndCapture@2",
            "rank 2 stands still while capturing graph out-of-place, all 20 ops captured",
        ),
        ("hang:ncclCommFinalize@1", "stand still"),
    ] {
        let (output, _) = failing(fault, 5, &["--mode", "graph"]);
        assert!(output.stderr.contains(words), "{fault}: {}", output.stderr);
    }
}

#[test]
fn a_late_op_is_waited_for() {
    let scratch = Scratch::new();
    let mut arguments = SHORT.to_vec();
    arguments.extend(["--mode", "eager"]);
    let output = run(burst(&scratch, RANKS, "late:op@1#150=2500", &arguments)).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    assert_eq!(result["status"], "complete");
    let burst = &result["results"][0]["burst_us"];
    assert!(burst["max"].as_f64().unwrap() >= 2.4e6, "{burst}");
    assert!(burst["median"].as_f64().unwrap() < 1e6, "{burst}");
}

#[test]
fn ranks_with_different_or_old_nccl_are_refused() {
    let (output, _) = failing("answer:ncclGetVersion@2=22605", 3, &[]);
    let text = "rank 2 loaded NCCL 2.26.5";
    assert!(output.stderr.contains(text), "{}", output.stderr);
    let faults =
        "answer:ncclGetVersion@0=21705,answer:ncclGetVersion@1=21705,answer:ncclGetVersion@2=21705";
    let (output, _) = failing(faults, 3, &[]);
    assert!(
        output.stderr.contains("older than 2.18"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_driver_without_gates_waives_that_mode_and_says_so() {
    let scratch = Scratch::new();
    // One rank is enough: the others must not wait for it in a mode that it lacks.
    let faults = "fail:cuStreamWaitValue32_v2@1#1+=801";
    let output = run(burst(&scratch, 2, faults, &SHORT)).expect_code(0);
    assert!(
        output.stdout.contains("not measured: gated"),
        "{}",
        output.stdout
    );
}

#[test]
fn fewer_gpus_than_ranks_need_the_users_word_and_a_label() {
    let few = |more: &[&str], gpus: &str| {
        let scratch = Scratch::new();
        let mut command = burst(&scratch, RANKS, "", &[&SHORT[..], more].concat());
        command.env("COMMBENCH_STAND_IN_GPUS", gpus);
        let output = run(command);
        let result = std::fs::read_to_string(scratch.0.join("o/result.json")).unwrap_or_default();
        (output, result)
    };
    let (output, _) = few(&[], "1");
    assert_eq!(output.code, 3, "{output:#?}");
    assert!(output.stderr.contains("--share-gpu"), "{}", output.stderr);
    let (output, result) = few(&["--share-gpu"], "1");
    assert_eq!(output.code, 0, "{output:#?}");
    assert!(output.stdout.contains("SHARED GPU"), "{}", output.stdout);
    assert!(result.contains("\"shared_gpu\": true"));
    // No GPU at all: host memory, and labelled so.
    let (output, result) = few(&[], "0");
    assert_eq!(output.code, 0, "{output:#?}");
    assert!(output.stderr.contains("HOST MEMORY"), "{}", output.stderr);
    assert!(result.contains("\"mpi-host\""));
}
