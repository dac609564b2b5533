//! What is refused, and that the message names the value.

use super::fixture::two_plans;
use crate::report::plot::curve::{CurvePicture, curve_png, curve_svg};

/// The message about a picture that was changed for the worse.
fn refusal(change: impl FnOnce(&mut CurvePicture)) -> String {
    let mut picture = two_plans();
    change(&mut picture);
    let error = curve_svg(&picture).unwrap_err();
    let message = error.to_string();
    assert_eq!(curve_png(&picture).unwrap_err().to_string(), message);
    message
}

#[test]
fn nothing_to_draw() {
    assert_eq!(
        refusal(|picture| picture.lines.clear()),
        "there is no plan to plot"
    );
    let message = refusal(|picture| picture.lines[1].points.clear());
    assert_eq!(
        message,
        "'DP attention + EP, all-to-all' has no points to plot"
    );
}

#[test]
fn more_lines_than_looks() {
    let message = refusal(|picture| {
        let line = picture.lines[0].clone();
        picture.lines = vec![line; 7];
    });
    assert_eq!(
        message,
        "7 plans in one plot cannot be told apart: 6 at most"
    );
}

#[test]
fn times_that_are_none() {
    for bad in [f64::NAN, f64::INFINITY, 0.0, -3.5, 1e16] {
        let message = refusal(|picture| picture.lines[0].points[2].us = bad);
        assert_eq!(
            message,
            format!("'TP' cannot be plotted: {bad} µs at t = 4 is not the time of a step")
        );
        let message = refusal(|picture| picture.knees[0].us = bad);
        assert!(
            message.contains(&format!("a knee cannot be plotted: {bad} µs")),
            "{message}"
        );
        let message = refusal(|picture| picture.crossovers[0].us = bad);
        assert!(message.contains(&format!("{bad} µs")), "{message}");
        let message = refusal(|picture| picture.references[0].us = bad);
        assert!(message.contains("'the batch-1 burst'"), "{message}");
        assert!(message.contains(&format!("{bad} µs")), "{message}");
    }
}

#[test]
fn intervals_that_are_none() {
    for [lo, hi] in [
        [f64::NAN, 1.0],
        [1.0, f64::INFINITY],
        [2.0, 1.0],
        [-2.0, 0.0],
    ] {
        let message = refusal(|picture| picture.lines[0].points[2].ci95_us = Some([lo, hi]));
        assert_eq!(
            message,
            format!("'TP' cannot be plotted: [{lo}, {hi}] µs at t = 4 is no interval")
        );
        let message = refusal(|picture| picture.crossovers[0].ci95 = [lo, hi]);
        assert!(message.contains(&format!("[{lo}, {hi}]")), "{message}");
    }
}

#[test]
fn tokens_out_of_order_or_range() {
    for bad in [0, u64::MAX] {
        let message = refusal(|picture| picture.lines[0].points[0].x = bad);
        assert!(
            message.contains(&format!("t = {bad} is not within")),
            "{message}"
        );
    }
    for bad in [2, 1] {
        let message = refusal(|picture| picture.lines[0].points[2].x = bad);
        let expected = format!("'TP' cannot be plotted: t = {bad} comes after t = 2");
        assert_eq!(message, expected);
    }
}

#[test]
fn marks_beyond_the_lines_or_the_axis() {
    let message = refusal(|picture| picture.knees[1].line = 2);
    assert!(message.contains("a knee") && message.contains("line 2, counted from 0, of 2"));
    let message = refusal(|picture| picture.crossovers[0].line = 9);
    assert!(
        message.contains("a crossover") && message.contains("line 9"),
        "{message}"
    );
    let message = refusal(|picture| picture.regions[0].line = Some(5));
    assert!(
        message.contains("'TP costs less'") && message.contains("line 5"),
        "{message}"
    );
    let message = refusal(|picture| picture.knees[0].tokens = 512);
    assert!(
        message.contains("t = 512") && message.contains("1 to 256"),
        "{message}"
    );
    for bad in [0.0, 0.5, 257.0, f64::NAN, f64::INFINITY] {
        let message = refusal(|picture| picture.crossovers[0].tokens = bad);
        assert!(message.contains(&format!("t = {bad} ")), "{message}");
    }
    for [from, to] in [[5.0, 5.0], [9.0, 5.0], [f64::NAN, 5.0], [300.0, 400.0]] {
        let message = refusal(|picture| {
            (picture.regions[0].from, picture.regions[0].to) = (from, to);
        });
        assert!(
            message.contains(&format!("t from {from} to {to}")),
            "{message}"
        );
    }
    for bad in [0.0, -1.0, f64::NAN] {
        let message = refusal(|picture| picture.references[0].tokens = Some(bad));
        assert!(message.contains(&format!("t = {bad} ")), "{message}");
    }
}
