//! Order statistics of a sample series. No distribution is assumed anywhere: communication times
//! are skewed and have several modes, so means and standard deviations are never reported.

mod bootstrap;
mod median_ci;
mod random;
mod steady;
mod summary;

pub use bootstrap::{bootstrap_medians, ends_of};
pub use median_ci::median_ci95_ranks;
pub use random::SplitMix64;
pub use steady::{FAR, Steadiness};
pub(crate) use summary::median_of;
pub use summary::{Summary, percentile_sorted};
