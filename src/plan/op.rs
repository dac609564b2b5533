//! One collective call, and the ordered list of them that a step sends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DataType;
use crate::units::group_thousands;

/// The kind of a collective call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OpKind {
    AllReduce,
}

impl OpKind {
    /// The name as nccl-tests users know it.
    pub fn name(self) -> &'static str {
        match self {
            OpKind::AllReduce => "allreduce",
        }
    }

    /// So many of these in a sentence: "122 all-reduces".
    pub fn counted(self, ops: u64) -> String {
        let (one, many) = match self {
            OpKind::AllReduce => ("all-reduce", "all-reduces"),
        };
        format!(
            "{} {}",
            group_thousands(ops),
            if ops == 1 { one } else { many }
        )
    }

    /// Factor from algorithm to bus bandwidth over `ranks` ranks, as nccl-tests defines it.
    pub fn bus_factor(self, ranks: u32) -> f64 {
        let n = f64::from(ranks);
        match self {
            OpKind::AllReduce => 2.0 * (n - 1.0) / n,
        }
    }
}

/// One collective call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Op {
    pub kind: OpKind,
    /// Payload of one rank in bytes; a multiple of the element size.
    pub bytes: u64,
    pub dtype: DataType,
}

impl Op {
    /// Elements of one rank's payload.
    pub fn count(&self) -> u64 {
        self.bytes / self.dtype.bytes()
    }
}

/// An ordered list of ops: what one decode step sends. Never empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the plan stands for, as a title.
    pub label: String,
    /// How its numbers came about, for the report ("2 × 61 layers, …").
    pub origin: String,
    pub ops: Vec<Op>,
}

impl Plan {
    /// Bytes that one rank hands over in the whole plan; the largest number where it has no room.
    pub fn total_bytes(&self) -> u64 {
        let add = |sum: u64, op: &Op| sum.saturating_add(op.bytes);
        self.ops.iter().fold(0, add)
    }

    /// The largest payload of one op in bytes.
    pub fn largest_op_bytes(&self) -> u64 {
        self.ops.iter().map(|op| op.bytes).max().unwrap_or(0)
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
    }
}
