//! Made-up runs with deterministic noise.

use std::collections::BTreeMap;

use crate::plan::{DataType, OpKind};
use crate::report::plot::BurstPlot;
use crate::result::{
    Backend, Buffers, CommandInfo, Conditions, Gpu, Host, Machine, Measurement, Mode, Placement,
    PlanSummary, RankSample, RankShare, RunResult, SCHEMA, Series, Status, StoppedBy, Verification,
};
use crate::stats::Summary;

/// Knuth's linear congruential stream.
pub struct Noise(pub u64);

impl Noise {
    /// Uniform in 0..1.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Exponential with mean 1.
    pub fn skewed(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Uniform among `0..below`.
    pub fn below(&mut self, below: usize) -> usize {
        (self.uniform() * below as f64) as usize
    }
}

/// A run and its samples.
pub struct Made {
    pub run: RunResult,
    pub series: Vec<Series>,
}

impl Made {
    /// A complete run without measurements.
    pub fn new(backend: Backend, ranks: u32) -> Made {
        let gpus = match backend {
            Backend::MpiHost => Vec::new(),
            _ => (0..ranks).map(|rank| gpu(rank, rank)).collect(),
        };
        let run = RunResult {
            schema: SCHEMA.to_string(),
            status: Status::Complete,
            command: CommandInfo {
                name: "burst".to_string(),
                argv: vec!["burst".to_string()],
                version: "0.1.0".to_string(),
                started_at: "2025-11-29T17:05:00Z".to_string(),
                wall_s: 12.0,
                environment: BTreeMap::new(),
            },
            machine: Machine {
                hosts: vec![Host {
                    name: "node17".to_string(),
                    ranks: (0..ranks).collect(),
                    cpu: "Intel(R) Xeon(R) Platinum 8480C".to_string(),
                    logical_cpus: 16,
                    memory_bytes: 128 << 30,
                    kernel: "6.8.0".to_string(),
                }],
                gpus,
                nccl_version: (backend == Backend::Nccl).then(|| "2.27.3".to_string()),
                ..Machine::default()
            },
            backend,
            ranks,
            model: None,
            results: Vec::new(),
            verdict: None,
            warnings: Vec::new(),
            failure: None,
            imported: None,
        };
        Made {
            run,
            series: Vec::new(),
        }
    }

    /// Puts all ranks on one GPU.
    pub fn sharing_a_gpu(mut self) -> Made {
        let ranks = self.run.ranks;
        self.run.machine.gpus = (0..ranks).map(|rank| gpu(rank, 0)).collect();
        for measurement in &mut self.run.results {
            measurement.conditions.shared_gpu = true;
        }
        self
    }

    /// Adds a measurement of 122 ops whose sample `i` takes `time(i, rank)` µs on a rank.
    pub fn measured(
        mut self,
        mode: Mode,
        placement: Placement,
        samples: usize,
        mut time: impl FnMut(usize, usize) -> f64,
    ) -> Made {
        let ranks = self.run.ranks as usize;
        let series = Series {
            plan: String::new(),
            mode,
            placement,
            samples: (0..samples)
                .map(|sample| {
                    let rank = |rank| RankSample {
                        device_us: time(sample, rank),
                        host_us: 0.0,
                        issue_us: 0.0,
                        arrival_ns: 0,
                    };
                    (0..ranks).map(rank).collect()
                })
                .collect(),
        };
        // Series of a test without samples still need a measurement.
        let burst = Summary::of(&series.burst_us())
            .or_else(|| Summary::of(&[1.0]))
            .unwrap();
        let host = self.run.backend == Backend::MpiHost;
        self.run.results.push(Measurement {
            label: series.label(),
            plan: PlanSummary {
                name: String::new(),
                title: "122 all-reduces of 14,336 B bf16".to_string(),
                kind: Some(OpKind::AllReduce),
                ops: 122,
                bytes: 14_336,
                dtype: DataType::Bf16,
                gap_us: 0.0,
                origin: "2 × 61 layers".to_string(),
                size: None,
            },
            tokens_per_gpu: None,
            step: None,
            mode,
            placement,
            per_op_us: burst.scaled(1.0 / 122.0),
            burst_us: burst,
            algbw_gb_per_s: 1.0,
            busbw_gb_per_s: 1.75,
            per_rank_us: Vec::new(),
            without_gaps_us: None,
            per_op: None,
            arrivals: None,
            steadiness: None,
            slowest_rank: Some(RankShare {
                rank: 0,
                share: 0.5,
            }),
            last_to_arrive: None,
            arrival_spread_us: None,
            issue_per_op_us: None,
            verified: true,
            verification: Verification {
                elements: 1000,
                wrong: 0,
                first_wrong: None,
            },
            conditions: Conditions {
                clock: if host {
                    "host-monotonic"
                } else {
                    "cuda-events"
                }
                .to_string(),
                warmup: 5,
                buffers: Buffers::Warm,
                buffer_slots: 122,
                gate: None,
                stopped_by: StoppedBy::Precision,
                precision_asked: 0.02,
                precision_reached: Some(0.01),
                shared_gpu: false,
                calls: "ncclAllReduce".to_string(),
                nccl_choice: None,
            },
        });
        self.series.push(series);
        self
    }

    pub fn plot(&self) -> BurstPlot<'_> {
        BurstPlot {
            run: &self.run,
            series: &self.series,
        }
    }
}

fn gpu(rank: u32, device: u32) -> Gpu {
    Gpu {
        rank,
        host: "node17".to_string(),
        device,
        name: "NVIDIA H200".to_string(),
        uuid: format!("GPU-{device}"),
        pci_bus_id: format!("0000:{device:02x}:00.0"),
        memory_bytes: 141 << 30,
        l2_bytes: 50 << 20,
        compute_capability: "9.0".to_string(),
    }
}

/// Ranks of a sample finish together but for noise; some samples are disturbed.
pub fn noisy(
    mut noise: Noise,
    typical: f64,
    spread: f64,
    outliers: f64,
) -> impl FnMut(usize, usize) -> f64 {
    let mut sample_time = typical;
    move |_, rank| {
        if rank == 0 {
            sample_time = typical * (1.0 + spread * noise.skewed());
            if noise.uniform() < outliers {
                sample_time *= 3.0 + 6.0 * noise.uniform();
            }
        }
        sample_time * (1.0 - 0.5 * spread * noise.uniform())
    }
}
