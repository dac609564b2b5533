//! Data that shows whether a collective is right: small integers whose sum over ranks every datatype
//! holds exactly, different on every rank and at every place.

use super::DataCheck;
use super::expected::{Source, expected_parts};
use crate::error::{Error, Result};
use crate::plan::{DataType, Op};
use crate::result::WrongElement;

/// The pattern repeats after this many elements. A prime: a shift by any chunk that a library
/// works in (a power of two) is seen.
const PERIOD: usize = 251;

/// Slots start at different places of the pattern, so that mixed-up buffers are seen.
const SLOT_STRIDE: usize = 17;

/// Byte written over outputs before a checked replay: NaN in every float, −1 in every integer,
/// neither of which is ever a right sum.
pub const POISON: u8 = 0xFF;

/// The data of all ranks for one datatype.
#[derive(Debug, Clone)]
pub struct Pattern {
    dtype: DataType,
    ranks: u32,
    /// Inputs are 0 to this, inclusive.
    largest_input: u64,
    /// Two periods of the expected sums, encoded.
    sums: Vec<u8>,
    /// Two periods of each rank's input, encoded.
    inputs: Vec<Vec<u8>>,
}

/// Which output is checked.
#[derive(Debug, Clone, Copy)]
pub struct Checked<'a> {
    pub rank: u32,
    /// Buffer that the op used.
    pub slot: u64,
    /// The op's place in the plan.
    pub index: u64,
    pub op: &'a Op,
}

impl Pattern {
    /// The pattern of `ranks` ranks.
    ///
    /// # Errors
    /// Exit code 2 when so many ranks cannot be summed exactly in `dtype`.
    pub fn new(dtype: DataType, ranks: u32) -> Result<Pattern> {
        let largest_input = (dtype.exact_integer_limit() / u64::from(ranks)).min(7);
        if largest_input == 0 {
            return Err(Error::usage(format!(
                "{dtype} cannot hold a checkable sum over {ranks} ranks"
            ))
            .try_this("--dtype fp32"));
        }
        let mut pattern = Pattern {
            dtype,
            ranks,
            largest_input,
            sums: Vec::new(),
            inputs: Vec::new(),
        };
        pattern.sums = pattern.encode(|place| pattern.sum(place) as f64);
        pattern.inputs = (0..ranks)
            .map(|rank| pattern.encode(|place| pattern.input(rank, place) as f64))
            .collect();
        Ok(pattern)
    }

    fn input(&self, rank: u32, place: usize) -> u64 {
        // Any mixing does that differs by rank and place; this is the finalizer of SplitMix64.
        let mut bits = u64::from(rank) << 32 | place as u64;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % (self.largest_input + 1)
    }

    fn sum(&self, place: usize) -> u64 {
        (0..self.ranks).map(|rank| self.input(rank, place)).sum()
    }

    /// Two periods of `value(place)`, encoded, so that a period can start anywhere in the first.
    fn encode(&self, value: impl Fn(usize) -> f64) -> Vec<u8> {
        (0..2 * PERIOD)
            .flat_map(|place| encode_element(self.dtype, value(place % PERIOD)))
            .collect()
    }

    /// One period of `encoded` as it stands in buffer `slot` from byte `from` on.
    fn period<'a>(&self, encoded: &'a [u8], slot: u64, from: u64) -> &'a [u8] {
        let size = self.dtype.bytes() as usize;
        let whole = PERIOD * size;
        let slot_start = (slot as usize).wrapping_mul(SLOT_STRIDE) % PERIOD * size;
        let start = (slot_start + (from % whole as u64) as usize) % whole;
        &encoded[start..start + whole]
    }

    /// Writes `rank`'s input of buffer `slot` into `bytes`.
    pub fn fill(&self, rank: u32, slot: u64, bytes: &mut [u8]) {
        let period = self.period(&self.inputs[rank as usize], slot, 0);
        for chunk in bytes.chunks_mut(period.len()) {
            chunk.copy_from_slice(&period[..chunk.len()]);
        }
    }

    /// Compares `output`, a rank's whole output of an op, with what the op should have delivered.
    pub fn check(&self, checked: Checked<'_>, output: &[u8]) -> DataCheck {
        let size = self.dtype.bytes() as usize;
        let mut check = DataCheck::default();
        for part in expected_parts(checked.op, checked.rank, self.ranks) {
            let encoded = match part.source {
                Source::Sum => &self.sums,
                Source::Rank(rank) => &self.inputs[rank as usize],
            };
            let period = self.period(encoded, checked.slot, part.from);
            let bytes = &output[part.at as usize..(part.at + part.bytes) as usize];
            check.elements += bytes.len().div_ceil(size) as u64;
            for (index, chunk) in bytes.chunks(period.len()).enumerate() {
                if chunk == &period[..chunk.len()] {
                    continue;
                }
                for (place, (got, expected)) in
                    chunk.chunks(size).zip(period.chunks(size)).enumerate()
                {
                    let expected = &expected[..got.len()];
                    if got == expected {
                        continue;
                    }
                    check.wrong += 1;
                    check.first_wrong.get_or_insert_with(|| WrongElement {
                        rank: checked.rank,
                        op: checked.index,
                        element: part.at / size as u64 + (index * PERIOD + place) as u64,
                        got: decode_element(self.dtype, got),
                        expected: decode_element(self.dtype, expected),
                    });
                }
            }
        }
        check
    }
}

fn encode_element(dtype: DataType, value: f64) -> Vec<u8> {
    match dtype {
        DataType::Bf16 => half::bf16::from_f64(value).to_le_bytes().to_vec(),
        DataType::Fp16 => half::f16::from_f64(value).to_le_bytes().to_vec(),
        DataType::Fp32 => (value as f32).to_le_bytes().to_vec(),
        DataType::Fp64 => value.to_le_bytes().to_vec(),
        DataType::Int8 => (value as i8).to_le_bytes().to_vec(),
        DataType::Int32 => (value as i32).to_le_bytes().to_vec(),
    }
}

/// The value of one element; NaN and infinities, which JSON cannot hold, become ±f64::MAX or −1.
fn decode_element(dtype: DataType, bytes: &[u8]) -> f64 {
    let mut wide = [0u8; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let word = u64::from_le_bytes(wide);
    let value = match dtype {
        DataType::Bf16 => half::bf16::from_bits(word as u16).to_f64(),
        DataType::Fp16 => half::f16::from_bits(word as u16).to_f64(),
        DataType::Fp32 => f64::from(f32::from_bits(word as u32)),
        DataType::Fp64 => f64::from_bits(word),
        DataType::Int8 => f64::from(word as u8 as i8),
        DataType::Int32 => f64::from(word as u32 as i32),
    };
    if value.is_nan() {
        -1.0
    } else {
        value.clamp(f64::MIN, f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::OpKind;

    /// The number of wrong elements and the first, of an all-reduce of `data`.
    fn check(
        pattern: &Pattern,
        rank: u32,
        slot: u64,
        index: u64,
        data: &[u8],
    ) -> (u64, Option<WrongElement>) {
        let op = Op::even(OpKind::AllReduce, data.len() as u64, pattern.dtype);
        let checked = Checked {
            rank,
            slot,
            index,
            op: &op,
        };
        let found = pattern.check(checked, data);
        assert_eq!(found.elements, op.bytes / pattern.dtype.bytes());
        (found.wrong, found.first_wrong)
    }

    fn summed(pattern: &Pattern, dtype: DataType, ranks: u32, slot: u64, bytes: usize) -> Vec<u8> {
        let size = dtype.bytes() as usize;
        let mut sum = vec![0.0; bytes / size];
        for rank in 0..ranks {
            let mut input = vec![0u8; bytes];
            pattern.fill(rank, slot, &mut input);
            for (total, element) in sum.iter_mut().zip(input.chunks(size)) {
                *total += decode_element(dtype, element);
            }
        }
        sum.iter()
            .flat_map(|value| encode_element(dtype, *value))
            .collect()
    }

    #[test]
    fn the_true_sum_is_accepted_in_every_datatype() {
        for dtype in DataType::ALL {
            for ranks in [1, 2, 3, 8, 16, 64, 127] {
                let pattern = Pattern::new(dtype, ranks).unwrap();
                for slot in [0, 1, 121, 5000] {
                    let data = summed(&pattern, dtype, ranks, slot, 1400 * dtype.bytes() as usize);
                    assert_eq!(
                        check(&pattern, 0, slot, 0, &data),
                        (0, None),
                        "{dtype} × {ranks}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_kind_of_wrong_data_is_seen() {
        let dtype = DataType::Bf16;
        let pattern = Pattern::new(dtype, 8).unwrap();
        let good = summed(&pattern, dtype, 8, 3, 14_336);
        let count = |data: &[u8]| check(&pattern, 0, 3, 0, data).0;
        assert_eq!(count(&good), 0);

        let mut one_bit = good.clone();
        one_bit[9_001] ^= 1;
        let (wrong, first) = check(&pattern, 5, 3, 17, &one_bit);
        let first = first.unwrap();
        assert_eq!(
            (wrong, first.rank, first.op, first.element),
            (1, 5, 17, 4500)
        );

        let poisoned = vec![POISON; 14_336];
        assert_eq!(count(&poisoned), 7168);

        let without_one_rank = summed(&pattern, dtype, 7, 3, 14_336);
        assert!(count(&without_one_rank) > 5000);

        let other_slot = summed(&pattern, dtype, 8, 4, 14_336);
        assert!(count(&other_slot) > 5000);

        let mut shifted = good.clone();
        shifted.rotate_left(512);
        assert!(count(&shifted) > 5000);

        let mut input_only = vec![0u8; 14_336];
        pattern.fill(0, 3, &mut input_only);
        assert!(count(&input_only) > 5000);
    }

    /// What every rank should hold after `op`, computed from the inputs' bytes alone.
    fn delivered(pattern: &Pattern, op: &Op, rank: u32, slot: u64) -> Vec<u8> {
        let ranks = pattern.ranks;
        let input = |of: u32| {
            let mut bytes = vec![0; op.input_bytes(of) as usize];
            pattern.fill(of, slot, &mut bytes);
            bytes
        };
        let share = |of: u32| input(of).len() / ranks as usize;
        match (&op.traffic, op.kind) {
            (Some(traffic), _) => (0..ranks)
                .flat_map(|from| {
                    let start = traffic.input_offset(from, rank) as usize;
                    input(from)[start..start + traffic.bytes(from, rank) as usize].to_vec()
                })
                .collect(),
            (None, OpKind::AllGather) => (0..ranks).flat_map(input).collect(),
            (None, OpKind::AllToAll) => (0..ranks)
                .flat_map(|from| input(from)[rank as usize * share(from)..][..share(from)].to_vec())
                .collect(),
            (None, OpKind::ReduceScatter) => {
                let sum = summed(pattern, pattern.dtype, ranks, slot, op.bytes as usize);
                sum[rank as usize * share(0)..][..share(0)].to_vec()
            }
            (None, OpKind::Broadcast) => input(0),
            (None, OpKind::Reduce) if rank > 0 => Vec::new(),
            (None, OpKind::AllReduce | OpKind::Reduce) => {
                summed(pattern, pattern.dtype, ranks, slot, op.bytes as usize)
            }
        }
    }

    #[test]
    fn what_each_kind_delivers_is_accepted_and_a_mix_up_is_not() {
        let items = vec![vec![9, 301, 2], vec![0, 9, 77], vec![150, 1, 9]];
        let traffic = std::sync::Arc::new(crate::plan::Traffic::of_items(&items, 10).unwrap());
        let mut ops: Vec<Op> = OpKind::ALL
            .map(|kind| Op::even(kind, 3 * 1400, DataType::Bf16))
            .to_vec();
        ops.push(Op::uneven(traffic, DataType::Bf16));
        for op in &ops {
            let pattern = Pattern::new(DataType::Bf16, 3).unwrap();
            for rank in 0..3 {
                let wrong = |data: &[u8]| {
                    let checked = Checked {
                        rank,
                        slot: 5,
                        index: 0,
                        op,
                    };
                    pattern.check(checked, data).wrong
                };
                let good = delivered(&pattern, op, rank, 5);
                assert_eq!(wrong(&good), 0, "{op:?} on rank {rank}");
                if good.is_empty() {
                    // Only the root of a reduce has an output.
                    continue;
                }
                let others = delivered(&pattern, op, (rank + 1) % 3, 5);
                if others.len() == good.len()
                    && !matches!(
                        op.kind,
                        OpKind::AllReduce | OpKind::AllGather | OpKind::Broadcast
                    )
                {
                    assert!(wrong(&others) > 100, "{op:?}: another rank's output");
                }
                let mut swapped = good.clone();
                swapped.rotate_left(good.len() / 3);
                assert!(wrong(&swapped) > 10, "{op:?}: blocks in another order");
                let mut last = good.clone();
                *last.last_mut().unwrap() ^= 1;
                assert_eq!(wrong(&last), 1, "{op:?}: the last byte");
            }
        }
    }

    #[test]
    fn too_many_ranks_for_the_datatype_are_refused() {
        assert!(Pattern::new(DataType::Int8, 128).is_err());
        assert!(Pattern::new(DataType::Bf16, 256).is_ok());
        assert!(Pattern::new(DataType::Bf16, 257).is_err());
    }

    #[test]
    fn values_json_cannot_hold_are_replaced() {
        assert_eq!(decode_element(DataType::Bf16, &[0xFF, 0xFF]), -1.0);
        assert_eq!(
            decode_element(DataType::Fp32, &f32::INFINITY.to_le_bytes()),
            f64::MAX
        );
    }
}
