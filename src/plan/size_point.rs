//! What nccl-tests' columns say of a call beside its time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sizes::SweptOp;
use super::{DataType, OpKind};

/// A plan's place in a sweep over sizes, in nccl-tests' terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizePoint {
    /// "allreduce", as `sweep --op` names it.
    pub op: String,
    /// nccl-tests' size, in bytes: of an all-gather what it delivers, of all others what a rank
    /// hands over.
    pub bytes: u64,
    /// nccl-tests' count: elements of a rank's share where the op splits `bytes` among the ranks,
    /// elements of `bytes` otherwise.
    pub count: u64,
    /// "sum", or "none" where nothing is reduced.
    pub redop: String,
    /// The rank that sends to all or receives from all; −1 where there is none.
    pub root: i64,
}

impl SizePoint {
    /// The place of `op` at `bytes` over `ranks` ranks.
    pub fn of(op: SweptOp, bytes: u64, dtype: DataType, ranks: u32) -> SizePoint {
        let elements = bytes / dtype.bytes();
        SizePoint {
            op: op.name().to_string(),
            bytes,
            count: match op {
                SweptOp::Collective(
                    OpKind::AllGather | OpKind::ReduceScatter | OpKind::AllToAll,
                ) => elements / u64::from(ranks.max(1)),
                _ => elements,
            },
            redop: if op.reduces() { "sum" } else { "none" }.to_string(),
            root: match op {
                SweptOp::Collective(OpKind::Broadcast | OpKind::Reduce) => 0,
                _ => -1,
            },
        }
    }
}

impl SweptOp {
    /// Whether data of ranks is added up.
    pub fn reduces(self) -> bool {
        use OpKind::{AllReduce, Reduce, ReduceScatter};
        matches!(
            self,
            SweptOp::Collective(AllReduce | Reduce | ReduceScatter)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_nccl_tests() {
        let of = |op| SizePoint::of(op, 1024, DataType::Fp32, 8);
        let columns = |op| {
            let point = of(op);
            (point.count, point.redop, point.root)
        };
        let sum = || "sum".to_string();
        let none = || "none".to_string();
        for (op, expected) in [
            (SweptOp::Collective(OpKind::AllReduce), (256, sum(), -1)),
            (SweptOp::Collective(OpKind::ReduceScatter), (32, sum(), -1)),
            (SweptOp::Collective(OpKind::AllGather), (32, none(), -1)),
            (SweptOp::Collective(OpKind::AllToAll), (32, none(), -1)),
            (SweptOp::Collective(OpKind::Broadcast), (256, none(), 0)),
            (SweptOp::Collective(OpKind::Reduce), (256, sum(), 0)),
            (SweptOp::SendRecv, (256, none(), -1)),
        ] {
            assert_eq!(columns(op), expected, "{}", op.name());
        }
    }
}
