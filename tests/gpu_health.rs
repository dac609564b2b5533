//! What the tool says of the GPUs' state around a run, on a stand-in for NVML.
#![cfg(feature = "mpi")]

mod common;

use common::{Output, Scratch, mpirun, run, with_stand_in};
use serde_json::Value;

const BURST: [&str; 8] = [
    "allreduce-burst",
    "--ops",
    "20",
    "--warmup",
    "2",
    "--budget",
    "0.5",
    "--mode",
];

/// A burst on GPUs whose state `environment` tells, with what it printed and its result.
fn burst(environment: &[(&str, &str)], more: &[&str]) -> (Output, Value) {
    let scratch = Scratch::new();
    let arguments = [&BURST[..], &["eager", "--out", "o"], more].concat();
    let mut command = mpirun(&scratch.0, 2, &arguments);
    with_stand_in(&mut command, "");
    for (name, value) in environment {
        command.env(format!("COMMBENCH_STAND_IN_{name}"), value);
    }
    let output = run(command);
    assert_eq!(output.code, 0, "{output:#?}");
    let text = std::fs::read_to_string(scratch.0.join("o/result.json")).unwrap();
    (output, serde_json::from_str(&text).unwrap())
}

fn codes(result: &Value) -> Vec<&str> {
    let warnings = result["warnings"].as_array().unwrap();
    warnings
        .iter()
        .filter_map(|one| one["code"].as_str())
        .filter(|code| code.contains("gpu-") || code.contains("clocks") || *code == "throttled")
        .collect()
}

#[test]
fn a_steady_gpu_is_told_of_in_one_line_and_without_a_warning() {
    let (output, result) = burst(&[], &[]);
    assert!(
        output
            .stdout
            .contains("GPUs: SM clock 1980 MHz, power 123 W, 41 °C ("),
        "{output:#?}"
    );
    assert!(
        output.stdout.contains("between rounds of samples"),
        "{output:#?}"
    );
    assert_eq!(codes(&result), [""; 0]);
    let health = result["machine"]["health"].as_array().unwrap();
    assert_eq!(health.len(), 2);
    assert_eq!(health[1]["rank"], 1);
    assert_eq!(health[1]["before"]["temperature_c"], 41);
    assert_eq!(health[1]["after"]["sm_mhz"], 1980);
    assert!(health[1]["sampling"]["readings"].as_u64().unwrap() >= 1);
    // The rank's own process is nobody else.
    assert_eq!(health[1]["others"], serde_json::json!([]));
}

#[test]
fn clocks_that_fall_are_told_with_both_values() {
    // Before, after warm-up, then lower.
    let (output, result) = burst(&[("SM_MHZ", "1980,1980,1410")], &["--gpu-poll", "20"]);
    assert_eq!(codes(&result), ["clocks-fell", "clocks-fell"]);
    assert!(
        output.stdout.contains("went between 1,410 and 1,980 MHz"),
        "{output:#?}"
    );
    let health = &result["machine"]["health"][0];
    assert_eq!(health["poll_ms"], 20);
    assert!(
        health["sampling"]["readings"].as_u64().unwrap() >= 3,
        "{health}"
    );
}

#[test]
fn what_holds_the_clocks_down_and_who_else_is_there_is_named() {
    let (output, result) = burst(&[("THROTTLE", "68"), ("OTHER", "1")], &[]);
    let codes = codes(&result);
    assert!(codes.contains(&"throttled"), "{codes:?}");
    assert!(codes.contains(&"gpu-not-alone"), "{codes:?}");
    for words in ["power cap", "thermal limit (hardware)", "process 1 ("] {
        assert!(output.stdout.contains(words), "{words}: {output:#?}");
    }
}

#[test]
fn figures_come_without_nvml_and_say_so() {
    let (output, result) = burst(&[("NVML", "gone")], &[]);
    assert_eq!(codes(&result), ["gpu-health-unread"]);
    assert!(
        output
            .stdout
            .contains("the state of 2 ranks' GPUs could not be read"),
        "{output:#?}"
    );
    assert_eq!(result["status"], "complete");
}

#[test]
fn a_poll_of_no_time_is_refused() {
    let scratch = Scratch::new();
    let output = run(mpirun(
        &scratch.0,
        2,
        &["allreduce-burst", "--gpu-poll", "0"],
    ));
    assert_eq!(output.code, 2, "{output:#?}");
    assert!(output.stderr.contains("--gpu-poll"), "{output:#?}");
}
