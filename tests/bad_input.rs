//! Mistakes: one sentence with the value and the remedy, once, and nothing half-written.

#![cfg(feature = "mpi")]

mod common;

use common::{Output, Scratch, mpirun, run};

fn refused(scratch: &Scratch, arguments: &[&str], code: i32, hints: &[&str]) -> Output {
    let mut all = vec!["allreduce-burst", "--backend", "host"];
    all.extend_from_slice(arguments);
    let output = run(mpirun(&scratch.0, 3, &all)).expect_code(code);
    let said = &output.stderr;
    // Clap's own words for flags, ours for the rest; never one copy a rank.
    assert_eq!(said.matches("error:").count(), 1, "{arguments:?}: {said}");
    for hint in hints {
        assert!(
            said.contains(hint),
            "{arguments:?} should say '{hint}': {said}"
        );
    }
    assert_eq!(output.stdout, "", "{arguments:?}");
    output
}

#[test]
fn impossible_plans() {
    let scratch = Scratch::new();
    for (arguments, hints) in [
        (&["--ops", "0"][..], &["0 ops", "try: --ops 1"][..]),
        (&["--bytes", "0"], &["0 bytes", "--bytes 2"]),
        (&["--bytes", "3"], &["3 bytes", "bf16", "--bytes 2"]),
        (&["--bytes", "2000000G"], &["2000000 GiB", "smaller"][1..]),
        (&["--bytes", "12Q"], &["12Q"]),
        (&["--batch", "0"], &["batch of 0"]),
        (&["--batch", "99999999999999"], &["99999999999999"]),
        (&["--dtype", "fp4"], &["fp4", "bf16"]),
        (&["--model", "gpt-9"], &["gpt-9", "kimi-k2.5"]),
        (&["--bytes", "64", "--batch", "2"], &["--batch"]),
        (&["--precision", "0"], &["'0'"]),
        (&["--budget", "x"], &["'x'"]),
        (&["--mode", "graph"], &["graph", "host memory"]),
        (&["--placement", "in"], &["in-place"]),
        (&["--no-such-flag"], &["--no-such-flag"]),
    ] {
        refused(&scratch, arguments, 2, hints);
    }
    assert!(scratch.files().is_empty(), "{:?}", scratch.files());
}

#[test]
fn more_memory_than_there_is() {
    let scratch = Scratch::new();
    refused(
        &scratch,
        &["--bytes", "1G", "--ops", "100", "--buffers", "cold"],
        3,
        &["do not fit", "fewer --ops"],
    );
    assert!(scratch.files().is_empty(), "{:?}", scratch.files());
}

#[test]
fn broken_model_files() {
    let scratch = Scratch::new();
    let good = include_str!("../configs/models/kimi-k2.5.toml");
    for (name, text, hint) in [
        (
            "missing.toml",
            good.replace("hidden_size = 7168", ""),
            "hidden_size",
        ),
        ("negative.toml", good.replace("= 61", "= -61"), "-61"),
        ("empty.toml", String::new(), "missing field"),
    ] {
        std::fs::write(scratch.0.join(name), text).unwrap();
        refused(&scratch, &["--model", name], 2, &[name, hint, "try:"]);
    }
    refused(&scratch, &["--model", "absent.toml"], 3, &["absent.toml"]);
    assert_eq!(scratch.files().len(), 3);
}

#[test]
fn output_folders_that_cannot_be_used() {
    let scratch = Scratch::new();
    std::fs::write(scratch.0.join("file"), "").unwrap();
    refused(
        &scratch,
        &["--out", "file/below"],
        3,
        &["file/below", "--out DIR"],
    );
    std::fs::create_dir(scratch.0.join("used")).unwrap();
    std::fs::write(scratch.0.join("used/result.json"), "{}").unwrap();
    refused(&scratch, &["--out", "used"], 2, &["already holds a result"]);
    assert_eq!(scratch.files(), ["file", "used/result.json"]);
}

/// Runs `script` as root of a mount namespace of its own; `None` where that is not allowed.
fn in_own_mounts(scratch: &Scratch, script: &str) -> Option<Output> {
    let command = |script: &str| {
        let mut command = std::process::Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script]);
        common::prepare(&mut command, &scratch.0);
        command
    };
    let allowed = run(command("mkdir -p try && mount -t tmpfs tmpfs try"));
    if allowed.code != 0 {
        eprintln!(
            "waived: no mounts of one's own here: {}",
            allowed.stderr.trim()
        );
        return None;
    }
    Some(run(command(script)))
}

#[test]
fn a_full_disk_is_found_before_measuring() {
    let scratch = Scratch::new();
    let script = format!(
        "mkdir full && mount -t tmpfs -o size=64k tmpfs full && \
         mpirun --oversubscribe --bind-to none -np 2 {} allreduce-burst --backend host --out full/o; \
         code=$?; find full -mindepth 1; exit $code",
        common::BINARY
    );
    let Some(output) = in_own_mounts(&scratch, &script) else {
        return;
    };
    let output = output.expect_code(3);
    assert!(
        output.stderr.contains("No space left on device"),
        "{}",
        output.stderr
    );
    assert_eq!(output.stdout, "", "nothing is left in the folder");
}

#[test]
fn a_disk_that_fills_up_later_costs_no_figures_and_leaves_no_half_file() {
    let scratch = Scratch::new();
    // Something else fills the disk while the run samples, up to room for the small files.
    let script = format!(
        "mkdir small && mount -t tmpfs -o size=400k tmpfs small && \
         (while ! test -d small/o; do sleep 0.02; done; sleep 0.3; head -c 360k /dev/zero >small/filler) & \
         sleep 0.1; \
         mpirun --oversubscribe --bind-to none -np 2 {} allreduce-burst --backend host \
           --budget 1.5 --precision 0.0001% --max-samples 60 --ops 2000 --out small/o; \
         code=$?; find small/o -type f | sort; tail -c 2 small/o/result.json; exit $code",
        common::BINARY
    );
    let Some(output) = in_own_mounts(&scratch, &script) else {
        return;
    };
    let output = output.expect_code(3);
    // Which file meets the end of the disk first depends on their sizes.
    let unwritten = output
        .stderr
        .split_once("cannot write ")
        .and_then(|(_, rest)| rest.split_once(": No space left on device"))
        .map(|(path, _)| path)
        .unwrap_or_else(|| panic!("no file is named: {}", output.stderr));
    assert!(unwritten.starts_with("small/o/"), "{}", output.stderr);
    assert!(
        !output.stdout.lines().any(|line| line == unwritten),
        "{unwritten} could not be written and yet lies there: {}",
        output.stdout
    );
    assert!(
        output.stdout.contains("2,000 all-reduces"),
        "the table is printed all the same"
    );
    assert!(output.stdout.contains("small/o/result.json\n"));
    let remedy = if output.stdout.contains("small/o/samples.csv\n") {
        "make room there, then: commbench report small/o"
    } else {
        "make room there, or --out DIR with another folder, and run again"
    };
    assert!(output.stderr.contains(remedy), "{}", output.stderr);
    assert!(!output.stdout.contains(".tmp"), "{}", output.stdout);
    assert!(output.stdout.ends_with("}\n"), "the JSON is whole");
}

#[test]
fn a_report_of_something_else() {
    let scratch = Scratch::new();
    let report = |hint: &str, code: i32| {
        let output = run(common::alone(&scratch.0, &["report", "o"])).expect_code(code);
        assert!(output.stderr.contains(hint), "{hint}: {}", output.stderr);
    };
    report("cannot read", 3);
    std::fs::create_dir(scratch.0.join("o")).unwrap();
    for text in ["", "{", "{}", "[1,2", "{\"schema\": \"other/1\"}"] {
        std::fs::write(scratch.0.join("o/result.json"), text).unwrap();
        report("holds no result of commbench", 2);
    }
}
