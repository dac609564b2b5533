//! Tests of the whole figure on made-up runs.

mod fixture;
pub mod reading;

use fixture::{Made, Noise, noisy};
use reading::{assert_legible, texts};

use super::PlotError;
use super::layout::{HEIGHT, WIDTH};
use super::render::PNG_SCALE;
use crate::result::{Backend, Mode, Placement, Status};

/// Largest SVG that a mail or a web page should carry.
const LARGEST_SVG: usize = 1_500_000;

const BADGES: [&str; 5] = [
    "HOST MEMORY: not GPU figures",
    "SHARED GPU: not representative of a real box",
    "PREDICTED",
    "PARTIAL",
    "WRONG DATA",
];

/// The six ways of measuring, in the order of tables.
fn ways() -> impl Iterator<Item = (Mode, Placement)> {
    [Placement::OutOfPlace, Placement::InPlace]
        .into_iter()
        .flat_map(|placement| Mode::ALL.into_iter().map(move |mode| (mode, placement)))
}

/// `measurements` of `samples` each, around `typical` µs.
fn made(backend: Backend, ranks: u32, measurements: usize, samples: usize, typical: f64) -> Made {
    ways().take(measurements).enumerate().fold(
        Made::new(backend, ranks),
        |made, (index, (mode, placement))| {
            let typical = typical * (1.0 - 0.07 * index as f64);
            let noise = Noise(7 + index as u64);
            made.measured(mode, placement, samples, noisy(noise, typical, 0.04, 0.02))
        },
    )
}

fn words(svg: &str) -> Vec<String> {
    texts(svg).into_iter().map(|text| text.words).collect()
}

fn badges(svg: &str) -> Vec<String> {
    let mut found = words(svg);
    found.retain(|words| BADGES.contains(&words.as_str()));
    found
}

#[test]
fn the_figure_names_plan_machine_labels_and_medians() {
    let made = made(Backend::Nccl, 8, 3, 60, 1_700.0);
    let svg = made.plot().svg().unwrap();
    let words = words(&svg);
    let has = |text: &str| words.iter().any(|words| words == text);
    assert!(has("122 all-reduces of 14,336 B bf16, 8 ranks"));
    assert!(words.iter().any(|words| words
        == "NCCL 2.27.3 · 8 × NVIDIA H200 · out-of-place · warm buffers · host node17 · \
            clock cuda-events"));
    for measurement in &made.run.results {
        let named = words.iter().filter(|words| **words == measurement.label);
        assert_eq!(named.count(), 3, "{}: once a panel", measurement.label);
        let burst = measurement.burst_us.median / 1e3;
        let per_op = measurement.per_op_us.median;
        assert!(has(&format!("{burst:.2} ms")) || has(&format!("{burst:.3} ms")));
        assert!(has(&format!("{per_op:.1} µs")) || has(&format!("{per_op:.2} µs")));
        let interval = words
            .iter()
            .find(|words| words.starts_with('[') && words.contains("n=60"));
        assert!(interval.is_some());
    }
    assert!(words.iter().any(|words| words.contains("above, max")));
}

#[test]
fn real_runs_carry_no_badge() {
    let made = made(Backend::Nccl, 8, 3, 40, 1_700.0);
    let svg = made.plot().svg().unwrap();
    assert_eq!(badges(&svg), [""; 0]);
}

#[test]
fn what_is_not_representative_or_wrong_is_badged() {
    let host = made(Backend::MpiHost, 8, 1, 40, 6_500.0);
    assert_eq!(badges(&host.plot().svg().unwrap()), [BADGES[0]]);
    let shared = made(Backend::Nccl, 8, 2, 40, 6_500.0).sharing_a_gpu();
    let svg = shared.plot().svg().unwrap();
    assert_eq!(badges(&svg), [BADGES[1]]);
    assert!(svg.contains("1 × NVIDIA H200 for 8 ranks"));
    let predicted = made(Backend::Predicted, 8, 1, 40, 6_500.0);
    assert_eq!(badges(&predicted.plot().svg().unwrap()), [BADGES[2]]);
    let mut partial = made(Backend::Nccl, 8, 1, 40, 6_500.0);
    partial.run.status = Status::Partial;
    assert_eq!(badges(&partial.plot().svg().unwrap()), [BADGES[3]]);
    let mut failed = made(Backend::Nccl, 8, 1, 40, 6_500.0);
    failed.run.status = Status::Failed;
    assert_eq!(badges(&failed.plot().svg().unwrap()), [BADGES[4]]);
    // Once for the run, once at the plot of the measurement at fault.
    let mut wrong = made(Backend::Nccl, 8, 3, 40, 6_500.0);
    wrong.run.results[1].verified = false;
    assert_eq!(badges(&wrong.plot().svg().unwrap()), [BADGES[4]; 2]);
}

#[test]
fn all_badges_at_once_leave_room_for_the_title() {
    let mut made = made(Backend::MpiHost, 8, 6, 40, 6_500.0).sharing_a_gpu();
    made.run.status = Status::Partial;
    made.run.results[0].verified = false;
    let svg = made.plot().svg().unwrap();
    assert_eq!(badges(&svg).len(), 5);
    assert_legible(&svg, "all badges");
}

#[test]
fn no_median_stands_without_an_interval_or_the_reason() {
    let made = made(Backend::Nccl, 2, 2, 3, 1_700.0);
    let words = words(&made.plot().svg().unwrap());
    let reasons = words
        .iter()
        .filter(|words| *words == "n=3: too few for an interval");
    assert_eq!(reasons.count(), 4, "two panels, two measurements");
}

#[test]
fn names_from_outside_are_escaped_and_cut() {
    let mut made = made(Backend::Nccl, 2, 3, 20, 1_700.0);
    for gpu in &mut made.run.machine.gpus {
        gpu.name = "<b>&\"x\u{1}".to_string();
    }
    made.run.machine.hosts[0].name = "'; <script>alert(1)</script>".to_string();
    let svg = made.plot().svg().unwrap();
    assert!(!svg.contains("<b>") && !svg.contains("<script>") && !svg.contains('\u{1}'));
    assert!(svg.contains("2 × &lt;b&gt;&amp;&quot;x"));
    for gpu in &mut made.run.machine.gpus {
        gpu.name = "NVIDIA ".repeat(5_000);
    }
    made.run.machine.hosts[0].name = "n".repeat(100_000);
    made.run.results[0].label = "label ".repeat(1_000);
    made.run.results[0].conditions.clock = "clock".repeat(1_000);
    let svg = made.plot().svg().unwrap();
    assert!(svg.contains('…'));
    assert!(
        svg.contains("warm buffers"),
        "conditions outlive long names"
    );
    assert_legible(&svg, "long names");
}

#[test]
fn outliers_are_counted_where_they_are_not_drawn() {
    let time = |sample, _| if sample % 30 == 7 { 90_000.0 } else { 1_000.0 };
    let made = Made::new(Backend::Nccl, 2).measured(Mode::Eager, Placement::OutOfPlace, 90, time);
    let words = words(&made.plot().svg().unwrap());
    assert!(
        words.iter().any(|words| words == "3 above, max 90.0 ms"),
        "{words:?}"
    );
    assert!(
        words
            .iter()
            .any(|words| words.ends_with(", 3 above the axis")),
        "{words:?}"
    );
}

#[test]
fn samples_without_a_place_are_named() {
    let mut made = made(Backend::Nccl, 2, 3, 20, 1_700.0);
    made.run.results.remove(1);
    made.series[2].samples.clear();
    let words = words(&made.plot().svg().unwrap());
    let note = "Not shown: gated out-of-place (no summary), graph out-of-place (no samples)";
    assert!(
        words.iter().any(|words| words.starts_with(note)),
        "{words:?}"
    );
}

#[test]
fn nothing_to_draw_is_an_error_in_plain_words() {
    let nothing = Made::new(Backend::Nccl, 8);
    assert_eq!(nothing.plot().svg(), Err(PlotError::NoSamples));
    assert_eq!(nothing.plot().png(), Err(PlotError::NoSamples));
    let empty = made(Backend::Nccl, 8, 3, 0, 1_700.0);
    let error = empty.plot().svg().unwrap_err();
    assert_eq!(error.to_string(), "there are no samples to plot");
    let mut unknown = made(Backend::Nccl, 8, 1, 10, 1_700.0);
    unknown.run.results.clear();
    let error = unknown.plot().svg().unwrap_err().to_string();
    assert!(error.contains("'eager out-of-place'"), "{error}");
    let mut nobody = made(Backend::Nccl, 8, 1, 10, 1_700.0);
    nobody.series[0].samples[3].clear();
    let error = nobody.plot().svg().unwrap_err().to_string();
    assert!(error.contains("sample 3"), "{error}");
}

#[test]
fn values_that_are_no_times_are_refused_with_their_place() {
    for bad in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
        let mut made = made(Backend::Nccl, 4, 2, 10, 1_700.0);
        made.series[1].samples[4][3].device_us = bad;
        let error = made.plot().svg().unwrap_err().to_string();
        assert!(
            error.contains("sample 4") && error.contains("rank 3"),
            "{error}"
        );
        made.series[1].samples[4][3].device_us = 1.0;
        made.run.results[0].per_op_us.p99 = bad;
        let error = made.plot().svg().unwrap_err();
        assert!(matches!(error, PlotError::BadSummary { .. }), "{error}");
    }
}

#[test]
fn the_png_has_twice_the_size_and_the_same_frame() {
    let made = made(Backend::MpiHost, 8, 2, 30, 6_500.0);
    let file = made.plot().png().unwrap();
    let mut reader = png::Decoder::new(file.as_slice()).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((frame.width, frame.height), (2 * WIDTH, 2 * HEIGHT));
    let at = |x: u32, y: u32| {
        let start = ((y * PNG_SCALE * frame.width + x * PNG_SCALE) * 3) as usize;
        [pixels[start], pixels[start + 1], pixels[start + 2]]
    };
    assert_eq!(at(2, 2), [255; 3], "white paper");
    assert_eq!(at(WIDTH - 28, 18), [0xC2, 0x4E, 0x00], "the badge");
    let svg = made.plot().svg().unwrap();
    assert!(svg.contains(&format!(r#"width="{WIDTH}" height="{HEIGHT}""#)));
}

#[test]
fn ten_thousand_samples_stay_small() {
    for measurements in [1, 6] {
        let made = made(Backend::Nccl, 16, measurements, 10_000, 1_700.0);
        let svg = made.plot().svg().unwrap();
        assert!(svg.len() < LARGEST_SVG, "{} bytes", svg.len());
        assert!(svg.contains("points thinned"));
        assert_legible(&svg, "10,000 samples");
        let file = made.plot().png().unwrap();
        assert!(file.len() < 2 * LARGEST_SVG, "{} bytes", file.len());
    }
}

#[test]
fn any_run_is_drawn_legibly() {
    let mut noise = Noise(2025);
    let lengths = [1, 2, 5, 6, 10, 12, 25, 60, 200, 700];
    let typical = [5.0, 80.0, 999.0, 1_700.0, 37_000.0, 999_900.0, 1e7];
    for round in 0..250 {
        let backend = [Backend::Nccl, Backend::MpiHost, Backend::Predicted][noise.below(3)];
        let ranks = 2 + noise.below(15) as u32;
        let base = typical[noise.below(typical.len())];
        let spread = [0.0, 1e-9, 1e-4, 0.01, 0.1, 2.0][noise.below(6)];
        let outliers = [0.0, 0.0, 0.01, 0.04, 0.3][noise.below(5)];
        let slower = [1.0, 1.05, 2.0, 40.0][noise.below(4)];
        let mut made = Made::new(backend, ranks);
        for (index, (mode, placement)) in ways().take(1 + noise.below(6)).enumerate() {
            let samples = lengths[noise.below(lengths.len())];
            let time = base * f64::powi(slower, index as i32 % 3);
            let seed = Noise(round * 31 + index as u64);
            made = made.measured(
                mode,
                placement,
                samples,
                noisy(seed, time, spread, outliers),
            );
        }
        if noise.below(3) == 0 {
            made = made.sharing_a_gpu();
        }
        if noise.below(4) == 0 {
            made.run.status = Status::Partial;
            made.run.results[0].verified = false;
        }
        let case = format!(
            "round {round}: {backend:?}, {ranks} ranks, {} measurements of {base} µs ± {spread}, \
             outliers {outliers}, steps {slower}",
            made.series.len()
        );
        let svg = made
            .plot()
            .svg()
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(svg.len() < LARGEST_SVG, "{case}: {} bytes", svg.len());
        assert_legible(&svg, &case);
        // Drawing pixels takes longer: the odd case will do.
        if round % 50 == 0 {
            made.plot()
                .png()
                .unwrap_or_else(|error| panic!("{case}: {error}"));
        }
    }
}

#[test]
fn the_check_for_legibility_sees_an_overlap() {
    let svg = made(Backend::Nccl, 2, 1, 10, 1_700.0).plot().svg().unwrap();
    assert_legible(&svg, "as drawn");
    let (before, after) = svg.split_once("<text").unwrap();
    let first = after.split_once("</text>").unwrap().0;
    let doubled = format!("{before}<text{first}</text><text{after}");
    assert!(std::panic::catch_unwind(|| assert_legible(&doubled, "doubled")).is_err());
}

#[test]
fn equal_and_zero_times_are_drawn() {
    for time in [0.0, 5.0, 1e7] {
        let made = Made::new(Backend::Nccl, 4)
            .measured(Mode::Eager, Placement::OutOfPlace, 10, |_, _| time)
            .measured(Mode::Graph, Placement::OutOfPlace, 1, |_, _| time);
        assert_legible(&made.plot().svg().unwrap(), &format!("all {time} µs"));
        made.plot().png().unwrap();
    }
}
