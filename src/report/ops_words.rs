//! What was found about the ops of a plan, in words and as a table.

use crate::result::{Measurement, OpFigures, OpsFigures, RunResult};
use crate::stats::percentile_sorted;
use crate::units::{median_and_interval, significant};

/// An op is called slow when its interval lies above this many times the middle op.
const SLOW: f64 = 1.25;

/// Slow ops that are named.
const NAMED: usize = 3;

/// One sentence for each measurement whose ops were measured.
pub(super) fn ops_words(run: &RunResult) -> Vec<String> {
    let measured = run
        .results
        .iter()
        .filter_map(|one| Some((one, one.per_op.as_ref()?)));
    measured.map(|(one, figures)| words(one, figures)).collect()
}

fn words(one: &Measurement, figures: &OpsFigures) -> String {
    let middle = middle_us(figures);
    let mut said = format!(
        "What each op adds ({}, differences between replays of the first k ops; nothing is measured inside a replay): {} µs in the middle",
        one.label,
        significant(middle)
    );
    if let [first, .., last] = figures.ops.as_slice() {
        said.push_str(&format!(
            "; the first {}, the last {}",
            op_text(first),
            op_text(last)
        ));
    }
    let mut slow: Vec<&OpFigures> = figures
        .ops
        .iter()
        .skip(1)
        .filter(|op| op.ci95_us[0] > SLOW * middle)
        .collect();
    slow.sort_by(|one, other| other.us.total_cmp(&one.us));
    if slow.is_empty() {
        said.push_str(&format!(
            "; none after the first is shown above {SLOW} times the middle"
        ));
    } else {
        let named: Vec<String> = slow
            .iter()
            .take(NAMED)
            .map(|op| format!("{} {}", op_name(op), op_text(op)))
            .collect();
        said.push_str(&format!(
            "; shown above {SLOW} times the middle: {} of {}, the slowest {}",
            slow.len(),
            figures.ops.len(),
            named.join(", ")
        ));
    }
    said.push('.');
    said
}

fn middle_us(figures: &OpsFigures) -> f64 {
    let mut all: Vec<f64> = figures.ops.iter().map(|op| op.us).collect();
    all.sort_by(f64::total_cmp);
    percentile_sorted(&all, 50.0)
}

fn op_name(op: &OpFigures) -> String {
    match op.ops {
        1 => format!("op {}", op.first_op),
        more => format!("ops {} to {}", op.first_op, op.first_op + more - 1),
    }
}

fn op_text(op: &OpFigures) -> String {
    let (median, interval) = median_and_interval(op.us, Some(op.ci95_us));
    format!("{median} {}", interval.unwrap_or_default())
}

/// Columns and rows of a measurement's ops.
pub(super) fn ops_table(figures: &OpsFigures) -> (Vec<String>, Vec<Vec<String>>) {
    let ranks = figures.ops.first().map_or(0, |op| op.per_rank_us.len());
    let mut header = vec!["op".to_string(), "µs [95 % CI]".to_string()];
    header.extend((0..ranks).map(|rank| format!("rank {rank}")));
    let row = |op: &OpFigures| {
        let mut row = vec![op_name(op), op_text(op)];
        row.extend(op.per_rank_us.iter().map(|us| significant(*us)));
        row
    };
    (header, figures.ops.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(first_op: u64, us: f64) -> OpFigures {
        OpFigures {
            first_op,
            ops: 1,
            us,
            ci95_us: [us - 0.5, us + 0.5],
            per_rank_us: vec![us],
        }
    }

    #[test]
    fn the_middle_and_names_are_those_of_the_figures() {
        let figures = OpsFigures {
            method: "prefix-plans".to_string(),
            ops: vec![op(0, 20.0), op(1, 8.0), op(2, 30.0), op(3, 8.0), op(4, 8.2)],
        };
        assert_eq!(middle_us(&figures), 8.2);
        let (header, rows) = ops_table(&figures);
        assert_eq!(header, ["op", "µs [95 % CI]", "rank 0"]);
        assert_eq!(rows[2], ["op 2", "30.0 [29.5, 30.5]", "30.0"]);
        let group = OpFigures {
            ops: 8,
            ..op(16, 8.0)
        };
        assert_eq!(op_name(&group), "ops 16 to 23");
    }
}
