//! Curves whose verdict can be worked out on paper.

use crate::verdict::{
    Crossover, Curve, CurvePoint, Knee, LikeliestKnee, NoKnee, Rules, crossover, knee,
};

/// Twenty-one samples within ±1 % around each value.
pub fn tight(plan: &str, values: &[(u64, f64)]) -> Curve {
    let points = values
        .iter()
        .map(|&(tokens, us)| CurvePoint {
            tokens,
            step_us: (0..21)
                .map(|i| us * (0.99 + 0.001 * f64::from(i)))
                .collect(),
        })
        .collect();
    Curve::new(plan, points).unwrap()
}

/// The same with t = 1, 2, 4, …
fn doubling(plan: &str, values: &[f64]) -> Curve {
    let values: Vec<(u64, f64)> = (0..).map(|i| 1 << i).zip(values.iter().copied()).collect();
    tight(plan, &values)
}

fn reason(values: &[f64]) -> NoKnee {
    match knee(&doubling("TP", values), &Rules::default()) {
        Knee::None { reason, .. } => reason,
        found => panic!("{values:?}: {found:?}"),
    }
}

fn knee_at(values: &[f64]) -> u64 {
    match knee(&doubling("TP", values), &Rules::default()) {
        Knee::At { tokens, .. } => tokens,
        found => panic!("{values:?}: {found:?}"),
    }
}

#[test]
fn a_jump_is_the_knee() {
    let found = knee(
        &doubling("TP", &[100.0, 100.0, 100.0, 200.0, 300.0]),
        &Rules::default(),
    );
    let Knee::At {
        tokens,
        flat_until,
        flat_us,
        flat_ci95_us,
        value_us,
        confidence,
        likeliest,
        least_n,
    } = found
    else {
        panic!("{found:?}");
    };
    assert_eq!((tokens, flat_until, least_n), (8, 4, 21));
    assert!((flat_us - 100.0).abs() < 1e-9 && (value_us - 200.0).abs() < 1e-9);
    assert!(flat_ci95_us[0] < flat_us && flat_us < flat_ci95_us[1]);
    assert!(flat_ci95_us[1] / flat_ci95_us[0] < 1.1);
    // A draw of the drift now and then lifts the point at t = 4.
    assert!(confidence > 0.98, "{confidence}");
    assert_eq!(
        likeliest,
        Some(LikeliestKnee {
            tokens: 8,
            share: confidence
        })
    );
}

#[test]
fn a_rise_that_is_likely_and_not_sure_is_told_as_such() {
    // At t = 8 the rise is 14 %, which drift could make of less than 10 %.
    let found = knee(
        &doubling("TP", &[100.0, 100.0, 100.0, 114.0, 200.0, 300.0]),
        &Rules::default(),
    );
    let Knee::At {
        tokens,
        confidence,
        likeliest: Some(likeliest),
        ..
    } = found
    else {
        panic!("{found:?}");
    };
    assert_eq!((tokens, likeliest.tokens), (16, 8));
    assert!(likeliest.share > 0.5 && likeliest.share + confidence <= 1.0 + 1e-9);
}

#[test]
fn what_does_not_last_is_no_knee() {
    // A spike, and one that moves the level of the first points: the knee is where it stays up.
    assert_eq!(
        reason(&[100.0, 100.0, 200.0, 100.0, 100.0]),
        NoKnee::StaysFlat
    );
    assert_eq!(knee_at(&[100.0, 200.0, 100.0, 100.0, 200.0, 210.0]), 16);
    assert_eq!(
        reason(&[100.0, 100.0, 100.0, 100.0, 200.0]),
        NoKnee::OnlyLastPoint
    );
}

#[test]
fn a_rise_below_the_stated_minimum_is_no_knee() {
    assert_eq!(
        reason(&[100.0, 100.0, 100.0, 108.0, 108.0]),
        NoKnee::StaysFlat
    );
    // Slow growth: t = 16 is the first that lies 10 % above what comes before with confidence.
    assert_eq!(knee_at(&[100.0, 101.0, 103.0, 107.0, 130.0, 190.0]), 16);
    assert_eq!(
        reason(&[300.0, 200.0, 100.0, 90.0, 80.0]),
        NoKnee::StaysFlat
    );
}

#[test]
fn a_curve_that_rises_at_once_has_no_flat_part() {
    assert_eq!(reason(&[100.0, 200.0, 400.0, 800.0]), NoKnee::NoFlatPart);
    assert_eq!(reason(&[100.0, 130.0, 130.0, 130.0]), NoKnee::NoFlatPart);
    assert_eq!(reason(&[100.0, 100.0, 200.0]), NoKnee::TooFewPoints);
    assert_eq!(reason(&[100.0]), NoKnee::TooFewPoints);
}

fn found(tp: &[f64], ep: &[f64]) -> Crossover {
    crossover(&doubling("TP", tp), &doubling("EP", ep), &Rules::default()).0
}

#[test]
fn a_crossover_is_interpolated_in_log_log() {
    // EP over TP is 1/2 at t = 1, 2, 4 and 2 at t = 8, 16: equal half way between ln 4 and ln 8.
    let tp = [100.0, 100.0, 100.0, 100.0, 100.0];
    let ep = [50.0, 50.0, 50.0, 200.0, 200.0];
    let Crossover::At {
        tokens,
        ci95,
        between,
        confidence,
        below,
        above,
    } = found(&tp, &ep)
    else {
        panic!("no crossover");
    };
    assert!((tokens - 32f64.sqrt()).abs() < 1e-9, "{tokens}");
    assert!(ci95[0] < tokens && tokens < ci95[1] && ci95[1] / ci95[0] < 1.1);
    assert_eq!((between, confidence), ([4, 8], 1.0));
    assert_eq!((below.as_str(), above.as_str()), ("EP", "TP"));
    // The other way round, the plans change places and the crossover stays.
    let Crossover::At {
        tokens,
        below,
        above,
        ..
    } = found(&ep, &tp)
    else {
        panic!("no crossover");
    };
    assert!((tokens - 32f64.sqrt()).abs() < 1e-9, "{tokens}");
    assert_eq!((below.as_str(), above.as_str()), ("TP", "EP"));
}

#[test]
fn points_within_noise_widen_the_interval() {
    let ep = [50.0, 100.0, 100.0, 100.0, 200.0];
    let Crossover::At {
        tokens,
        ci95,
        between,
        confidence,
        ..
    } = found(&[100.0; 5], &ep)
    else {
        panic!("no crossover");
    };
    assert_eq!(between, [1, 16]);
    assert!(
        ci95[0] < 2.0 && ci95[1] > 8.0 && (2.0..=8.0).contains(&tokens),
        "{tokens} {ci95:?}"
    );
    // Three coins: they cross once for 4 of the 8 ways that they can fall.
    assert!((confidence - 0.5).abs() < 0.05, "{confidence}");
}

#[test]
fn one_plan_that_is_always_cheaper() {
    let Crossover::NoneInRange {
        cheaper,
        factor,
        confidence,
    } = found(&[100.0; 3], &[200.0, 300.0, 400.0])
    else {
        panic!("no such verdict");
    };
    assert_eq!((cheaper.as_str(), confidence), ("TP", 1.0));
    assert!(
        (1.75..2.0).contains(&factor[0]) && (4.0..4.6).contains(&factor[1]),
        "{factor:?}"
    );
    let Crossover::NoneInRange {
        cheaper, factor, ..
    } = found(&[200.0, 400.0], &[100.0; 2])
    else {
        panic!("no such verdict");
    };
    assert_eq!(cheaper, "EP");
    assert!(
        (1.75..2.0).contains(&factor[0]) && (4.0..4.6).contains(&factor[1]),
        "{factor:?}"
    );
}

#[test]
fn what_is_not_shown_everywhere_is_said() {
    let Crossover::NoneShown {
        cheaper,
        at,
        undecided,
        ..
    } = found(&[100.0; 3], &[101.0, 200.0, 300.0])
    else {
        panic!("no such verdict");
    };
    assert_eq!(
        (cheaper.as_str(), at, undecided),
        ("TP", vec![2, 4], vec![1])
    );
    assert!(matches!(
        found(&[100.0; 3], &[101.0; 3]),
        Crossover::NoDifferenceShown { .. }
    ));
    let Crossover::Several {
        crossings,
        confidence,
    } = found(&[100.0; 3], &[50.0, 200.0, 50.0])
    else {
        panic!("no such verdict");
    };
    assert_eq!((crossings.len(), confidence), (2, 1.0));
    assert_eq!(
        (crossings[1].between, crossings[1].below.as_str()),
        ([2, 4], "TP")
    );
}

#[test]
fn only_shared_points_are_compared() {
    let tp = tight("TP", &[(1, 100.0), (2, 100.0), (3, 100.0)]);
    let ep = tight("EP", &[(2, 50.0), (3, 50.0), (4, 500.0)]);
    let (found, points) = crossover(&tp, &ep, &Rules::default());
    assert!(matches!(found, Crossover::NoneInRange { .. }), "{found:?}");
    assert_eq!(
        points.iter().map(|one| one.tokens).collect::<Vec<_>>(),
        [2, 3]
    );
    assert!((points[0].ratio - 0.5).abs() < 1e-9);

    let none = tight("EP", &[(8, 50.0)]);
    let one = tight("EP", &[(3, 50.0)]);
    for (other, count) in [(none, 0), (one, 1)] {
        let (found, points) = crossover(&tp, &other, &Rules::default());
        assert!(
            matches!(found, Crossover::NotComparable { .. }),
            "{found:?}"
        );
        assert_eq!(points.len(), count);
    }
}
