//! What NVLinks carry.

use super::graph::{Basis, Rate};

/// What NCCL takes one direction of one NVLink of a GPU with compute capability `sm` for, in GB/s
/// (`src/graph/topo.h` of NCCL 2.30). `None` for GPUs without NVLink.
pub fn nvlink_gb_per_s(sm: u32) -> Option<f64> {
    match sm {
        60..70 => Some(18.0),
        70..80 => Some(20.0),
        80 => Some(20.0),
        86 => Some(12.0),
        90..100 => Some(20.6),
        100..120 => Some(40.1),
        _ => None,
    }
}

/// The rate of `count` NVLinks of such a GPU.
pub fn nvlink_rate(sm: Option<u32>, count: u32) -> Option<Rate> {
    Some(Rate {
        gb_per_s: nvlink_gb_per_s(sm?)? * f64::from(count),
        basis: Basis::Nccl,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_add_up_and_gpus_without_any_have_no_rate() {
        let hopper = nvlink_rate(Some(90), 18).unwrap();
        assert!((hopper.gb_per_s - 370.8).abs() < 1e-9);
        for sm in [None, Some(89), Some(120), Some(0)] {
            assert_eq!(nvlink_rate(sm, 4), None);
        }
    }
}
