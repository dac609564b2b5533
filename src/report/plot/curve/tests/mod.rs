//! Tests of the whole picture on made-up curves.

mod any_picture;
mod fixture;
mod refusals;

use fixture::{ALL_TO_ALL, TP, line, nasty, picture, two_plans};

use super::page::{HEIGHT, WIDTH};
use super::{CurvePicture, curve_png, curve_svg};
use crate::report::plot::colours::LOOKS;
use crate::report::plot::render::PNG_SCALE;
use crate::report::plot::tests::reading::{Text, assert_legible, texts};

fn words(picture: &CurvePicture) -> Vec<String> {
    let svg = curve_svg(picture).unwrap();
    texts(&svg).into_iter().map(|text| text.words).collect()
}

fn find<'t>(texts: &'t [Text], words: &str) -> &'t Text {
    texts
        .iter()
        .find(|text| text.words == words)
        .unwrap_or_else(|| panic!("no '{words}' in {texts:?}"))
}

fn middle(text: &Text) -> f64 {
    (text.room.left + text.room.right) / 2.0
}

#[test]
fn the_picture_says_what_was_found() {
    let words = words(&two_plans());
    for expected in [
        "Does Expert Parallelism cost less communication than Tensor Parallelism?",
        "communication of one decode step, ms",
        "tokens per GPU, t",
        "logarithmic axes",
        "95 % interval of the median",
        TP,
        "TP costs less",
        "EP all-to-all costs less",
        "crossover t ≈ 22.8 [19.4, 27.6]",
        "knee t = 4",
        "knee t = 16",
        "the batch-1 burst (t = 0.125): 1.61 ms",
        "25.9 ms",
        "[25.1, 26.7]",
    ] {
        assert!(
            words.iter().any(|words| words == expected),
            "{expected}: {words:?}"
        );
    }
    assert!(words.join(" ").contains(ALL_TO_ALL), "{words:?}");
    assert!(words.join(" ").contains("from about t = 22.8"), "{words:?}");
    assert!(
        !words.iter().any(|words| words.contains("left out")),
        "{words:?}"
    );
}

#[test]
fn measured_tokens_are_ticks_at_equal_distances() {
    let svg = curve_svg(&two_plans()).unwrap();
    let texts = texts(&svg);
    let at: Vec<f64> = ["1", "2", "4", "8", "16", "32", "64", "128", "256"]
        .map(|tokens| {
            let ticks = texts.iter().filter(|text| text.words == tokens);
            // "1", "2" and so on are on the axis of times as well, which is further up.
            middle(
                ticks
                    .max_by(|a, b| a.room.top.total_cmp(&b.room.top))
                    .unwrap(),
            )
        })
        .into();
    let step = at[1] - at[0];
    assert!(step > 50.0);
    for pair in at.windows(2) {
        assert!((pair[1] - pair[0] - step).abs() < 0.5, "{at:?}");
    }
}

#[test]
fn times_are_ticks_at_logarithmic_distances() {
    let svg = curve_svg(&two_plans()).unwrap();
    let texts = texts(&svg);
    let y = |tick: &str| find(&texts, tick).room.top;
    let decade = (y("2") - y("20")).abs();
    assert!((decade * 0.4f64.log10() + (y("2") - y("5"))).abs() < 0.6);
    assert!((y("5") - y("10") - decade * 2f64.log10()).abs() < 0.6);
}

#[test]
fn labels_of_measured_tokens_are_thinned_where_they_would_overlap() {
    let (_, dense) = nasty()
        .into_iter()
        .find(|(case, _)| *case == "dense")
        .unwrap();
    let words = words(&dense);
    for kept in ["1", "2", "4", "64", "128", "300"] {
        assert!(words.iter().any(|words| words == kept), "{kept}");
    }
    assert!(words.len() < 60, "{words:?}");
}

#[test]
fn equal_lines_each_have_a_label_and_a_knee() {
    let (_, equal) = nasty()
        .into_iter()
        .find(|(case, _)| *case == "equal")
        .unwrap();
    let words = words(&equal);
    for name in [TP, "TP attention + EP"] {
        let times = words.iter().filter(|words| *words == name).count();
        assert_eq!(times, 2, "{name}: beside the line and at the knee");
    }
    assert_eq!(
        words.iter().filter(|words| *words == "knee t = 8").count(),
        2
    );
}

#[test]
fn a_line_without_intervals_says_so_and_has_no_band() {
    let mut bare = picture(vec![line(TP, &[1_000.0, 1_500.0], 0.1)]);
    let with_band = curve_svg(&bare).unwrap();
    for point in &mut bare.lines[0].points {
        point.ci95_us = None;
    }
    let without = curve_svg(&bare).unwrap();
    let colour = LOOKS[0].colour;
    let band = format!(
        "opacity=\"0.25\" fill=\"#{:02X}{:02X}{:02X}\"",
        colour.0, colour.1, colour.2
    );
    assert!(with_band.contains(&band) && !without.contains(&band));
    let words = words(&bare);
    assert!(
        words.iter().any(|words| words == "no interval"),
        "{words:?}"
    );
    assert!(
        !words.iter().any(|words| words.contains("95 %")),
        "{words:?}"
    );
}

#[test]
fn several_crossovers_say_whose_they_are() {
    let named = |picture: &CurvePicture| {
        let words = words(picture);
        words.iter().filter(|words| *words == ALL_TO_ALL).count()
    };
    let mut picture = two_plans();
    assert_eq!(named(&picture), 1, "beside its line only");
    let mut other = picture.crossovers[0];
    other.line = 0;
    other.tokens = 100.0;
    picture.crossovers.push(other);
    assert_eq!(named(&picture), 2);
}

#[test]
fn reasons_for_doubt_are_badged() {
    let (_, badges) = nasty()
        .into_iter()
        .find(|(case, _)| *case == "badges")
        .unwrap();
    let words = words(&badges);
    for badge in &badges.badges {
        assert!(words.iter().any(|words| words == badge), "{words:?}");
    }
}

#[test]
fn the_nastiest_pictures_are_legible() {
    for (case, picture) in nasty() {
        let svg = curve_svg(&picture).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_legible(&svg, case);
        assert!(svg.len() < 300_000, "{case}: {} bytes", svg.len());
    }
}

#[test]
fn names_from_outside_are_escaped_and_cut() {
    let mut picture = two_plans();
    picture.lines[1].name = "<b>&\"x\u{1}".to_string();
    picture.regions[0].name = "'; <script>".to_string();
    let svg = curve_svg(&picture).unwrap();
    assert!(!svg.contains("<b>") && !svg.contains("<script>") && !svg.contains('\u{1}'));
    assert!(svg.contains("&lt;b&gt;&amp;&quot;x"));
}

#[test]
fn what_has_no_room_is_counted() {
    let mut picture = two_plans();
    let reference = picture.references[0].clone();
    picture.references = vec![reference; 400];
    let svg = curve_svg(&picture).unwrap();
    assert_legible(&svg, "400 references");
    assert!(svg.contains("labels left out: no room"));
}

#[test]
fn the_png_has_twice_the_size_and_shows_the_lines() {
    let (_, badges) = nasty()
        .into_iter()
        .find(|(case, _)| *case == "badges")
        .unwrap();
    let file = curve_png(&badges).unwrap();
    let mut reader = png::Decoder::new(file.as_slice()).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(
        (frame.width, frame.height),
        (PNG_SCALE * WIDTH, PNG_SCALE * HEIGHT)
    );
    assert_eq!(&pixels[..3], [255; 3], "white paper");
    for look in &LOOKS[..2] {
        let colour = [look.colour.0, look.colour.1, look.colour.2];
        let found = pixels.chunks_exact(3).filter(|pixel| *pixel == colour);
        assert!(found.count() > 1_000, "{colour:?}");
    }
    let warning = pixels
        .chunks_exact(3)
        .filter(|pixel| *pixel == [0xC2, 0x4E, 0x00]);
    assert!(warning.count() > 5_000);
}
