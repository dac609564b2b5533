//! How often the rules find what is there, and what is not: 1,000 seeds each.
//!
//! With fewer resamples than the default, so that the tests take seconds. A share is asserted with
//! three standard errors of a count of 1,000, and printed (`--nocapture`).

use super::synthetic::{Noise, Setting, curve};
use crate::verdict::{Crossover, ERROR_RATE, Knee, MIN_RESAMPLES, MIN_SAMPLES, Rules};
use crate::verdict::{crossover, knee};

const SEEDS: u64 = 1_000;

const NORMAL: Setting = Setting {
    samples: 20,
    noise: Noise::Normal(0.05),
    drift: 0.0,
};
const SKEWED: Setting = Setting {
    samples: 25,
    noise: Noise::Skewed(0.15),
    drift: 0.0,
};
const DRIFTING: Setting = Setting {
    drift: 0.03,
    ..NORMAL
};

fn rules() -> Rules {
    Rules {
        resamples: MIN_RESAMPLES,
        ..Rules::default()
    }
}

/// The rules without their allowance for drift and their smallest rise: what the resampling alone
/// carries.
fn bare() -> Rules {
    Rules {
        drift: 0.0,
        min_rise: 0.0,
        ..rules()
    }
}

fn share(name: &str, holds: impl Fn(u64) -> bool) -> f64 {
    let share = (0..SEEDS).filter(|seed| holds(*seed)).count() as f64 / SEEDS as f64;
    println!("{name}: {share}");
    share
}

/// Three standard errors above or below the share `p` of 1,000.
fn margin(p: f64) -> f64 {
    3.0 * (p * (1.0 - p) / SEEDS as f64).sqrt()
}

fn false_knees(name: &str, setting: Setting, rules: &Rules) -> f64 {
    share(&format!("knee in a flat curve, {name}"), |seed| {
        let flat = curve("TP", setting, seed, |_| 1_000.0);
        matches!(knee(&flat, rules), Knee::At { .. })
    })
}

/// Equal curves: (any difference shown, any crossover shown).
fn false_differences(name: &str, setting: Setting, rules: &Rules) -> (f64, f64) {
    let rising = |t: u64| 1_000.0 + 20.0 * t as f64;
    let run = |seed| {
        let reference = curve("TP", setting, seed, rising);
        crossover(&reference, &curve("EP", setting, seed, rising), rules).0
    };
    let found: Vec<Crossover> = (0..SEEDS).map(run).collect();
    let no_difference = |one: &Crossover| matches!(one, Crossover::NoDifferenceShown { .. });
    let crossing =
        |one: &Crossover| matches!(one, Crossover::At { .. } | Crossover::Several { .. });
    let differ = share(&format!("difference of equal curves, {name}"), |seed| {
        !no_difference(&found[seed as usize])
    });
    let cross = share(&format!("crossover of equal curves, {name}"), |seed| {
        crossing(&found[seed as usize])
    });
    (differ, cross)
}

#[test]
fn noise_yields_no_knee() {
    let limit = ERROR_RATE + margin(ERROR_RATE);
    assert!(false_knees("bare rule", NORMAL, &bare()) <= limit);
    assert!(false_knees("bare rule, skewed", SKEWED, &bare()) <= limit);
    // As used, the smallest rise keeps it far below the stated rate, with more drift than is
    // allowed for too.
    let drift = Setting {
        drift: 0.045,
        ..NORMAL
    };
    assert!(false_knees("drift 4.5 %", drift, &rules()) <= 0.005);
}

#[test]
fn equal_curves_show_no_difference() {
    let limit = ERROR_RATE + margin(ERROR_RATE);
    let fewest = Setting {
        samples: MIN_SAMPLES as usize,
        ..NORMAL
    };
    for (name, setting, rules) in [
        ("bare rule, fewest samples", fewest, bare()),
        ("bare rule, skewed", SKEWED, bare()),
        ("drift 3 %", DRIFTING, rules()),
    ] {
        let (differ, cross) = false_differences(name, setting, &rules);
        assert!(differ <= limit, "{name}: {differ}");
        // A crossover takes two false findings of opposite sign.
        assert!(cross <= 0.01, "{name}: {cross}");
    }
}

#[test]
fn drift_within_the_allowance_keeps_the_rate_where_samples_are_precise() {
    let precise = |drift| Setting {
        samples: 20,
        noise: Noise::Normal(0.01),
        drift,
    };
    let (differ, cross) = false_differences("precise, drift 3 %", precise(0.03), &rules());
    assert!(differ <= ERROR_RATE + margin(ERROR_RATE) && cross <= 0.01);
    // Half as much again as allowed for: differences are no longer rare, crossovers still are.
    let (_, cross) = false_differences("precise, drift 4.5 %", precise(0.045), &rules());
    assert!(cross <= ERROR_RATE + margin(ERROR_RATE), "{cross}");
}

#[test]
fn a_jump_at_16_is_found_there() {
    let jump = |t: u64| if t < 16 { 1_000.0 } else { 100.0 * t as f64 };
    for (name, setting) in [
        ("normal", NORMAL),
        ("skewed", SKEWED),
        ("drift 3 %", DRIFTING),
    ] {
        let found = share(&format!("knee at 16, {name}"), |seed| {
            let seen = knee(&curve("EP", setting, seed, jump), &rules());
            matches!(seen, Knee::At { tokens: 16, .. })
        });
        assert!(found >= 0.95, "{name}: {found}");
    }
}

#[test]
fn the_interval_of_a_crossover_covers_it() {
    // Equal at t = 24, and straight in log-log between 16 and 32.
    let tp = |t: u64| 1_000.0 * (t as f64 / 24.0).powf(0.4);
    let ep = |t: u64| 1_000.0 * (t as f64 / 24.0).powf(0.9);
    for (name, setting, rules) in [
        ("bare rule, skewed", SKEWED, bare()),
        ("drift 3 %", DRIFTING, rules()),
    ] {
        let runs: Vec<Crossover> = (0..SEEDS)
            .map(|seed| {
                let reference = curve("TP", setting, seed, tp);
                crossover(&reference, &curve("EP", setting, seed, ep), &rules).0
            })
            .collect();
        let at = |seed: u64| match &runs[seed as usize] {
            Crossover::At {
                tokens,
                ci95,
                below,
                ..
            } if below == "EP" => Some((*tokens, *ci95)),
            _ => None,
        };
        let found = share(&format!("crossover found, {name}"), |seed| {
            at(seed).is_some()
        });
        let near = share(&format!("estimate within 20 % of 24, {name}"), |seed| {
            at(seed).is_some_and(|(tokens, _)| (20.0..=28.8).contains(&tokens))
        });
        let covered = share(&format!("interval covers 24, {name}"), |seed| {
            at(seed).is_some_and(|(_, [lo, hi])| lo <= 24.0 && 24.0 <= hi)
        });
        assert!(found >= 0.99 && near >= 0.95, "{name}: {found} {near}");
        assert!(covered >= 0.93, "{name}: {covered}");
    }
}
