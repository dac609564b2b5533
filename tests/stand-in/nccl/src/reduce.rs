//! Sums of NCCL's datatypes.

use std::ffi::c_int;

use half::{bf16, f16};

/// Bytes of an element; `None` for a datatype that the stand-in lacks.
pub fn element_bytes(datatype: c_int) -> Option<usize> {
    match datatype {
        0 | 1 => Some(1),
        6 | 9 => Some(2),
        2 | 3 | 7 => Some(4),
        4 | 5 | 8 => Some(8),
        _ => None,
    }
}

macro_rules! add {
    ($sum:expr, $more:expr, $type:ty, $plus:expr) => {{
        const SIZE: usize = size_of::<$type>();
        for (sum, more) in $sum.chunks_exact_mut(SIZE).zip($more.chunks_exact(SIZE)) {
            let a = <$type>::from_ne_bytes(sum.try_into().unwrap());
            let b = <$type>::from_ne_bytes(more.try_into().unwrap());
            sum.copy_from_slice(&$plus(a, b).to_ne_bytes());
        }
    }};
}

/// Adds `more` to `sum`, element by element.
pub fn add(datatype: c_int, sum: &mut [u8], more: &[u8]) {
    match datatype {
        0 => add!(sum, more, i8, i8::wrapping_add),
        2 => add!(sum, more, i32, i32::wrapping_add),
        6 => add!(sum, more, f16, |a: f16, b: f16| f16::from_f32(
            a.to_f32() + b.to_f32()
        )),
        7 => add!(sum, more, f32, |a: f32, b: f32| a + b),
        8 => add!(sum, more, f64, |a: f64, b: f64| a + b),
        9 => add!(sum, more, bf16, |a: bf16, b: bf16| bf16::from_f32(
            a.to_f32() + b.to_f32()
        )),
        // Refused when the op was enqueued.
        _ => unreachable!("no sum of datatype {datatype}"),
    }
}

/// Whether sums of this datatype exist here.
pub fn can_add(datatype: c_int) -> bool {
    matches!(datatype, 0 | 2 | 6 | 7 | 8 | 9)
}
