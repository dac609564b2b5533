//! Clocks of several hosts, put together: each host's own has a zero and a pace of its own.
//!
//! Rank 0 and a rank of another host pass a message to and fro. The answer was read between the
//! sending and the return, which bounds the offset of the two clocks; each turn narrows the bounds.

use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::result::RankStamps;
use crate::world::World;

/// Turns of one meeting. The fastest counts, and small messages are fast after the first few.
const TURNS: usize = 16;

/// What is to be added to a rank's host clock to have that of rank 0's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct HostOffset {
    to_root_ns: i64,
    /// How far `to_root_ns` can be off.
    error_ns: u64,
}

/// The clocks of the job's hosts.
pub(super) struct HostClocks {
    /// Ranks on other hosts than rank 0's, the same list on every rank; empty on one host.
    elsewhere: Vec<u32>,
    mine: HostOffset,
}

impl HostClocks {
    /// Finds out who shares rank 0's clock. Collective.
    ///
    /// # Errors
    /// As [`World::all_gather`].
    pub fn of(world: &World) -> Result<HostClocks> {
        let hosts = world.all_gather(&world.host_name())?;
        let is_elsewhere = |rank: &u32| hosts[*rank as usize] != hosts[0];
        Ok(HostClocks {
            elsewhere: (0..world.size()).filter(is_elsewhere).collect(),
            mine: HostOffset::default(),
        })
    }

    /// Compares the clocks anew: they drift apart by some 10 µs a second. Collective.
    ///
    /// # Errors
    /// As [`World::broadcast`].
    pub fn meet(&mut self, world: &World) -> Result<()> {
        if self.elsewhere.is_empty() {
            return Ok(());
        }
        let mut offsets = Vec::new();
        for rank in &self.elsewhere {
            if world.is_root() {
                let bounds = narrowed((0..TURNS).map(|_| turn(world, *rank)));
                offsets.push((bounds.to_root_ns, bounds.error_ns));
            } else if world.rank() == *rank {
                for _ in 0..TURNS {
                    world.receive_word(0);
                    world.send_word(0, host_clock_ns(*rank));
                }
            }
        }
        let root = world.is_root();
        let all: Vec<(i64, u64)> = world.broadcast(root.then_some(&offsets))?;
        let of_mine = self.elsewhere.iter().position(|rank| *rank == world.rank());
        if let Some((to_root_ns, error_ns)) = of_mine.and_then(|index| all.get(index)) {
            self.mine = HostOffset {
                to_root_ns: *to_root_ns,
                error_ns: *error_ns,
            };
        }
        Ok(())
    }

    /// Stamps that lead to the clock of rank 0's host instead of this host's own.
    pub fn to_root(&self, stamps: RankStamps) -> RankStamps {
        RankStamps {
            to_host_ns: stamps.to_host_ns.wrapping_add(self.mine.to_root_ns),
            error_ns: stamps.error_ns.saturating_add(self.mine.error_ns),
            ..stamps
        }
    }
}

/// Bounds of what is to be added to the clock of `rank`'s host.
fn turn(world: &World, rank: u32) -> (i64, i64) {
    let sent = host_clock_ns(0);
    world.send_word(rank, 0);
    let theirs = world.receive_word(rank);
    let back = host_clock_ns(0);
    (
        sent.wrapping_sub(theirs) as i64,
        back.wrapping_sub(theirs) as i64,
    )
}

fn narrowed(turns: impl Iterator<Item = (i64, i64)>) -> HostOffset {
    let (lo, hi) = turns.fold((i64::MIN, i64::MAX), |(lo, hi), (lowest, highest)| {
        (lo.max(lowest), hi.min(highest))
    });
    let width = hi.saturating_sub(lo).max(0);
    HostOffset {
        to_root_ns: lo.saturating_add(width / 2),
        error_ns: (width as u64).div_ceil(2),
    }
}

/// The clock that a rank's host stamps are read from.
fn host_clock_ns(rank: u32) -> u64 {
    #[cfg(feature = "fault-injection")]
    return crate::faults::clock_of_another_host(rank, monotonic_ns());
    #[cfg(not(feature = "fault-injection"))]
    {
        let _ = rank;
        monotonic_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_turns_bound_the_offset() {
        // The other clock is 1,000,000 ns ahead: −1,000,000 is to be added.
        let turn = |before: i64, after: i64| (-1_000_000 - before, -1_000_000 + after);
        let found = narrowed([turn(9_000, 400), turn(700, 30_000), turn(5_000, 5_000)].into_iter());
        assert!((found.to_root_ns + 1_000_000).unsigned_abs() <= found.error_ns);
        assert_eq!(found.error_ns, 550);
    }

    #[test]
    fn stamps_keep_their_times_and_lead_to_rank_0() {
        let clocks = HostClocks {
            elsewhere: vec![1],
            mine: HostOffset {
                to_root_ns: -500,
                error_ns: 20,
            },
        };
        let stamps = clocks.to_root(RankStamps {
            clock: "globaltimer of GPU-1".to_string(),
            to_host_ns: 100,
            error_ns: 7,
            ops: Vec::new(),
        });
        assert_eq!((stamps.to_host_ns, stamps.error_ns), (-400, 27));
    }
}
