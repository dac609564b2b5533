//! Which collective a log is of, and over how many ranks, where it does not say so.

use super::{Figures, Log, Refused, Row};
use crate::plan::{OpKind, SweptOp};

/// More ranks than a log is tried for.
const MOST_RANKS: u32 = 4096;

/// The ops by nccl-tests' programs.
const PROGRAMS: [(&str, SweptOp); 7] = [
    ("all_reduce_perf", SweptOp::Collective(OpKind::AllReduce)),
    ("all_gather_perf", SweptOp::Collective(OpKind::AllGather)),
    (
        "reduce_scatter_perf",
        SweptOp::Collective(OpKind::ReduceScatter),
    ),
    ("alltoall_perf", SweptOp::Collective(OpKind::AllToAll)),
    ("broadcast_perf", SweptOp::Collective(OpKind::Broadcast)),
    ("reduce_perf", SweptOp::Collective(OpKind::Reduce)),
    ("sendrecv_perf", SweptOp::SendRecv),
];

/// The op, as the user says, the log does, or the columns show.
pub(super) fn op(log: &Log, asked: Option<SweptOp>) -> Result<SweptOp, Refused> {
    if let Some(op) = asked {
        return Ok(op);
    }
    if let Some(program) = &log.program {
        let known = PROGRAMS
            .iter()
            .find(|(name, op)| name == program || op.name() == program);
        return match known {
            Some((_, op)) => Ok(*op),
            None => Err(Refused::new(format!(
                "is of {program}, which commbench has no op for"
            ))
            .try_this("a log of all_reduce_perf, all_gather_perf, reduce_scatter_perf, alltoall_perf, broadcast_perf, reduce_perf or sendrecv_perf")),
        };
    }
    let fitting: Vec<SweptOp> = PROGRAMS
        .iter()
        .map(|(_, op)| *op)
        .filter(|op| fits_columns(log, *op))
        .filter(|op| !ranks_that_fit(log, *op).is_empty())
        .collect();
    match fitting[..] {
        [op] => Ok(op),
        _ => {
            let names: Vec<&str> = fitting.iter().map(|op| op.name()).collect();
            let what = match names.is_empty() {
                true => "does not say which collective it is of".to_string(),
                false => format!(
                    "does not say which collective it is of; its columns fit {}",
                    names.join(" and ")
                ),
            };
            let first = names.first().unwrap_or(&"allreduce");
            Err(Refused::new(what).try_this(format!("--op {first}, or another")))
        }
    }
}

/// The number of ranks, likewise.
pub(super) fn ranks(log: &Log, op: SweptOp, asked: Option<u32>) -> Result<u32, Refused> {
    let listed = log.devices.iter().map(|device| device.rank).max();
    let listed = listed.map(|rank| rank.saturating_add(1));
    let fitting = ranks_that_fit(log, op);
    let refuse =
        |what: String| Refused::new(what).try_this("--ranks N, and --op OP where it is another");
    let found = match (asked, listed, &fitting[..]) {
        (Some(ranks), ..) | (None, Some(ranks), _) => ranks,
        (None, None, [only]) => *only,
        (None, None, _) => {
            return Err(refuse(
                "does not say how many ranks it was run with".to_string(),
            ));
        }
    };
    if found < 2 {
        return Err(Refused::new(
            "is of 1 rank, which has nobody to send to: its times are those of a copy",
        )
        .try_this("a log of 2 ranks or more; n logs of one rank come from a binary without MPI: make MPI=1"));
    }
    if found > MOST_RANKS {
        return Err(refuse(format!(
            "is of {found} ranks, and at most {MOST_RANKS} are read"
        )));
    }
    if let Some(row) = log.rows.iter().find(|row| !row_fits(row, op, found)) {
        return Err(refuse(format!(
            "has in line {} a count or a busbw that {} over {found} ranks cannot have",
            row.line,
            op.name()
        )));
    }
    Ok(found)
}

/// What the columns beside the figures say.
fn fits_columns(log: &Log, op: SweptOp) -> bool {
    log.rows.iter().all(|row| {
        let reduces = match row.redop.as_deref() {
            // Versions without the column for all have it for reductions.
            None | Some("none" | "") => false,
            Some(_) => true,
        };
        let rooted = row.root.map(|root| root >= 0);
        let has_root = matches!(op, SweptOp::Collective(OpKind::Broadcast | OpKind::Reduce));
        reduces == op.reduces() && rooted.is_none_or(|rooted| rooted == has_root)
    })
}

fn ranks_that_fit(log: &Log, op: SweptOp) -> Vec<u32> {
    (2..=MOST_RANKS)
        .filter(|ranks| fits(log, op, *ranks))
        .collect()
}

fn fits(log: &Log, op: SweptOp, ranks: u32) -> bool {
    log.rows.iter().all(|row| row_fits(row, op, ranks))
}

/// Whether a row's bandwidths, as rounded, and its count are those of `op` over `ranks`.
fn row_fits(row: &Row, op: SweptOp, ranks: u32) -> bool {
    let factor = match op {
        SweptOp::Collective(kind) => kind.bus_factor(ranks),
        SweptOp::SendRecv => 1.0,
    };
    let splits = matches!(
        op,
        SweptOp::Collective(OpKind::AllGather | OpKind::ReduceScatter | OpKind::AllToAll)
    );
    let parts = if splits { u64::from(ranks) } else { 1 };
    let counted = element(&row.dtype).is_none_or(|element| {
        let elements = row.count.checked_mul(parts);
        elements.and_then(|elements| elements.checked_mul(element)) == Some(row.bytes)
    });
    counted && places(row).all(|one| busbw_fits(one, factor))
}

fn places(row: &Row) -> impl Iterator<Item = &Figures> {
    row.out_of_place.iter().chain(&row.in_place)
}

/// Whether `busbw` can be `algbw × factor`, both rounded: to hundredths below 1,000, and to three
/// digits above.
fn busbw_fits(one: &Figures, factor: f64) -> bool {
    let slack = |value: f64| (value * 2e-3).max(0.0051);
    (one.busbw - one.algbw * factor).abs() <= slack(one.busbw) + slack(one.algbw) * factor
}

/// Bytes of nccl-tests' element types.
fn element(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "int8" | "uint8" | "char" | "fp8_e4m3" | "fp8_e5m2" | "f8e4m3" | "f8e5m2" => 1,
        "half" | "bfloat16" => 2,
        "float" | "int32" | "uint32" | "int" => 4,
        "double" | "int64" | "uint64" => 8,
        _ => return None,
    })
}
