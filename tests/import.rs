//! `import` through the binary: published logs of nccl-tests as results.

mod common;

use std::path::{Path, PathBuf};

use common::{Output, Scratch, run};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/nccl-tests")
        .join(name)
}

fn alone(folder: &Path, arguments: &[&str]) -> Output {
    run(common::alone(folder, arguments))
}

fn import(scratch: &Scratch, file: &Path, arguments: &[&str]) -> Output {
    let file = file.to_str().unwrap();
    alone(&scratch.0, &[&["import", file], arguments].concat())
}

#[test]
fn a_log_is_shown_plotted_and_told_apart_from_measurements() {
    let scratch = Scratch::new();
    let output = import(&scratch, &fixture("noisy.txt"), &["--out", "o"]).expect_code(0);
    for text in [
        "allreduce of 8 B to 16 MiB fp32, 8 ranks",
        "IMPORTED from ",
        "not measured by commbench",
        "793 [n = 1: no interval]",
        "8 × NVIDIA RTX PRO 6000",
    ] {
        assert!(output.stdout.contains(text), "{text}: {}", output.stdout);
    }
    let folder = scratch.0.join("o");
    let result = output.result(&folder);
    assert_eq!(result["backend"], "nccl");
    assert_eq!(result["results"][0]["slowest_rank"], Value::Null);
    assert_eq!(result["results"][0]["burst_us"]["ci95"], Value::Null);
    for file in ["samples.csv", "sizes.png", "report.md"] {
        assert!(folder.join(file).exists(), "{file}");
    }
    for file in ["sizes.svg", "report.html"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains("IMPORTED"), "{file}");
    }
    // Made again from the folder alone.
    std::fs::remove_file(folder.join("sizes.svg")).unwrap();
    alone(&scratch.0, &["report", "o"]).expect_code(0);
    assert!(folder.join("sizes.svg").exists());
}

#[test]
fn wrong_data_have_their_exit_code_and_what_is_missing_its_remedy() {
    let scratch = Scratch::new();
    let text = std::fs::read_to_string(fixture("all_reduce.txt")).unwrap();
    let broken = scratch.0.join("wrong.txt");
    std::fs::write(&broken, text.replace("37.04       0", "37.04      12")).unwrap();
    let output = import(&scratch, &broken, &["--out", "w"]).expect_code(4);
    assert!(
        output.stdout.contains("WRONG DATA in allreduce 16777216 B"),
        "{}",
        output.stdout
    );
    assert!(output.stdout.contains("Do not use these times"));
    let output = import(&scratch, &fixture("all_gather_2.0.txt"), &[]).expect_code(2);
    assert!(
        output.stderr.contains("--op allgather"),
        "{}",
        output.stderr
    );
    import(
        &scratch,
        &fixture("all_gather_2.0.txt"),
        &["--op", "allgather", "--out", "g"],
    )
    .expect_code(0);
    let output = import(&scratch, Path::new("none.txt"), &[]).expect_code(3);
    assert!(output.stderr.contains("none.txt"), "{}", output.stderr);
    let output = import(&scratch, Path::new("/dev/zero"), &[]).expect_code(2);
    assert!(output.stderr.contains("is no file"), "{}", output.stderr);
    assert!(!scratch.0.join("out").exists());
}

/// The log with every time of `size` and above longer by `factor`, and bandwidths that fit.
fn slower(factor: f64) -> String {
    let text = std::fs::read_to_string(fixture("all_reduce.txt")).unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() != 13 || words[2] != "float" {
            return line.to_string();
        }
        let number = |at: usize| words[at].parse::<f64>().unwrap();
        let figures = |at: usize| {
            let us = number(at) * factor;
            let algbw = number(0) / us / 1e3;
            format!("{us:.2} {algbw:.2} {:.2} 0", algbw * 1.75)
        };
        format!("{} {} {}", words[..5].join(" "), figures(5), figures(9))
    };
    text.lines().map(|one| line(one) + "\n").collect()
}

#[test]
fn logs_are_compared_with_an_interval_only_where_three_a_side_give_one() {
    let scratch = Scratch::new();
    for (name, factor) in [
        ("a1", 1.0),
        ("a2", 1.004),
        ("a3", 0.997),
        ("b1", 1.2),
        ("b2", 1.206),
        ("b3", 1.195),
    ] {
        let file = scratch.0.join(format!("{name}.txt"));
        std::fs::write(&file, slower(factor)).unwrap();
        import(&scratch, &file, &["--out", name]).expect_code(0);
    }
    let one = alone(&scratch.0, &["compare", "a1", "b1", "--gate", "5%"]).expect_code(0);
    assert!(one.stdout.contains("1.20 [no interval]"), "{}", one.stdout);
    assert!(one.stdout.contains("nothing shown: no interval"));
    assert!(one.stdout.contains("leave room for a regression"));
    let three = alone(
        &scratch.0,
        &["compare", "a1,a2,a3", "b1,b2,b3", "--gate", "5%"],
    )
    .expect_code(7);
    assert!(three.stdout.contains("slower by"), "{}", three.stdout);
    assert!(!three.stdout.contains("no interval]"));
}

#[test]
fn a_sweep_written_as_nccl_tests_json_comes_back() {
    let scratch = Scratch::new();
    let json = r#"{"version":3,"args":["commbench","sweep","--op","reducescatter"],"nccl_version":22809,
        "commbench":{"time":"median","backend":"mpi-host","shared_gpu":false},
        "config":{"iterations":20,"graph":0,"devices":[{"rank":1,"hostname":"h","device":0,"device_hex":"","device_info":""}]},
        "results":[{"size":64,"count":8,"type":"float","redop":"sum","root":"    -1",
        "out_of_place":{"time":2.0,"alg_bw":0.032,"bus_bw":0.016,"nwrong":0},"in_place":null}]}"#;
    let file = scratch.0.join("s.json");
    std::fs::write(&file, json).unwrap();
    let output = import(&scratch, &file, &["--out", "o"]).expect_code(0);
    let result = output.result(&scratch.0.join("o"));
    // Its label stays with it.
    assert_eq!(result["backend"], "mpi-host");
    assert!(output.stdout.contains("HOST MEMORY"));
    assert_eq!(result["results"][0]["plan"]["name"], "reducescatter 64 B");
    assert_eq!(result["results"][0]["per_op_us"]["median"], 2.0);
}

/// The published tables, printed as nccl-tests prints them, give back their figures.
#[test]
fn published_tables_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/nccl/measurements.jsonl");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("waived: ../shared/data is not here");
        return;
    };
    let scratch = Scratch::new();
    let mut tables = 0;
    for (number, line) in text.lines().enumerate() {
        let table: Value = serde_json::from_str(line).unwrap();
        let op = match table["collective"].as_str().unwrap() {
            "all_reduce" => "allreduce",
            "all_gather" => "allgather",
            "reduce_scatter" => "reducescatter",
            "alltoall" => "alltoall",
            "broadcast" => "broadcast",
            _ => continue,
        };
        let ranks = table["gpu_count"].as_u64().unwrap();
        let rows: Vec<&Value> = table["rows"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["algbw"].is_f64() && row["count"].is_u64() && row["time_us"].is_f64())
            .filter(|row| row["bytes"].as_u64().unwrap() > 0)
            .collect();
        if rows.is_empty() || ranks < 2 {
            continue;
        }
        let dtype = table["datatype"].as_str().unwrap_or("float");
        let mut log = String::from("# size count type redop root time algbw busbw #wrong\n");
        for row in &rows {
            log.push_str(&format!(
                "{} {} {dtype} sum -1 {} {} {} N/A\n",
                row["bytes"], row["count"], row["time_us"], row["algbw"], row["busbw"]
            ));
        }
        let file = scratch.0.join(format!("{number}.txt"));
        std::fs::write(&file, &log).unwrap();
        let folder = format!("o{number}");
        let ranks = ranks.to_string();
        let output = import(
            &scratch,
            &file,
            &["--op", op, "--ranks", &ranks, "--out", &folder],
        );
        if output.code != 0 {
            eprintln!(
                "{}: {}",
                table["source"],
                output.stderr.lines().next().unwrap_or("")
            );
            continue;
        }
        let result = output.result(&scratch.0.join(&folder));
        for (row, one) in rows.iter().zip(result["results"].as_array().unwrap()) {
            let printed = row["algbw"].as_f64().unwrap();
            let ours = one["algbw_gb_per_s"].as_f64().unwrap();
            assert!(
                (ours - printed).abs() <= 0.006 + printed * 0.02,
                "{}: {row}",
                table["source"]
            );
        }
        tables += 1;
    }
    eprintln!("{tables} tables");
    assert!(tables > 20, "{tables}");
}
