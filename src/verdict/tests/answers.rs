//! The first sentence of every kind of verdict.

use super::by_hand::tight;
use crate::verdict::{FiguresKind, Request, Rules, verdict, words};

fn answer(name: &str, tp: &[f64], ep: &[f64]) -> String {
    let curve = |plan: &str, values: &[f64]| {
        let values: Vec<(u64, f64)> = (0..).map(|i| 1 << i).zip(values.iter().copied()).collect();
        tight(plan, &values)
    };
    let said = verdict(&Request {
        kind: FiguresKind::Measured,
        ranks: 8,
        reference: Some("TP"),
        alone: &[],
        curves: &[curve("TP", tp), curve("EP", ep)],
        absent: &[],
        tpot_ms: None,
        rules: Rules::default(),
    });
    format!("{name}: {}", words(&said.unwrap())[0])
}

#[test]
fn one_of_each() {
    let flat = [100.0; 4];
    insta::assert_snapshot!(
        [
            answer("EP first", &flat, &[50.0, 50.0, 200.0, 200.0]),
            answer("TP first", &flat, &[200.0, 200.0, 50.0, 50.0]),
            answer("open below", &flat, &[99.0, 200.0, 50.0, 50.0]),
            answer("always less", &flat, &[50.0, 50.0, 40.0, 40.0]),
            answer("always more", &flat, &[200.0, 300.0, 400.0, 400.0]),
            answer("partly", &flat, &[100.0, 101.0, 50.0, 50.0]),
            answer("several", &flat, &[50.0, 200.0, 200.0, 50.0]),
            answer("equal", &flat, &[100.0, 101.0, 99.0, 100.0]),
            answer("one t", &[100.0], &[50.0]),
            answer("one t, equal", &[100.0], &[101.0]),
        ]
        .join("\n")
    );
}
