//! What the figure says, before anything is drawn: texts, warnings and checked values.

use crate::plan::{beginning_length, name_without_stamps};
use crate::result::{Measurement, RunResult, Series};
use crate::stats::Summary;
use crate::units::significant;

use super::PlotError;
use super::about::{badges, count, footer, subtitle};
use super::colours::{LOOKS, Look};
use super::layout::MOST_ROWS;
use super::scale::{LONGEST_US, Unit, Window};

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
        let measured: Vec<&Measurement> = rows.iter().map(|row| row.measurement).collect();
        Ok(Figure {
            title: title(run, &rows),
            subtitle: subtitle(run, &measured),
            badges: badges(run, &measured),
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
        // In the figures of the whole plan.
        if beginning_length(&one.plan).is_some() || name_without_stamps(&one.plan).is_some() {
            continue;
        }
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
