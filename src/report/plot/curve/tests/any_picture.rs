//! Any picture that is not refused is legible.

use proptest::prelude::*;

use super::fixture::picture;
use crate::report::plot::curve::{
    Crossover, CurveLine, CurvePicture, CurvePoint, Knee, Reference, Region, curve_svg,
};
use crate::report::plot::tests::reading::assert_legible;

const BADGES: [&str; 3] = [
    "HOST MEMORY: not GPU figures",
    "SHARED GPU: not representative of a real box",
    "PREDICTED",
];

prop_compose! {
    /// A name of up to 200 letters.
    fn name()(word in "[A-Za-z<&+ ,µ]{1,25}", times in 1usize..9) -> String {
        word.repeat(times)
    }
}

prop_compose! {
    /// A line whose times start anywhere within `decades` and go where they like.
    fn line(decades: f64)(
        name in name(),
        start in 0.0..1.0f64,
        steps in prop::collection::vec((-0.2..0.6f64, 1u64..5, 0.0..0.4f64, any::<bool>()), 1..18),
    ) -> CurveLine {
        let mut tokens = 0u64;
        let mut us = 10f64.powf(1.0 + start * decades);
        let points = steps.into_iter().map(|(step, factor, spread, known)| {
            tokens = (tokens * factor).max(tokens + 1).min(65_536 + tokens / 2);
            us *= 10f64.powf(step * decades / 6.0);
            let ci95_us = known.then_some([us * (1.0 - 3.0 * spread), us * (1.0 + spread)]);
            CurvePoint { x: tokens, us, ci95_us }
        }).collect();
        CurveLine { name, points }
    }
}

/// Shares of ranges and choices, to be turned into marks on the lines.
type Marks = Vec<(u8, prop::sample::Index, f64, f64)>;

prop_compose! {
    fn any_picture()(
        decades in 0.0..5.0f64,
    )(
        lines in prop::collection::vec(line(decades), 1..7),
        marks in prop::collection::vec(
            (0u8..4, any::<prop::sample::Index>(), 0.0..1.0f64, 0.0..1.0f64), 0..9),
        sentences in prop::collection::vec(name(), 0..4),
        badges in prop::sample::subsequence(&BADGES[..], 0..=3),
        long_name in name(),
    ) -> CurvePicture {
        let mut made = picture(lines);
        made.answer = sentences;
        made.badges = badges;
        add(&mut made, marks, &long_name);
        made
    }
}

fn add(picture: &mut CurvePicture, marks: Marks, name: &str) {
    let points = || picture.lines.iter().flat_map(|line| &line.points);
    let least = points().map(|point| point.x).min().unwrap() as f64;
    let most = points().map(|point| point.x).max().unwrap() as f64;
    let at = |share: f64| least * (most / least).powf(share);
    for (kind, index, one, other) in marks {
        let line = index.index(picture.lines.len());
        let points = &picture.lines[line].points;
        let point = points[index.index(points.len())];
        let (from, to) = (at(one.min(other)), at(one.max(other)));
        let (tokens, us) = (point.x, point.us);
        match kind {
            0 => picture.knees.push(Knee { line, tokens, us }),
            1 => picture.crossovers.push(Crossover {
                line,
                tokens: at(one),
                ci95: [from * 0.9, to * 1.1],
                us,
            }),
            2 if from < to => picture.regions.push(Region {
                from,
                to,
                name: name.to_string(),
                line: (one > 0.2).then_some(line),
            }),
            _ => picture.references.push(Reference {
                name: name.to_string(),
                tokens: (one > 0.5).then_some(from),
                us,
            }),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_picture_is_legible(picture in any_picture()) {
        let svg = curve_svg(&picture).unwrap();
        assert_legible(&svg, "any picture");
    }
}
