//! Data that shows whether a sum over ranks is right: small integers whose sum every datatype
//! holds exactly, different on every rank and at every place.

use crate::error::{Error, Result};
use crate::plan::DataType;
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
        };
        pattern.sums = pattern.encode(|place| pattern.sum(place) as f64);
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

    fn period<'a>(&self, encoded: &'a [u8], slot: u64) -> &'a [u8] {
        let size = self.dtype.bytes() as usize;
        let start = (slot as usize).wrapping_mul(SLOT_STRIDE) % PERIOD * size;
        &encoded[start..start + PERIOD * size]
    }

    /// Writes `rank`'s input of buffer `slot` into `bytes`, a whole number of elements.
    pub fn fill(&self, rank: u32, slot: u64, bytes: &mut [u8]) {
        let encoded = self.encode(|place| self.input(rank, place) as f64);
        let period = self.period(&encoded, slot);
        for chunk in bytes.chunks_mut(period.len()) {
            chunk.copy_from_slice(&period[..chunk.len()]);
        }
    }

    /// Compares `bytes` with the sum over all ranks for buffer `slot`. Returns the number of
    /// wrong elements, and the first of them as found on `rank` in op `op`.
    pub fn check(
        &self,
        rank: u32,
        slot: u64,
        op: u64,
        bytes: &[u8],
    ) -> (u64, Option<WrongElement>) {
        let size = self.dtype.bytes() as usize;
        let period = self.period(&self.sums, slot);
        let mut wrong = 0;
        let mut first = None;
        for (index, chunk) in bytes.chunks(period.len()).enumerate() {
            if chunk == &period[..chunk.len()] {
                continue;
            }
            for (place, (got, expected)) in chunk.chunks(size).zip(period.chunks(size)).enumerate()
            {
                if got != expected {
                    wrong += 1;
                    first.get_or_insert_with(|| WrongElement {
                        rank,
                        op,
                        element: (index * PERIOD + place) as u64,
                        got: decode_element(self.dtype, got),
                        expected: decode_element(self.dtype, expected),
                    });
                }
            }
        }
        (wrong, first)
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
                        pattern.check(0, slot, 0, &data),
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
        let count = |data: &[u8]| pattern.check(0, 3, 0, data).0;
        assert_eq!(count(&good), 0);

        let mut one_bit = good.clone();
        one_bit[9_001] ^= 1;
        let (wrong, first) = pattern.check(5, 3, 17, &one_bit);
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
