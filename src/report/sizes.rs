//! A sweep over sizes, as a table with nccl-tests' columns and as a picture.

use super::plot::about::{badges, footer, subtitle};
use super::plot::curve::{CurveLine, CurvePicture, CurvePoint, MOST_LINES, Over};
use super::steady::outlier_words;
use super::table::{SAMPLES_FOR_P99, clock_words, title, with_interval};
use crate::plan::SizePoint;
use crate::result::{Measurement, RunResult};
use crate::units::{group_thousands, median_and_interval, short_bytes, significant};

/// Column titles of [`size_rows`].
pub(super) const SIZE_COLUMNS: [&str; 13] = [
    "size\nB",
    "count\nelements",
    "type",
    "redop",
    "root",
    "mode",
    "time µs\n[95 % CI]",
    "p95\nµs",
    "p99\nµs",
    "algbw\nGB/s",
    "busbw\nGB/s",
    "#wrong",
    "samples,\nended by",
];

/// Whether all a run has are points of a sweep over sizes.
pub(super) fn is_over_sizes(run: &RunResult) -> bool {
    !run.results.is_empty() && run.results.iter().all(|one| one.plan.size.is_some())
}

/// The op and the range of sizes: "allreduce of 8 B to 64 MiB bf16".
pub(super) fn size_title(run: &RunResult) -> Option<String> {
    let points = || run.results.iter().filter_map(|one| one.plan.size.as_ref());
    let first = points().next()?;
    let least = points().map(|point| point.bytes).min()?;
    let most = points().map(|point| point.bytes).max()?;
    let range = match least == most {
        true => short_bytes(least),
        false => format!("{} to {}", short_bytes(least), short_bytes(most)),
    };
    let dtype = run.results.first()?.plan.dtype;
    Some(format!("{} of {range} {dtype}", first.op))
}

/// One row a measurement, by size; times are those of one call.
pub(super) fn size_rows(run: &RunResult) -> Vec<Vec<String>> {
    let mut points: Vec<(&SizePoint, &Measurement)> = run
        .results
        .iter()
        .filter_map(|one| Some((one.plan.size.as_ref()?, one)))
        .collect();
    points.sort_by_key(|(point, _)| point.bytes);
    let rows = points.into_iter();
    rows.map(|(point, one)| row(run, point, one)).collect()
}

fn row(run: &RunResult, point: &SizePoint, one: &Measurement) -> Vec<String> {
    let times = &one.per_op_us;
    // One figure has no percentiles.
    let percentile = |us: f64| match times.n {
        1 => "–".to_string(),
        _ => significant(us),
    };
    let p99 = match times.n {
        2..SAMPLES_FOR_P99 => format!("{}*", significant(times.p99)),
        _ => percentile(times.p99),
    };
    vec![
        group_thousands(point.bytes),
        group_thousands(point.count),
        one.plan.dtype.nccl_tests_name().to_string(),
        point.redop.clone(),
        point.root.to_string(),
        line_name(run, one),
        with_interval(times),
        percentile(times.p95),
        p99,
        significant(one.algbw_gb_per_s),
        significant(one.busbw_gb_per_s),
        match one.verified || one.verification.wrong > 0 {
            true => group_thousands(one.verification.wrong),
            false => "N/A".to_string(),
        },
        format!(
            "{}, {}",
            group_thousands(times.n),
            one.conditions.stopped_by.name()
        ),
    ]
}

/// The mode, and the placement where the run has both.
fn line_name(run: &RunResult, one: &Measurement) -> String {
    let differs = |other: &Measurement| other.placement != one.placement;
    match run.results.iter().any(differs) {
        true => format!("{} {}", one.mode.name(), one.placement.name()),
        false => one.mode.name().to_string(),
    }
}

/// The ends of each line in a sentence: what the smallest call takes, and the highest bus bandwidth.
pub(super) fn size_headlines(run: &RunResult) -> Vec<String> {
    let Some(picture) = size_picture(run) else {
        return Vec::new();
    };
    let sentence = |line: &CurveLine| {
        let of_line = || {
            let mine = |one: &&Measurement| line_name(run, one) == line.name;
            run.results.iter().filter(mine)
        };
        let bytes = |one: &Measurement| one.plan.size.as_ref().map_or(0, |size| size.bytes);
        let small = of_line().min_by_key(|one| bytes(one))?;
        let fast = of_line().max_by(|a, b| a.busbw_gb_per_s.total_cmp(&b.busbw_gb_per_s))?;
        let caution = match small.verified && fast.verified {
            true => "",
            false => "Do not use: ",
        };
        let times = &fast.per_op_us;
        let busbw = |us: f64| fast.busbw_gb_per_s * times.median / us;
        let interval = times.ci95.map(|[lo, hi]| [busbw(hi), busbw(lo)]);
        let (most, interval) = median_and_interval(fast.busbw_gb_per_s, interval);
        let op = small.plan.size.as_ref().map_or("", |size| &size.op);
        Some(format!(
            "{caution}{op} over {} ranks, {}: {} µs at {}, n = {}; at most {most}{} GB/s of bus bandwidth, at {}, n = {}.",
            run.ranks,
            line.name,
            with_interval(&small.per_op_us),
            short_bytes(bytes(small)),
            group_thousands(small.per_op_us.n),
            interval.map_or(String::new(), |ends| format!(" {ends}")),
            short_bytes(bytes(fast)),
            group_thousands(times.n),
        ))
    };
    picture.lines.iter().filter_map(sentence).collect()
}

/// What the columns mean, for under the table.
pub(super) fn size_notes(run: &RunResult) -> Vec<String> {
    let Some(first) = run.results.first() else {
        return Vec::new();
    };
    if let Some(imported) = &run.imported {
        return vec![format!(
            "Time: of one call, a {}. Size, count and bandwidths are nccl-tests'.",
            imported.figure
        )];
    }
    let mut notes = vec![format!(
        "Time: of one call. A sample is one replay of {} calls; its time is the slowest rank's ({}), over the calls, and the figure is the median of samples.",
        first.plan.ops,
        clock_words(first)
    )];
    notes.push(
        "Size, count and bandwidths are nccl-tests'. Its time is another: the mean over calls and ranks, by the host's clock."
            .to_string(),
    );
    let few = |one: &Measurement| (2..SAMPLES_FOR_P99).contains(&one.per_op_us.n);
    if run.results.iter().any(few) {
        notes.push(format!(
            "* p99 of fewer than {SAMPLES_FOR_P99} samples rests on the largest one or two."
        ));
    }
    notes.extend(outlier_words(run));
    notes
}

/// Time of a call over its size, a line for each mode and placement; `None` where a run is no sweep
/// over sizes.
pub(super) fn size_picture(run: &RunResult) -> Option<CurvePicture> {
    if !is_over_sizes(run) {
        return None;
    }
    let mut lines: Vec<CurveLine> = Vec::new();
    for one in &run.results {
        let name = line_name(run, one);
        let point = CurvePoint {
            x: one.plan.size.as_ref()?.bytes,
            us: one.per_op_us.median,
            ci95_us: one.per_op_us.ci95,
        };
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(CurveLine {
                name,
                points: vec![point],
            }),
        }
    }
    for line in &mut lines {
        line.points.sort_by_key(|point| point.x);
    }
    let left_out: Vec<String> = lines
        .iter()
        .skip(MOST_LINES)
        .map(|line| format!("{} (no room)", line.name))
        .collect();
    lines.truncate(MOST_LINES);
    let measured: Vec<&Measurement> = run.results.iter().collect();
    Some(CurvePicture {
        title: title(run)?,
        subtitle: subtitle(run, &measured),
        badges: badges(run, &measured),
        footer: footer(run, &left_out),
        over: Over::Bytes,
        y_name: "one call".to_string(),
        lines,
        ..CurvePicture::default()
    })
}
