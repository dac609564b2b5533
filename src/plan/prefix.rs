//! The beginnings of a plan: the time of an op is what it adds to the ops before it, so that
//! nothing need be measured inside a replay.

use super::Plan;

/// Beginnings of one plan that are replayed at most: beyond it, ops are told in groups.
const MOST: usize = 128;

/// The plan's beginnings in ascending length, without the whole plan: of every op, or of about
/// `MOST` equally spaced ones.
pub fn beginnings(plan: &Plan) -> Vec<Plan> {
    let ops = plan.ops.len();
    let step = ops.div_ceil(MOST).max(1);
    (step..ops)
        .step_by(step)
        .map(|length| Plan {
            name: beginning_name(length as u64),
            label: format!("the first {length} of {}", plan.label),
            origin: plan.origin.clone(),
            ops: plan.ops[..length].to_vec(),
            exchange: plan.exchange,
            place: None,
            size: None,
            stamped: false,
        })
        .collect()
}

/// The name of a beginning of so many ops.
fn beginning_name(ops: u64) -> String {
    format!("first {ops}")
}

/// The number of ops of the beginning of that name; `None` for any other plan's name.
pub fn beginning_length(name: &str) -> Option<u64> {
    let length = name.strip_prefix("first ")?.parse().ok()?;
    (beginning_name(length) == name).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{DataType, Op, OpKind};

    fn lengths(ops: usize) -> Vec<usize> {
        let op = Op::even(OpKind::AllReduce, 2, DataType::Bf16);
        let plan = Plan::alone(String::new(), String::new(), vec![op; ops]);
        beginnings(&plan).iter().map(|one| one.ops.len()).collect()
    }

    #[test]
    fn short_plans_have_every_beginning_and_long_ones_some() {
        assert_eq!(lengths(1), [0; 0]);
        assert_eq!(lengths(4), [1, 2, 3]);
        assert_eq!(lengths(122).len(), 121);
        assert_eq!(lengths(1000)[..3], [8, 16, 24]);
        assert!(lengths(100_000).len() <= MOST);
    }

    #[test]
    fn names_tell_lengths() {
        assert_eq!(beginning_length(&beginning_name(17)), Some(17));
        for other in ["", "first", "first x", "first 017", "TP t=1", "first 1 "] {
            assert_eq!(beginning_length(other), None, "{other}");
        }
    }
}
