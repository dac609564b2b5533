//! Order statistics of a sample series. No distribution is assumed anywhere: communication times
//! are skewed and have several modes, so means and standard deviations are never reported.

mod median_ci;
mod summary;

pub use median_ci::median_ci95_ranks;
pub use summary::{Summary, percentile_sorted};
