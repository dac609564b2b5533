//! From a log to the result that tables, plots and comparisons read.

use std::collections::HashMap;

use super::{Figures, Log, Refused, Row, infer};
use crate::plan::{DataType, Op, SizePoint, SizeStep, SizeSweep, SweptOp};
use crate::result::{
    Backend, Buffers, CommandInfo, Conditions, Gpu, Host, Imported, Machine, Measurement, Mode,
    Placement, PlanSummary, RunResult, SCHEMA, Status, StoppedBy, Verification, Warning,
    series_label,
};
use crate::stats::Summary;

/// What the user says of a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wanted {
    /// Name of the file, for the result.
    pub file: String,
    pub op: Option<SweptOp>,
    pub ranks: Option<u32>,
    /// Of a log of several element types or reductions: nccl-tests' names.
    pub datatype: Option<DataType>,
    pub redop: Option<String>,
}

/// Figures that were printed beside a time must agree with it to so much.
const AGREES: f64 = 0.02;

/// The result of a log. `command` is this program's own call.
///
/// # Errors
/// A clause with the file as its subject, for logs that do not say which op they are of, or that
/// contradict themselves.
pub fn imported(log: &Log, wanted: &Wanted, command: CommandInfo) -> Result<RunResult, Refused> {
    let rows = chosen(log, wanted)?;
    let log = &Log {
        rows,
        ..log.clone()
    };
    let op = infer::op(log, wanted.op)?;
    let ranks = infer::ranks(log, op, wanted.ranks)?;
    let mut results = Vec::new();
    let mut seen: HashMap<u64, usize> = HashMap::new();
    for row in &log.rows {
        if let Some(before) = seen.insert(row.bytes, row.line) {
            return Err(Refused::at(
                row.line,
                format_args!("{} B, which line {before} has already", row.bytes),
            )
            .try_this(
                "a log of one sweep: one root, one reduction, one type (--datatype, --redop)",
            ));
        }
        let point = point(log, row, op, ranks)?;
        let places = [
            (Placement::OutOfPlace, row.out_of_place),
            (Placement::InPlace, row.in_place),
        ];
        for (placement, figures) in places {
            let Some(figures) = figures else { continue };
            results.push(measurement(log, row, &point, placement, figures)?);
        }
    }
    let wrong = results.iter().any(|one| one.verification.wrong > 0);
    let figure = log.figure.clone().unwrap_or_else(|| {
        "mean over calls and ranks, by the host's clock, as nccl-tests prints it".to_string()
    });
    Ok(RunResult {
        schema: SCHEMA.to_string(),
        status: if wrong {
            Status::Failed
        } else {
            Status::Complete
        },
        command,
        machine: machine(log, ranks),
        backend: if log.host_memory {
            Backend::MpiHost
        } else {
            Backend::Nccl
        },
        ranks,
        model: None,
        results,
        verdict: None,
        warnings: warnings(log),
        failure: None,
        imported: Some(Imported {
            file: wanted.file.clone(),
            format: log.format.clone(),
            tool_version: log.tests_version.clone(),
            started_at: log.started_at.clone(),
            figure,
        }),
    })
}

/// The rows of the type and reduction asked for, without those that sent nothing.
fn chosen(log: &Log, wanted: &Wanted) -> Result<Vec<Row>, Refused> {
    let type_fits = |row: &&Row| {
        wanted
            .datatype
            .is_none_or(|dtype| row.dtype == dtype.nccl_tests_name())
    };
    let redop_fits = |row: &&Row| {
        wanted
            .redop
            .as_deref()
            .is_none_or(|redop| row.redop.as_deref() == Some(redop))
    };
    let kept: Vec<Row> = log
        .rows
        .iter()
        .filter(|row| row.bytes > 0)
        .filter(type_fits)
        .filter(redop_fits)
        .cloned()
        .collect();
    let names = |of: fn(&Row) -> &str| {
        let mut names: Vec<&str> = Vec::new();
        for row in if kept.is_empty() { &log.rows } else { &kept } {
            if !names.contains(&of(row)) {
                names.push(of(row));
            }
        }
        names
    };
    let types = names(|row| &row.dtype);
    let redops = names(|row| row.redop.as_deref().unwrap_or("none"));
    if kept.is_empty() {
        return Err(Refused::new(format!(
            "holds no such row with data: its types are {}, its reductions {}",
            types.join(", "),
            redops.join(", ")
        )));
    }
    for (what, flag, names) in [
        ("types", "--datatype", types),
        ("reductions", "--redop", redops),
    ] {
        if let [first, _, ..] = names[..] {
            return Err(Refused::new(format!(
                "holds several {what}, and a result has one: {}",
                names.join(", ")
            ))
            .try_this(format!("{flag} {first}")));
        }
    }
    Ok(kept)
}

/// One size as `sweep` would replay it.
struct Point {
    name: String,
    title: String,
    /// Calls behind a figure.
    calls: u64,
    op: Op,
    size: SizePoint,
    /// Ranks that the op's bandwidths are counted over.
    counted_over: u32,
}

fn point(log: &Log, row: &Row, op: SweptOp, ranks: u32) -> Result<Point, Refused> {
    let dtype: DataType = row
        .dtype
        .parse()
        .map_err(|why: String| Refused::at(row.line, why))?;
    let mut sweep = SizeSweep {
        op,
        dtype,
        least_bytes: row.bytes,
        most_bytes: row.bytes,
        step: SizeStep::Times(2),
        ops: 1,
    };
    // A ring's traffic is a matrix of ranks, and its bandwidths do not depend on them.
    let counted_over = if op == SweptOp::SendRecv { 2 } else { ranks };
    let plans = sweep
        .plans(counted_over)
        .map_err(|error| Refused::at(row.line, error.what))?;
    sweep.ops = log.iterations.filter(|calls| *calls > 0).unwrap_or(1);
    let point = plans.into_iter().next().and_then(|plan| {
        Some(Point {
            name: plan.name,
            title: sweep.title(row.bytes),
            calls: sweep.ops,
            op: plan.ops.into_iter().next()?,
            size: plan.size?,
            counted_over,
        })
    });
    point
        .filter(|point| point.size.bytes == row.bytes)
        .ok_or_else(|| {
            Refused::at(
                row.line,
                format_args!(
                    "{} B of {dtype}, which do not split among {ranks} ranks",
                    row.bytes
                ),
            )
            .try_this("--ranks N, or --op OP where it is another")
        })
}

fn measurement(
    log: &Log,
    row: &Row,
    point: &Point,
    placement: Placement,
    figures: Figures,
) -> Result<Measurement, Refused> {
    let per_op_us = Some(figures.us)
        .filter(|us| *us > 0.0)
        .and_then(|us| Summary::of(&[us]))
        .ok_or_else(|| Refused::at(row.line, format_args!("a time of {} µs", figures.us)))?;
    let (op, ranks) = (&point.op, point.counted_over);
    let algbw = op.algorithm_bytes(ranks) / figures.us / 1e3;
    // What is not rounded away: a time in other units, or bandwidths of another column.
    if algbw.max(figures.algbw) >= 1.0 && (figures.algbw / algbw - 1.0).abs() > AGREES {
        return Err(Refused::at(
            row.line,
            format_args!(
                "{} GB/s of algbw, and {} B in {} µs are {algbw:.2}",
                figures.algbw, row.bytes, figures.us
            ),
        )
        .try_this("a log in nccl-tests' own columns and units"));
    }
    let mode = match log.graph {
        Some(1..) => Mode::Graph,
        _ => Mode::Eager,
    };
    let wrong = figures.wrong.unwrap_or(0);
    Ok(Measurement {
        label: series_label(&point.name, mode, placement),
        plan: PlanSummary {
            name: point.name.clone(),
            title: point.title.clone(),
            kind: Some(op.kind),
            ops: point.calls,
            bytes: op.bytes,
            dtype: op.dtype,
            gap_us: 0.0,
            origin: "row of a log of nccl-tests".to_string(),
            size: Some(point.size.clone()),
        },
        tokens_per_gpu: None,
        step: None,
        mode,
        placement,
        burst_us: per_op_us.scaled(point.calls as f64),
        per_op_us,
        algbw_gb_per_s: algbw,
        busbw_gb_per_s: op.bus_bytes(ranks) / figures.us / 1e3,
        per_rank_us: Vec::new(),
        without_gaps_us: None,
        per_op: None,
        arrivals: None,
        steadiness: None,
        slowest_rank: None,
        last_to_arrive: None,
        arrival_spread_us: None,
        issue_per_op_us: None,
        verified: figures.wrong == Some(0),
        verification: Verification {
            elements: 0,
            wrong,
            first_wrong: None,
        },
        conditions: Conditions {
            clock: "nccl-tests".to_string(),
            warmup: log.warmup.unwrap_or(0),
            buffers: Buffers::Warm,
            buffer_slots: (log.most_bytes.unwrap_or(row.bytes) / row.bytes).max(1),
            gate: None,
            stopped_by: StoppedBy::Imported,
            precision_asked: 0.0,
            precision_reached: None,
            shared_gpu: log.shared_gpu,
            calls: "not known".to_string(),
            nccl_choice: None,
        },
    })
}

/// What the log says of the machine; 0 and empty texts stand for what it does not.
fn machine(log: &Log, ranks: u32) -> Machine {
    let mut hosts: Vec<Host> = Vec::new();
    let listed = log.devices.iter().filter(|device| device.rank < ranks);
    for device in listed.clone() {
        match hosts.iter_mut().find(|host| host.name == device.host) {
            Some(host) => host.ranks.push(device.rank),
            None => hosts.push(Host {
                name: device.host.clone(),
                ranks: vec![device.rank],
                cpu: String::new(),
                logical_cpus: 0,
                memory_bytes: 0,
                kernel: String::new(),
            }),
        }
    }
    let gpu = |device: &super::Device| Gpu {
        rank: device.rank,
        host: device.host.clone(),
        device: device.device,
        name: device.name.clone(),
        uuid: String::new(),
        pci_bus_id: device.bus.clone(),
        memory_bytes: 0,
        l2_bytes: 0,
        compute_capability: String::new(),
    };
    Machine {
        hosts,
        gpus: match log.host_memory {
            true => Vec::new(),
            false => listed.map(gpu).collect(),
        },
        nccl_version: log.nccl_version.clone(),
        ..Machine::default()
    }
}

fn warnings(log: &Log) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    let mut add = |code: &str, text: String| {
        warnings.push(Warning {
            code: code.to_string(),
            text,
            remedy: None,
        });
    };
    for note in &log.notes {
        add("log-cut-off", note.clone());
    }
    let empty = log.rows.iter().filter(|row| row.bytes == 0).count();
    if empty > 0 {
        add(
            "rows-of-nothing",
            format!("{empty} rows of 0 B are left out"),
        );
    }
    if log.iterations.is_none() {
        add(
            "iterations-unknown",
            "the log does not say over how many calls its means are: they stand as one call"
                .to_string(),
        );
    }
    if log.blocking {
        add(
            "log-is-blocking",
            "nccl-tests waited after each call (-z): its times hold that wait".to_string(),
        );
    }
    if let Some(group @ 2..) = log.aggregated {
        add(
            "log-is-aggregated",
            format!(
                "nccl-tests put {group} calls into one group: a time is that of the group over {group}"
            ),
        );
    }
    warnings
}
