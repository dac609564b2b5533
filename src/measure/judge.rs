//! From what is seen of the ranks to what is wrong, if anything is.

use std::time::Duration;

use crate::error::{Error, Exit};
use crate::flight::{End, Phase, Position};
use crate::process::ProcessState;
use crate::result::Failure;

/// What the watchdog says of a series.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeriesWords {
    /// Its name.
    pub label: String,
    /// Number of ops in its plan.
    pub ops: u64,
}

/// What is seen of one rank of this host.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub rank: u32,
    pub end: End,
    pub process: ProcessState,
    /// Whether a signal asked it to end: then it is gone because it did.
    pub asked_to_end: bool,
    pub phase: Phase,
    /// Name of the series it works on, where it works on one.
    pub series: Option<String>,
    /// Number of ops in the plan; 0 before it is known.
    pub ops: u64,
    pub position: Position,
    /// How long the position has stood still.
    pub still_for: Duration,
}

impl Seen {
    /// Whether this rank can put the partial result on disk.
    pub fn can_save(&self) -> bool {
        self.process == ProcessState::Alive && !matches!(self.end, End::Died(_))
    }

    /// Whether it works on ops of the plan.
    fn replays(&self) -> bool {
        matches!(
            self.phase,
            Phase::Preparing
                | Phase::Capturing
                | Phase::WarmingUp
                | Phase::Verifying
                | Phase::Sampling
        )
    }

    /// Where the rank stands, as it follows "while".
    fn place(&self) -> String {
        let mut words = self.phase.words().to_string();
        if !self.replays() {
            return words;
        }
        if let Some(series) = &self.series {
            words = format!("{words} {series}");
        }
        if !matches!(self.phase, Phase::Preparing | Phase::Capturing) {
            words = format!("{words}, sample {}", self.position.sample);
        }
        if self.position.op < self.ops {
            format!("{words}, op {} of {}", self.position.op, self.ops)
        } else if self.phase == Phase::Capturing && self.ops > 0 {
            format!("{words}, all {} ops captured", self.ops)
        } else if self.ops > 0 {
            format!(
                "{words}, all {} ops issued and the device not done",
                self.ops
            )
        } else {
            words
        }
    }

    fn failure(&self, exit: Exit, text: String) -> Failure {
        Failure {
            exit_code: exit.code(),
            text,
            rank: Some(self.rank),
            op: (self.replays() && self.position.op < self.ops).then_some(self.position.op),
            phase: Some(self.phase.words().to_string()),
        }
    }
}

/// What is wrong with the job: the failure, and the error to show for it. `None` while nothing
/// is. `interrupted` is the signal that asked this process to end.
pub(super) fn judge(
    ranks: &[Seen],
    interrupted: Option<i32>,
    limit: Duration,
) -> Option<(Failure, Error)> {
    let found = died(ranks)
        .or_else(|| failed(ranks))
        .or_else(|| interrupted.map(|signal| stopped_from_outside(ranks, signal)))
        .or_else(|| stalled(ranks, limit));
    found.map(|(failure, remedy)| {
        let error = Error::new(Exit::from_code(failure.exit_code), failure.text.clone());
        match remedy {
            Some(remedy) => (failure, error.try_this(remedy)),
            None => (failure, error),
        }
    })
}

type Finding = (Failure, Option<String>);

fn died(ranks: &[Seen]) -> Option<Finding> {
    ranks.iter().find_map(|rank| match &rank.end {
        // A launcher kills those that it asked to end and that take their time.
        End::Died(signal) if !rank.asked_to_end => Some(death(rank, *signal)),
        _ => None,
    })
}

fn death(rank: &Seen, signal: i32) -> Finding {
    let how = match signal {
        0 => "ended without a word".to_string(),
        9 => "was killed (signal 9)".to_string(),
        signal => format!("died of signal {signal}"),
    };
    let text = format!("rank {} {how} while {}", rank.rank, rank.place());
    let remedy = (signal == 9).then(|| {
        "look for the out-of-memory killer (dmesg, or the container's memory limit), then run again"
            .to_string()
    });
    (rank.failure(Exit::RankDied, text), remedy)
}

/// What is wrong when every rank has died. Whose death was the first is not known.
pub(super) fn deaths_of_all(ranks: &[Seen]) -> Option<(Failure, Error)> {
    let (mut failure, remedy) = died(ranks)?;
    if ranks.len() > 1 {
        failure.text = format!("all {} ranks died; {}", ranks.len(), failure.text);
        failure.rank = None;
        failure.op = None;
    }
    let error = Error::new(Exit::RankDied, failure.text.clone());
    Some(match remedy {
        Some(remedy) => (failure, error.try_this(remedy)),
        None => (failure, error),
    })
}

fn failed(ranks: &[Seen]) -> Option<Finding> {
    ranks.iter().find_map(|rank| match &rank.end {
        // The error of a rank whose peer is on its way out is that peer's death.
        End::Failed(_) if gone(ranks).is_some() => gone(ranks).map(|gone| death(gone, 0)),
        End::Failed(error) => {
            let text = format!(
                "rank {} failed while {}: {}",
                rank.rank,
                rank.place(),
                error.what
            );
            Some((rank.failure(error.exit, text), error.remedy.clone()))
        }
        _ => None,
    })
}

/// A rank whose process is gone though its work was not done and nobody asked it to end.
fn gone(ranks: &[Seen]) -> Option<&Seen> {
    ranks.iter().find(|rank| {
        rank.process == ProcessState::Gone && rank.phase != Phase::Finished && !rank.asked_to_end
    })
}

fn stopped_from_outside(ranks: &[Seen], signal: i32) -> Finding {
    // A launcher asks the others to end when one rank is gone: then that is what happened.
    if let Some(gone) = gone(ranks) {
        return death(gone, 0);
    }
    let failure = Failure {
        exit_code: Exit::Other.code(),
        text: match signal {
            2 => "interrupted (Ctrl-C)".to_string(),
            signal => format!("asked to end (signal {signal})"),
        },
        rank: None,
        op: None,
        phase: ranks.first().map(|rank| rank.phase.words().to_string()),
    };
    (failure, None)
}

fn stalled(ranks: &[Seen], limit: Duration) -> Option<Finding> {
    // One rank that moves is what the others wait for.
    if ranks.is_empty() || ranks.iter().any(|rank| rank.still_for < limit) {
        return None;
    }
    let seconds = limit.as_secs_f64();
    for rank in ranks {
        match rank.process {
            ProcessState::Stopped => {
                let text = format!(
                    "rank {} is stopped (SIGSTOP or a debugger) while {}; no progress for {seconds:.1} s",
                    rank.rank,
                    rank.place()
                );
                let remedy = "find who stops it (kill -CONT wakes it), then run again".to_string();
                return Some((rank.failure(Exit::Hung, text), Some(remedy)));
            }
            ProcessState::Gone if rank.phase != Phase::Finished => return Some(death(rank, 0)),
            _ => {}
        }
    }
    let longer = "a larger --timeout if ops are that slow here; NCCL_DEBUG=INFO and NCCL_P2P_DISABLE=1 tell whether P2P hangs";
    let last = ranks.iter().min_by_key(|rank| rank.position)?;
    let behind = ranks
        .iter()
        .filter(|rank| rank.position == last.position)
        .count();
    if behind == 1 && ranks.len() > 1 {
        let text = format!(
            "rank {} stands still while {}; the others wait for it; no progress for {seconds:.1} s",
            last.rank,
            last.place()
        );
        return Some((last.failure(Exit::Hung, text), Some(longer.to_string())));
    }
    let text = if behind == ranks.len() {
        format!(
            "all {} ranks of this host stand still while {}; no progress for {seconds:.1} s",
            ranks.len(),
            last.place()
        )
    } else {
        let names: Vec<String> = ranks
            .iter()
            .filter(|rank| rank.position == last.position)
            .map(|rank| rank.rank.to_string())
            .collect();
        format!(
            "ranks {} stand still while {}; no progress for {seconds:.1} s",
            names.join(", "),
            last.place()
        )
    };
    let mut failure = last.failure(Exit::Hung, text);
    failure.rank = None;
    Some((failure, Some(longer.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(4);

    fn rank(rank: u32, op: u64) -> Seen {
        Seen {
            rank,
            end: End::Running,
            process: ProcessState::Alive,
            asked_to_end: false,
            phase: Phase::Sampling,
            series: Some("eager out-of-place".to_string()),
            ops: 122,
            position: Position {
                step: 9,
                sample: 14,
                op,
            },
            still_for: Duration::from_secs(5),
        }
    }

    fn verdict(ranks: &[Seen]) -> Failure {
        judge(ranks, None, LIMIT).unwrap().0
    }

    #[test]
    fn a_moving_rank_means_that_all_is_well() {
        let mut ranks = vec![rank(0, 57), rank(1, 57)];
        ranks[1].still_for = Duration::from_millis(20);
        assert!(judge(&ranks, None, LIMIT).is_none());
    }

    #[test]
    fn a_killed_rank_is_named_with_its_op() {
        let mut ranks = vec![rank(0, 58), rank(1, 57)];
        ranks[1].end = End::Died(9);
        ranks[0].still_for = Duration::ZERO;
        let failure = verdict(&ranks);
        assert_eq!(failure.exit_code, 6);
        assert_eq!((failure.rank, failure.op), (Some(1), Some(57)));
        assert_eq!(
            failure.text,
            "rank 1 was killed (signal 9) while sampling eager out-of-place, sample 14, op 57 of 122"
        );
    }

    #[test]
    fn a_stopped_rank_is_named_even_when_it_is_not_behind() {
        let mut ranks = vec![rank(0, 57), rank(1, 57), rank(2, 57)];
        ranks[2].process = ProcessState::Stopped;
        let failure = verdict(&ranks);
        assert_eq!(
            (failure.exit_code, failure.rank, failure.op),
            (5, Some(2), Some(57))
        );
    }

    #[test]
    fn the_one_rank_behind_is_named() {
        let failure = verdict(&[rank(0, 58), rank(1, 57), rank(2, 58)]);
        assert_eq!(
            (failure.exit_code, failure.rank, failure.op),
            (5, Some(1), Some(57))
        );
    }

    #[test]
    fn nobody_is_blamed_when_all_wait_at_the_same_place() {
        let failure = verdict(&[rank(0, 122), rank(1, 122)]);
        assert_eq!((failure.rank, failure.op), (None, None));
        assert!(
            failure.text.contains("all 122 ops issued"),
            "{}",
            failure.text
        );
    }

    #[test]
    fn an_error_on_one_rank_keeps_its_exit_code_and_remedy() {
        let mut ranks = vec![rank(0, 3), rank(1, 3)];
        ranks[1].end = End::Failed(Error::environment("CUDA is lost").try_this("reboot"));
        let (failure, error) = judge(&ranks, None, LIMIT).unwrap();
        assert_eq!((failure.exit_code, failure.rank), (3, Some(1)));
        assert!(failure.text.contains("CUDA is lost"));
        assert_eq!(error.remedy.as_deref(), Some("reboot"));
    }

    #[test]
    fn a_launcher_that_ends_the_job_over_a_dead_rank_is_seen_through() {
        let mut ranks = vec![rank(0, 3), rank(1, 3)];
        let (failure, _) = judge(&ranks, Some(15), LIMIT).unwrap();
        assert_eq!((failure.exit_code, failure.rank), (1, None));
        ranks[1].process = ProcessState::Gone;
        let (failure, _) = judge(&ranks, Some(15), LIMIT).unwrap();
        assert_eq!((failure.exit_code, failure.rank), (6, Some(1)));
        // One that was asked as well has only been faster to end.
        ranks[1].asked_to_end = true;
        let (failure, _) = judge(&ranks, Some(15), LIMIT).unwrap();
        assert_eq!((failure.exit_code, failure.rank), (1, None));
    }

    #[test]
    fn a_network_error_over_a_dying_peer_names_the_peer() {
        let mut ranks = vec![rank(0, 3), rank(1, 3), rank(2, 3)];
        ranks[1].end = End::Failed(Error::environment("connection closed by remote peer"));
        ranks[2].process = ProcessState::Gone;
        let failure = verdict(&ranks);
        assert_eq!((failure.exit_code, failure.rank), (6, Some(2)));
    }

    #[test]
    fn places_outside_replays_have_no_op() {
        let mut ranks = vec![rank(0, 0)];
        ranks[0].phase = Phase::Connecting;
        let failure = verdict(&ranks);
        assert_eq!(failure.op, None);
        assert!(failure.text.contains("connecting to the other ranks"));
    }
}
