//! How often comparisons find what is there, and what is not.

use super::ratio::{Level, Rate};
use super::*;
use crate::result::Backend;
use crate::stats::SplitMix64;

const EAGER: &str = include_str!("../../fuzz/corpus/result_json/eager.json");
const SEEDS: u64 = 1_000;

/// A run whose level is off by `drift` times a normal draw, with samples that scatter around it.
fn times(level_us: f64, drift: f64, n: usize, random: &mut SplitMix64) -> Vec<f64> {
    let level = level_us * (drift * random.normal()).exp();
    (0..n)
        .map(|_| {
            // Skewed, and now and then far above: as communication times are.
            let late = if random.uniform() > 0.95 { 0.5 } else { 0.0 };
            level * (1.0 + 0.04 * random.normal().abs() + late)
        })
        .collect()
}

fn levels(runs: usize, us: f64, drift: f64, random: &mut SplitMix64) -> Vec<Level> {
    (0..runs)
        .map(|run| Level::new(run, times(us, drift, 30, random)).unwrap())
        .collect()
}

/// Shares of seeds whose interval lies above 1, below 1, and holds `ratio`.
fn shares(runs: usize, ratio: f64, drift: f64, pairs: f64) -> [f64; 3] {
    let rate = Rate {
        tail: ERROR_RATE / 2.0 / pairs,
        drift: 0.03,
    };
    let mut counts = [0.0; 3];
    for seed in 0..SEEDS {
        let mut random = SplitMix64::named(seed, "comparison", runs as u64);
        let base = levels(runs, 1_000.0, drift, &mut random);
        let other = levels(runs, 1_000.0 * ratio, drift, &mut random);
        let ([lo, hi], _) = rate.interval(&base, &other, "x");
        for (count, holds) in
            counts
                .iter_mut()
                .zip([lo > 1.0, hi < 1.0, lo <= ratio && ratio <= hi])
        {
            *count += f64::from(u8::from(holds)) / SEEDS as f64;
        }
    }
    counts
}

#[test]
fn equal_things_differ_no_more_often_than_stated() {
    // Two standard errors of a share of 5 % over 1,000 seeds are 1.4 %.
    for (runs, drift) in [
        (1, 0.0),
        (1, 0.03),
        (2, 0.03),
        (3, 0.03),
        (3, 0.08),
        (6, 0.01),
    ] {
        let [slower, faster, holds] = shares(runs, 1.0, drift, 1.0);
        assert!(
            slower + faster <= 0.064 && holds >= 0.936,
            "{runs} runs, drift {drift}: {slower} + {faster}"
        );
    }
    let [slower, faster, _] = shares(1, 1.0, 0.03, 10.0);
    assert!(slower + faster <= 0.01, "{slower} + {faster}");
}

#[test]
fn differences_are_found_and_their_size_is_held() {
    // One run a side carries a fifth, and three runs that differ by 1 % carry less than a tenth.
    for (runs, ratio, drift) in [(1, 1.2, 0.03), (3, 1.1, 0.01), (6, 0.95, 0.01)] {
        let [slower, faster, holds] = shares(runs, ratio, drift, 1.0);
        let (right, wrong) = if ratio > 1.0 {
            (slower, faster)
        } else {
            (faster, slower)
        };
        assert!(right > 0.9 && wrong == 0.0, "{runs} runs: {right}, {wrong}");
        assert!(holds >= 0.936, "{runs} runs of {ratio}: {holds}");
    }
}

#[test]
fn the_interval_of_runs_is_that_of_the_table() {
    // Medians e^0, e^1, e^2 and e^3, e^4, e^5: t of 4 degrees at 97.5 % is 2.776, the standard
    // error √(1/3 + 1/3).
    let side = |from: i32| -> Vec<Level> {
        (from..from + 3)
            .map(|power| Level::new(0, vec![f64::from(power).exp(); 6]).unwrap())
            .collect()
    };
    let rate = Rate {
        tail: 0.025,
        drift: 0.0,
    };
    let (ends, by) = rate.interval(&side(0), &side(3), "x");
    assert_eq!(by, IntervalBy::Runs);
    let half = 2.776_445 * (2.0f64 / 3.0).sqrt();
    assert!((ends[0].ln() - (3.0 - half)).abs() < 1e-5, "{ends:?}");
    assert!((ends[1].ln() - (3.0 + half)).abs() < 1e-5, "{ends:?}");
}

/// A run of the kept result whose series all take `factor` times as long.
fn run(folder: &str, factor: f64, change: &dyn Fn(&mut RunResult)) -> StoredRun {
    let mut run = RunResult::from_json(EAGER).unwrap();
    run.status = crate::result::Status::Complete;
    for one in &mut run.results {
        one.verified = true;
    }
    change(&mut run);
    let mut random = SplitMix64::named(1, folder, 0);
    let series = run
        .results
        .iter()
        .map(|one| Series {
            plan: one.plan.name.clone(),
            mode: one.mode,
            placement: one.placement,
            samples: times(1_000.0 * factor, 0.0, 20, &mut random)
                .into_iter()
                .map(|us| {
                    let rank = crate::result::RankSample {
                        device_us: us,
                        host_us: us,
                        issue_us: 0.0,
                        arrival_ns: 0,
                    };
                    vec![rank; run.ranks as usize]
                })
                .collect(),
        })
        .collect();
    StoredRun {
        folder: folder.to_string(),
        run,
        series,
    }
}

fn side(name: &str, runs: Vec<StoredRun>) -> Side {
    Side {
        name: name.to_string(),
        runs,
    }
}

fn two(factor: f64, change: &dyn Fn(&mut RunResult)) -> [Side; 2] {
    [
        side("A", vec![run("before", 1.0, &|_| {})]),
        side("B", vec![run("after", factor, change)]),
    ]
}

#[test]
fn a_gate_fails_on_what_is_shown_and_not_on_what_is_open() {
    let gated = |factor: f64| {
        let rules = Rules {
            gate: Some(0.05),
            ..Rules::default()
        };
        let found = compare(&two(factor, &|_| {}), &rules).unwrap();
        (found.gate.unwrap(), found.pairs[0].found)
    };
    let (gate, found) = gated(1.5);
    assert!(!gate.passed() && found == Found::Slower, "{gate:?}");
    let (gate, found) = gated(1.02);
    assert!(gate.passed() && found == Found::NoDifferenceShown);
    assert_eq!(gate.not_excluded.len(), 1, "{gate:?}");
    let (gate, found) = gated(0.5);
    assert!(gate.passed() && gate.not_excluded.is_empty() && found == Found::Faster);
}

#[test]
fn unlike_things_are_refused_with_both_values() {
    type Change = &'static dyn Fn(&mut RunResult);
    let cases: [(&str, Change); 6] = [
        ("the backend is", &|run| run.backend = Backend::Predicted),
        (
            "the number of ranks is 2 in before and 3 in after",
            &|run| {
                run.ranks = 3;
            },
        ),
        ("sharing of GPUs", &|run| {
            run.results[0].conditions.shared_gpu = true;
        }),
        ("what is sent of", &|run| {
            run.results[0].plan.title = "another plan".to_string();
        }),
        ("the state of caches", &|run| {
            run.results[0].conditions.buffers = crate::result::Buffers::Cold;
        }),
        ("wrong or not checked", &|run| {
            run.results[0].verified = false;
        }),
    ];
    for (hint, change) in cases {
        let sides = two(1.0, change);
        let error = compare(&sides, &Rules::default()).unwrap_err();
        assert_eq!(error.exit.code(), 2);
        assert!(error.what.contains(hint), "{hint}: {}", error.what);
        let told = Rules {
            unlike: true,
            ..Rules::default()
        };
        let found = compare(&sides, &told).unwrap();
        assert!(found.unlike.iter().any(|one| one.contains(hint)), "{hint}");
    }
}

#[test]
fn versions_and_variables_are_told_and_do_not_forbid() {
    let found = compare(
        &two(1.0, &|run| {
            run.machine.nccl_version = Some("2.30.1".to_string());
            let set = ("NCCL_PROTO".to_string(), "LL".to_string());
            run.command.environment.extend([set]);
        }),
        &Rules::default(),
    )
    .unwrap();
    let all = found.differences.join("\n");
    assert!(all.contains("2.30.1 in B"), "{all}");
    assert!(all.contains("NCCL_PROTO: unset in A, LL in B"), "{all}");
}

#[test]
fn what_is_missing_is_told_and_fails_a_gate() {
    let mut sides = two(1.0, &|_| {});
    sides[1].runs[0].series[0].samples.truncate(3);
    let error = compare(&sides, &Rules::default()).unwrap_err();
    assert!(error.what.contains("3 samples"), "{}", error.what);
    // Another series keeps the sides comparable.
    for side in &mut sides {
        let run = &mut side.runs[0];
        let mut more = run.run.results[0].clone();
        more.placement = Placement::InPlace;
        run.run.results.push(more);
        let mut series = Series {
            placement: Placement::InPlace,
            ..run.series[0].clone()
        };
        let first = series.samples[0].clone();
        series.samples.resize(20, first);
        run.series.push(series);
    }
    let rules = Rules {
        gate: Some(0.05),
        ..Rules::default()
    };
    let found = compare(&sides, &rules).unwrap();
    assert_eq!(found.pairs.len(), 1);
    assert!(!found.gate.unwrap().passed());
}

#[test]
fn several_sides_and_runs_have_names_of_their_own() {
    let runs = |name: &str, factor: f64| {
        (0..3)
            .map(|index| {
                run(
                    &format!("{name}{index}"),
                    factor * (1.0 + 0.002 * f64::from(index)),
                    &|_| {},
                )
            })
            .collect()
    };
    let sides = [
        side("A", runs("a", 1.0)),
        side("B", runs("b", 1.0)),
        side("C", runs("c", 1.3)),
    ];
    let found = compare(&sides, &Rules::default()).unwrap();
    let of: Vec<(&str, Found)> = found
        .pairs
        .iter()
        .map(|pair| (pair.other.side.as_str(), pair.found))
        .collect();
    assert_eq!(of, [("B", Found::NoDifferenceShown), ("C", Found::Slower)]);
    assert!(found.pairs.iter().all(|pair| pair.by == IntervalBy::Runs));
    assert_eq!(found.pairs[1].base.runs, 3);
    assert_eq!(found.pairs[1].base.n, 60);
    insta::assert_snapshot!(crate::report::comparison_text(&found));
}
