//! `compare` as its users run it, on folders that the binary wrote from host memory.

#![cfg(feature = "mpi")]

mod common;

use std::path::Path;

use common::{Output, Scratch, alone, mpirun, run};
use serde_json::Value;

/// Measures a small burst into `folder`.
fn measure(scratch: &Scratch, folder: &str, ranks: u32, more: &[&str]) {
    let burst = [
        "allreduce-burst",
        "--backend",
        "host",
        "--ops",
        "20",
        "--warmup",
        "1",
        "--budget",
        "0.1",
        "--timeout",
        "60",
        "--out",
        folder,
    ];
    run(mpirun(&scratch.0, ranks, &[&burst, more].concat())).expect_code(0);
}

/// A copy of the run of two ranks in `from` with samples that lie around `level_us`: what a run
/// measures while other tests keep the processors busy shows nothing.
fn copy_with(scratch: &Scratch, from: &str, to: &str, level_us: f64) {
    let (from, to) = (scratch.0.join(from), scratch.0.join(to));
    std::fs::create_dir_all(&to).unwrap();
    std::fs::copy(from.join("result.json"), to.join("result.json")).unwrap();
    let text = std::fs::read_to_string(from.join("samples.csv")).unwrap();
    let mut samples = format!("{}\n", text.lines().next().unwrap());
    for sample in 0..20 {
        let us = level_us * (1.0 + 0.001 * f64::from(sample % 5));
        for rank in 0..2 {
            samples.push_str(&format!(
                ",eager,out-of-place,{sample},{rank},{us:.3},{us:.3},0.000,0.000\n"
            ));
        }
    }
    std::fs::write(to.join("samples.csv"), samples).unwrap();
}

fn compare(scratch: &Scratch, arguments: &[&str]) -> Output {
    run(alone(&scratch.0, &[&["compare"], arguments].concat()))
}

fn validate(found: &Value) {
    let schema = include_str!("../schema/comparison.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(found).map(|error| error.to_string());
    assert_eq!(errors.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_slower_run_is_told_by_how_much_and_fails_a_gate() {
    let scratch = Scratch::new();
    measure(&scratch, "run", 2, &["--bytes", "1K"]);
    copy_with(&scratch, "run", "before", 1_000.0);
    copy_with(&scratch, "run", "after", 1_500.0);

    let same = compare(&scratch, &["before", "before", "--gate", "5%"]).expect_code(0);
    assert!(
        same.stdout.contains("no difference shown"),
        "{}",
        same.stdout
    );
    assert!(same.stdout.contains("HOST MEMORY"), "{}", same.stdout);
    assert!(same.stdout.contains("drift of 3 %"), "{}", same.stdout);

    let slower = compare(&scratch, &["before", "after"]).expect_code(0);
    assert!(slower.stdout.contains("slower by"), "{}", slower.stdout);
    let gated = compare(&scratch, &["before", "after", "--gate", "5%"]).expect_code(7);
    assert!(
        gated.stdout.contains("gate of 5 %: FAILED"),
        "{}",
        gated.stdout
    );
    assert!(
        gated
            .stderr
            .contains("more than 5 % slower: eager out-of-place"),
        "{}",
        gated.stderr
    );
    let back = compare(&scratch, &["after", "before", "--gate", "5%"]).expect_code(0);
    assert!(back.stdout.contains("faster by"), "{}", back.stdout);
    assert!(
        back.stdout.contains("gate of 5 %: passed"),
        "{}",
        back.stdout
    );
}

#[test]
fn json_alone_is_printed_and_holds_the_ratio() {
    let scratch = Scratch::new();
    measure(&scratch, "run", 2, &["--bytes", "1K"]);
    copy_with(&scratch, "run", "a", 1_000.0);
    copy_with(&scratch, "run", "b", 2_000.0);
    let output = compare(&scratch, &["a", "b", "--json", "-", "--gate", "5%"]).expect_code(7);
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    validate(&found);
    let pair = &found["pairs"][0];
    let ratio = pair["ratio"].as_f64().unwrap();
    assert!((ratio - 2.0).abs() < 1e-3, "{ratio}");
    let [lo, hi] = [0, 1].map(|end| pair["joint_ci95"][end].as_f64().unwrap());
    assert!(lo < 2.0 && 2.0 < hi, "[{lo}, {hi}]");
    assert_eq!(found["gate"]["limit"], 0.05);
    // The same folders give the same figures, into a file as well.
    let told = compare(&scratch, &["a", "b", "--json", "c.json"]).expect_code(0);
    assert!(told.stdout.contains("slower by"), "{}", told.stdout);
    let kept = std::fs::read_to_string(scratch.0.join("c.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["pairs"], found["pairs"]);
}

#[test]
fn runs_joined_by_commas_show_how_much_runs_differ() {
    let scratch = Scratch::new();
    measure(&scratch, "run", 2, &["--bytes", "1K"]);
    let mut folders = [Vec::new(), Vec::new()];
    for (side, (name, level)) in [("a", 1.0), ("b", 1.04)].into_iter().enumerate() {
        for (number, step) in [-0.002, 0.0, 0.002, 0.001].into_iter().enumerate() {
            let folder = format!("{name}{number}");
            copy_with(&scratch, "run", &folder, 1_000.0 * (level + step));
            folders[side].push(folder);
        }
    }
    let sides = folders.map(|folders| folders.join(","));
    let output = compare(&scratch, &[&sides[0], &sides[1]]).expect_code(0);
    // 4 % would drown in the allowance for drift; four runs a side that agree to 0.2 % show it.
    assert!(output.stdout.contains("slower by"), "{}", output.stdout);
    assert!(output.stdout.contains("4 runs"), "{}", output.stdout);
    let [first_a, first_b] = ["a1", "b1"];
    let alone = compare(&scratch, &[first_a, first_b]).expect_code(0);
    assert!(
        alone.stdout.contains("no difference shown"),
        "{}",
        alone.stdout
    );
}

#[test]
fn things_that_are_not_alike_are_refused_unless_told() {
    let scratch = Scratch::new();
    measure(&scratch, "two", 2, &["--bytes", "1K"]);
    measure(&scratch, "three", 3, &["--bytes", "1K"]);
    measure(&scratch, "larger", 2, &["--bytes", "2K"]);
    for (other, hint) in [
        ("three", "the number of ranks is 2 in two and 3 in three"),
        ("larger", "2,048 B"),
    ] {
        let refused = compare(&scratch, &["two", other]).expect_code(2);
        assert_eq!(refused.stdout, "");
        assert!(refused.stderr.contains(hint), "{}", refused.stderr);
        assert!(refused.stderr.contains("--unlike"), "{}", refused.stderr);
        let told = compare(&scratch, &["two", other, "--unlike"]).expect_code(0);
        assert!(told.stdout.contains("not alike: "), "{}", told.stdout);
        assert!(told.stdout.contains(hint), "{}", told.stdout);
    }
}

#[test]
fn a_gate_does_not_pass_what_was_not_measured() {
    let scratch = Scratch::new();
    measure(&scratch, "run", 2, &["--bytes", "1K", "--placement", "out"]);
    copy_with(&scratch, "run", "both", 1_000.0);
    copy_with(&scratch, "run", "short", 1_000.0);

    let kept = scratch.0.join("short/samples.csv");
    let text = std::fs::read_to_string(&kept).unwrap();
    // The header and two samples of two ranks.
    let few: String = text
        .lines()
        .take(5)
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&kept, few).unwrap();
    let output = compare(&scratch, &["both", "short", "--gate", "5%"]).expect_code(2);
    assert!(output.stderr.contains("2 samples"), "{}", output.stderr);
}

#[test]
fn wrong_folders_and_numbers_say_what_to_type() {
    let scratch = Scratch::new();
    measure(&scratch, "a", 2, &["--bytes", "1K"]);
    assert!(Path::new(&scratch.0.join("a/result.json")).exists());
    for (arguments, hint) in [
        (&["a"][..], "two folders or more"),
        (&["a", ","], "names no folder"),
        (&["a", "a", "--gate=-5%"], "--gate"),
        (&["a", "a", "--gate", "5"], "write 5%"),
        (&["a", "a", "--drift", "x"], "--drift"),
        (&["a", "a", "--mode", "graph"], "no series in common"),
    ] {
        let output = compare(&scratch, arguments).expect_code(2);
        assert!(output.stderr.contains(hint), "{hint}: {}", output.stderr);
        assert_eq!(output.stdout, "");
    }
    let nowhere = compare(&scratch, &["a", "nowhere"]).expect_code(3);
    assert!(
        nowhere.stderr.contains("nowhere/result.json"),
        "{}",
        nowhere.stderr
    );
    let unwritable = compare(&scratch, &["a", "a", "--json", "no/such/folder.json"]).expect_code(3);
    assert!(
        unwritable.stderr.contains("no/such/folder.json"),
        "{}",
        unwritable.stderr
    );
}
