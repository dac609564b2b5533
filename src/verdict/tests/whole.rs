//! The whole verdict: figures, what is left out, words and JSON.

use super::by_hand::tight;
use crate::verdict::{
    Absent, Crossover, Curve, CurvePoint, FiguresKind, Request, Rules, Verdict, verdict, words,
};

const EP: &str = "DP attention + EP, all-to-all";

fn curves() -> Vec<Curve> {
    let tp = [
        (1, 1000.0),
        (2, 1000.0),
        (4, 1000.0),
        (8, 1000.0),
        (16, 2000.0),
        (32, 4000.0),
    ];
    let ep = [
        (1, 500.0),
        (2, 500.0),
        (4, 500.0),
        (8, 2000.0),
        (16, 4000.0),
        (32, 8000.0),
    ];
    vec![tight("TP", &tp), tight(EP, &ep)]
}

fn request(curves: &[Curve]) -> Request<'_> {
    Request {
        kind: FiguresKind::Measured,
        ranks: 8,
        reference: Some("TP"),
        alone: &[],
        curves,
        absent: &[],
        tpot_ms: None,
        rules: Rules::default(),
    }
}

fn of(request: &Request) -> Verdict {
    verdict(request).unwrap()
}

#[test]
fn figures_by_hand() {
    let curves = curves();
    let tpot_ms = Some(2.5);
    let said = of(&Request {
        tpot_ms,
        ..request(&curves)
    });
    let point = &said.plans[0].points[4];
    assert_eq!((point.tokens, point.batch_tokens, point.n), (16, 128, 21));
    assert!((point.ms_per_step - 2.0).abs() < 1e-12);
    // 128 tokens in 2 ms.
    assert!((point.ceiling_tok_per_s - 64_000.0).abs() < 1e-6);
    assert!((point.tpot_share.unwrap() - 0.8).abs() < 1e-12);
    // 21 samples: the 6th and the 16th, 1.99 and 2.01 ms.
    let [lo, hi] = point.ci95_ms.unwrap();
    assert!(
        (lo - 1.99).abs() < 1e-9 && (hi - 2.01).abs() < 1e-9,
        "{lo} {hi}"
    );
    let [slow, fast] = point.ceiling_ci95.unwrap();
    assert!((slow - 0.128 / 2.01e-6).abs() < 1e-3 && (fast - 0.128 / 1.99e-6).abs() < 1e-3);
}

#[test]
fn words_of_a_crossover() {
    let curves = curves();
    let tpot_ms = Some(5.0);
    let said = of(&Request {
        tpot_ms,
        ..request(&curves)
    });
    insta::assert_snapshot!(words(&said).join("\n"));
}

#[test]
fn every_kind_but_measured_is_named_in_every_answer_and_once_more() {
    let curves = curves();
    for (kind, name) in [
        (FiguresKind::HostMemory, "host memory"),
        (FiguresKind::SharedGpu, "shared"),
        (FiguresKind::Predicted, "Predicted"),
    ] {
        let said = words(&of(&Request {
            kind,
            ..request(&curves)
        }));
        assert!(said[0].contains(name), "{}", said[0]);
        let caveat = if kind == FiguresKind::Predicted {
            "model"
        } else {
            "say nothing about"
        };
        assert!(said[1].contains(caveat), "{}", said[1]);
    }
    let said = words(&of(&request(&curves))).join(" ");
    assert!(!said.contains("host memory") && !said.contains("redicted"));
}

#[test]
fn absent_plans_keep_their_reason() {
    let curves = curves();
    let absent = |plan: &str, why: &str| Absent {
        plan: plan.to_string(),
        why: why.to_string(),
    };
    let dense = [absent(EP, "llama is dense: it has no experts to spread")];
    let said = of(&Request {
        curves: &curves[..1],
        absent: &dense,
        ..request(&curves)
    });
    assert!(words(&said)[0].contains("dense"), "{:?}", words(&said));
    let no_tp = [absent("TP", "its run was cut short")];
    let said = of(&Request {
        curves: &curves[1..],
        absent: &no_tp,
        ..request(&curves)
    });
    assert!(words(&said)[0].contains("cut short"), "{:?}", words(&said));
    let alone = of(&Request {
        curves: &curves[..1],
        ..request(&curves)
    });
    assert!(
        words(&alone)[0].contains("no other plan"),
        "{:?}",
        words(&alone)
    );
    let nothing = of(&Request {
        curves: &[],
        ..request(&[])
    });
    assert!(nothing.plans.is_empty() && !words(&nothing).is_empty());
}

#[test]
fn points_with_few_samples_are_shown_but_not_judged() {
    let few = |plan: &str, n: usize, us: f64| {
        let point = |tokens| CurvePoint {
            tokens,
            step_us: vec![us; n],
        };
        Curve::new(plan, vec![point(1), point(2)]).unwrap()
    };
    let curves = [few("TP", 5, 100.0), few(EP, 50, 900.0)];
    let said = of(&request(&curves));
    assert!(matches!(
        said.pairs[0].crossover,
        Crossover::NotComparable { .. }
    ));
    assert_eq!(said.pairs[0].left_out.len(), 2);
    assert_eq!(said.plans[0].points[0].ci95_ms, None);
    assert_eq!(said.plans[0].points[0].ms_per_step, 0.1);
    let text = words(&said).join(" ");
    assert!(text.contains("TP has 5 samples"), "{text}");
}

#[test]
fn nonsense_is_refused() {
    let curves = curves();
    for tpot in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let tpot_ms = Some(tpot);
        assert!(
            verdict(&Request {
                tpot_ms,
                ..request(&curves)
            })
            .is_err()
        );
    }
    let twice = [curves[0].clone(), curves[0].clone()];
    assert!(verdict(&request(&twice)).is_err());
    assert!(
        verdict(&Request {
            ranks: 0,
            ..request(&curves)
        })
        .is_err()
    );
    let rules = Rules {
        drift: f64::NAN,
        ..Rules::default()
    };
    assert!(
        verdict(&Request {
            rules,
            ..request(&curves)
        })
        .is_err()
    );
}

#[test]
fn json_reads_back_and_fits_its_schema() {
    let curves = curves();
    let tpot_ms = Some(5.0);
    let said = of(&Request {
        tpot_ms,
        ..request(&curves)
    });
    let json = serde_json::to_value(&said).unwrap();
    assert_eq!(
        serde_json::from_value::<Verdict>(json.clone()).unwrap(),
        said
    );
    let schema = serde_json::to_value(schemars::schema_for!(Verdict)).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&json));
    assert_eq!(json["pairs"][0]["crossover"]["found"], "at");
    assert_eq!(json["plans"][0]["knee"]["found"], "at");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]

    #[test]
    fn any_curves_give_a_verdict_that_holds_together(
        tp in proptest::collection::vec((1u64..600, proptest::collection::vec(1e-3f64..1e9, 1..30)), 1..8),
        ep in proptest::collection::vec((1u64..600, proptest::collection::vec(1e-3f64..1e9, 1..30)), 1..8),
    ) {
        let curve = |plan: &str, points: Vec<(u64, Vec<f64>)>| {
            let points: std::collections::BTreeMap<u64, Vec<f64>> = points.into_iter().collect();
            let points = points.into_iter().map(|(tokens, step_us)| CurvePoint { tokens, step_us });
            Curve::new(plan, points.collect()).unwrap()
        };
        let curves = [curve("TP", tp), curve(EP, ep)];
        let rules = Rules { resamples: 1_000, ..Rules::default() };
        let said = of(&Request { rules, tpot_ms: Some(1.0), ..request(&curves) });
        let json = serde_json::to_string(&said).unwrap();
        proptest::prop_assert_eq!(&serde_json::from_str::<Verdict>(&json).unwrap(), &said);
        for sentence in words(&said) {
            proptest::prop_assert!(!sentence.contains("NaN") && !sentence.contains("inf "), "{}", sentence);
        }
        for point in &said.pairs[0].points {
            let [lo, hi] = point.joint_ci95;
            proptest::prop_assert!(lo <= hi && (point.cheaper.is_some() != (lo..=hi).contains(&1.0)));
        }
        if let Crossover::At { tokens, ci95, between, confidence, below, above } = &said.pairs[0].crossover {
            proptest::prop_assert!(ci95[0] <= ci95[1] && *tokens > 0.0 && between[0] < between[1]);
            proptest::prop_assert!((0.0..=1.0).contains(confidence) && below != above);
        }
    }
}
