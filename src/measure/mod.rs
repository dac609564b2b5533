//! Takes samples until they say enough, and ends the job when they cannot be taken.

mod host_clocks;
mod judge;
mod progress;
mod rank;
mod sampling;
mod session;
mod state;
mod stopping;
mod verify;
mod watchdog;

pub use judge::SeriesWords;
pub use progress::{Progress, Silent, TerminalProgress};
pub use sampling::sample_all;
pub use session::Session;
pub use state::{Keeper, RunState, SeriesState, SharedState};
pub use stopping::{FEWEST_SAMPLES, Settings};
pub use watchdog::{Peer, Rescue, Watchdog, deaths};
