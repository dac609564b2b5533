//! `--explain`: what is said of a figure can be done again with the files of the run.

#![cfg(feature = "mpi")]

mod common;

use common::{Scratch, alone, mpirun, run};

/// The longest rank of each sample, in µs, sorted.
fn bursts(csv: &str) -> Vec<f64> {
    let mut longest: Vec<f64> = Vec::new();
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let sample: usize = fields[3].parse().unwrap();
        let us: f64 = fields[5].parse().unwrap();
        longest.resize(longest.len().max(sample + 1), 0.0);
        longest[sample] = longest[sample].max(us);
    }
    longest.sort_by(f64::total_cmp);
    longest
}

#[test]
fn figures_are_obtained_as_it_says() {
    let scratch = Scratch::new();
    let arguments = [
        "allreduce-burst",
        "--backend",
        "host",
        "--ops",
        "10",
        "--bytes",
        "64",
        "--max-samples",
        "41",
        "--precision",
        "0.0001",
        "--out",
        "o",
        "--explain",
    ];
    let output = run(mpirun(&scratch.0, 2, &arguments)).expect_code(0);
    let csv = std::fs::read_to_string(scratch.0.join("o/samples.csv")).unwrap();
    let sorted = bursts(&csv);
    assert_eq!(sorted.len(), 41);
    let (_, explained) = output
        .stdout
        .split_once("How each figure was obtained")
        .unwrap();
    let shown = |us: f64| commbench::units::significant(us);
    // Of 41 the median is the 21st, and 95 % lie between the 14th and the 28th.
    for part in [
        format!("burst: {} µs, the median of 41 samples", shown(sorted[20])),
        format!(
            "95 % interval [{}, {}], the 14th and 28th smallest of 41",
            shown(sorted[13]),
            shown(sorted[27])
        ),
        "one replay of 10 ops on 2 ranks, as long as the slowest rank's (clock host-monotonic)"
            .to_string(),
        format!("per op: {} µs = burst / 10 ops", shown(sorted[20] / 10.0)),
        format!("algbw: {} GB/s = 640 B", shown(0.64 / sorted[20])),
        "= algbw × 1.00, the bus factor over 2 ranks".to_string(),
        "data: 0 of ".to_string(),
    ] {
        assert!(explained.contains(&part), "{part}: {explained}");
    }
    // The same from the folder, and of two.
    let again = run(alone(&scratch.0, &["report", "o", "--explain"])).expect_code(0);
    assert!(again.stdout.ends_with(explained), "{}", again.stdout);
    let pair = run(alone(&scratch.0, &["compare", "o", "o", "--explain"])).expect_code(0);
    let line = format!(
        "= ({} µs, the median of 41 samples in B)",
        shown(sorted[20])
    );
    assert!(pair.stdout.contains(&line), "{line}: {}", pair.stdout);
    assert!(pair.stdout.contains("bootstrap of each run's median"));
}
