//! How many distinct buffers a plan cycles through.

use crate::plan::Plan;
use crate::result::Buffers;

/// Buffers start at multiples of this, as allocators of GPU memory align them.
const ALIGNMENT: u64 = 512;

/// Where the plan's data lies: op `i` uses buffer `i % count`, at `slot * stride` of each slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    pub count: u64,
    /// Distance between buffers, in bytes.
    pub stride: u64,
}

impl Slots {
    /// The layout for `plan` over `ranks` ranks.
    ///
    /// Warm: as many buffers as stay within half of `cache_bytes`, at least one, at most one an
    /// op. Cold: one an op. A plan that runs in place always has one an op, since a buffer that
    /// is summed twice in a replay holds nothing that could be checked.
    pub fn for_plan(
        plan: &Plan,
        ranks: u32,
        buffers: Buffers,
        in_place: bool,
        cache_bytes: u64,
    ) -> Slots {
        // Sizes without room for the padding are refused with the slab, by `slab_bytes`.
        let stride = plan
            .largest_buffer_bytes(ranks)
            .max(1)
            .checked_next_multiple_of(ALIGNMENT)
            .unwrap_or(u64::MAX);
        let ops = (plan.ops.len() as u64).max(1);
        // Input and output both count.
        let in_cache = (cache_bytes / 2) / stride.saturating_mul(2);
        let count = match buffers {
            Buffers::Warm if !in_place => in_cache.clamp(1, ops),
            _ => ops,
        };
        Slots { count, stride }
    }

    /// Bytes of one slab; `None` when they do not fit 64 bits.
    pub fn slab_bytes(self) -> Option<u64> {
        self.count.checked_mul(self.stride)
    }

    /// The buffer of op `op`.
    pub fn of_op(self, op: usize) -> u64 {
        op as u64 % self.count
    }

    /// For each buffer, the last op that writes to it: the one whose result is left to check.
    pub fn last_op_of(self, slot: u64, ops: usize) -> u64 {
        let rounds = (ops as u64 - 1 - slot) / self.count;
        slot + rounds * self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BurstRequest, allreduce_burst, load_model};

    fn plan(ops: u64, bytes: u64) -> Plan {
        let request = BurstRequest {
            ops: Some(ops),
            bytes: Some(bytes),
            batch: 1,
            ..BurstRequest::default()
        };
        allreduce_burst(&load_model("kimi-k2.5").unwrap(), &request).unwrap()
    }

    #[test]
    fn the_main_job_is_warm_in_an_l2_with_a_buffer_an_op() {
        let slots = Slots::for_plan(&plan(122, 14_336), 8, Buffers::Warm, false, 50 << 20);
        assert_eq!((slots.count, slots.stride), (122, 14_336));
    }

    #[test]
    fn warm_buffers_stay_within_half_the_cache() {
        let slots = Slots::for_plan(&plan(122, 1 << 20), 8, Buffers::Warm, false, 32 << 20);
        assert_eq!(slots.count, 8);
        let huge = Slots::for_plan(&plan(122, 1 << 30), 8, Buffers::Warm, false, 32 << 20);
        assert_eq!(huge.count, 1);
    }

    #[test]
    fn cold_and_in_place_have_one_buffer_an_op() {
        for (buffers, in_place) in [(Buffers::Cold, false), (Buffers::Warm, true)] {
            let slots = Slots::for_plan(&plan(122, 1 << 20), 8, buffers, in_place, 1 << 20);
            assert_eq!(slots.count, 122);
        }
    }

    #[test]
    fn odd_sizes_are_aligned() {
        let slots = Slots::for_plan(&plan(3, 2), 8, Buffers::Cold, false, 0);
        assert_eq!((slots.count, slots.stride), (3, 512));
    }

    proptest::proptest! {
        #[test]
        fn no_plan_wraps(bytes in proptest::num::u64::ANY, ops in 0usize..5, cache in proptest::num::u64::ANY) {
            let op = crate::plan::Op::even(crate::plan::OpKind::AllGather, bytes, crate::plan::DataType::Int8);
            let plan = Plan::alone(String::new(), String::new(), vec![op; ops]);
            for (buffers, in_place) in [(Buffers::Cold, false), (Buffers::Warm, true), (Buffers::Warm, false)] {
                let slots = Slots::for_plan(&plan, 8, buffers, in_place, cache);
                proptest::prop_assert!(slots.count >= 1);
                proptest::prop_assert!(ops == 0 || slots.stride >= bytes);
                if let Some(slab) = slots.slab_bytes() {
                    proptest::prop_assert_eq!(slab / slots.stride, slots.count);
                }
            }
        }

        #[test]
        fn the_last_op_of_a_slot_is_the_last(ops in 1u64..300, count in 1u64..300) {
            let slots = Slots { count: count.min(ops), stride: 512 };
            for slot in 0..slots.count {
                let last = (0..ops as usize).rfind(|op| slots.of_op(*op) == slot).unwrap();
                proptest::prop_assert_eq!(slots.last_op_of(slot, ops as usize), last as u64);
            }
        }
    }
}
