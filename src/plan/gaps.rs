//! Compute between ops.

use super::Plan;
use crate::stats::SplitMix64;
use crate::units::significant;

/// A longer gap is no gap between ops of a decode step, in µs.
pub const MAX_GAP_US: f64 = 1e6;

/// Gaps before the ops of a burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gaps {
    /// Before each op on every rank, in µs.
    pub every_us: f64,
    /// Up to so much more, in µs: uniform, another draw for each op of each rank.
    pub jitter_us: f64,
    /// The same seed gives the same draws.
    pub seed: u64,
    /// A rank that is late: on it alone, so much more before each op.
    pub late: Option<LateRank>,
}

/// A rank with more to compute than the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LateRank {
    pub rank: u32,
    /// How much more before each op, in µs.
    pub us: f64,
}

impl Gaps {
    /// Puts the gaps of `rank` into `plan`. The plans of other ranks differ in their jitter alone.
    pub fn put_into(self, plan: &mut Plan, rank: u32) {
        let mut random = SplitMix64::named(self.seed, "gap", u64::from(rank));
        for op in &mut plan.ops {
            op.gap_us = self.every_us;
            if self.jitter_us > 0.0 {
                op.gap_us += self.jitter_us * random.uniform();
            }
            if let Some(late) = self.late.filter(|late| late.rank == rank) {
                op.gap_us += late.us;
            }
        }
        if self.every_us > 0.0 || self.jitter_us > 0.0 {
            plan.origin.push_str(&format!(
                "; {} µs of compute before each op",
                significant(self.every_us)
            ));
        }
        if self.jitter_us > 0.0 {
            plan.origin.push_str(&format!(
                " and up to {} µs more, apart on every rank (seed {})",
                significant(self.jitter_us),
                self.seed
            ));
        }
        if let Some(late) = self.late {
            plan.origin.push_str(&format!(
                "; {} µs more before each op on rank {}",
                significant(late.us),
                late.rank
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{DataType, Op, OpKind};

    fn plan(gaps: Gaps, rank: u32) -> Plan {
        let ops = vec![Op::even(OpKind::AllReduce, 2, DataType::Bf16); 1000];
        let mut plan = Plan::alone(String::new(), String::new(), ops);
        gaps.put_into(&mut plan, rank);
        plan
    }

    #[test]
    fn jitter_differs_by_rank_and_op_and_stays_in_its_range() {
        let gaps = Gaps {
            every_us: 10.0,
            jitter_us: 4.0,
            seed: 7,
            late: None,
        };
        let (one, other) = (plan(gaps, 0), plan(gaps, 1));
        assert_ne!(one.ops, other.ops);
        assert_eq!(one.ops, plan(gaps, 0).ops, "the seed decides");
        let mean = one.ops.iter().map(|op| op.gap_us).sum::<f64>() / 1000.0;
        // Uniform: 12 ± 4/√12/√1000 µs; six deviations are 0.22.
        assert!((mean - 12.0).abs() < 0.22, "{mean}");
        assert!(one.ops.iter().all(|op| (10.0..14.0).contains(&op.gap_us)));
    }

    #[test]
    fn no_gap_leaves_the_plan_as_it_is() {
        let none = Gaps {
            every_us: 0.0,
            jitter_us: 0.0,
            seed: 1,
            late: None,
        };
        assert_eq!(plan(none, 3).origin, "");
    }

    #[test]
    fn one_rank_alone_is_late() {
        let gaps = Gaps {
            every_us: 5.0,
            jitter_us: 0.0,
            seed: 1,
            late: Some(LateRank { rank: 2, us: 50.0 }),
        };
        assert!(plan(gaps, 2).ops.iter().all(|op| op.gap_us == 55.0));
        let other = plan(gaps, 1);
        assert!(other.ops.iter().all(|op| op.gap_us == 5.0));
        assert!(
            other
                .origin
                .contains("50.0 µs more before each op on rank 2"),
            "{}",
            other.origin
        );
    }
}
