//! Made-up curves.

use crate::report::plot::curve::{
    Crossover, CurveLine, CurvePicture, CurvePoint, Knee, Reference, Region,
};

pub const TP: &str = "TP";
pub const ALL_TO_ALL: &str = "DP attention + EP, all-to-all";
pub const ALL_GATHER: &str = "DP attention + EP, all-gather + reduce-scatter";

/// A line with points at powers of two from t = 1, with intervals of ± `spread`.
pub fn line(name: &str, times_us: &[f64], spread: f64) -> CurveLine {
    let point = |(exponent, &us): (usize, &f64)| CurvePoint {
        x: 1 << exponent,
        us,
        ci95_us: Some([us * (1.0 - spread), us * (1.0 + spread)]),
    };
    CurveLine {
        name: name.to_string(),
        points: times_us.iter().enumerate().map(point).collect(),
    }
}

/// A time that is flat at first and in proportion to t later.
pub fn flat_then_rising(flat_us: f64, per_token_us: f64, points: u32) -> Vec<f64> {
    (0..points)
        .map(|exponent| flat_us + per_token_us * 2f64.powi(exponent as i32))
        .collect()
}

/// Lines alone.
pub fn picture(lines: Vec<CurveLine>) -> CurvePicture {
    CurvePicture {
        title: "Does Expert Parallelism cost less communication than Tensor Parallelism?"
            .to_string(),
        subtitle: "kimi-k2.5, 8 ranks · NCCL 2.28.9 · 8 × NVIDIA H200 · out-of-place · clock \
                   cuda-events"
            .to_string(),
        footer: "commbench 0.1.0, started 2025-11-29T17:05:00Z".to_string(),
        y_name: "communication of one decode step".to_string(),
        lines,
        ..CurvePicture::default()
    }
}

/// Two plans that cross once, with everything that a picture can have.
pub fn two_plans() -> CurvePicture {
    let tp = flat_then_rising(1_600.0, 95.0, 9);
    let ep = flat_then_rising(2_900.0, 38.0, 9);
    CurvePicture {
        answer: vec![
            "DP attention + EP, all-to-all costs less communication than TP from about t = 22.8 \
             tokens per GPU, and more below (95 % interval [19.4, 27.6]; shown at t = 16 and \
             t = 32, interpolated between; 99.8 % of 4,000 resamples cross exactly once; 40 \
             samples a point)."
                .to_string(),
        ],
        knees: vec![
            Knee {
                line: 0,
                tokens: 4,
                us: tp[2],
            },
            Knee {
                line: 1,
                tokens: 16,
                us: ep[4],
            },
        ],
        crossovers: vec![Crossover {
            line: 1,
            tokens: 22.8,
            ci95: [19.4, 27.6],
            us: 3_766.0,
        }],
        regions: vec![
            Region {
                from: 1.0,
                to: 22.8,
                name: "TP costs less".to_string(),
                line: Some(0),
            },
            Region {
                from: 22.8,
                to: 256.0,
                name: "EP all-to-all costs less".to_string(),
                line: Some(1),
            },
        ],
        references: vec![Reference {
            name: "the batch-1 burst".to_string(),
            tokens: Some(0.125),
            us: 1_610.0,
        }],
        ..picture(vec![line(TP, &tp, 0.03), line(ALL_TO_ALL, &ep, 0.06)])
    }
}

/// Six plans, some of which end early.
pub fn six_plans() -> CurvePicture {
    let lines = (0..6).map(|number| {
        let flat = 700.0 * 1.5f64.powi(number);
        let times = flat_then_rising(flat, 90.0 / 1.4f64.powi(number), 11 - number as u32 % 3);
        let names = [TP, "TP attention + EP", ALL_TO_ALL, ALL_GATHER];
        let name = names
            .get(number as usize)
            .copied()
            .unwrap_or("EP, low latency");
        line(name, &times, 0.02)
    });
    picture(lines.collect())
}

/// What is hard to draw, with names.
pub fn nasty() -> Vec<(&'static str, CurvePicture)> {
    let long = "a name without an end ".repeat(10);
    let long = long.trim();
    let mut badges = two_plans();
    badges.badges = vec![
        "HOST MEMORY: not GPU figures",
        "SHARED GPU: not representative of a real box",
        "PREDICTED",
    ];
    let mut long_names = two_plans();
    long_names.title = long.to_string();
    long_names.subtitle = long.repeat(5);
    long_names.footer = long.repeat(5);
    long_names.y_name = long.to_string();
    long_names.answer = vec![long.repeat(9), long.repeat(9), "w".repeat(3_000)];
    for line in &mut long_names.lines {
        line.name = long.to_string();
    }
    for region in &mut long_names.regions {
        region.name = long.to_string();
    }
    long_names.references[0].name = long.to_string();
    let mut twice = two_plans();
    twice.crossovers[0].tokens = 5.0;
    twice.crossovers[0].ci95 = [3.0, 8.0];
    twice.crossovers.push(Crossover {
        line: 1,
        tokens: 90.0,
        ci95: [88.0, 93.0],
        us: 8_000.0,
    });
    twice.regions[0].to = 5.0;
    twice.regions[1].from = 5.0;
    twice.regions[1].to = 90.0;
    twice.regions.push(Region {
        from: 90.0,
        to: 1e9,
        name: "TP costs less again".to_string(),
        line: Some(0),
    });
    let tp = flat_then_rising(1_000.0, 30.0, 8);
    let nearly: Vec<f64> = tp.iter().map(|us| us * 1.0007).collect();
    let mut equal = picture(vec![
        line(TP, &tp, 0.01),
        line("TP attention + EP", &nearly, 0.01),
    ]);
    equal.knees = [0, 1]
        .map(|line| Knee {
            line,
            tokens: 8,
            us: 1_240.0,
        })
        .into();
    equal.answer = vec!["No difference shown.".to_string()];
    equal.references.push(Reference {
        name: "the burst".to_string(),
        tokens: Some(2.0),
        us: 1_500.0,
    });
    let one_point = picture(vec![
        line(TP, &[1_600.0], 0.05),
        line("EP", &[1_900.0], 0.1),
    ]);
    let mut no_intervals = two_plans();
    for point in no_intervals
        .lines
        .iter_mut()
        .flat_map(|line| &mut line.points)
    {
        point.ci95_us = None;
    }
    let mut odd_intervals = two_plans();
    odd_intervals.lines[0].points[0].ci95_us = Some([-50.0, 1e9]);
    odd_intervals.lines[0].points[2].ci95_us = None;
    odd_intervals.lines[1].points[8].ci95_us = Some([0.0, 12_000.0]);
    let decades: Vec<f64> = (0..17)
        .map(|i| 10f64.powf(1.0 + 0.32 * f64::from(i)))
        .collect();
    let mut wide = picture(vec![
        line(TP, &decades, 0.3),
        line(ALL_TO_ALL, &flat_then_rising(45.0, 1.3, 17), 0.02),
    ]);
    wide.crossovers.push(Crossover {
        line: 1,
        tokens: 5.1,
        ci95: [5.0, 5.3],
        us: 51.6,
    });
    let mut dense = picture(vec![CurveLine {
        name: TP.to_string(),
        points: (1..=300)
            .map(|tokens| CurvePoint {
                x: tokens,
                us: 900.0 + 3.0 * tokens as f64,
                ci95_us: Some([880.0 + 3.0 * tokens as f64, 940.0 + 3.0 * tokens as f64]),
            })
            .collect(),
    }]);
    dense.references.push(Reference {
        name: "the batch-1 burst".to_string(),
        tokens: Some(40.0),
        us: 1_000.0,
    });
    let mut crowded = six_plans();
    for number in 0..6 {
        let point = crowded.lines[number].points[4];
        crowded.knees.push(Knee {
            line: number,
            tokens: 16,
            us: point.us,
        });
        crowded.crossovers.push(Crossover {
            line: number,
            tokens: 30.0 + number as f64,
            ci95: [20.0, 60.0],
            us: 4_000.0 + 50.0 * number as f64,
        });
        crowded.regions.push(Region {
            from: 30.0 + number as f64,
            to: 31.0 + 40.0 * number as f64,
            name: format!("plan {number} costs less"),
            line: Some(number),
        });
        crowded.references.push(Reference {
            name: format!("reference {number}"),
            tokens: None,
            us: 2_000.0 + 5.0 * number as f64,
        });
    }
    vec![
        ("two plans", two_plans()),
        ("one line", picture(vec![line(TP, &tp, 0.02)])),
        ("six plans", six_plans()),
        ("badges", badges),
        ("long names", long_names),
        ("two crossovers", twice),
        ("equal", equal),
        ("one point", one_point),
        ("one point alone", picture(vec![line(TP, &[37.0], 0.0)])),
        ("no intervals", no_intervals),
        ("odd intervals", odd_intervals),
        ("five decades", wide),
        ("dense", dense),
        ("crowded", crowded),
    ]
}
