//! `alltoall-sweep`, `feasibility` and `replay` as their users run them: on host memory, and on
//! stand-ins for the GPU libraries, whose figures mean nothing.

#![cfg(feature = "mpi")]

mod common;

use common::{Output, Scratch, alone, files, mpirun, run, with_stand_in};
use serde_json::Value;

/// Short sampling; the checks are of everything but times.
const SHORT: [&str; 6] = ["--warmup", "1", "--budget", "0.05", "--timeout", "60"];

fn host(scratch: &Scratch, ranks: u32, arguments: &[&str]) -> Output {
    let all = [arguments, &SHORT, &["--backend", "host", "--out", "o"]].concat();
    run(mpirun(&scratch.0, ranks, &all))
}

fn on_stand_in(scratch: &Scratch, ranks: u32, fault: &str, arguments: &[&str]) -> Output {
    let all = [arguments, &SHORT, &["--out", "o"]].concat();
    let mut command = mpirun(&scratch.0, ranks, &all);
    with_stand_in(&mut command, fault);
    run(command)
}

fn read(scratch: &Scratch, name: &str) -> String {
    std::fs::read_to_string(scratch.0.join("o").join(name)).unwrap()
}

fn results(result: &Value) -> &Vec<Value> {
    result["results"].as_array().unwrap()
}

fn validate(result: &Value) {
    let schema = include_str!("../schema/result.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(result).map(|error| error.to_string());
    assert_eq!(errors.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_sweep_measures_every_point_and_checks_its_data() {
    let scratch = Scratch::new();
    let output = host(&scratch, 4, &["alltoall-sweep", "--tokens", "1,2,16"]).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    validate(&result);
    assert_eq!(result["status"], "complete");
    let of_points: Vec<(u64, u64)> = results(&result)
        .iter()
        .map(|one| {
            assert_eq!(one["verified"], true);
            assert!(one["verification"]["elements"].as_u64().unwrap() > 0);
            assert_eq!(one["plan"]["kind"], "alltoall");
            assert_eq!(one["conditions"]["calls"], "MPI_Alltoall");
            assert!(one["burst_us"]["n"].as_u64().unwrap() >= 10);
            let tokens = one["tokens_per_gpu"].as_u64().unwrap();
            (tokens, one["plan"]["bytes"].as_u64().unwrap())
        })
        .collect();
    // t·H·e of Kimi-K2.5.
    assert_eq!(of_points, [(1, 14_336), (2, 28_672), (16, 229_376)]);
    assert!(result["verdict"]["plans"][0]["knee"].is_object());
    assert_eq!(result["verdict"]["pairs"], Value::Array(Vec::new()));
    for text in [&output.stdout, &read(&scratch, "report.md")] {
        assert!(text.contains("HOST MEMORY"), "{text}");
        assert!(text.contains("µs an op"), "{text}");
    }
    let csv = read(&scratch, "samples.csv");
    assert!(
        csv.contains("all-to-all t=16,eager,out-of-place,0,0,"),
        "{csv}"
    );
}

#[test]
fn routed_payloads_and_datatypes_show_in_bytes_and_calls() {
    let scratch = Scratch::new();
    let arguments = [
        "alltoall-sweep",
        "--tokens",
        "8",
        "--payload",
        "routed",
        "--skew",
        "1.2",
        "--dispatch-dtype",
        "fp8",
        // Both hold every layer: the same tokens.
        "--replay-bytes",
        "64M",
    ];
    let result = host(&scratch, 4, &arguments)
        .expect_code(0)
        .result(&scratch.0.join("o"));
    let [dispatch, combine] = &results(&result)[..] else {
        panic!("dispatch and combine: {result}");
    };
    assert_eq!(dispatch["plan"]["name"], "dispatch t=8");
    assert_eq!(combine["plan"]["name"], "combine t=8");
    // 7,392 B a token out, 14,336 B back, the same tokens.
    let bytes = |one: &Value| one["plan"]["bytes"].as_u64().unwrap() as f64;
    let ratio = bytes(combine) / bytes(dispatch);
    assert!((ratio - 14_336.0 / 7_392.0).abs() < 1e-3, "{ratio}");
    for one in [dispatch, combine] {
        assert_eq!(one["conditions"]["calls"], "MPI_Alltoallv");
        assert_eq!(one["verified"], true);
    }
    let origin = dispatch["plan"]["origin"].as_str().unwrap();
    assert!(
        origin.contains("routed payload (skew 1.2, seed 1)"),
        "{origin}"
    );
}

#[test]
fn feasibility_compares_plans_at_equal_batch_and_answers() {
    let scratch = Scratch::new();
    let arguments = [
        "feasibility",
        "--model",
        "mixtral-8x7b",
        "--tokens",
        "1,4",
        "--tpot-ms",
        "25",
        "--replay-bytes",
        "256K",
    ];
    let output = host(&scratch, 4, &arguments).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    validate(&result);
    let of = |name: &str| -> &Value {
        results(&result)
            .iter()
            .find(|one| one["plan"]["name"] == name)
            .unwrap_or_else(|| panic!("no {name} in {result:#}"))
    };
    // Mixtral: 32 layers, hidden 4096. t = 4 on 4 ranks is a batch of 16: 131,072 B an all-reduce.
    let tp = of("TP t=4");
    assert_eq!(tp["plan"]["bytes"], 131_072);
    assert_eq!(tp["step"]["place"]["ops_per_step"], 64);
    // 256 KiB hold one layer's two all-reduces: scaled, and said so wherever the figure stands.
    assert_eq!(
        (&tp["plan"]["ops"], &tp["step"]["scale"]),
        (&2.into(), &32.0.into())
    );
    let step = tp["step"]["step_us"]["median"].as_f64().unwrap();
    let burst = tp["burst_us"]["median"].as_f64().unwrap();
    assert!((step / burst - 32.0).abs() < 1e-9);
    assert!(output.stdout.contains("×32"), "{}", output.stdout);
    assert!(
        tp["plan"]["origin"]
            .as_str()
            .unwrap()
            .contains("1 of 32 layers, scaled")
    );
    let gather = of("EP all-gather t=4");
    assert_eq!(gather["plan"]["kind"], Value::Null);
    assert_eq!(
        gather["conditions"]["calls"],
        "MPI_Allgather, MPI_Reduce_scatter_block"
    );
    for name in ["EP all-to-all t=1", "dispatch t=4", "combine t=4"] {
        assert_eq!(of(name)["verified"], true);
    }
    let verdict = &result["verdict"];
    assert_eq!(verdict["kind"], "host-memory");
    assert_eq!(verdict["reference"], "TP");
    assert_eq!(verdict["pairs"].as_array().unwrap().len(), 2);
    let share = verdict["plans"][0]["points"][0]["tpot_share"]
        .as_f64()
        .unwrap();
    let ms = verdict["plans"][0]["points"][0]["ms_per_step"]
        .as_f64()
        .unwrap();
    assert!((share - ms / 25.0).abs() < 1e-9);
    assert!(
        output.stdout.contains("On host memory, without GPUs"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("its curve is TP's"),
        "{}",
        output.stdout
    );
    let report = read(&scratch, "report.md");
    assert!(report.contains("Of the given TPOT of 25 ms"), "{report}");
    let picture = read(&scratch, "curve.svg");
    for words in [
        "HOST MEMORY: not GPU figures",
        "communication of one decode step, ms",
        "tokens per GPU, t",
        "TP at batch 1 (t = 0.250)",
        "DP attention + EP, all-gather",
    ] {
        assert!(picture.contains(words), "{words}: {picture}");
    }
    let written = files(&scratch.0.join("o"));
    assert!(written.contains(&"curve.png".to_string()), "{written:?}");
    assert!(!written.contains(&"burst.svg".to_string()), "{written:?}");

    // The same files again from the data alone.
    let before = (read(&scratch, "curve.svg"), read(&scratch, "report.md"));
    std::fs::remove_file(scratch.0.join("o/curve.svg")).unwrap();
    let again = run(alone(&scratch.0, &["report", "o"])).expect_code(0);
    assert!(again.stdout.contains("curve.svg"), "{}", again.stdout);
    assert_eq!(
        (read(&scratch, "curve.svg"), read(&scratch, "report.md")),
        before
    );
}

#[test]
fn models_without_experts_or_with_too_few_keep_their_tp_curve() {
    let scratch = Scratch::new();
    let dense = "name = \"dense\"\nsource = \"made up\"\nlayers = 4\nmoe_layers = 0\nhidden_size = 64\nrouted_experts = 0\nexperts_per_token = 0\nactivation_dtype = \"bf16\"\n";
    std::fs::write(scratch.0.join("dense.toml"), dense).unwrap();
    let arguments = ["feasibility", "--model", "dense.toml", "--tokens", "1,2"];
    let output = host(&scratch, 2, &arguments).expect_code(0);
    assert!(
        output.stdout.contains("dense is dense"),
        "{}",
        output.stdout
    );
    let result = output.result(&scratch.0.join("o"));
    assert_eq!(results(&result).len(), 3);

    let scratch = Scratch::new();
    let arguments = ["feasibility", "--model", "mixtral-8x7b", "--tokens", "1"];
    let output = host(&scratch, 3, &arguments).expect_code(0);
    let why = "8 experts do not spread evenly over 3 ranks";
    assert!(output.stdout.contains(why), "{}", output.stdout);
}

#[test]
fn eight_ranks_sweep_in_every_mode_and_both_ways_on_nccl() {
    let scratch = Scratch::new();
    let arguments = [
        "alltoall-sweep",
        "--tokens",
        "1,8",
        "--impl",
        "native,grouped",
        "--replay-bytes",
        "64K",
    ];
    let output = on_stand_in(&scratch, 8, "", &arguments).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    validate(&result);
    // 2 points × 2 ways × 3 modes.
    assert_eq!(results(&result).len(), 12);
    for one in results(&result) {
        assert_eq!(one["verified"], true, "{}", one["label"]);
        let native = one["label"].as_str().unwrap().contains("native");
        let calls = if native {
            "ncclAlltoAll"
        } else {
            "grouped ncclSend and ncclRecv"
        };
        assert_eq!(one["conditions"]["calls"], calls);
    }
    for name in ["result.json", "report.md"] {
        assert!(read(&scratch, name).contains("NOT A GPU"), "{name}");
    }
}

#[test]
fn feasibility_replays_steps_as_graphs_on_nccl() {
    let scratch = Scratch::new();
    let arguments = [
        "feasibility",
        "--model",
        "mixtral-8x7b",
        "--tokens",
        "1,2",
        "--skew",
        "1",
        "--replay-bytes",
        "256K",
    ];
    let output = on_stand_in(&scratch, 4, "", &arguments).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    // Five curves at two points, and the batch-1 burst.
    assert_eq!(results(&result).len(), 11);
    for one in results(&result) {
        assert_eq!(
            (&one["mode"], &one["verified"]),
            (&"graph".into(), &true.into())
        );
    }
    let uneven = results(&result)
        .iter()
        .find(|one| one["plan"]["name"] == "dispatch t=2")
        .unwrap();
    assert_eq!(
        uneven["conditions"]["calls"],
        "grouped ncclSend and ncclRecv, uneven"
    );
}

#[test]
fn wrong_data_of_one_point_fails_the_run_and_is_placed() {
    let scratch = Scratch::new();
    let arguments = [
        "alltoall-sweep",
        "--tokens",
        "1,2",
        "--mode",
        "eager",
        "--replay-bytes",
        "64K",
    ];
    // 4 ops of the first point: 4 step by step, 4 warming up, then the replay that is checked.
    let output = on_stand_in(&scratch, 2, "corrupt:op@1#10", &arguments).expect_code(4);
    let result = output.result(&scratch.0.join("o"));
    assert_eq!(result["status"], "failed");
    assert_eq!(result["verdict"], Value::Null, "no verdict on wrong data");
    let verified: Vec<&Value> = results(&result)
        .iter()
        .map(|one| &one["verified"])
        .collect();
    assert_eq!(verified, [&Value::Bool(false), &Value::Bool(true)]);
    assert!(
        output.stdout.contains("WRONG DATA in all-to-all t=1"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_hang_in_the_middle_of_a_sweep_names_the_point_and_keeps_the_others() {
    let scratch = Scratch::new();
    let arguments = [
        "alltoall-sweep",
        "--tokens",
        "1,2",
        "--mode",
        "eager",
        "--replay-bytes",
        "64K",
        "--timeout",
        "6",
    ];
    let all = [
        &arguments[..],
        &["--warmup", "1", "--budget", "0.3", "--out", "o"],
    ]
    .concat();
    let mut command = mpirun(&scratch.0, 2, &all);
    with_stand_in(&mut command, "hang:op@1#200");
    let output = run(command).expect_code(5);
    assert!(output.stderr.contains("all-to-all t="), "{}", output.stderr);
    let result = output.result(&scratch.0.join("o"));
    assert_eq!(result["status"], "partial");
    assert_eq!(results(&result).len(), 2);
}

#[test]
fn a_saved_plan_replays_what_the_step_sends() {
    let scratch = Scratch::new();
    let save = |parallel: &str, batch: &str| {
        let arguments = [
            "plan",
            "--model",
            "mixtral-8x7b",
            "--batch",
            batch,
            "--ranks",
            "4",
            "--save",
            "p.toml",
            "--parallel",
            parallel,
        ];
        run(alone(&scratch.0, &arguments)).expect_code(0)
    };
    for (parallel, batch, ops, kind) in [
        ("tp", "1", 64, "allreduce"),
        ("ep-all-to-all", "8", 64, "alltoall"),
        ("ep-all-gather", "8", 64, ""),
    ] {
        let said = save(parallel, batch).stdout;
        assert!(
            said.contains("mpirun -np 4 commbench replay p.toml"),
            "{said}"
        );
        let _ = std::fs::remove_dir_all(scratch.0.join("o"));
        let output = host(&scratch, 4, &["replay", "p.toml"]).expect_code(0);
        let result = output.result(&scratch.0.join("o"));
        validate(&result);
        let plan = &results(&result)[0]["plan"];
        assert_eq!(plan["ops"], ops, "{parallel}");
        assert_eq!(plan["kind"].as_str().unwrap_or(""), kind, "{parallel}");
        assert_eq!(result["model"], Value::Null);
        assert!(files(&scratch.0.join("o")).contains(&"burst.svg".to_string()));
    }
}

#[test]
fn gaps_lengthen_a_replay_by_their_sum() {
    let scratch = Scratch::new();
    let plan = |gap: u32| {
        format!(
            "schema = \"commbench/plan/1\"\nname = \"gaps\"\n[[block]]\nrepeat = 20\n[[block.op]]\nkind = \"allreduce\"\nbytes = \"1K\"\ndtype = \"fp32\"\ngap_us = {gap}.0\n"
        )
    };
    std::fs::write(scratch.0.join("p.toml"), plan(5_000)).unwrap();
    let output = host(&scratch, 2, &["replay", "p.toml"]).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    let least = results(&result)[0]["burst_us"]["min"].as_f64().unwrap();
    assert!(least >= 100_000.0, "{least}: 20 gaps of 5 ms");
    assert_eq!(results(&result)[0]["plan"]["gap_us"], 5_000.0);
    let note = "the times hold the plan's own gaps, 100 ms in all and 5.00 ms before an op";
    assert!(output.stdout.contains(note), "{}", output.stdout);

    // On a GPU a kernel makes them, in every mode.
    let _ = std::fs::remove_dir_all(scratch.0.join("o"));
    let output = on_stand_in(&scratch, 2, "", &["replay", "p.toml"]).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    assert_eq!(results(&result).len(), 3);
    for one in results(&result) {
        let least = one["burst_us"]["min"].as_f64().unwrap();
        assert!(least >= 100_000.0, "{}: {least}", one["label"]);
        assert_eq!(one["verified"], true);
    }
}

#[test]
fn a_full_step_is_verified_with_its_logits() {
    let scratch = Scratch::new();
    let arguments = ["allreduce-burst", "--model", "mixtral-8x7b", "--full-step"];
    let output = host(&scratch, 4, &arguments).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    let one = &results(&result)[0];
    assert_eq!(
        (&one["plan"]["ops"], &one["verified"]),
        (&66.into(), &true.into())
    );
    // 32,000 entries over 4 ranks, bf16.
    let title = "65 all-reduces of 8,192 B bf16, 1 all-gather of 16,000 B bf16, 4 ranks";
    assert!(output.stdout.contains(title), "{}", output.stdout);
    let output = host(
        &scratch,
        2,
        &["allreduce-burst", "--model", "glm-4.5", "--full-step"],
    );
    assert_eq!(output.code, 2, "{output:#?}");
    assert!(
        output.stderr.contains("vocabulary size of glm-4.5"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_burst_with_gaps_is_longer_by_them_and_says_so() {
    let scratch = Scratch::new();
    let arguments = [
        "allreduce-burst",
        "--ops",
        "10",
        "--gap-us",
        "3000",
        "--gap-jitter-us",
        "500",
    ];
    let output = host(&scratch, 2, &arguments).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    let one = &results(&result)[0];
    let least = one["burst_us"]["min"].as_f64().unwrap();
    assert!(least >= 30_000.0, "{least}");
    let gap = one["plan"]["gap_us"].as_f64().unwrap();
    assert!((3_000.0..3_500.0).contains(&gap), "{gap}");
    let origin = one["plan"]["origin"].as_str().unwrap();
    assert!(origin.contains("apart on every rank (seed 1)"), "{origin}");
    assert!(
        output.stdout.contains("the times hold"),
        "{}",
        output.stdout
    );
    let output = host(&scratch, 2, &["allreduce-burst", "--gap-us=-1"]);
    assert_eq!(output.code, 2);
    assert!(
        output.stderr.contains("'-1' is not 0 to"),
        "{}",
        output.stderr
    );
}

#[test]
fn each_op_of_a_plan_gets_its_time_and_a_slow_one_is_named() {
    let scratch = Scratch::new();
    // The third op waits for 30 ms of compute: what it adds is that much more, by far more than a
    // neighbour on these processors takes away.
    let plan = "schema = \"commbench/plan/1\"\nname = \"one slow op\"\n[[block]]\n[[block.op]]\nkind = \"allreduce\"\nbytes = 64\ndtype = \"fp32\"\n[[block.op]]\nkind = \"allgather\"\nbytes = 64\ndtype = \"fp32\"\n[[block.op]]\nkind = \"alltoall\"\nbytes = 64\ndtype = \"fp32\"\ngap_us = 30000.0\n[[block.op]]\nkind = \"reducescatter\"\nbytes = 64\ndtype = \"fp32\"\n";
    std::fs::write(scratch.0.join("p.toml"), plan).unwrap();
    for gpus in [false, true] {
        let _ = std::fs::remove_dir_all(scratch.0.join("o"));
        let arguments = ["replay", "p.toml", "--per-op"];
        let output = if gpus {
            on_stand_in(&scratch, 2, "", &arguments)
        } else {
            host(&scratch, 2, &arguments)
        };
        let result = output.expect_code(0).result(&scratch.0.join("o"));
        validate(&result);
        assert_eq!(results(&result).len(), if gpus { 3 } else { 1 });
        // Beginnings are replayed in one mode, the one that engines decode in.
        let found = results(&result)
            .iter()
            .find(|one| one["per_op"].is_object())
            .unwrap();
        assert_eq!(found["mode"], if gpus { "graph" } else { "eager" });
        let ops = found["per_op"]["ops"].as_array().unwrap();
        assert_eq!(ops.len(), 4);
        let us: Vec<f64> = ops.iter().map(|op| op["us"].as_f64().unwrap()).collect();
        let total = found["burst_us"]["median"].as_f64().unwrap();
        assert!(
            (us.iter().sum::<f64>() / total - 1.0).abs() < 1e-6,
            "{us:?} make {total}"
        );
        assert!(us[2] > 25_000.0 && us[2] < 60_000.0, "{us:?}");
        assert!(us[3] < us[2] / 2.0, "{us:?}");
        let report = read(&scratch, "report.md");
        assert!(
            report.contains("## Ops") && report.contains("| op 2 |"),
            "{report}"
        );
        let csv = read(&scratch, "samples.csv");
        assert!(
            csv.contains("\nfirst 3,"),
            "the samples of beginnings are kept"
        );
        // What is made of the data again is the same.
        run(alone(&scratch.0, &["report", "o"])).expect_code(0);
        assert_eq!(read(&scratch, "report.md"), report);
    }
}

#[test]
fn bad_input_is_refused_with_the_value_and_a_remedy() {
    let scratch = Scratch::new();
    std::fs::write(
        scratch.0.join("bad.toml"),
        "schema = \"commbench/plan/1\"\nname = \"x\"\nblock = []\n",
    )
    .unwrap();
    let uneven = "schema = \"commbench/plan/1\"\nname = \"x\"\n[[block]]\n[[block.op]]\nkind = \"alltoall\"\nbytes = 6\ndtype = \"bf16\"\n";
    std::fs::write(scratch.0.join("uneven.toml"), uneven).unwrap();
    let sweep = |more: &[&'static str]| [&["alltoall-sweep"][..], more].concat();
    let cases: Vec<(Vec<&str>, u32, i32, &str)> = vec![
        (sweep(&["--tokens", "0"]), 2, 2, "0 tokens"),
        (sweep(&["--tokens", "8..2"]), 2, 2, "ends before"),
        (
            sweep(&["--skew", "9", "--payload", "routed"]),
            2,
            2,
            "skew of 9",
        ),
        (
            sweep(&["--skew", "nan", "--payload", "routed"]),
            2,
            2,
            "NaN",
        ),
        (sweep(&["--model", "mixtral-8x7b"]), 3, 2, "8 experts"),
        (sweep(&["--tokens", "16000000"]), 2, 2, "MPI counts"),
        (
            sweep(&["--impl", "grouped", "--mode", "eager"]),
            2,
            2,
            "no groups",
        ),
        (sweep(&[]), 1, 2, "1 rank alone"),
        (
            vec![
                "feasibility",
                "--tpot-ms",
                "0",
                "--tokens",
                "1",
                "--model",
                "mixtral-8x7b",
            ],
            2,
            2,
            "0 ms",
        ),
        (
            vec!["feasibility", "--mode", "graph", "--tokens", "1"],
            2,
            2,
            "no stream",
        ),
        (vec!["replay", "none.toml"], 2, 3, "none.toml"),
        (vec!["replay", "bad.toml"], 2, 2, "no ops"),
        (
            vec!["replay", "uneven.toml"],
            2,
            2,
            "op 0: an all-to-all of 6 bytes",
        ),
    ];
    for (arguments, ranks, code, hint) in cases {
        let all = [&arguments[..], &["--backend", "host"]].concat();
        let output = run(mpirun(&scratch.0, ranks, &all));
        assert_eq!(output.code, code, "{arguments:?}: {output:#?}");
        let said = &output.stderr;
        assert!(
            said.contains(hint),
            "{arguments:?} should say '{hint}': {said}"
        );
        let once = said.matches("error:").count();
        assert_eq!(once, 1, "one voice: {said}");
    }
    assert!(
        !scratch.0.join("out").exists(),
        "nothing measured, nothing left"
    );
}
