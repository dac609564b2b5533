//! The sampling loop.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::host_clocks::HostClocks;
use super::progress::Progress;
use super::rank::{Rank, replay};
use super::state::{SeriesState, SharedState};
use super::stopping::{Decision, Settings, decide};
use super::verify::verify;
use super::watchdog::asynchronous;
use crate::error::Result;
use crate::executor::{Executor, Variant};
use crate::flight::{FlightRecorder, Phase};
use crate::plan::name_without_stamps;
use crate::result::{RankStamps, StoppedBy};
use crate::world::World;

/// Replays of a plan with stamps whose stamps are kept: enough for intervals, and a bound on what
/// rank 0 holds.
const STAMPED_REPLAYS: u64 = 200;

/// How many samples each series takes next, decided by rank 0; the reason where it is none.
#[derive(Debug, Serialize, Deserialize)]
struct Round(Vec<std::result::Result<usize, StoppedBy>>);

/// Prepares, warms up, verifies and samples every variant, then verifies again. Collective: all
/// ranks call it with the same variants and settings.
///
/// Series are sampled in turns, a batch each, so that a machine that changes its speed changes
/// it for all of them. Results are in `state`: samples at rank 0, the rest on every rank. `between_rounds` is called
/// after warm-up and between rounds, while this rank takes no samples.
///
/// # Errors
/// As the executor's; with more than one rank the watchdog ends the job instead.
pub fn sample_all(
    world: &World,
    recorder: &FlightRecorder,
    executor: &mut dyn Executor,
    settings: &Settings,
    state: &SharedState,
    progress: &mut dyn Progress,
    between_rounds: &mut dyn FnMut(),
) -> Result<()> {
    let rank = Rank { world, recorder };
    let (variants, labels): (Vec<Variant>, Vec<String>) = {
        let state = state.lock();
        let named = state.series.iter().map(|one| (one.variant, one.label()));
        named.unzip()
    };
    let stamped: Vec<bool> = {
        let state = state.lock();
        let is_stamped = |one: &SeriesState| name_without_stamps(&one.plan).is_some();
        state.series.iter().map(is_stamped).collect()
    };
    for (index, variant) in variants.iter().enumerate() {
        progress.say(&format!("warming up {}", labels[index]));
        recorder.enter(Phase::Preparing, index);
        rank.guard(executor.prepare(*variant))?;
        recorder.enter(Phase::WarmingUp, index);
        for warmup in 0..settings.warmup {
            recorder.at_sample(warmup);
            replay(&rank, executor, *variant)?;
        }
        let mut verification = state.lock().series[index].verification.clone();
        verify(&rank, executor, *variant, index, &mut verification)?;
        let mut series = state.lock();
        series.series[index].verification = verification;
        series.series[index].conditions = Some(executor.conditions(*variant));
        drop(series);
        state.keep();
    }

    let mut clocks = HostClocks::of(world)?;
    let mut spent = vec![Duration::ZERO; variants.len()];
    let mut taken = vec![0u64; variants.len()];
    loop {
        recorder.enter(Phase::Gathering, 0);
        between_rounds();
        let decisions = world
            .is_root()
            .then(|| Round(decide_all(state, &spent, settings)));
        let Round(round) = world.broadcast(decisions.as_ref())?;
        for (one, decision) in state.lock().series.iter_mut().zip(&round) {
            one.stopped_by = decision.err();
        }
        state.keep();
        if round.iter().all(|decision| decision.is_err()) {
            break;
        }
        for (index, variant) in variants.iter().enumerate() {
            let Ok(batch) = round[index] else { continue };
            recorder.enter(Phase::Sampling, index);
            let begin = Instant::now();
            let mut mine = Vec::with_capacity(batch);
            let mut stamps = Vec::new();
            for _ in 0..batch {
                recorder.at_sample(taken[index]);
                let keeps_stamps = stamped[index] && taken[index] < STAMPED_REPLAYS;
                if keeps_stamps {
                    clocks.meet(world)?;
                }
                let sample = replay(&rank, executor, *variant)?;
                recorder.journal(index, &sample);
                mine.push(sample);
                if keeps_stamps {
                    let on_this_host = rank.guard(executor.stamps(*variant))?;
                    stamps.push(clocks.to_root(on_this_host));
                }
                taken[index] += 1;
            }
            spent[index] += begin.elapsed();
            recorder.enter(Phase::Gathering, index);
            if let Some(all) = world.gather(&mine)? {
                let mut state = state.lock();
                let samples = &mut state.series[index].samples;
                samples.extend((0..batch).map(|i| all.iter().map(|rank| rank[i]).collect()));
            }
            // As many on every rank.
            if !stamps.is_empty()
                && let Some(mut all) = world.gather(&stamps)?
            {
                let of_replay = |_| all.iter_mut().map(|rank| rank.remove(0)).collect();
                let replays: Vec<Vec<RankStamps>> = (0..stamps.len()).map(of_replay).collect();
                state.lock().series[index].stamps.extend(replays);
            }
            progress.sampled(&state.lock().series[index], spent[index], settings);
        }
    }

    for (index, variant) in variants.iter().enumerate() {
        progress.say(&format!("verifying {}", labels[index]));
        let mut verification = state.lock().series[index].verification.clone();
        verify(&rank, executor, *variant, index, &mut verification)?;
        state.lock().series[index].verification = verification;
        state.keep();
    }
    progress.finish();
    // The watchdog holds such an error back for a while: a short run must not outrun it.
    let error = executor
        .lifeline()
        .and_then(|lifeline| lifeline.async_error());
    rank.guard(error.map_or(Ok(()), |words| Err(asynchronous(&words))))
}

fn decide_all(
    state: &SharedState,
    spent: &[Duration],
    settings: &Settings,
) -> Vec<std::result::Result<usize, StoppedBy>> {
    let state = state.lock();
    let decide_one = |(one, spent): (&super::SeriesState, &Duration)| {
        if let Some(stopped_by) = one.stopped_by {
            return Err(stopped_by);
        }
        match decide(&one.to_series().burst_us(), *spent, settings) {
            Decision::Take(more) => Ok(more),
            Decision::Stop(why) => Err(why),
        }
    };
    state.series.iter().zip(spent).map(decide_one).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::super::progress::Silent;
    use super::*;
    use crate::error::Error;
    use crate::executor::{DataCheck, ExecutorConditions, Lifeline};
    use crate::plan::Plan;
    use crate::result::{Mode, Placement, RankSample, WrongElement};

    /// Plays times back, and can deliver wrong data or fail.
    struct Mock {
        times_us: Vec<f64>,
        fired: usize,
        log: Vec<String>,
        wrong_on_check: Option<usize>,
        checks: usize,
        fail_on_fire: Option<usize>,
    }

    impl Mock {
        fn new(times_us: Vec<f64>) -> Mock {
            Mock {
                times_us,
                fired: 0,
                log: Vec::new(),
                wrong_on_check: None,
                checks: 0,
                fail_on_fire: None,
            }
        }
    }

    impl Executor for Mock {
        fn prepare(&mut self, variant: Variant) -> Result<()> {
            self.log.push(format!("prepare {}", variant.mode.name()));
            Ok(())
        }
        fn stage(&mut self, _: Variant) -> Result<()> {
            Ok(())
        }
        fn fire(&mut self, variant: Variant) -> Result<RankSample> {
            if self.fail_on_fire == Some(self.fired) {
                return Err(Error::environment("the GPU fell off the bus"));
            }
            let us = self.times_us[self.fired % self.times_us.len()];
            self.fired += 1;
            self.log.push(format!("fire {}", variant.mode.name()));
            Ok(RankSample {
                device_us: us,
                host_us: us,
                issue_us: 0.0,
                arrival_ns: self.fired as u64,
            })
        }
        fn stamps(&mut self, _: Variant) -> Result<RankStamps> {
            Err(Error::other("no stamps"))
        }
        fn reset_data(&mut self, _: Variant) -> Result<()> {
            self.log.push("reset".to_string());
            Ok(())
        }
        fn check_data(&mut self, _: Variant) -> Result<DataCheck> {
            self.checks += 1;
            let wrong = self.wrong_on_check == Some(self.checks);
            Ok(DataCheck {
                elements: 10,
                wrong: u64::from(wrong),
                first_wrong: wrong.then_some(WrongElement {
                    rank: 0,
                    op: 3,
                    element: 7,
                    got: 1.0,
                    expected: 2.0,
                }),
            })
        }
        fn conditions(&self, _: Variant) -> ExecutorConditions {
            ExecutorConditions {
                clock: "host-monotonic".into(),
                buffer_slots: 1,
                gate: None,
                nccl_choice: None,
                calls: "mock".into(),
                issue_is_separate: false,
            }
        }
        fn why_not(&self, _: Variant) -> Option<String> {
            None
        }
        fn lifeline(&self) -> Option<Arc<dyn Lifeline>> {
            None
        }
        fn transports(&self) -> BTreeMap<String, u64> {
            BTreeMap::new()
        }
        fn close(self: Box<Self>) -> Result<()> {
            Ok(())
        }
    }

    const EAGER: Variant = Variant {
        plan: 0,
        mode: Mode::Eager,
        placement: Placement::OutOfPlace,
    };
    const GRAPH: Variant = Variant {
        plan: 0,
        mode: Mode::Graph,
        placement: Placement::OutOfPlace,
    };

    fn run(mock: &mut Mock, variants: &[Variant], max_samples: usize) -> Result<SharedState> {
        let settings = Settings {
            precision: 0.02,
            budget: Duration::from_millis(200),
            warmup: 3,
            min_samples: 6,
            max_samples,
        };
        let state = SharedState::new(
            variants,
            &[Plan::alone(String::new(), String::new(), Vec::new())],
            settings.warmup,
        );
        let recorder = FlightRecorder::create()?;
        let world = World::solo();
        sample_all(
            &world,
            &recorder,
            mock,
            &settings,
            &state,
            &mut Silent,
            &mut || {},
        )?;
        for (index, series) in state.lock().series.iter().enumerate() {
            assert_eq!(
                recorder.samples(index).len(),
                series.samples.len(),
                "journal"
            );
        }
        Ok(state)
    }

    #[test]
    fn steady_times_stop_by_precision_and_are_kept_in_order() {
        let mut mock = Mock::new(vec![100.0]);
        let state = run(&mut mock, &[EAGER], 1000).unwrap();
        let series = &state.lock().series[0];
        assert_eq!(series.stopped_by, Some(StoppedBy::Precision));
        assert_eq!(series.samples.len(), 100);
        // 3 warm-ups and 1 verifying replay came before.
        assert_eq!(series.samples[0][0].arrival_ns, 5);
        assert_eq!(series.verification.elements, 20, "checked before and after");
    }

    #[test]
    fn noisy_times_go_on_to_the_limit() {
        let mut mock = Mock::new(vec![10.0, 100.0, 1000.0]);
        let state = run(&mut mock, &[EAGER], 50).unwrap();
        let stopped_by = state.lock().series[0].stopped_by;
        assert!(matches!(
            stopped_by,
            Some(StoppedBy::Samples | StoppedBy::Budget)
        ));
    }

    #[test]
    fn everything_is_warmed_up_before_anything_is_sampled_and_series_take_turns() {
        let mut mock = Mock::new(vec![10.0, 100.0, 1000.0]);
        run(&mut mock, &[EAGER, GRAPH], 40).unwrap();
        let prepared = mock
            .log
            .iter()
            .rposition(|line| line.starts_with("prepare"))
            .unwrap();
        assert_eq!(
            mock.log[..prepared]
                .iter()
                .filter(|l| *l == "fire eager")
                .count(),
            4
        );
        let sampled: Vec<&String> = mock.log[prepared + 6..]
            .iter()
            .filter(|line| line.starts_with("fire"))
            .collect();
        let turns = sampled.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(turns >= 3, "{turns} turns");
    }

    #[test]
    fn wrong_data_is_kept_with_its_place_whenever_it_shows() {
        for check in [1, 2] {
            let mut mock = Mock::new(vec![100.0]);
            mock.wrong_on_check = Some(check);
            let state = run(&mut mock, &[EAGER], 1000).unwrap();
            let verification = state.lock().series[0].verification.clone();
            assert_eq!(verification.wrong, 1);
            assert_eq!(verification.first_wrong.unwrap().element, 7);
        }
    }

    #[test]
    fn an_error_while_sampling_comes_out() {
        let mut mock = Mock::new(vec![100.0]);
        mock.fail_on_fire = Some(8);
        let error = run(&mut mock, &[EAGER], 1000).unwrap_err();
        assert!(error.what.contains("fell off the bus"));
    }
}
