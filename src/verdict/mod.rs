//! Reads curves of samples and says what they carry: knees, crossovers, ceilings, or that there is
//! none. Knows neither MPI nor CUDA, and does no I/O.
//!
//! Curves are step times over t, the tokens per GPU; plans are compared at the same t, which is the
//! same global batch B = t·N. What a rule found stands with its interval, its confidence and the
//! rule in words ([`StatedRules`]), and where the samples do not carry a finding, that is said.

mod compare;
mod crossings;
mod crossover;
mod curve;
mod figures;
mod knee;
mod request;
mod rules;
#[cfg(test)]
mod tests;
mod words;

pub use compare::Comparison;
pub use crossover::{Crossover, Enclosed, crossover};
pub use curve::{Curve, CurvePoint};
pub use figures::{LeftOut, Pair, PlanFigures, PointFigures, Verdict, verdict};
pub use knee::{Knee, LikeliestKnee, NoKnee, knee};
pub use request::{Absent, FiguresKind, Request, check_tpot};
pub use rules::{ERROR_RATE, MIN_RESAMPLES, MIN_SAMPLES, Rules, StatedRules};
pub use words::{answers, words};
