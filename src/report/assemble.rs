//! From samples to the figures of one measurement.

use serde::{Deserialize, Serialize};

use crate::executor::ExecutorConditions;
use crate::plan::{CurvePlace, DataType, Op, Plan};
use crate::result::{
    Buffers, Conditions, Measurement, PlanSummary, RankSample, RankShare, Series, StepFigures,
    StoppedBy, Verification,
};
use crate::stats::{Steadiness, Summary, percentile_sorted};

/// What figures need of a plan: its ops, which may be many, are left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanOutline {
    pub summary: PlanSummary,
    pub place: Option<CurvePlace>,
    /// Bytes of the whole plan as algorithm and bus bandwidth count them.
    pub algorithm_bytes: f64,
    pub bus_bytes: f64,
    /// The compute in the plan on each rank, in µs: ranks can differ. Empty where there is none.
    pub gap_sums_us: Vec<f64>,
}

impl PlanOutline {
    /// The outline of `plan` over `ranks` ranks.
    pub fn of(plan: &Plan, ranks: u32) -> PlanOutline {
        let ops = plan.ops.len() as u64;
        let total = |of: fn(&Op, u32) -> f64| plan.ops.iter().map(|op| of(op, ranks)).sum();
        PlanOutline {
            summary: PlanSummary {
                name: plan.name.clone(),
                title: plan.label.clone(),
                kind: plan.kind(),
                ops,
                bytes: plan.total_bytes() / ops.max(1),
                dtype: plan.ops.first().map_or(DataType::Int8, |op| op.dtype),
                gap_us: plan.ops.iter().map(|op| op.gap_us).sum::<f64>() / ops.max(1) as f64,
                origin: plan.origin.clone(),
                size: plan.size.clone(),
            },
            place: plan.place.clone(),
            algorithm_bytes: total(Op::algorithm_bytes),
            bus_bytes: total(Op::bus_bytes),
            gap_sums_us: Vec::new(),
        }
    }

    /// The outline of a plan in which ranks compute so long in all, in µs, in rank order.
    pub fn with_gaps(mut self, sums_us: Vec<f64>) -> PlanOutline {
        let mut sorted = sums_us.clone();
        sorted.sort_by(f64::total_cmp);
        if !sorted.is_empty() {
            let ops = self.summary.ops.max(1) as f64;
            // Of two in the middle the smaller: a late rank's extra is no gap of the plan.
            self.summary.gap_us = sorted[(sorted.len() - 1) / 2] / ops;
        }
        self.gap_sums_us = sums_us;
        self
    }
}

/// What goes into a measurement beside its samples.
#[derive(Debug, Clone)]
pub struct Figures<'a> {
    pub plan: &'a PlanOutline,
    pub buffers: Buffers,
    pub precision_asked: f64,
    pub shared_gpu: bool,
    /// Whether ranks share one clock, so that arrivals can be compared.
    pub one_host: bool,
    pub warmup: u64,
    pub stopped_by: StoppedBy,
    pub conditions: &'a ExecutorConditions,
    pub verification: &'a Verification,
}

/// The figures of `series`; `None` when it has no samples, since nothing could be said of it.
pub fn measurement(series: &Series, figures: &Figures<'_>) -> Option<Measurement> {
    let burst_us = Summary::of(&series.burst_us())?;
    let ranks = series.samples.first()?.len();
    let ops = figures.plan.summary.ops.max(1) as f64;
    let per_op_us = burst_us.scaled(1.0 / ops);
    // Bytes over µs are MB/s.
    let gb_per_s = |bytes: f64| bytes / burst_us.median / 1e3;
    let step = figures.plan.place.as_ref().map(|place| {
        let scale = place.ops_per_step as f64 / ops;
        StepFigures {
            place: place.clone(),
            scale,
            step_us: burst_us.scaled(scale),
        }
    });
    let column = |of: fn(&RankSample) -> f64, rank: usize| -> Vec<f64> {
        series
            .samples
            .iter()
            .map(|sample| of(&sample[rank]))
            .collect()
    };
    let per_rank_us = (0..ranks)
        .filter_map(|rank| Summary::of(&column(|sample| sample.device_us, rank)))
        .map(|summary| summary.median)
        .collect();
    // The middle rank's: nccl-tests' CPU time is no single rank's either, and one slow processor
    // core says little about the cost of the calls.
    let issue: Vec<f64> = series
        .samples
        .iter()
        .map(|sample| {
            let mut of_ranks: Vec<f64> = sample.iter().map(|rank| rank.issue_us / ops).collect();
            of_ranks.sort_by(f64::total_cmp);
            percentile_sorted(&of_ranks, 50.0)
        })
        .collect();
    Some(Measurement {
        label: series.label(),
        plan: figures.plan.summary.clone(),
        tokens_per_gpu: step.as_ref().map(|step| step.place.tokens_per_gpu),
        step,
        mode: series.mode,
        placement: series.placement,
        per_op_us,
        algbw_gb_per_s: gb_per_s(figures.plan.algorithm_bytes),
        busbw_gb_per_s: gb_per_s(figures.plan.bus_bytes),
        per_rank_us,
        without_gaps_us: without_gaps_us(&burst_us, figures.plan),
        per_op: None,
        arrivals: None,
        steadiness: Steadiness::of(&series.burst_us()),
        slowest_rank: Some(most_often(series, ranks, |rank| rank.device_us)),
        last_to_arrive: figures
            .one_host
            .then(|| most_often(series, ranks, |rank| rank.arrival_ns as f64)),
        arrival_spread_us: figures
            .one_host
            .then(|| Summary::of(&arrival_spreads_us(series)))
            .flatten(),
        issue_per_op_us: figures
            .conditions
            .issue_is_separate
            .then(|| Summary::of(&issue))
            .flatten(),
        verified: figures.verification.wrong == 0 && figures.verification.elements > 0,
        verification: figures.verification.clone(),
        conditions: Conditions {
            clock: figures.conditions.clock.to_string(),
            warmup: figures.warmup,
            buffers: figures.buffers,
            buffer_slots: figures.conditions.buffer_slots,
            gate: figures.conditions.gate.as_deref().map(str::to_string),
            stopped_by: figures.stopped_by,
            precision_asked: figures.precision_asked,
            precision_reached: burst_us
                .ci95
                .is_some()
                .then(|| burst_us.relative_half_width()),
            shared_gpu: figures.shared_gpu,
            calls: figures.conditions.calls.to_string(),
            nccl_choice: figures.conditions.nccl_choice.clone(),
        },
        burst_us,
    })
}

/// What an op adds to the compute: the time of the plan beyond the gaps of the rank that has most.
fn without_gaps_us(burst_us: &Summary, plan: &PlanOutline) -> Option<Summary> {
    let most = plan.gap_sums_us.iter().copied().fold(0.0, f64::max);
    let ops = plan.summary.ops.max(1) as f64;
    (most > 0.0).then(|| burst_us.shifted(-most).scaled(1.0 / ops))
}

/// From the first to the last rank's start of each sample, in µs.
fn arrival_spreads_us(series: &Series) -> Vec<f64> {
    let spread = |sample: &Vec<RankSample>| {
        let arrivals = sample.iter().map(|rank| rank.arrival_ns);
        let first = arrivals.clone().min().unwrap_or(0);
        let last = arrivals.max().unwrap_or(0);
        (last - first) as f64 / 1e3
    };
    series.samples.iter().map(spread).collect()
}

/// The rank for which `of` is largest most often; the lowest of equals.
fn most_often(series: &Series, ranks: usize, of: fn(&RankSample) -> f64) -> RankShare {
    let mut times = vec![0u64; ranks];
    for sample in &series.samples {
        let mut largest = 0;
        for rank in 1..sample.len() {
            if of(&sample[rank]) > of(&sample[largest]) {
                largest = rank;
            }
        }
        times[largest] += 1;
    }
    let rank = (0..ranks)
        .rev()
        .max_by_key(|rank| times[*rank])
        .unwrap_or(0);
    RankShare {
        rank: rank as u32,
        share: times[rank] as f64 / series.samples.len() as f64,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plan::{BurstRequest, allreduce_burst, load_model};
    use crate::result::{Mode, Placement};

    /// `times[i][rank]` in µs; rank r arrives r µs after rank 0.
    pub(crate) fn series(times: &[Vec<f64>]) -> Series {
        let sample = |times: &Vec<f64>| {
            times
                .iter()
                .enumerate()
                .map(|(rank, us)| RankSample {
                    device_us: *us,
                    host_us: us + 5.0,
                    issue_us: us / 2.0,
                    arrival_ns: 1_000_000 + 1000 * rank as u64,
                })
                .collect()
        };
        Series {
            plan: String::new(),
            mode: Mode::Eager,
            placement: Placement::OutOfPlace,
            samples: times.iter().map(sample).collect(),
        }
    }

    fn measure(times: &[Vec<f64>]) -> Option<Measurement> {
        let request = BurstRequest {
            batch: 1,
            ..BurstRequest::default()
        };
        let plan = allreduce_burst(&load_model("kimi-k2.5").unwrap(), &request).unwrap();
        let figures = Figures {
            plan: &PlanOutline::of(&plan, 8),
            buffers: Buffers::Warm,
            precision_asked: 0.02,
            shared_gpu: false,
            one_host: true,
            warmup: 5,
            stopped_by: StoppedBy::Precision,
            conditions: &ExecutorConditions {
                clock: "cuda-events".into(),
                buffer_slots: 122,
                gate: None,
                nccl_choice: Some("Ring/LL, 1 channel".to_string()),
                calls: "ncclAllReduce".into(),
                issue_is_separate: true,
            },
            verification: &Verification {
                elements: 10,
                wrong: 0,
                first_wrong: None,
            },
        };
        measurement(&series(times), &figures)
    }

    #[test]
    fn the_campaigns_figures_come_out_as_it_stated_them() {
        // 6.81 ms a burst are 55.8 µs an op; algbw 14,336 B / 55.8 µs, busbw 1.75 times that.
        let mut times = vec![vec![6000.0; 8]; 10];
        for sample in &mut times {
            sample[5] = 6810.0;
        }
        let measurement = measure(&times).unwrap();
        assert_eq!(measurement.burst_us.median, 6810.0);
        assert!((measurement.per_op_us.median - 55.82).abs() < 0.01);
        assert!((measurement.algbw_gb_per_s - 0.2568).abs() < 1e-4);
        assert!((measurement.busbw_gb_per_s - 0.4494).abs() < 1e-4);
        assert_eq!(
            measurement.slowest_rank,
            Some(RankShare {
                rank: 5,
                share: 1.0
            })
        );
        assert_eq!(measurement.last_to_arrive.unwrap().rank, 7);
        assert_eq!(measurement.arrival_spread_us.unwrap().median, 7.0);
        assert_eq!(measurement.per_rank_us[4], 6000.0);
        assert!((measurement.issue_per_op_us.unwrap().median - 6000.0 / 2.0 / 122.0).abs() < 1e-9);
        assert_eq!(measurement.conditions.precision_reached, Some(0.0));
    }

    #[test]
    fn a_samples_value_is_its_slowest_rank_never_a_mean() {
        let measurement = measure(&[vec![1.0, 9.0], vec![8.0, 2.0], vec![7.0, 7.0]]).unwrap();
        assert_eq!(measurement.burst_us.max, 9.0);
        assert_eq!(measurement.burst_us.min, 7.0);
        assert_eq!(measurement.burst_us.median, 8.0);
        assert_eq!(measurement.conditions.precision_reached, None, "3 samples");
    }

    #[test]
    fn no_samples_no_figures() {
        assert!(measure(&[]).is_none());
    }
}
