//! Trends and outliers of the samples, through the binary.
#![cfg(feature = "mpi")]

mod common;

use common::{Scratch, mpirun, run};
use serde_json::Value;

#[test]
fn every_series_with_samples_enough_says_how_steady_it_was() {
    let scratch = Scratch::new();
    let arguments = [
        "allreduce-burst",
        "--ops",
        "20",
        "--budget",
        "0.5",
        "--out",
        "o",
    ];
    let output = run(mpirun(&scratch.0, 2, &arguments));
    assert_eq!(output.code, 0, "{output:#?}");
    let text = std::fs::read_to_string(scratch.0.join("o/result.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    let one = &result["results"][0];
    let steady = &one["steadiness"];
    let outliers = steady["outliers"].as_u64().unwrap();
    let p = steady["drift_p"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&p), "{steady}");
    // What is told of and what is in the file are one.
    assert_eq!(
        output.stdout.contains("Outliers (over 5"),
        outliers > 0,
        "{output:#?}"
    );
    let told = |code: &str| {
        let warnings = result["warnings"].as_array().unwrap();
        warnings.iter().any(|one| one["code"] == code)
    };
    let drifts = p < 0.01 && steady["drift"].as_f64().unwrap().abs() >= 0.02;
    assert_eq!(told("times-drift"), drifts, "{steady}");
}
