//! `sweep` as nccl-tests users run it: on host memory, and on stand-ins for the GPU libraries,
//! whose figures mean nothing.

#![cfg(feature = "mpi")]

mod common;

use common::{Output, Scratch, mpirun, run, with_stand_in};
use serde_json::Value;

const OPS: [&str; 7] = [
    "allreduce",
    "allgather",
    "reducescatter",
    "alltoall",
    "sendrecv",
    "broadcast",
    "reduce",
];

const SHORT: [&str; 10] = [
    "-n",
    "4",
    "--warmup",
    "1",
    "--budget",
    "0.02",
    "--out",
    "o",
    "--timeout",
    "60",
];

fn sweep(scratch: &Scratch, ranks: u32, gpus: bool, arguments: &[&str]) -> Output {
    let backend: &[&str] = if gpus { &[] } else { &["--backend", "host"] };
    let all = [&["sweep"], arguments, &SHORT, backend].concat();
    let mut command = mpirun(&scratch.0, ranks, &all);
    if gpus {
        with_stand_in(&mut command, "");
    }
    run(command)
}

fn results(result: &Value) -> &Vec<Value> {
    result["results"].as_array().unwrap()
}

#[test]
fn every_op_is_verified_on_host_memory_and_on_nccl() {
    for gpus in [false, true] {
        for op in OPS {
            let scratch = Scratch::new();
            // 12 and 3,000 bytes do not split among 3 ranks in whole elements of every op.
            let arguments = [
                "--op", op, "-b", "12", "-e", "3000", "-i", "1494", "-d", "fp32",
            ];
            let output = sweep(&scratch, 3, gpus, &arguments).expect_code(0);
            let result = output.result(&scratch.0.join("o"));
            let modes = if gpus { 3 } else { 1 };
            assert_eq!(results(&result).len(), 3 * modes, "{op}");
            for one in results(&result) {
                assert_eq!(one["verified"], true, "{op}: {}", one["label"]);
                assert!(
                    one["verification"]["elements"].as_u64().unwrap() > 0,
                    "{op}"
                );
                assert!(one["plan"]["name"].as_str().unwrap().starts_with(op));
                assert_eq!(one["plan"]["ops"], 4);
            }
        }
    }
}

#[test]
fn bandwidths_are_those_of_nccl_tests() {
    let scratch = Scratch::new();
    for (op, factor) in [
        ("allreduce", 2.0 * 3.0 / 4.0),
        ("allgather", 3.0 / 4.0),
        ("reducescatter", 3.0 / 4.0),
        ("alltoall", 3.0 / 4.0),
        ("sendrecv", 1.0),
        ("broadcast", 1.0),
        ("reduce", 1.0),
    ] {
        let _ = std::fs::remove_dir_all(scratch.0.join("o"));
        let output = sweep(&scratch, 4, false, &["--op", op, "-b", "64K", "-e", "64K"]);
        let result = output.expect_code(0).result(&scratch.0.join("o"));
        let one = &results(&result)[0];
        let per_op_us = one["per_op_us"]["median"].as_f64().unwrap();
        let algbw = one["algbw_gb_per_s"].as_f64().unwrap();
        let busbw = one["busbw_gb_per_s"].as_f64().unwrap();
        assert!(
            (algbw / (65_536.0 / per_op_us / 1e3) - 1.0).abs() < 1e-9,
            "{op}"
        );
        assert!((busbw / algbw / factor - 1.0).abs() < 1e-9, "{op}");
    }
}

#[test]
fn a_wrong_element_of_any_op_is_found() {
    for op in OPS {
        let scratch = Scratch::new();
        let arguments = [
            &[
                "sweep", "--op", op, "-b", "4K", "-e", "4K", "--mode", "eager",
            ],
            &SHORT[..],
        ]
        .concat();
        let mut command = mpirun(&scratch.0, 2, &arguments);
        // 4 ops step by step, 4 warming up, then those that are checked. Only rank 0 has output
        // in all of them.
        with_stand_in(&mut command, "corrupt:op@0#11");
        let output = run(command).expect_code(4);
        let result = output.result(&scratch.0.join("o"));
        let first = &results(&result)[0]["verification"]["first_wrong"];
        assert_eq!(
            (&first["rank"], &first["op"]),
            (&0.into(), &2.into()),
            "{op}"
        );
    }
}

#[test]
fn what_makes_no_sweep_is_refused() {
    let scratch = Scratch::new();
    for (arguments, hint) in [
        (vec!["-b", "0"], "from 0"),
        (vec!["-b", "1M", "-e", "1K"], "from 1048576 to 1024"),
        (vec!["-f", "1"], "step of 1"),
        (vec!["-n", "0"], "0 calls"),
        (vec!["-i", "1", "-e", "1M"], "more than 128 sizes"),
    ] {
        let all = [&["sweep", "--backend", "host"], &arguments[..]].concat();
        let output = run(mpirun(&scratch.0, 2, &all)).expect_code(2);
        assert!(output.stderr.contains(hint), "{hint}: {}", output.stderr);
    }
}

#[test]
fn nccl_tests_json_has_its_shape_and_the_figures_of_the_result() {
    let scratch = Scratch::new();
    let arguments = [
        "--op",
        "allreduce",
        "-b",
        "64",
        "-e",
        "256",
        "-f",
        "2",
        "-d",
        "fp32",
        "--placement",
        "both",
        "--nccl-tests-json",
        "nt.json",
    ];
    let output = sweep(&scratch, 4, true, &arguments).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    let text = std::fs::read_to_string(scratch.0.join("nt.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["version"], 3);
    assert_eq!(json["env"], serde_json::json!([]));
    assert_eq!(json["config"]["minimum_bytes"], 64);
    assert_eq!(json["config"]["maximum_bytes"], 256);
    assert_eq!(json["config"]["step_factor"], 2);
    assert_eq!(json["config"]["iterations"], 4);
    assert_eq!(json["config"]["graph"], 0);
    assert_eq!(json["config"]["devices"].as_array().unwrap().len(), 4);
    let rows = json["results"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        let bytes = row["size"].as_u64().unwrap();
        assert_eq!(row["count"], bytes / 4);
        assert_eq!(
            (&row["type"], &row["redop"], &row["root"]),
            (&"float".into(), &"sum".into(), &"    -1".into())
        );
        for (place, name) in [("out_of_place", "out-of-place"), ("in_place", "in-place")] {
            let one = results(&result)
                .iter()
                .find(|one| one["placement"] == name && one["plan"]["size"]["bytes"] == bytes)
                .unwrap();
            assert_eq!(row[place]["time"], one["per_op_us"]["median"]);
            assert_eq!(row[place]["bus_bw"], one["busbw_gb_per_s"]);
            assert_eq!(row[place]["nwrong"], 0);
        }
    }
}

#[test]
fn nccl_tests_json_refuses_what_it_has_no_room_for_before_measuring() {
    let scratch = Scratch::new();
    for (arguments, code, hint) in [
        (
            ["--mode", "eager,graph", "--nccl-tests-json", "nt.json"],
            2,
            "holds one mode",
        ),
        (
            ["--mode", "gated", "--nccl-tests-json", "nt.json"],
            2,
            "--mode graph",
        ),
        (
            ["--mode", "eager", "--nccl-tests-json", "none/nt.json"],
            3,
            "none/nt.json cannot be written",
        ),
    ] {
        let output = sweep(&scratch, 2, false, &arguments).expect_code(code);
        assert!(output.stderr.contains(hint), "{}", output.stderr);
        assert!(!scratch.0.join("o/result.json").exists());
    }
}

#[test]
fn a_sweep_is_shown_in_nccl_tests_columns_and_drawn_over_sizes() {
    let scratch = Scratch::new();
    let arguments = ["-b", "1K", "-e", "4K", "-f", "2", "-d", "fp32"];
    let output = sweep(&scratch, 2, false, &arguments).expect_code(0);
    assert!(
        output
            .stdout
            .contains("allreduce of 1 KiB to 4 KiB fp32, 2 ranks"),
        "{}",
        output.stdout
    );
    let row = output
        .stdout
        .lines()
        .find(|line| line.trim_start().starts_with("2,048"))
        .unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[1..6], ["512", "float", "sum", "-1", "eager"], "{row}");
    for file in ["sizes.svg", "sizes.png", "report.html", "report.md"] {
        assert!(scratch.0.join("o").join(file).exists(), "{file}");
    }
    assert!(!scratch.0.join("o/burst.svg").exists());
    let svg = std::fs::read_to_string(scratch.0.join("o/sizes.svg")).unwrap();
    for text in ["1 KiB", "4 KiB", "size of a call", "HOST MEMORY"] {
        assert!(svg.contains(text), "{text}");
    }
    let page = std::fs::read_to_string(scratch.0.join("o/report.html")).unwrap();
    assert!(page.contains("GB/s of bus bandwidth"));
}
