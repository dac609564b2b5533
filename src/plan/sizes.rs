//! Plans over payload sizes: what nccl-tests sweeps.

use super::decode::{MAX_OP_BYTES, MAX_OPS};
use super::{DataType, Exchange, Op, OpKind, Plan, SizePoint, Traffic};
use crate::error::{Error, Result};
use crate::units::format_bytes;

/// More sizes than any sweep needs.
const MAX_SIZES: usize = 128;

/// What is swept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweptOp {
    Collective(OpKind),
    /// Every rank sends to the next and receives from the one before, around the ring.
    SendRecv,
}

impl SweptOp {
    /// The name as nccl-tests has it.
    pub fn name(self) -> &'static str {
        match self {
            SweptOp::Collective(kind) => kind.name(),
            SweptOp::SendRecv => "sendrecv",
        }
    }
}

/// A sweep over sizes.
#[derive(Debug, Clone)]
pub struct SizeSweep {
    pub op: SweptOp,
    pub dtype: DataType,
    /// Sizes as nccl-tests counts them: of an all-gather what it delivers, of all others what a
    /// rank hands over.
    pub least_bytes: u64,
    pub most_bytes: u64,
    pub step: SizeStep,
    /// Calls of one replay.
    pub ops: u64,
}

/// From one size to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeStep {
    Times(u64),
    Plus(u64),
}

impl SizeSweep {
    /// One plan a size, over `ranks` ranks. A size that does not split into whole elements for
    /// every rank is rounded down to one that does, as nccl-tests does, and none is left out: the
    /// smallest is one element a rank.
    ///
    /// # Errors
    /// Exit code 2, naming the value, for sizes, steps and counts that make no sweep.
    pub fn plans(&self, ranks: u32) -> Result<Vec<Plan>> {
        if self.ops == 0 || self.ops > MAX_OPS {
            return Err(
                Error::usage(format!("{} calls cannot be replayed", self.ops))
                    .try_this(format!("--iters 1 to {MAX_OPS}")),
            );
        }
        let mut plans: Vec<Plan> = Vec::new();
        for size in self.sizes()? {
            let op = self.op_of(size, ranks)?;
            let bytes = counted_bytes(&op, ranks);
            // Rounding makes neighbours of the smallest sizes equal.
            let name = format!("{} {bytes} B", self.op.name());
            if plans.iter().any(|plan| plan.name == name) {
                continue;
            }
            let ops = vec![op; self.ops as usize];
            plans.push(Plan {
                name,
                label: self.title(bytes),
                origin: "size as nccl-tests counts it".to_string(),
                ops,
                exchange: Exchange::Auto,
                place: None,
                size: Some(SizePoint::of(self.op, bytes, self.dtype, ranks)),
                stamped: false,
            });
        }
        Ok(plans)
    }

    /// A plan's title: "20 × allreduce of 8 B bf16".
    pub fn title(&self, bytes: u64) -> String {
        format!(
            "{} × {} of {} {}",
            self.ops,
            self.op.name(),
            format_bytes(bytes),
            self.dtype
        )
    }

    fn sizes(&self) -> Result<Vec<u64>> {
        let (least, most) = (self.least_bytes, self.most_bytes);
        if least == 0 || least > most || most > MAX_OP_BYTES {
            return Err(Error::usage(format!(
                "sizes from {least} to {most} bytes are no range of 1 to {MAX_OP_BYTES}"
            ))
            .try_this("-b 8 -e 256M"));
        }
        let mut sizes = Vec::new();
        let mut size = least;
        while size <= most {
            sizes.push(size);
            if sizes.len() > MAX_SIZES {
                return Err(
                    Error::usage(format!("the sweep has more than {MAX_SIZES} sizes"))
                        .try_this("a larger step, -f 2, or a smaller range"),
                );
            }
            let next = match self.step {
                SizeStep::Times(factor) if factor >= 2 => size.checked_mul(factor),
                SizeStep::Plus(bytes) if bytes > 0 => size.checked_add(bytes),
                SizeStep::Times(_) | SizeStep::Plus(_) if least == most => None,
                SizeStep::Times(by) | SizeStep::Plus(by) => {
                    return Err(Error::usage(format!("a step of {by} goes nowhere"))
                        .try_this("-f 2, or -i 1M"));
                }
            };
            match next {
                Some(next) => size = next,
                None => break,
            }
        }
        Ok(sizes)
    }

    fn op_of(&self, size: u64, ranks: u32) -> Result<Op> {
        let element = self.dtype.bytes();
        let parts = u64::from(ranks);
        let whole = |bytes: u64, unit: u64| (bytes / unit).max(1) * unit;
        Ok(match self.op {
            SweptOp::Collective(OpKind::AllGather) => {
                let own = whole(size / parts, element);
                Op::even(OpKind::AllGather, own, self.dtype)
            }
            SweptOp::Collective(kind @ (OpKind::ReduceScatter | OpKind::AllToAll)) => {
                Op::even(kind, whole(size, element * parts), self.dtype)
            }
            SweptOp::Collective(kind) => Op::even(kind, whole(size, element), self.dtype),
            SweptOp::SendRecv => {
                let bytes = whole(size, element);
                let row = |from: u64| {
                    (0..parts)
                        .map(|to| if to == (from + 1) % parts { bytes } else { 0 })
                        .collect()
                };
                let rows: Vec<Vec<u64>> = (0..parts).map(row).collect();
                let traffic = Traffic::of_items(&rows, 1)
                    .ok_or_else(|| Error::other("a ring is not square"))?;
                Op::uneven(traffic.into(), self.dtype)
            }
        })
    }
}

/// An op's size as nccl-tests counts it.
fn counted_bytes(op: &Op, ranks: u32) -> u64 {
    match op.kind {
        OpKind::AllGather => op.output_bytes(0, ranks),
        _ => op.bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(op: SweptOp, least_bytes: u64, most_bytes: u64, step: SizeStep) -> SizeSweep {
        SizeSweep {
            op,
            dtype: DataType::Bf16,
            least_bytes,
            most_bytes,
            step,
            ops: 20,
        }
    }

    fn names(sweep: &SizeSweep, ranks: u32) -> Vec<String> {
        let plans = sweep.plans(ranks).unwrap();
        plans
            .iter()
            .inspect(|plan| plan.check(ranks).unwrap())
            .map(|plan| plan.name.clone())
            .collect()
    }

    #[test]
    fn sizes_are_those_of_nccl_tests() {
        let reduce = SweptOp::Collective(OpKind::AllReduce);
        let names_of = names(&sweep(reduce, 8, 64, SizeStep::Times(2)), 8);
        assert_eq!(
            names_of,
            [
                "allreduce 8 B",
                "allreduce 16 B",
                "allreduce 32 B",
                "allreduce 64 B"
            ]
        );
        let exchange = SweptOp::Collective(OpKind::AllToAll);
        // Less than an element a rank becomes one; 24 bytes round down to 16.
        assert_eq!(
            names(&sweep(exchange, 8, 24, SizeStep::Plus(8)), 8),
            ["alltoall 16 B"]
        );
        let gather = SweptOp::Collective(OpKind::AllGather);
        let plans = sweep(gather, 1024, 1024, SizeStep::Times(1))
            .plans(8)
            .unwrap();
        assert_eq!(
            (plans[0].ops[0].bytes, plans[0].name.as_str()),
            (128, "allgather 1024 B")
        );
    }

    #[test]
    fn a_ring_sends_to_the_next_rank_alone() {
        let plans = sweep(SweptOp::SendRecv, 100, 100, SizeStep::Times(2))
            .plans(3)
            .unwrap();
        let traffic = plans[0].ops[0].traffic.clone().unwrap();
        assert_eq!(
            (
                traffic.bytes(2, 0),
                traffic.bytes(0, 2),
                traffic.sent_bytes(1)
            ),
            (100, 0, 100)
        );
        assert_eq!(plans[0].ops[0].bus_bytes(3), 100.0);
    }

    #[test]
    fn what_makes_no_sweep_is_refused_with_the_value() {
        let reduce = SweptOp::Collective(OpKind::AllReduce);
        for (least, most, step, hint) in [
            (0, 8, SizeStep::Times(2), "from 0"),
            (16, 8, SizeStep::Times(2), "from 16 to 8"),
            (8, u64::MAX, SizeStep::Times(2), "18446744073709551615"),
            (8, 16, SizeStep::Times(1), "step of 1"),
            (8, 16, SizeStep::Plus(0), "step of 0"),
            (1, 1 << 20, SizeStep::Plus(1), "more than 128"),
        ] {
            let error = sweep(reduce, least, most, step).plans(2).unwrap_err();
            assert!(error.what.contains(hint), "{hint}: {}", error.what);
        }
    }
}
