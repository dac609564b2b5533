//! One collective call, and the ordered list of them that a step sends.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DataType, SizePoint, Traffic};
use crate::error::{Error, Result};
use crate::units::{format_bytes, group_thousands};

/// The kind of a collective call.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum OpKind {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    /// Rank 0's data to every rank.
    Broadcast,
    /// The sum of all ranks' data at rank 0.
    Reduce,
}

impl OpKind {
    /// Every kind.
    pub const ALL: [OpKind; 6] = [
        OpKind::AllReduce,
        OpKind::AllGather,
        OpKind::ReduceScatter,
        OpKind::AllToAll,
        OpKind::Broadcast,
        OpKind::Reduce,
    ];

    /// The name as nccl-tests users know it.
    pub fn name(self) -> &'static str {
        match self {
            OpKind::AllReduce => "allreduce",
            OpKind::AllGather => "allgather",
            OpKind::ReduceScatter => "reducescatter",
            OpKind::AllToAll => "alltoall",
            OpKind::Broadcast => "broadcast",
            OpKind::Reduce => "reduce",
        }
    }

    /// The name in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            OpKind::AllReduce => "all-reduce",
            OpKind::AllGather => "all-gather",
            OpKind::ReduceScatter => "reduce-scatter",
            OpKind::AllToAll => "all-to-all",
            OpKind::Broadcast => "broadcast",
            OpKind::Reduce => "reduce",
        }
    }

    /// "an all-reduce", "a reduce-scatter".
    pub fn with_article(self) -> String {
        let article = match self {
            OpKind::ReduceScatter | OpKind::Broadcast | OpKind::Reduce => "a",
            OpKind::AllReduce | OpKind::AllGather | OpKind::AllToAll => "an",
        };
        format!("{article} {}", self.words())
    }

    /// So many of these in a sentence: "122 all-reduces".
    pub fn counted(self, ops: u64) -> String {
        let plural = if ops == 1 { "" } else { "s" };
        format!("{} {}{plural}", group_thousands(ops), self.words())
    }

    /// Factor from algorithm to bus bandwidth over `ranks` ranks, as nccl-tests defines it.
    pub fn bus_factor(self, ranks: u32) -> f64 {
        let n = f64::from(ranks);
        match self {
            OpKind::AllReduce => 2.0 * (n - 1.0) / n,
            OpKind::AllGather | OpKind::ReduceScatter | OpKind::AllToAll => (n - 1.0) / n,
            OpKind::Broadcast | OpKind::Reduce => 1.0,
        }
    }

    /// Whether it adds numbers up, and so depends on their type.
    pub fn reduces(self) -> bool {
        matches!(
            self,
            OpKind::AllReduce | OpKind::ReduceScatter | OpKind::Reduce
        )
    }
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// One collective call.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    pub kind: OpKind,
    /// What one rank hands over, in bytes: its whole input, the part for itself included. With
    /// [`Op::traffic`] the mean of what a rank sends to others.
    pub bytes: u64,
    pub dtype: DataType,
    /// Who sends how much to whom, where an all-to-all is not even.
    pub traffic: Option<Arc<Traffic>>,
    /// Compute before this op, in µs: the ranks are busy, the links are not.
    pub gap_us: f64,
}

impl Op {
    /// A call that splits evenly, without a gap before it.
    pub fn even(kind: OpKind, bytes: u64, dtype: DataType) -> Op {
        Op {
            kind,
            bytes,
            dtype,
            traffic: None,
            gap_us: 0.0,
        }
    }

    /// An all-to-all of `traffic`.
    pub fn uneven(traffic: Arc<Traffic>, dtype: DataType) -> Op {
        Op {
            bytes: traffic.mean_sent_bytes(),
            traffic: Some(traffic),
            ..Op::even(OpKind::AllToAll, 0, dtype)
        }
    }

    /// Bytes of `rank`'s input.
    pub fn input_bytes(&self, rank: u32) -> u64 {
        match &self.traffic {
            Some(traffic) => traffic.sent_bytes(rank),
            None => self.bytes,
        }
    }

    /// Bytes of `rank`'s output over `ranks` ranks; the largest number where it has no room.
    pub fn output_bytes(&self, rank: u32, ranks: u32) -> u64 {
        match (&self.traffic, self.kind) {
            (Some(traffic), _) => traffic.received_bytes(rank),
            (None, OpKind::AllGather) => self.bytes.saturating_mul(u64::from(ranks)),
            (None, OpKind::ReduceScatter) => self.bytes / u64::from(ranks.max(1)),
            (None, OpKind::AllReduce | OpKind::AllToAll | OpKind::Broadcast) => self.bytes,
            (None, OpKind::Reduce) if rank == 0 => self.bytes,
            (None, OpKind::Reduce) => 0,
        }
    }

    /// The larger of input and output over all ranks, in bytes: a buffer that serves every rank.
    pub fn buffer_bytes(&self, ranks: u32) -> u64 {
        match &self.traffic {
            Some(traffic) => traffic.largest_side_bytes(),
            None => self.bytes.max(self.output_bytes(0, ranks)),
        }
    }

    /// Bytes that the algorithm bandwidth counts, S of nccl-tests: what an all-gather delivers,
    /// what every other call is handed.
    pub fn algorithm_bytes(&self, ranks: u32) -> f64 {
        match self.kind {
            OpKind::AllGather => self.bytes as f64 * f64::from(ranks),
            _ => self.bytes as f64,
        }
    }

    /// Bytes that the bus bandwidth counts. Uneven traffic counts what leaves a rank already.
    pub fn bus_bytes(&self, ranks: u32) -> f64 {
        match &self.traffic {
            Some(_) => self.bytes as f64,
            None => self.algorithm_bytes(ranks) * self.kind.bus_factor(ranks),
        }
    }

    /// Whether it can be called over `ranks` ranks.
    ///
    /// # Errors
    /// Exit code 2 for a payload that does not split into whole elements for every rank, and for
    /// traffic of another number of ranks.
    pub fn check(&self, ranks: u32) -> Result<()> {
        if let Some(traffic) = &self.traffic {
            if traffic.ranks() != ranks {
                return Err(Error::usage(format!(
                    "traffic between {} ranks cannot be sent by {ranks}",
                    traffic.ranks()
                ))
                .try_this(format!("mpirun -np {}", traffic.ranks())));
            }
            return Ok(());
        }
        let element = self.dtype.bytes();
        let unit = match self.kind {
            OpKind::AllReduce | OpKind::AllGather | OpKind::Broadcast | OpKind::Reduce => element,
            OpKind::ReduceScatter | OpKind::AllToAll => element * u64::from(ranks),
        };
        if self.bytes == 0 || !self.bytes.is_multiple_of(unit) {
            let nearest = (self.bytes / unit).max(1) * unit;
            return Err(Error::usage(format!(
                "{} of {} bytes does not split into whole {} elements for {ranks} ranks",
                self.kind.with_article(),
                self.bytes,
                self.dtype
            ))
            .try_this(format!("{nearest} bytes, a multiple of {unit}")));
        }
        Ok(())
    }
}

/// How equal parts of an all-to-all are sent.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Exchange {
    /// The library's own call where it has one, grouped calls elsewhere.
    #[default]
    Auto,
    /// The library's own call: `ncclAlltoAll`, `MPI_Alltoall`.
    Native,
    /// A send and a receive for each peer, as one group.
    Grouped,
}

/// The curve that a plan is a point of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePlace {
    /// Name of the curve: a parallel plan, or a part of one.
    pub curve: String,
    /// Tokens one rank holds, t.
    pub tokens_per_gpu: u64,
    /// Ops of this kind in a whole decode step.
    pub ops_per_step: u64,
}

/// An ordered list of ops: what one decode step sends. Never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Tells it from the other plans of a run; empty where it is alone.
    pub name: String,
    /// What the plan stands for, as a title.
    pub label: String,
    /// How its numbers came about, for the report ("2 × 61 layers, …").
    pub origin: String,
    pub ops: Vec<Op>,
    pub exchange: Exchange,
    /// Where it is a point of a curve.
    pub place: Option<CurvePlace>,
    /// Where it is a point of a sweep over sizes.
    pub size: Option<SizePoint>,
    /// Whether each op is stamped: see [`Plan::with_stamps`].
    pub stamped: bool,
}

const STAMPED: &str = "stamped";

/// The name of a plan with stamps.
fn stamped_name(plan: &str) -> String {
    if plan.is_empty() {
        STAMPED.to_string()
    } else {
        format!("{plan} {STAMPED}")
    }
}

/// The name of the plan that a plan with stamps is; `None` for any other plan's name.
pub fn name_without_stamps(name: &str) -> Option<&str> {
    let plan = name.strip_suffix(STAMPED)?;
    if plan.is_empty() {
        return Some(plan);
    }
    plan.strip_suffix(' ').filter(|plan| !plan.is_empty())
}

impl Plan {
    /// A plan that is alone in its run.
    pub fn alone(label: String, origin: String, ops: Vec<Op>) -> Plan {
        Plan {
            name: String::new(),
            label,
            origin,
            ops,
            exchange: Exchange::Auto,
            place: None,
            size: None,
            stamped: false,
        }
    }

    /// The same plan with the times of each op written down in the replay, on each rank: when the
    /// op before it ended, when the rank had come so far that it could begin, and when it ended.
    /// That takes time of its own, so that such a replay is no sample of the plan.
    pub fn with_stamps(&self) -> Plan {
        Plan {
            name: stamped_name(&self.name),
            stamped: true,
            place: None,
            size: None,
            ..self.clone()
        }
    }

    /// Bytes that one rank hands over in the whole plan; the largest number where it has no room.
    pub fn total_bytes(&self) -> u64 {
        let add = |sum: u64, op: &Op| sum.saturating_add(op.bytes);
        self.ops.iter().fold(0, add)
    }

    /// The largest buffer of one op on any of `ranks` ranks, in bytes.
    pub fn largest_buffer_bytes(&self, ranks: u32) -> u64 {
        let buffers = self.ops.iter().map(|op| op.buffer_bytes(ranks));
        buffers.max().unwrap_or(0)
    }

    /// The kind of all ops; `None` where they differ.
    pub fn kind(&self) -> Option<OpKind> {
        let first = self.ops.first()?.kind;
        self.ops.iter().all(|op| op.kind == first).then_some(first)
    }

    /// The element type that data is checked in: that of the sums, since other ops only copy.
    /// Bytes where copies of several types are mixed.
    ///
    /// # Errors
    /// Exit code 2 for sums of different types in one plan.
    pub fn checked_dtype(&self) -> Result<DataType> {
        let reducing = self.ops.iter().filter(|op| op.kind.reduces());
        let mut sums = reducing.map(|op| op.dtype);
        if let Some(first) = sums.next() {
            return match sums.find(|dtype| *dtype != first) {
                None => Ok(first),
                Some(other) => Err(Error::usage(format!(
                    "sums of {first} and of {other} cannot be checked in one plan"
                ))
                .try_this("a plan for each datatype")),
            };
        }
        let first = self.ops.first().map_or(DataType::Int8, |op| op.dtype);
        let alike = self.ops.iter().all(|op| op.dtype == first);
        Ok(if alike { first } else { DataType::Int8 })
    }

    /// Whether every op can be called over `ranks` ranks, and its data be checked.
    ///
    /// # Errors
    /// Exit code 2, with the number of the op at fault.
    pub fn check(&self, ranks: u32) -> Result<()> {
        self.checked_dtype()?;
        for (index, op) in self.ops.iter().enumerate() {
            op.check(ranks).map_err(|mut error| {
                let plan = match self.name.as_str() {
                    "" => String::new(),
                    name => format!(" of {name}"),
                };
                error.what = format!("op {index}{plan}: {}", error.what);
                error
            })?;
        }
        Ok(())
    }

    /// "122 all-reduces of 14,336 B bf16", of any plan.
    pub fn describe(ops: &[Op]) -> String {
        // Runs of equal kinds in the order they first occur.
        let mut kinds: Vec<(OpKind, Vec<&Op>)> = Vec::new();
        for op in ops {
            match kinds.iter_mut().find(|(kind, _)| *kind == op.kind) {
                Some((_, list)) => list.push(op),
                None => kinds.push((op.kind, vec![op])),
            }
        }
        let words = |(kind, list): &(OpKind, Vec<&Op>)| {
            let sizes = list.iter().map(|op| op.bytes);
            let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
            let size = if least == most {
                format_bytes(least)
            } else {
                format!("{} to {}", format_bytes(least), format_bytes(most))
            };
            let first = list[0].dtype;
            let dtype = if list.iter().all(|op| op.dtype == first) {
                first.name()
            } else {
                "of several types"
            };
            format!("{} of {size} {dtype}", kind.counted(list.len() as u64))
        };
        let each: Vec<String> = kinds.iter().map(words).collect();
        each.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        assert_eq!(OpKind::AllReduce.counted(1), "1 all-reduce");
        assert_eq!(OpKind::AllReduce.counted(2000), "2,000 all-reduces");
    }

    #[test]
    fn bus_factor_is_that_of_nccl_tests() {
        assert_eq!(OpKind::AllReduce.bus_factor(2), 1.0);
        assert_eq!(OpKind::AllReduce.bus_factor(8), 1.75);
        assert_eq!(OpKind::AllToAll.bus_factor(8), 0.875);
        assert_eq!(OpKind::AllGather.bus_factor(4), 0.75);
    }

    #[test]
    fn sides_and_bandwidths_by_hand() {
        // 8 ranks; nccl-tests' size is the output of an all-gather, the input of the others.
        let of = |kind| Op::even(kind, 1024, DataType::Bf16);
        let gather = of(OpKind::AllGather);
        assert_eq!(
            (gather.input_bytes(3), gather.output_bytes(3, 8)),
            (1024, 8192)
        );
        assert_eq!(gather.algorithm_bytes(8), 8192.0);
        assert_eq!(gather.bus_bytes(8), 7168.0);
        let scatter = of(OpKind::ReduceScatter);
        assert_eq!(
            (scatter.input_bytes(3), scatter.output_bytes(3, 8)),
            (1024, 128)
        );
        assert_eq!(
            (scatter.algorithm_bytes(8), scatter.bus_bytes(8)),
            (1024.0, 896.0)
        );
        let exchange = of(OpKind::AllToAll);
        assert_eq!(
            (exchange.buffer_bytes(8), exchange.bus_bytes(8)),
            (1024, 896.0)
        );
        assert_eq!(of(OpKind::AllReduce).bus_bytes(8), 1792.0);
    }

    #[test]
    fn what_does_not_split_is_refused_with_the_op_and_a_size_that_does() {
        let plan = |kind, bytes| {
            Plan::alone(
                String::new(),
                String::new(),
                vec![
                    Op::even(OpKind::AllReduce, 2, DataType::Bf16),
                    Op::even(kind, bytes, DataType::Bf16),
                ],
            )
        };
        for kind in [OpKind::AllToAll, OpKind::ReduceScatter] {
            let error = plan(kind, 36).check(8).unwrap_err();
            assert!(
                error.what.contains("op 1: a") && error.what.contains("36"),
                "{}",
                error.what
            );
            assert!(error.remedy.unwrap().contains("32 bytes"));
            assert!(plan(kind, 48).check(8).is_ok());
        }
        assert!(plan(OpKind::AllGather, 36).check(8).is_ok());
        assert!(plan(OpKind::AllGather, 0).check(8).is_err());
    }

    #[test]
    fn copies_are_checked_in_any_type_and_sums_in_one() {
        let of = |ops: &[(OpKind, DataType)]| {
            let ops = ops.iter().map(|(kind, dtype)| Op::even(*kind, 64, *dtype));
            Plan::alone(String::new(), String::new(), ops.collect()).checked_dtype()
        };
        use DataType::{Bf16, Fp32, Int8};
        use OpKind::{AllReduce, AllToAll};
        assert_eq!(of(&[(AllToAll, Bf16), (AllToAll, Bf16)]), Ok(Bf16));
        assert_eq!(of(&[(AllToAll, Int8), (AllToAll, Bf16)]), Ok(Int8));
        assert_eq!(of(&[(AllToAll, Int8), (AllReduce, Bf16)]), Ok(Bf16));
        assert!(of(&[(AllReduce, Fp32), (AllReduce, Bf16)]).is_err());
    }

    #[test]
    fn mixed_plans_are_described_kind_by_kind() {
        let ops = [
            Op::even(OpKind::AllGather, 1024, DataType::Bf16),
            Op::even(OpKind::ReduceScatter, 8192, DataType::Bf16),
            Op::even(OpKind::AllGather, 2048, DataType::Bf16),
        ];
        assert_eq!(
            Plan::describe(&ops),
            "2 all-gathers of 1,024 B to 2,048 B bf16, 1 reduce-scatter of 8,192 B bf16"
        );
    }
}
