//! What an op should deliver, part by part.

use crate::plan::{Op, OpKind};

/// Where the data of a part comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The sum of all ranks' inputs.
    Sum,
    /// One rank's input.
    Rank(u32),
}

/// A part of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Where it begins in the output, in bytes.
    pub at: u64,
    pub source: Source,
    /// Where it begins in the source, in bytes.
    pub from: u64,
    pub bytes: u64,
}

/// The parts of `rank`'s output of `op` over `ranks` ranks, in ascending order. Together they
/// cover all of it.
pub fn expected_parts(op: &Op, rank: u32, ranks: u32) -> Vec<Part> {
    let whole = |source, from, bytes| {
        vec![Part {
            at: 0,
            source,
            from,
            bytes,
        }]
    };
    match (&op.traffic, op.kind) {
        (Some(traffic), _) => (0..ranks)
            .map(|from| Part {
                at: traffic.output_offset(rank, from),
                source: Source::Rank(from),
                from: traffic.input_offset(from, rank),
                bytes: traffic.bytes(from, rank),
            })
            .filter(|part| part.bytes > 0)
            .collect(),
        (None, OpKind::AllReduce) => whole(Source::Sum, 0, op.bytes),
        (None, OpKind::Broadcast) => whole(Source::Rank(0), 0, op.bytes),
        (None, OpKind::Reduce) if rank == 0 => whole(Source::Sum, 0, op.bytes),
        (None, OpKind::Reduce) => Vec::new(),
        (None, OpKind::ReduceScatter) => {
            let share = op.output_bytes(rank, ranks);
            whole(Source::Sum, u64::from(rank) * share, share)
        }
        (None, OpKind::AllGather) => from_each(ranks, op.bytes, 0),
        (None, OpKind::AllToAll) => {
            let share = op.bytes / u64::from(ranks);
            from_each(ranks, share, u64::from(rank) * share)
        }
    }
}

/// `share` bytes of every rank's input from byte `from` on, in the order of ranks.
fn from_each(ranks: u32, share: u64, from: u64) -> Vec<Part> {
    (0..ranks)
        .map(|source| Part {
            at: u64::from(source) * share,
            source: Source::Rank(source),
            from,
            bytes: share,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plan::{DataType, Traffic};

    #[test]
    fn every_kind_by_hand() {
        let of = |kind, bytes| expected_parts(&Op::even(kind, bytes, DataType::Bf16), 1, 2);
        let part = |at, source, from, bytes| Part {
            at,
            source,
            from,
            bytes,
        };
        assert_eq!(of(OpKind::AllReduce, 8), [part(0, Source::Sum, 0, 8)]);
        assert_eq!(of(OpKind::Broadcast, 8), [part(0, Source::Rank(0), 0, 8)]);
        assert_eq!(of(OpKind::Reduce, 8), [], "rank 1 gets nothing");
        assert_eq!(of(OpKind::ReduceScatter, 8), [part(0, Source::Sum, 4, 4)]);
        assert_eq!(
            of(OpKind::AllGather, 8),
            [
                part(0, Source::Rank(0), 0, 8),
                part(8, Source::Rank(1), 0, 8)
            ]
        );
        assert_eq!(
            of(OpKind::AllToAll, 8),
            [
                part(0, Source::Rank(0), 4, 4),
                part(4, Source::Rank(1), 4, 4)
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn parts_cover_the_output_and_stay_within_inputs(
            items in proptest::collection::vec(proptest::collection::vec(0u64..50, 4), 4),
            kind in 0usize..7,
        ) {
            let traffic = Arc::new(Traffic::of_items(&items, 3).unwrap());
            let op = match OpKind::ALL.get(kind) {
                Some(kind) => Op::even(*kind, 480, DataType::Fp32),
                None => Op::uneven(traffic, DataType::Int8),
            };
            for rank in 0..4 {
                let mut end = 0;
                for part in expected_parts(&op, rank, 4) {
                    proptest::prop_assert_eq!(part.at, end);
                    end += part.bytes;
                    let source = match part.source { Source::Rank(from) => from, Source::Sum => rank };
                    proptest::prop_assert!(part.from + part.bytes <= op.input_bytes(source));
                }
                proptest::prop_assert_eq!(end, op.output_bytes(rank, 4));
            }
        }
    }
}
