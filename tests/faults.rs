//! Ranks that die or stop: the job ends in time, names the rank and op, and keeps what it has.

#![cfg(feature = "mpi")]

mod common;

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::{
    Output, Scratch, attach, finish, job_processes, mpirun, signal, wait_for, worker_pid,
};
use serde_json::Value;

const TIMEOUT_S: u64 = 6;

/// A run that goes on until something ends it.
fn endless(scratch: &Scratch, ranks: u32) -> Child {
    let arguments = [
        "allreduce-burst",
        "--backend",
        "host",
        "--out",
        "o",
        "--timeout",
        "6",
        "--precision",
        "0.0001%",
        "--budget",
        "300",
    ];
    mpirun(&scratch.0, ranks, &arguments).spawn().unwrap()
}

/// Waits until every rank has samples behind it, however busy the machine is.
fn let_it_sample(child: &mut Child, ranks: u32) {
    let recorders = attach(child, ranks);
    assert_eq!(recorders.len(), ranks as usize, "the job ended too soon");
    for recorder in recorders {
        wait_for("samples", || (recorder.taken() >= 8).then_some(()));
    }
}

fn ended(scratch: &Scratch, child: Child, code: i32) -> (Output, Value) {
    let output = finish(child).expect_code(code);
    wait_for("every process to be gone", || {
        job_processes(&scratch.0).is_empty().then_some(())
    });
    let result = output.result(&scratch.0.join("o"));
    assert_eq!(result["status"], "partial");
    let page = std::fs::read_to_string(scratch.0.join("o/report.html")).unwrap();
    assert!(page.contains("<li>PARTIAL</li>"));
    let leftovers = scratch.files();
    assert!(
        leftovers.iter().all(|name| !name.contains("tmp")),
        "{leftovers:?}"
    );
    (output, result)
}

fn complete_samples(scratch: &Scratch, result: &Value, ranks: usize) {
    let n = result["results"][0]["burst_us"]["n"].as_u64().unwrap() as usize;
    assert!(n >= 6, "{n} samples");
    let csv = std::fs::read_to_string(scratch.0.join("o/samples.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + n * ranks);
    assert_eq!(result["results"][0]["conditions"]["stopped_by"], "failure");
}

#[test]
fn a_killed_rank_is_named_and_samples_are_kept() {
    for victim in [0, 3] {
        let scratch = Scratch::new();
        let mut child = endless(&scratch, 4);
        let_it_sample(&mut child, 4);
        let begin = Instant::now();
        signal(worker_pid(&scratch.0, victim).unwrap(), "KILL");
        let (output, result) = ended(&scratch, child, 6);
        assert!(
            begin.elapsed() < Duration::from_secs(TIMEOUT_S),
            "{:?}",
            begin.elapsed()
        );
        assert_eq!(result["failure"]["rank"], victim);
        assert_eq!(result["failure"]["exit_code"], 6);
        assert!(result["failure"]["op"].as_u64().unwrap() < 122);
        let sentence = format!("rank {victim} was killed (signal 9) while sampling eager");
        assert_eq!(
            output.stderr.matches(&sentence).count(),
            1,
            "{}",
            output.stderr
        );
        complete_samples(&scratch, &result, 4);
    }
}

#[test]
fn a_stopped_rank_is_named_and_samples_are_kept() {
    for victim in [0, 2] {
        let scratch = Scratch::new();
        let mut child = endless(&scratch, 3);
        let_it_sample(&mut child, 3);
        let begin = Instant::now();
        signal(worker_pid(&scratch.0, victim).unwrap(), "STOP");
        let (output, result) = ended(&scratch, child, 5);
        assert!(
            begin.elapsed() < Duration::from_secs(TIMEOUT_S),
            "{:?}",
            begin.elapsed()
        );
        assert_eq!(result["failure"]["rank"], victim);
        assert!(result["failure"]["op"].as_u64().unwrap() < 122);
        let sentence = format!("rank {victim} is stopped");
        assert_eq!(
            output.stderr.matches(&sentence).count(),
            1,
            "{}",
            output.stderr
        );
        complete_samples(&scratch, &result, 3);
    }
}

#[test]
fn all_ranks_stopped_at_once_still_end_and_save() {
    let scratch = Scratch::new();
    let mut child = endless(&scratch, 3);
    let_it_sample(&mut child, 3);
    for rank in 0..3 {
        signal(worker_pid(&scratch.0, rank).unwrap(), "STOP");
    }
    let begin = Instant::now();
    let (output, result) = ended(&scratch, child, 5);
    // Nobody is left to say so in time but the supervisors, which wait for the whole timeout.
    assert!(
        begin.elapsed() < Duration::from_secs(TIMEOUT_S + 5),
        "{:?}",
        begin.elapsed()
    );
    assert!(output.stderr.contains("was stopped"), "{}", output.stderr);
    complete_samples(&scratch, &result, 3);
}

#[test]
fn all_ranks_killed_at_once_cost_no_sample() {
    let scratch = Scratch::new();
    let mut child = endless(&scratch, 3);
    let_it_sample(&mut child, 3);
    let workers: Vec<String> = (0..3)
        .map(|rank| worker_pid(&scratch.0, rank).unwrap().to_string())
        .collect();
    let status = std::process::Command::new("kill")
        .arg("-9")
        .args(&workers)
        .status();
    assert!(status.unwrap().success());
    let (output, result) = ended(&scratch, child, 6);
    assert_eq!(result["failure"]["rank"], Value::Null);
    let text = "all 3 ranks died; rank 0 was killed (signal 9) while";
    assert_eq!(output.stderr.matches(text).count(), 1, "{}", output.stderr);
    complete_samples(&scratch, &result, 3);
}

#[test]
fn the_whole_rank_killed_supervisor_and_all_is_still_named() {
    let scratch = Scratch::new();
    let mut child = endless(&scratch, 3);
    let_it_sample(&mut child, 3);
    let worker = worker_pid(&scratch.0, 1).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{worker}/stat")).unwrap();
    let parent: u32 = stat
        .rsplit_once(") ")
        .unwrap()
        .1
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    // Both by one call: a worker that outlives its supervisor for a moment is asked to end by the
    // system, and says so.
    let both = [parent.to_string(), worker.to_string()];
    let killed = Command::new("kill").arg("-9").args(both).status().unwrap();
    assert!(killed.success());
    // The launcher's own code for a killed process is 128 + 9.
    let (output, result) = ended(&scratch, child, 137);
    assert_eq!(result["failure"]["rank"], 1, "{}", output.stderr);
    complete_samples(&scratch, &result, 3);
}

/// Waits until no rank is left, then for the launcher. Open MPI 4.1's mpirun now and then waits
/// for ever, with no rank left, when a rank is killed in the milliseconds in which it connects to
/// mpirun: then it is ended here, and its exit code says nothing.
fn ended_in_start_up(scratch: &Scratch, mut child: Child, code: i32) -> Output {
    wait_for("every rank to be gone", || {
        job_processes(&scratch.0).is_empty().then_some(())
    });
    for _ in 0..200 {
        if child.try_wait().unwrap().is_some() {
            return finish(child).expect_code(code);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    eprintln!("waived: the exit code, since mpirun hangs with no rank left");
    signal(child.id(), "KILL");
    finish(child)
}

#[test]
fn a_rank_killed_at_any_moment_of_the_start_is_named() {
    for delay_ms in [0u64, 5, 20, 60, 150, 300, 450, 600] {
        let scratch = Scratch::new();
        let child = endless(&scratch, 3);
        let worker = wait_for("the worker", || worker_pid(&scratch.0, 1));
        std::thread::sleep(Duration::from_millis(delay_ms));
        signal(worker, "KILL");
        let output = ended_in_start_up(&scratch, child, 6);
        assert!(
            output.stderr.contains("rank 1 died") || output.stderr.contains("rank 1 was killed"),
            "after {delay_ms} ms: {}",
            output.stderr
        );
    }
}

#[test]
fn a_rank_stopped_at_any_moment_of_the_start_is_named() {
    for (victim, delay_ms) in [(2, 0u64), (0, 60), (2, 30), (0, 200)] {
        let scratch = Scratch::new();
        let child = endless(&scratch, 3);
        let worker = wait_for("the worker", || worker_pid(&scratch.0, victim));
        std::thread::sleep(Duration::from_millis(delay_ms));
        signal(worker, "STOP");
        let begin = Instant::now();
        let output = finish(child).expect_code(5);
        assert!(
            begin.elapsed() < Duration::from_secs(TIMEOUT_S + 1),
            "{:?}",
            begin.elapsed()
        );
        assert!(
            output.stderr.contains(&format!("rank {victim} is stopped")),
            "after {delay_ms} ms: {}",
            output.stderr
        );
        wait_for("every process to be gone", || {
            job_processes(&scratch.0).is_empty().then_some(())
        });
    }
}

#[test]
fn ctrl_c_ends_cleanly_with_a_partial_result() {
    for name in ["INT", "TERM"] {
        let scratch = Scratch::new();
        let mut child = endless(&scratch, 3);
        let_it_sample(&mut child, 3);
        signal(child.id(), name);
        let output = finish(child);
        assert_ne!(output.code, 0);
        let result = output.result(&scratch.0.join("o"));
        assert_eq!(result["status"], "partial");
        assert_eq!(result["failure"]["rank"], Value::Null);
        complete_samples(&scratch, &result, 3);
        wait_for("every process to be gone", || {
            job_processes(&scratch.0).is_empty().then_some(())
        });
    }
}

#[test]
fn a_launcher_that_is_killed_leaves_no_process_and_no_half_file() {
    let scratch = Scratch::new();
    let mut child = endless(&scratch, 3);
    let_it_sample(&mut child, 3);
    let segments = |pid: u32| {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let paths = maps
            .lines()
            .filter_map(|line| Some(line[line.find("/dev/shm/")?..].to_string()));
        paths.collect::<std::collections::BTreeSet<String>>()
    };
    let segments = segments(worker_pid(&scratch.0, 1).unwrap());
    signal(child.id(), "KILL");
    let output = finish(child).expect_code(137);
    wait_for("every process to be gone", || {
        job_processes(&scratch.0).is_empty().then_some(())
    });
    let left: Vec<&String> = segments
        .iter()
        .filter(|path| std::path::Path::new(path).exists())
        .collect();
    assert!(
        !segments.is_empty() && left.is_empty(),
        "{segments:?} {left:?}"
    );
    let result = output.result(&scratch.0.join("o"));
    complete_samples(&scratch, &result, 3);
    let leftovers = scratch.files();
    assert!(
        leftovers.iter().all(|name| !name.contains("tmp")),
        "{leftovers:?}"
    );
}

#[cfg(feature = "fault-injection")]
#[test]
fn wrong_data_is_exit_code_4_and_marks_everything() {
    let scratch = Scratch::new();
    let arguments = [
        "allreduce-burst",
        "--backend",
        "host",
        "--budget",
        "0.2",
        "--out",
        "o",
    ];
    let mut command = mpirun(&scratch.0, 3, &arguments);
    command.env("COMMBENCH_FAULT", "corrupt:2");
    let output = common::run(command).expect_code(4);
    let result = output.result(&scratch.0.join("o"));
    assert_eq!(result["status"], "failed");
    let one = &result["results"][0];
    assert_eq!(one["verified"], false);
    assert_eq!(
        one["verification"]["wrong"], 2,
        "once before sampling, once after"
    );
    assert_eq!(one["verification"]["first_wrong"]["rank"], 2);
    assert_eq!(one["verification"]["first_wrong"]["element"], 50);
    assert!(
        output.stdout.contains("WRONG DATA in eager out-of-place"),
        "{}",
        output.stdout
    );
    for name in ["report.md", "report.html", "burst.svg"] {
        let text = std::fs::read_to_string(scratch.0.join("o").join(name)).unwrap();
        assert!(text.contains("WRONG DATA"), "{name}");
    }
}

#[cfg(feature = "fault-injection")]
#[test]
fn a_panic_on_one_rank_ends_the_job_and_costs_no_sample() {
    let scratch = Scratch::new();
    let arguments = [
        "allreduce-burst",
        "--backend",
        "host",
        "--out",
        "o",
        "--timeout",
        "20",
        "--precision",
        "0.0001%",
        "--budget",
        "300",
    ];
    let mut command = mpirun(&scratch.0, 3, &arguments);
    command.env("COMMBENCH_FAULT", "panic:1");
    let (output, result) = ended(&scratch, command.spawn().unwrap(), 1);
    assert!(
        output.took < Duration::from_secs(10),
        "not only by the timeout"
    );
    assert_eq!(result["failure"]["rank"], 1);
    assert!(
        output.stderr.contains("as the test asked"),
        "{}",
        output.stderr
    );
    complete_samples(&scratch, &result, 3);
}

#[cfg(feature = "fault-injection")]
#[test]
fn a_library_that_does_not_close_costs_no_sample() {
    let scratch = Scratch::new();
    let arguments = [
        "allreduce-burst",
        "--backend",
        "host",
        "--budget",
        "0.3",
        "--out",
        "o",
    ];
    let mut command = mpirun(&scratch.0, 3, &arguments);
    command.env("COMMBENCH_FAULT", "close:1");
    let (output, result) = ended(&scratch, command.spawn().unwrap(), 3);
    assert_eq!(
        output.stderr.matches("the library does not close").count(),
        1
    );
    assert!(result["results"][0]["burst_us"]["n"].as_u64().unwrap() >= 6);
}
