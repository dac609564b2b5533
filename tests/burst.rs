//! `allreduce-burst` as its users run it.

#![cfg(feature = "mpi")]

mod common;

use common::{Scratch, alone, files, mpirun, run};
use serde_json::Value;

const FILES: [&str; 6] = [
    "burst.png",
    "burst.svg",
    "report.html",
    "report.md",
    "result.json",
    "samples.csv",
];

fn quick(arguments: &[&'static str]) -> Vec<&'static str> {
    let mut all = vec![
        "allreduce-burst",
        "--backend",
        "host",
        "--budget",
        "0.3",
        "--warmup",
        "2",
    ];
    all.extend_from_slice(arguments);
    all
}

fn validate(result: &Value) {
    let schema = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/schema/result.schema.json"
    ))
    .unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(result)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_main_job_runs_with_any_number_of_ranks() {
    for ranks in [2u32, 3, 8] {
        let scratch = Scratch::new();
        let output = run(mpirun(&scratch.0, ranks, &quick(&["--out", "o"]))).expect_code(0);
        let folder = scratch.0.join("o");
        assert_eq!(files(&folder), FILES);
        let result = output.result(&folder);
        validate(&result);
        assert_eq!(result["status"], "complete");
        assert_eq!(result["backend"], "mpi-host");
        assert_eq!(result["ranks"], ranks);
        assert_eq!(result["failure"], Value::Null);
        assert_eq!(result["model"]["layers"], 61);
        let one = &result["results"][0];
        assert_eq!(one["plan"]["ops"], 122);
        assert_eq!(one["plan"]["bytes"], 14_336);
        assert_eq!(one["plan"]["dtype"], "bf16");
        assert_eq!(one["verified"], true);
        assert_eq!(one["per_rank_us"].as_array().unwrap().len(), ranks as usize);
        // 7,168 elements of each distinct buffer, on every rank, before and after.
        let slots = one["conditions"]["buffer_slots"].as_u64().unwrap();
        assert_eq!(
            one["verification"]["elements"],
            2 * slots * 7168 * u64::from(ranks)
        );

        // The figures are those of the samples.
        let csv = std::fs::read_to_string(folder.join("samples.csv")).unwrap();
        let n = one["burst_us"]["n"].as_u64().unwrap();
        assert_eq!(csv.lines().count() as u64, 1 + n * u64::from(ranks));
        let slowest = slowest_by_sample(&csv);
        let max = slowest.iter().copied().fold(0.0, f64::max);
        assert!((one["burst_us"]["max"].as_f64().unwrap() - max).abs() < 0.001);
        let median = one["burst_us"]["median"].as_f64().unwrap();
        let per_op = one["per_op_us"]["median"].as_f64().unwrap();
        assert!((median / 122.0 - per_op).abs() < 1e-6);
        let bandwidth = one["algbw_gb_per_s"].as_f64().unwrap();
        assert!((14_336.0 / per_op / 1e3 / bandwidth - 1.0).abs() < 1e-9);

        // What the user reads.
        assert!(output.stdout.contains("122 all-reduces of 14,336 B bf16"));
        assert!(output.stdout.contains("These are not GPU figures"));
        assert!(output.stderr.contains("measuring HOST MEMORY"));
        let report = std::fs::read_to_string(folder.join("report.md")).unwrap();
        assert!(report.contains("HOST MEMORY"));
        for name in ["report.html", "burst.svg"] {
            let text = std::fs::read_to_string(folder.join(name)).unwrap();
            assert!(text.contains("HOST MEMORY"), "{name}");
        }
    }
}

fn slowest_by_sample(csv: &str) -> Vec<f64> {
    let mut slowest: Vec<f64> = Vec::new();
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let sample: usize = fields[3].parse().unwrap();
        let us: f64 = fields[5].parse().unwrap();
        if sample == slowest.len() {
            slowest.push(us);
        }
        slowest[sample] = slowest[sample].max(us);
    }
    slowest
}

#[test]
fn without_an_asked_folder_each_run_gets_its_own_below_out() {
    let scratch = Scratch::new();
    for _ in 0..2 {
        run(mpirun(&scratch.0, 2, &quick(&["--ops", "3"]))).expect_code(0);
    }
    let names = scratch.files();
    assert_eq!(names.len(), 2 * FILES.len(), "{names:?}");
    assert!(
        names
            .iter()
            .all(|name| { name.starts_with("out/2") && name.contains("Z-allreduce-burst") })
    );
}

#[test]
fn what_the_user_says_of_the_plan_is_what_runs() {
    let scratch = Scratch::new();
    for dtype in ["bf16", "fp16", "fp32", "double", "int8", "int32"] {
        let arguments = [
            "--out", dtype, "--ops", "5", "--bytes", "4K", "--dtype", dtype,
        ];
        let output = run(mpirun(&scratch.0, 3, &quick(&arguments))).expect_code(0);
        let result = output.result(&scratch.0.join(dtype));
        let plan = &result["results"][0]["plan"];
        assert_eq!(
            (plan["ops"].as_u64(), plan["bytes"].as_u64()),
            (Some(5), Some(4096))
        );
        assert_eq!(result["results"][0]["verified"], true, "{dtype}");
    }
    let arguments = [
        "--out",
        "batch",
        "--batch",
        "4",
        "--buffers",
        "cold",
        "--ops",
        "2",
    ];
    let output = run(mpirun(&scratch.0, 2, &quick(&arguments))).expect_code(0);
    let one = output.result(&scratch.0.join("batch"))["results"][0].clone();
    assert_eq!(one["plan"]["bytes"], 4 * 14_336);
    assert_eq!(one["conditions"]["buffers"], "cold");
}

#[test]
fn a_model_file_takes_the_place_of_a_preset() {
    let scratch = Scratch::new();
    std::fs::write(
        scratch.0.join("tiny.toml"),
        "name = \"tiny\"\nsource = \"made up\"\nlayers = 2\nmoe_layers = 0\nhidden_size = 8\n\
         routed_experts = 0\nexperts_per_token = 0\nactivation_dtype = \"fp32\"\n",
    )
    .unwrap();
    let arguments = quick(&["--model", "tiny.toml", "--out", "o"]);
    let output = run(mpirun(&scratch.0, 2, &arguments)).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    assert_eq!(result["model"]["name"], "tiny");
    assert_eq!(result["results"][0]["plan"]["ops"], 4);
    assert_eq!(result["results"][0]["plan"]["bytes"], 32);
}

#[test]
fn json_to_standard_output_is_nothing_but_json() {
    let scratch = Scratch::new();
    let arguments = quick(&["--ops", "3", "--json", "-", "--out", "o"]);
    let output = run(mpirun(&scratch.0, 2, &arguments)).expect_code(0);
    let printed: Value = serde_json::from_str(&output.stdout).expect("only JSON");
    validate(&printed);
    assert_eq!(
        printed["results"],
        output.result(&scratch.0.join("o"))["results"]
    );
}

#[test]
fn a_pipe_gets_no_progress_and_no_colour() {
    let scratch = Scratch::new();
    let output = run(mpirun(&scratch.0, 2, &quick(&["--ops", "3"]))).expect_code(0);
    for text in [&output.stdout, &output.stderr] {
        assert!(!text.contains('\x1b') && !text.contains('\r'), "{text}");
        assert!(!text.contains("sampling"), "{text}");
    }
}

/// Runs mpirun on a pseudo-terminal, as `script` makes one.
fn on_a_terminal(scratch: &Scratch, environment: &[(&str, &str)]) -> String {
    let line = format!(
        "mpirun --oversubscribe --bind-to none -np 2 {} allreduce-burst --backend host --ops 3 --budget 0.5 --precision 0.0001%",
        common::BINARY
    );
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &line, "/dev/null"]);
    common::prepare(&mut command, &scratch.0);
    command.envs(environment.iter().copied());
    run(command).expect_code(0).stdout
}

#[test]
fn a_terminal_gets_progress_and_colour() {
    let scratch = Scratch::new();
    let seen = on_a_terminal(&scratch, &[]);
    assert!(seen.contains("sampling eager out-of-place: n = "), "{seen}");
    assert!(seen.contains("\x1b[1m3 all-reduces"), "{seen}");
    let plain = on_a_terminal(&scratch, &[("NO_COLOR", "1")]);
    assert!(plain.contains("3 all-reduces"));
    assert!(!plain.contains("\x1b[1m"), "{plain}");
}

#[test]
fn one_rank_is_told_how_to_launch_eight() {
    let scratch = Scratch::new();
    for command in [
        alone(&scratch.0, &["allreduce-burst"]),
        mpirun(&scratch.0, 1, &["allreduce-burst"]),
    ] {
        let output = run(command).expect_code(2);
        assert!(
            output
                .stderr
                .contains("mpirun -np 8 commbench allreduce-burst")
        );
    }
    assert!(scratch.files().is_empty());
}

#[test]
fn nccl_without_a_gpu_says_what_is_missing() {
    if std::path::Path::new("/dev/nvidia0").exists() {
        eprintln!("waived: this machine has a GPU");
        return;
    }
    let scratch = Scratch::new();
    let arguments = ["allreduce-burst", "--backend", "nccl"];
    let output = run(mpirun(&scratch.0, 2, &arguments)).expect_code(3);
    assert_eq!(output.stderr.matches("commbench: error").count(), 1);
    assert!(
        output.stderr.contains("no rank sees a GPU"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("--backend host"),
        "{}",
        output.stderr
    );
    assert!(scratch.files().is_empty());

    let auto = run(mpirun(&scratch.0, 2, &["allreduce-burst", "--ops", "2"])).expect_code(0);
    assert!(auto.stderr.contains("measuring HOST MEMORY"));
    assert!(
        auto.stdout
            .contains("not measured: gated out-of-place, graph out-of-place")
    );
}

#[test]
fn secrets_in_the_environment_stay_there() {
    let scratch = Scratch::new();
    let mut command = mpirun(&scratch.0, 2, &quick(&["--ops", "2", "--out", "o"]));
    command
        .env("AWS_SECRET_ACCESS_KEY", "planted-secret")
        .env("NCCL_PROTO", "LL")
        .env("NCCL_API_KEY", "planted-secret");
    run(command).expect_code(0);
    let mut saw_the_setting = false;
    for name in FILES {
        let bytes = std::fs::read(scratch.0.join("o").join(name)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("planted-secret"), "{name}");
        saw_the_setting |= text.contains("NCCL_PROTO");
    }
    assert!(saw_the_setting);
}

#[test]
fn a_report_is_made_again_from_its_data() {
    let scratch = Scratch::new();
    run(mpirun(&scratch.0, 2, &quick(&["--ops", "3", "--out", "o"]))).expect_code(0);
    let folder = scratch.0.join("o");
    let before = std::fs::read_to_string(folder.join("report.md")).unwrap();
    let written = |name: &str| {
        std::fs::metadata(folder.join(name))
            .unwrap()
            .modified()
            .unwrap()
    };
    let data = [written("result.json"), written("samples.csv")];
    for name in ["report.md", "report.html", "burst.svg", "burst.png"] {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    let output = run(alone(&scratch.0, &["report", "o"])).expect_code(0);
    assert!(output.stdout.contains("3 all-reduces"));
    assert_eq!(files(&folder), FILES);
    assert_eq!([written("result.json"), written("samples.csv")], data);
    assert_eq!(
        std::fs::read_to_string(folder.join("report.md")).unwrap(),
        before
    );
}

#[test]
fn models_are_listed_once_under_a_launcher() {
    let scratch = Scratch::new();
    for command in [
        alone(&scratch.0, &["models"]),
        mpirun(&scratch.0, 3, &["models"]),
    ] {
        let output = run(command).expect_code(0);
        assert_eq!(
            output.stdout.matches("kimi-k2.5").count(),
            1,
            "{}",
            output.stdout
        );
    }
}
