//! Plans as files: any list of ops, written by hand or by `commbench plan --save`.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::decode::{MAX_OP_BYTES, MAX_OPS};
use super::gaps::MAX_GAP_US;
use super::model::{check_text, from_toml};
use super::{DataType, Exchange, Op, OpKind, Plan, Traffic};
use crate::error::{Error, Result};
use crate::files::{ReadError, read_text};
use crate::units::{group_thousands, parse_bytes, printable};

/// Name and version of the format.
pub const PLAN_SCHEMA: &str = "commbench/plan/1";

/// A plan file larger than this is none.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Names stand in titles.
const MAX_NAME_CHARS: usize = 200;

/// Traffic between more ranks than this is not written by hand.
const MAX_RANKS: usize = 1024;

/// A plan as a file has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    /// What the plan stands for.
    name: String,
    /// How its numbers came about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    origin: String,
    #[serde(default, skip_serializing_if = "is_auto")]
    exchange: Exchange,
    block: Vec<Block>,
}

fn is_auto(exchange: &Exchange) -> bool {
    *exchange == Exchange::Auto
}

/// Ops that are replayed several times in a row.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    #[serde(default = "one", skip_serializing_if = "is_one")]
    repeat: u64,
    op: Vec<FileOp>,
}

fn one() -> u64 {
    1
}

fn is_one(number: &u64) -> bool {
    *number == 1
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileOp {
    kind: OpKind,
    /// What one rank hands over, as a number or "14K". Left out with `traffic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<Size>,
    dtype: DataType,
    #[serde(default, skip_serializing_if = "is_zero")]
    gap_us: f64,
    /// Bytes from each rank (row) to each rank (column), for an all-to-all that is not even.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traffic: Option<Vec<Vec<u64>>>,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Size {
    Bytes(u64),
    Text(String),
}

/// Reads the plan file at `path`.
///
/// # Errors
/// Exit code 3 when it cannot be read, 2 when it is no plan, with the value or the line at fault.
pub fn load_plan(path: &Path) -> Result<Plan> {
    let shown = path.display();
    let remedy = "commbench plan --ranks 8 --save FILE writes one to start from";
    let text = read_text(path, MAX_FILE_BYTES).map_err(|error| match error {
        ReadError::Io(error) => {
            Error::environment(format!("cannot read {shown}: {error}")).try_this(remedy)
        }
        other => Error::usage(format!("{shown} {other}")).try_this(remedy),
    })?;
    parse_plan(&text)
        .map_err(|why| Error::usage(format!("{shown} is no plan: {why}")).try_this(remedy))
}

/// Reads the text of a plan file.
///
/// # Errors
/// A sentence with the value or the line at fault.
pub fn parse_plan(text: &str) -> std::result::Result<Plan, String> {
    let file: File = from_toml(text)?;
    if file.schema != PLAN_SCHEMA {
        return Err(format!(
            "its schema is '{}', this version reads '{PLAN_SCHEMA}'",
            printable(&file.schema).replace('\n', " ")
        ));
    }
    check_text("name", &file.name, MAX_NAME_CHARS)?;
    check_text("origin", &file.origin, MAX_NAME_CHARS)?;
    let mut total = 0u64;
    for block in &file.block {
        total = (block.op.len() as u64)
            .checked_mul(block.repeat)
            .and_then(|ops| total.checked_add(ops))
            .filter(|ops| *ops <= MAX_OPS)
            .ok_or_else(|| format!("it has more than {} ops", group_thousands(MAX_OPS)))?;
    }
    if total == 0 {
        return Err("it has no ops".to_string());
    }
    let mut ops = Vec::with_capacity(total as usize);
    for (number, block) in file.block.iter().enumerate() {
        let once: Vec<Op> = block
            .op
            .iter()
            .enumerate()
            .map(|(index, op)| {
                read_op(op).map_err(|why| format!("block {number}, op {index}: {why}"))
            })
            .collect::<std::result::Result<_, _>>()?;
        for _ in 0..block.repeat {
            ops.extend(once.iter().cloned());
        }
    }
    let mut plan = Plan::alone(Plan::describe(&ops), file.name, ops);
    if !file.origin.is_empty() {
        plan.origin = format!("{}: {}", plan.origin, file.origin);
    }
    plan.exchange = file.exchange;
    Ok(plan)
}

fn read_op(op: &FileOp) -> std::result::Result<Op, String> {
    if !(0.0..=MAX_GAP_US).contains(&op.gap_us) {
        return Err(format!(
            "a gap of {} µs is outside 0 to {MAX_GAP_US}",
            op.gap_us
        ));
    }
    let read = match (&op.bytes, &op.traffic) {
        (Some(_), Some(_)) => return Err("bytes and traffic exclude each other".to_string()),
        (None, None) => return Err("it needs bytes, or traffic".to_string()),
        (Some(size), None) => {
            let bytes = match size {
                Size::Bytes(bytes) => *bytes,
                Size::Text(text) => parse_bytes(text)?,
            };
            if bytes == 0 || bytes > MAX_OP_BYTES || !bytes.is_multiple_of(op.dtype.bytes()) {
                return Err(format!(
                    "{bytes} bytes are no payload of whole {} elements, up to {MAX_OP_BYTES}",
                    op.dtype
                ));
            }
            Op::even(op.kind, bytes, op.dtype)
        }
        (None, Some(rows)) => Op::uneven(read_traffic(op, rows)?, op.dtype),
    };
    Ok(Op {
        gap_us: op.gap_us,
        ..read
    })
}

fn read_traffic(op: &FileOp, rows: &[Vec<u64>]) -> std::result::Result<Arc<Traffic>, String> {
    if op.kind != OpKind::AllToAll {
        return Err(format!(
            "{} has no traffic of its own",
            op.kind.with_article()
        ));
    }
    if rows.len() < 2 || rows.len() > MAX_RANKS {
        return Err(format!("traffic between {} ranks", rows.len()));
    }
    let element = op.dtype.bytes();
    if let Some(odd) = rows
        .iter()
        .flatten()
        .find(|bytes| !bytes.is_multiple_of(element))
    {
        return Err(format!("{odd} bytes are no whole {} elements", op.dtype));
    }
    let traffic = Traffic::of_items(rows, 1)
        .ok_or_else(|| format!("its traffic is no table of {0} by {0}", rows.len()))?;
    match traffic.largest_side_bytes() {
        0 => Err("its traffic sends nothing".to_string()),
        bytes if bytes > MAX_OP_BYTES => Err(format!(
            "one rank's {bytes} bytes are beyond {MAX_OP_BYTES}"
        )),
        _ => Ok(Arc::new(traffic)),
    }
}

/// The text of a plan file. Equal neighbours become one block, and so do equal groups of
/// `ops_per_layer`.
///
/// # Errors
/// Exit code 1 for a plan that does not become TOML, which tests rule out.
pub fn plan_text(name: &str, plan: &Plan, ops_per_layer: usize) -> Result<String> {
    let mut blocks: Vec<Block> = Vec::new();
    for layer in plan.ops.chunks(ops_per_layer.max(1)) {
        let op: Vec<FileOp> = layer.iter().map(write_op).collect();
        match blocks.last_mut() {
            Some(last) if last.op == op => last.repeat += 1,
            _ => blocks.push(Block { repeat: 1, op }),
        }
    }
    let file = File {
        schema: PLAN_SCHEMA.to_string(),
        name: name.chars().take(MAX_NAME_CHARS).collect(),
        origin: plan.origin.chars().take(MAX_NAME_CHARS).collect(),
        exchange: plan.exchange,
        block: blocks,
    };
    toml::to_string(&file)
        .map_err(|error| Error::other(format!("the plan does not become TOML: {error}")))
}

fn write_op(op: &Op) -> FileOp {
    let traffic = op.traffic.as_ref().map(|traffic| {
        let row = |from| {
            (0..traffic.ranks())
                .map(|to| traffic.bytes(from, to))
                .collect()
        };
        (0..traffic.ranks()).map(row).collect()
    });
    FileOp {
        kind: op.kind,
        bytes: traffic.is_none().then_some(Size::Bytes(op.bytes)),
        dtype: op.dtype,
        gap_us: op.gap_us,
        traffic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{
        BurstRequest, Direction, Exchanges, Payload, RoutingRule, TokenFormat, TokenFormats,
    };
    use crate::plan::{ReplaySize, allreduce_burst, exchange_point, load_model};

    const BY_HAND: &str = r#"
schema = "commbench/plan/1"
name = "two layers"

[[block]]
repeat = 2
[[block.op]]
kind = "allreduce"
bytes = "14K"
dtype = "bf16"
[[block.op]]
kind = "alltoall"
traffic = [[0, 8], [4, 0]]
dtype = "fp32"
gap_us = 12.5
"#;

    #[test]
    fn a_plan_by_hand_is_read() {
        let plan = parse_plan(BY_HAND).unwrap();
        assert_eq!(plan.ops.len(), 4);
        assert_eq!(plan.ops[2].bytes, 14_336);
        assert_eq!((plan.ops[3].bytes, plan.ops[3].gap_us), (6, 12.5));
        assert_eq!(plan.origin, "two layers");
        assert!(plan.check(2).is_ok());
        let error = plan.check(8).unwrap_err();
        assert!(error.what.contains("between 2 ranks"), "{}", error.what);
    }

    #[test]
    fn what_is_saved_reads_back_the_same() {
        let model = load_model("kimi-k2.5").unwrap();
        let request = BurstRequest {
            batch: 8,
            ..BurstRequest::default()
        };
        let burst = allreduce_burst(&model, &request).unwrap();
        let text = plan_text("TP", &burst, 2).unwrap();
        assert!(text.contains("repeat = 61"), "{text}");
        assert_eq!(parse_plan(&text).unwrap().ops, burst.ops);

        let exchanges = Exchanges {
            model: &model,
            ranks: 4,
            payload: Payload::Routed(RoutingRule { skew: 1.0, seed: 3 }),
            formats: TokenFormats::or_own(&model, Some(TokenFormat::Fp8), None),
        };
        let both = [Direction::Dispatch, Direction::Combine];
        let size = ReplaySize { bytes: u64::MAX };
        let routed =
            exchange_point(&exchanges, ("EP", "EP"), 2, &both, Exchange::Grouped, size).unwrap();
        let read = parse_plan(&plan_text("EP", &routed, 2).unwrap()).unwrap();
        assert_eq!(read.ops, routed.ops);
        assert_eq!(read.exchange, Exchange::Grouped);
    }

    #[test]
    fn what_is_no_plan_is_refused_with_the_place() {
        let cases = [
            ("plan/1", "plan/9", "plan/9"),
            (
                "repeat = 2",
                "repeat = 99999999999",
                "more than 100,000 ops",
            ),
            ("repeat = 2", "repeat = 0", "no ops"),
            ("\"14K\"", "0", "block 0, op 0: 0 bytes"),
            ("\"14K\"", "3", "3 bytes"),
            ("\"14K\"", "\"many\"", "many"),
            ("\"14K\"", "18446744073709551615", "18446744073709551615"),
            ("gap_us = 12.5", "gap_us = -1.0", "gap of -1"),
            ("gap_us = 12.5", "gap_us = nan", "gap of NaN"),
            ("[[0, 8], [4, 0]]", "[[0, 8], [4]]", "no table"),
            ("[[0, 8], [4, 0]]", "[[0, 8], [3, 0]]", "3 bytes"),
            ("[[0, 8], [4, 0]]", "[[9, 0], [0, 9]]", "9 bytes"),
            ("[[0, 8], [4, 0]]", "[[8, 0], [0, 8]]", "sends nothing"),
            ("[[0, 8], [4, 0]]", "[]", "between 0 ranks"),
            ("kind = \"alltoall\"", "kind = \"allreduce\"", "no traffic"),
            ("kind = \"alltoall\"", "kind = \"scatter\"", "scatter"),
            ("gap_us", "gap", "gap"),
            (
                "two layers",
                "two\\nlayers",
                "name holds the control character",
            ),
            ("commbench/plan/1", "comm\\nbench", "'comm bench'"),
        ];
        for (from, to, hint) in cases {
            let error = parse_plan(&BY_HAND.replace(from, to)).unwrap_err();
            assert!(error.contains(hint), "{to}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}") {
            let _ = parse_plan(&text);
        }
    }
}
