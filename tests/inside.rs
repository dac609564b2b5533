//! What a plan looks like inside, as users ask for it: late ranks, compute between ops. On host
//! memory and on stand-ins for the GPU libraries, whose figures mean nothing but for the delays
//! that are put into them.

#![cfg(feature = "mpi")]

mod common;

use common::{Output, Scratch, alone, files, mpirun, run, with_stand_in};
use serde_json::Value;

const SHORT: [&str; 6] = ["--warmup", "1", "--budget", "0.5", "--timeout", "60"];

fn burst(scratch: &Scratch, ranks: u32, gpus: bool, arguments: &[&str]) -> Output {
    let _ = std::fs::remove_dir_all(scratch.0.join("o"));
    let all = [&["allreduce-burst"], arguments, &SHORT, &["--out", "o"]].concat();
    let backend: &[&str] = if gpus { &[] } else { &["--backend", "host"] };
    let mut command = mpirun(&scratch.0, ranks, &[&all, backend].concat());
    if gpus {
        with_stand_in(&mut command, "");
    }
    run(command)
}

fn read(scratch: &Scratch, name: &str) -> String {
    std::fs::read_to_string(scratch.0.join("o").join(name)).unwrap()
}

fn validate(result: &Value) {
    let schema = include_str!("../schema/result.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(result).map(|error| error.to_string());
    assert_eq!(errors.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_late_rank_is_named_and_its_delay_recovered_within_a_tenth() {
    let scratch = Scratch::new();
    for (gpus, clock) in [(false, "host-monotonic"), (true, "globaltimer")] {
        let arguments = [
            "--ops",
            "4",
            "--bytes",
            "1K",
            "--gap-us",
            "100",
            // Far more than a processor that is busy with other things takes away.
            "--late-rank",
            "1:60000",
            "--arrivals",
            "--max-samples",
            "8",
            "--mode",
            if gpus { "eager,graph" } else { "eager" },
        ];
        let output = burst(&scratch, 2, gpus, &arguments).expect_code(0);
        let result = output.result(&scratch.0.join("o"));
        validate(&result);
        let all = result["results"].as_array().unwrap();
        assert_eq!(all.len(), if gpus { 2 } else { 1 });
        for one in all {
            let found = &one["arrivals"];
            assert_eq!(found["withheld"], Value::Null, "{found}");
            assert_eq!(found["late_rank"], 1, "{found}");
            assert_eq!(found["clock"], clock);
            let ranks = found["ranks"].as_array().unwrap();
            let late = ranks[1]["late_us"]["median"].as_f64().unwrap();
            assert!((late / 60_000.0 - 1.0).abs() < 0.1, "{late} µs");
            assert!(ranks[1]["last_share"].as_f64().unwrap() > 0.9);
            // The other one waits that long at each op.
            let waiting = ranks[0]["waiting_us"]["median"].as_f64().unwrap();
            assert!((waiting / 240_000.0 - 1.0).abs() < 0.1, "{waiting} µs");
            assert_eq!(found["ops"].as_array().unwrap().len(), 4);
            // Ranks that read clocks of their own say how far these agree.
            assert_eq!(found["clock_error_us"].as_f64().unwrap() > 0.0, gpus);
            assert!(found["perturbation"].as_f64().unwrap() < 1.1);
            let left = one["without_gaps_us"]["median"].as_f64().unwrap();
            let burst = one["burst_us"]["median"].as_f64().unwrap();
            assert!((left - (burst / 4.0 - 60_100.0)).abs() < 1.0, "{left}");
        }
        assert!(
            output.stdout.contains("rank 1 is late: ready"),
            "{}",
            output.stdout
        );
        let report = read(&scratch, "report.md");
        assert!(report.contains("## Arrivals, eager"), "{report}");
        assert!(
            report.contains("| rank 0 waits | rank 1 waits |"),
            "{report}"
        );
        assert!(read(&scratch, "report.html").contains("Waiting of each rank at each op"));
        let csv = read(&scratch, "samples.csv");
        assert!(csv.contains("\nstamped,eager,"), "stamped samples are kept");
        // What is made of the data again is the same.
        run(alone(&scratch.0, &["report", "o"])).expect_code(0);
        assert_eq!(read(&scratch, "report.md"), report);
    }
}

#[test]
fn a_list_of_gaps_tells_what_an_op_adds_to_the_compute() {
    let scratch = Scratch::new();
    let arguments = ["--ops", "10", "--bytes", "1K", "--gap-us", "2000,0,500,0"];
    let output = burst(&scratch, 2, false, &arguments).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    validate(&result);
    let all = result["results"].as_array().unwrap();
    let gaps: Vec<f64> = all
        .iter()
        .map(|one| one["plan"]["gap_us"].as_f64().unwrap())
        .collect();
    assert_eq!(gaps, [0.0, 500.0, 2_000.0], "each once, in order");
    for (one, gap) in all.iter().zip(gaps) {
        let name = format!("gap {gap} µs");
        assert_eq!(one["plan"]["name"], name.as_str());
        let burst = one["burst_us"]["median"].as_f64().unwrap();
        assert!(burst >= 10.0 * gap, "{burst} with {gap}");
        let left = one["without_gaps_us"]["median"].as_f64();
        assert_eq!(left.is_some(), gap > 0.0);
        if let Some(left) = left {
            assert!((left - (burst / 10.0 - gap)).abs() < 1e-6);
        }
    }
    assert!(
        output.stdout.contains("gap 500 µs, eager"),
        "{}",
        output.stdout
    );
    assert!(
        output
            .stdout
            .contains("What an op adds to the compute before it"),
        "{}",
        output.stdout
    );
    let names = files(&scratch.0.join("o"));
    for name in ["gaps.svg", "gaps.png"] {
        assert!(names.contains(&name.to_string()), "{names:?}");
    }
    assert!(read(&scratch, "gaps.svg").contains("compute before each op"));
}

#[test]
fn wishes_that_make_no_sense_are_refused_with_the_value() {
    let scratch = Scratch::new();
    for (arguments, hint) in [
        (&["--late-rank", "2:50"][..], "there are ranks 0 to 1"),
        (&["--late-rank", "1"], "3:50 is rank 3, 50 µs"),
        (&["--late-rank", "1:-5"], "is not 0 to"),
        (&["--gap-us", "1,x"], "'x' is not 0 to"),
        (
            &["--gap-us", "1,2", "--per-op"],
            "--per-op looks at one gap",
        ),
    ] {
        let output = burst(&scratch, 2, false, arguments).expect_code(2);
        assert!(output.stderr.contains(hint), "{hint}: {}", output.stderr);
        assert!(!scratch.0.join("o/result.json").exists());
    }
}

/// Two hosts whose clocks have nothing in common, as far as one machine can be both.
#[cfg(feature = "fault-injection")]
#[test]
fn a_late_rank_on_another_host_is_named_by_clocks_that_were_put_together() {
    let scratch = Scratch::new();
    let arguments = [
        "allreduce-burst",
        "--backend",
        "host",
        "--ops",
        "4",
        "--bytes",
        "1K",
        "--gap-us",
        "100",
        "--late-rank",
        "1:60000",
        "--arrivals",
        "--max-samples",
        "8",
        "--out",
        "o",
    ];
    let mut command = mpirun(&scratch.0, 2, &arguments);
    command.env("COMMBENCH_FAULT", "apart:1");
    let output = run(command).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    validate(&result);
    assert_eq!(result["machine"]["hosts"].as_array().unwrap().len(), 2);
    let one = &result["results"][0];
    // Starts of samples are not compared across hosts, stamps are.
    assert_eq!(one["last_to_arrive"], Value::Null);
    let found = &one["arrivals"];
    assert_eq!(found["late_rank"], 1, "{found}");
    let late = found["ranks"][1]["late_us"]["median"].as_f64().unwrap();
    assert!((late / 60_000.0 - 1.0).abs() < 0.1, "{late} µs");
    let error = found["clock_error_us"].as_f64().unwrap();
    assert!(error > 0.0 && error < 5_000.0, "{error} µs");
    assert!(
        output.stdout.contains("clocks of two ranks agree to"),
        "{}",
        output.stdout
    );
}
