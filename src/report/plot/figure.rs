//! What the figure says, before anything is drawn: texts, warnings and checked values.

use std::collections::BTreeMap;

use crate::result::{Backend, Buffers, Gpu, Measurement, RunResult, Series, Status};
use crate::stats::Summary;
use crate::units::{group_thousands, significant};

use super::PlotError;
use super::colours::{LOOKS, Look};
use super::layout::MOST_ROWS;
use super::scale::{LONGEST_US, Unit, Window};

/// Names from outside get this much room in the subtitle, in letters, so that what follows them
/// is seen as well.
const LONGEST_NAME: usize = 48;

/// One measurement and its samples.
pub struct Row<'a> {
    pub measurement: &'a Measurement,
    pub series: &'a Series,
    pub look: Look,
    /// The slowest rank's time of each sample, in the order of taking.
    pub burst: Vec<f64>,
    /// `burst`, ascending.
    pub sorted: Vec<f64>,
}

impl Row<'_> {
    pub fn label(&self) -> &str {
        &self.measurement.label
    }

    pub fn summary(&self) -> &Summary {
        &self.measurement.burst_us
    }

    pub fn wrong(&self) -> bool {
        !self.measurement.verified
    }

    /// Samples above the axis.
    pub fn above(&self, window: &Window) -> usize {
        self.sorted.len() - self.sorted.partition_point(|&us| us <= window.hi)
    }

    pub fn longest(&self) -> f64 {
        self.sorted.last().copied().unwrap_or(0.0)
    }
}

/// Everything that the panels draw.
pub struct Figure<'a> {
    pub rows: Vec<Row<'a>>,
    pub title: String,
    pub subtitle: String,
    /// Reasons not to take the figures for what they seem to be.
    pub badges: Vec<&'static str>,
    pub footer: String,
    /// What the axes of samples show, over all ranks.
    pub sample_window: Window,
    /// What the axis of the distribution shows: the slowest ranks' times only.
    pub burst_window: Window,
    /// What the axis of one op's time shows.
    pub op_window: Window,
}

impl<'a> Figure<'a> {
    /// Pairs samples with their measurements and checks that all of it can be drawn.
    pub fn new(run: &'a RunResult, series: &'a [Series]) -> Result<Figure<'a>, PlotError> {
        if series.iter().all(|one| one.samples.is_empty()) {
            return Err(PlotError::NoSamples);
        }
        let (rows, left_out) = pair(run, series)?;
        if rows.is_empty() {
            let labels: Vec<String> = series
                .iter()
                .map(|one| format!("'{}'", one.label()))
                .collect();
            return Err(PlotError::NoSummary {
                labels: labels.join(", "),
            });
        }
        let fastest = rows
            .iter()
            .flat_map(|row| row.series.samples.iter().flatten())
            .map(|rank| rank.device_us)
            .fold(f64::INFINITY, f64::min);
        let least = rows
            .iter()
            .map(|row| row.sorted[0])
            .fold(f64::INFINITY, f64::min);
        let most = rows.iter().map(Row::longest).fold(0.0, f64::max);
        let bursts = rows.iter().map(Row::summary);
        let ops = rows.iter().map(|row| &row.measurement.per_op_us);
        let op_least = ops.clone().map(|op| op.min).fold(f64::INFINITY, f64::min);
        let op_most = ops.clone().map(|op| op.p99).fold(0.0, f64::max);
        let sample_window = Window::new(fastest, most, bursts.clone());
        let burst_window = Window::new(least, most, bursts);
        let op_window = Window::new(op_least, op_most, ops);
        Ok(Figure {
            title: title(run, &rows),
            subtitle: subtitle(run, &rows),
            badges: badges(run, &rows),
            footer: footer(run, &left_out),
            rows,
            sample_window,
            burst_window,
            op_window,
        })
    }

    /// The unit of the burst's axes.
    pub fn unit(&self) -> Unit {
        Unit::of(self.sample_window.hi)
    }
}

/// The rows of the figure, and the labels of what has no samples, no summary or no room.
fn pair<'a>(
    run: &'a RunResult,
    series: &'a [Series],
) -> Result<(Vec<Row<'a>>, Vec<String>), PlotError> {
    let mut waiting: Vec<&Measurement> = run.results.iter().collect();
    let mut rows: Vec<Row<'a>> = Vec::new();
    let mut left_out = Vec::new();
    for one in series {
        let found = waiting.iter().position(|m| m.label == one.label());
        let Some(found) = found else {
            left_out.push(format!("{} (no summary)", one.label()));
            continue;
        };
        let measurement = waiting.remove(found);
        if one.samples.is_empty() {
            left_out.push(format!("{} (no samples)", measurement.label));
        } else if rows.len() == MOST_ROWS {
            left_out.push(format!("{} (no room)", measurement.label));
        } else {
            check(measurement, one)?;
            let burst = one.burst_us();
            let mut sorted = burst.clone();
            sorted.sort_by(f64::total_cmp);
            rows.push(Row {
                measurement,
                series: one,
                look: LOOKS[rows.len() % LOOKS.len()],
                burst,
                sorted,
            });
        }
    }
    left_out.extend(waiting.iter().map(|m| format!("{} (no samples)", m.label)));
    Ok((rows, left_out))
}

/// Refuses values that have no place on an axis.
fn check(measurement: &Measurement, series: &Series) -> Result<(), PlotError> {
    let label = || measurement.label.clone();
    let is_time = |us: f64| (0.0..LONGEST_US).contains(&us);
    for (sample, ranks) in series.samples.iter().enumerate() {
        if ranks.is_empty() {
            return Err(PlotError::NoRanks {
                label: label(),
                sample,
            });
        }
        for (rank, time) in ranks.iter().enumerate() {
            if !is_time(time.device_us) {
                return Err(PlotError::NotATime {
                    label: label(),
                    sample,
                    rank,
                    value: time.device_us,
                });
            }
        }
    }
    for summary in [&measurement.burst_us, &measurement.per_op_us] {
        let single = [
            summary.median,
            summary.min,
            summary.p5,
            summary.p95,
            summary.p99,
            summary.max,
        ];
        let interval = summary.ci95.into_iter().flatten();
        for value in single.into_iter().chain(interval) {
            if !is_time(value) {
                return Err(PlotError::BadSummary {
                    label: label(),
                    value,
                });
            }
        }
    }
    Ok(())
}

fn count(number: u64, one: &str, many: &str) -> String {
    let word = if number == 1 { one } else { many };
    format!("{} {word}", group_thousands(number))
}

/// "122 all-reduces of 14,336 B bf16, 8 ranks"
fn title(run: &RunResult, rows: &[Row<'_>]) -> String {
    let plan = &rows[0].measurement.plan;
    let gap = if plan.gap_us > 0.0 {
        format!(" with {} µs between", significant(plan.gap_us))
    } else {
        String::new()
    };
    let ranks = count(u64::from(run.ranks), "rank", "ranks");
    let alike = rows.iter().all(|row| row.measurement.plan == *plan);
    let title = if alike {
        plan.title.clone()
    } else {
        format!("{} plans", rows.len())
    };
    format!("{title}{gap}, {ranks}")
}

/// What moved the data, on what, and under which conditions.
fn subtitle(run: &RunResult, rows: &[Row<'_>]) -> String {
    let mut parts = vec![backend(run)];
    parts.extend(hardware(run));
    let first = rows[0].measurement;
    parts.push(
        shared_by_all(rows, |m| m.placement.name())
            .unwrap_or("both placements")
            .to_string(),
    );
    let buffers = shared_by_all(rows, |m| match m.conditions.buffers {
        Buffers::Warm => "warm buffers",
        Buffers::Cold => "cold buffers",
    });
    parts.push(buffers.unwrap_or("warm and cold buffers").to_string());
    parts.extend(hosts(run));
    if let (Some(tokens), true) = (
        first.tokens_per_gpu,
        rows.iter()
            .all(|row| row.measurement.tokens_per_gpu == first.tokens_per_gpu),
    ) {
        parts.push(format!("{} per GPU", count(tokens, "token", "tokens")));
    }
    if let Some(Some(choice)) = shared_by_all(rows, |m| m.conditions.nccl_choice.as_deref()) {
        parts.push(shorten(choice));
    }
    parts.push(
        shared_by_all(rows, |m| m.conditions.clock.as_str())
            .map_or("several clocks".to_string(), |clock| {
                format!("clock {}", shorten(clock))
            }),
    );
    parts.join(" · ")
}

/// The value that all rows have in common.
fn shared_by_all<'r, T: PartialEq>(
    rows: &'r [Row<'_>],
    value: impl Fn(&'r Measurement) -> T,
) -> Option<T> {
    let first = value(rows[0].measurement);
    rows.iter()
        .all(|row| value(row.measurement) == first)
        .then_some(first)
}

fn shorten(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_string();
    }
    let kept: String = name.chars().take(LONGEST_NAME - 1).collect();
    format!("{}…", kept.trim_end())
}

fn backend(run: &RunResult) -> String {
    match run.backend {
        Backend::Nccl => match &run.machine.nccl_version {
            Some(version) => format!("NCCL {}", shorten(version)),
            None => "NCCL".to_string(),
        },
        Backend::MpiHost => "MPI on host memory".to_string(),
        Backend::Predicted => "Computed".to_string(),
    }
}

/// The GPUs with their numbers, or the processors.
fn hardware(run: &RunResult) -> Option<String> {
    let gpus = &run.machine.gpus;
    let names = if gpus.is_empty() {
        let cpus = run.machine.hosts.iter().map(|host| host.cpu.as_str());
        tally(cpus)
    } else {
        // Ranks that share a GPU name it once each.
        let identity = |gpu: &'_ Gpu| (gpu.host.clone(), gpu.uuid.clone(), gpu.pci_bus_id.clone());
        let single: BTreeMap<_, &str> = gpus
            .iter()
            .map(|gpu| (identity(gpu), gpu.name.as_str()))
            .collect();
        tally(single.into_values())
    };
    let devices: usize = names.values().sum();
    let parts: Vec<String> = names
        .into_iter()
        .map(|(name, number)| match (number, gpus.is_empty()) {
            (1, true) => shorten(name),
            _ => format!("{number} × {}", shorten(name)),
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    let mut text = parts.join(" + ");
    if gpus.len() > devices {
        text = format!("{text} for {} ranks", gpus.len());
    }
    Some(text)
}

/// How often each name occurs, in the order of the names.
fn tally<'n>(names: impl Iterator<Item = &'n str>) -> BTreeMap<&'n str, usize> {
    let mut numbers = BTreeMap::new();
    for name in names.filter(|name| !name.is_empty()) {
        *numbers.entry(name).or_insert(0) += 1;
    }
    numbers
}

fn hosts(run: &RunResult) -> Option<String> {
    match run.machine.hosts.as_slice() {
        [] => None,
        [host] => Some(format!("host {}", shorten(&host.name))),
        [first, rest @ ..] => Some(format!(
            "{} hosts ({}, …)",
            rest.len() + 1,
            shorten(&first.name)
        )),
    }
}

fn badges(run: &RunResult, rows: &[Row<'_>]) -> Vec<&'static str> {
    let wrong = run.status == Status::Failed || run.results.iter().any(|m| !m.verified);
    let shared = rows.iter().any(|row| row.measurement.conditions.shared_gpu);
    let all = [
        (run.backend == Backend::Predicted, "PREDICTED"),
        (
            run.backend == Backend::MpiHost,
            "HOST MEMORY: not GPU figures",
        ),
        (shared, "SHARED GPU: not representative of a real box"),
        (wrong, "WRONG DATA"),
        (run.status == Status::Partial, "PARTIAL"),
    ];
    all.into_iter()
        .filter_map(|(applies, text)| applies.then_some(text))
        .collect()
}

fn footer(run: &RunResult, left_out: &[String]) -> String {
    let mut text = format!(
        "commbench {}, started {}",
        run.command.version, run.command.started_at
    );
    if !left_out.is_empty() {
        // First, because the end is what an ellipsis takes.
        text = format!("Not shown: {} · {text}", left_out.join(", "));
    }
    text
}
