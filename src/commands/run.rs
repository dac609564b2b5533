//! From what was measured to the result that is shown and written, whole or cut short.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::question::Question;
use crate::clock::{monotonic_ns, us_between};
use crate::error::{Error, Exit, Result};
use crate::measure::{Peer, Settings, SharedState};
use crate::plan::{beginning_length, name_without_stamps};
use crate::report::{
    Beginning, Figures, OutputFolder, PlanOutline, arrival_figures, drift_warnings, exporters,
    measurement, ops_figures, write_error,
};
use crate::result::{
    ArrivalFigures, Buffers, Failure, Measurement, Mode, Placement, RankStamps, RunResult, Series,
    Status, StoppedBy, Warning,
};

/// What does not change while a run measures.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RunFrame {
    /// The result without its measurements.
    pub skeleton: RunResult,
    pub plans: Vec<PlanOutline>,
    pub question: Option<Question>,
    pub settings: Settings,
    pub buffers: Buffers,
    pub shared_gpu: bool,
    pub one_host: bool,
    /// CLOCK_MONOTONIC of this host, in ns.
    pub started_ns: u64,
    /// Held while files are written, by the main thread or the watchdog; true once the complete
    /// result is on disk.
    #[serde(skip)]
    pub written: Arc<Mutex<bool>>,
}

/// How long the watchdog waits for the main thread's writing before it ends the process over it.
const WRITING: Duration = Duration::from_secs(2);

impl RunFrame {
    /// The result of what `state` holds.
    pub fn result(
        &self,
        state: &SharedState,
        failure: Option<&Failure>,
    ) -> (RunResult, Vec<Series>) {
        let state = state.lock();
        let mut run = self.skeleton.clone();
        let mut all_series = Vec::new();
        let mut stamps: Vec<&[Vec<RankStamps>]> = Vec::new();
        for one in &state.series {
            let series = one.to_series();
            let stopped_by = one.stopped_by.unwrap_or(StoppedBy::Failure);
            let Some(conditions) = &one.conditions else {
                continue;
            };
            let figures = Figures {
                plan: &self.plans[one.variant.plan],
                buffers: self.buffers,
                precision_asked: self.settings.precision,
                shared_gpu: self.shared_gpu,
                one_host: self.one_host,
                warmup: one.warmup,
                stopped_by: match failure {
                    Some(_) if one.stopped_by.is_none() => StoppedBy::Failure,
                    _ => stopped_by,
                },
                conditions,
                verification: &one.verification,
            };
            if let Some(measurement) = measurement(&series, &figures) {
                run.results.push(measurement);
                all_series.push(series);
                stamps.push(&one.stamps);
            }
        }
        let arrivals = arrivals(&run, &all_series, &stamps);
        put_into_their_whole(&mut run, &all_series);
        put_arrivals(&mut run, arrivals);
        run.warnings.extend(precision_warnings(&run));
        run.warnings.extend(drift_warnings(&run));
        run.failure = failure.cloned();
        run.status = if run.results.iter().any(|one| !one.verified) {
            Status::Failed
        } else if failure.is_some() {
            Status::Partial
        } else {
            Status::Complete
        };
        if let (Some(question), Status::Complete) = (&self.question, run.status) {
            match question.answer(&run, &all_series) {
                Ok(verdict) => run.verdict = Some(verdict),
                Err(error) => run.warnings.push(Warning {
                    code: "no-verdict".to_string(),
                    text: format!("no verdict: {}", error.what),
                    remedy: error.remedy,
                }),
            }
        }
        run.command.wall_s = us_between(self.started_ns, monotonic_ns()) / 1e6;
        (run, all_series)
    }

    /// Saves what was measured when the run is cut short, from the recorders of this host's
    /// ranks where they hold all of it.
    pub fn rescue(
        &self,
        state: &SharedState,
        folder: &OutputFolder,
        failure: &Failure,
        peers: &[Peer],
    ) -> Result<PathBuf> {
        let Some(written) = lock_within(&self.written, WRITING) else {
            remove_half_files(folder);
            return Err(Error::environment(format!(
                "writing to {} does not come to an end",
                folder.path().display()
            )));
        };
        if *written || peers.iter().any(|peer| peer.recorder.complete()) {
            return Ok(folder.path().to_path_buf());
        }
        if peers.len() == self.skeleton.ranks as usize {
            let mut state = state.lock();
            for (index, one) in state.series.iter_mut().enumerate() {
                let journals: Vec<_> = peers
                    .iter()
                    .map(|peer| peer.recorder.samples(index))
                    .collect();
                // A sample is complete when every rank has taken it.
                let complete = journals.iter().map(Vec::len).min().unwrap_or(0);
                one.samples = (0..complete)
                    .map(|sample| journals.iter().map(|journal| journal[sample]).collect())
                    .collect();
            }
        }
        let (run, series) = self.result(state, Some(failure));
        // The rank that died may have been writing.
        remove_half_files(folder);
        save_but(folder, &run, &series, &[], &|_| {})?;
        Ok(folder.path().to_path_buf())
    }

    /// Writes the complete result.
    ///
    /// # Errors
    /// As [`save_but`].
    pub fn save_complete(
        &self,
        folder: &OutputFolder,
        run: &RunResult,
        series: &[Series],
        begins: &dyn Fn(u64),
    ) -> Result<Vec<&'static str>> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let files = save_but(folder, run, series, &[], begins);
        *written = files.is_ok();
        files
    }
}

fn lock_within(mutex: &Mutex<bool>, limit: Duration) -> Option<MutexGuard<'_, bool>> {
    let deadline = Instant::now() + limit;
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Turns measurements of a plan's beginnings into figures of its ops. The samples stay.
fn put_into_their_whole(run: &mut RunResult, series: &[Series]) {
    let length_of = |one: &Measurement| beginning_length(&one.plan.name);
    let measured = run.results.iter().zip(series);
    let beginnings: Vec<(u64, &Series)> = measured
        .filter_map(|(one, series)| Some((length_of(one)?, series)))
        .collect();
    let Some((_, first)) = beginnings.first() else {
        return;
    };
    let (mode, placement) = (first.mode, first.placement);
    let is_whole = |one: &Measurement| {
        length_of(one).is_none() && one.mode == mode && one.placement == placement
    };
    // A beginning with wrong data makes its whole wrong.
    let wrong = run
        .results
        .iter()
        .find(|one| length_of(one).is_some() && !one.verified);
    let wrong = wrong.map(|one| one.verification.clone());
    let Some(whole) = run.results.iter().position(is_whole) else {
        return run.results.retain(|one| length_of(one).is_none());
    };
    let mut all: Vec<Beginning<'_>> = beginnings
        .iter()
        .map(|(ops, series)| Beginning { ops: *ops, series })
        .collect();
    all.push(Beginning {
        ops: run.results[whole].plan.ops,
        series: &series[whole],
    });
    let figures = ops_figures(&all);
    run.results[whole].per_op = figures;
    if let Some(verification) = wrong {
        run.results[whole].verified = false;
        run.results[whole].verification = verification;
    }
    run.results.retain(|one| length_of(one).is_none());
}

/// The series without stamps that a stamped one belongs to, and what the stamps tell of it.
type Arrivals = (String, Mode, Placement, Option<ArrivalFigures>);

/// What was stamped; `stamps` as the results and series are.
fn arrivals(run: &RunResult, series: &[Series], stamps: &[&[Vec<RankStamps>]]) -> Vec<Arrivals> {
    let all = run.results.iter().zip(series).zip(stamps);
    let stamped = all.filter_map(|((one, stamped), stamps)| {
        let plan = name_without_stamps(&one.plan.name)?;
        let is_plain = |plain: &&Series| {
            plain.plan == plan && plain.mode == one.mode && plain.placement == one.placement
        };
        // Data that were wrong with stamps are not told of as those without.
        let plain = series.iter().find(is_plain).filter(|_| one.verified);
        let figures = plain.and_then(|plain| arrival_figures(plain, stamped, stamps));
        Some((plan.to_string(), one.mode, one.placement, figures))
    });
    stamped.collect()
}

/// Turns measurements with stamps into figures of those without. The samples stay.
fn put_arrivals(run: &mut RunResult, arrivals: Vec<Arrivals>) {
    for (plan, mode, placement, figures) in arrivals {
        let stamped = run.results.iter().find(|one| {
            name_without_stamps(&one.plan.name) == Some(&plan)
                && one.mode == mode
                && one.placement == placement
        });
        let wrong = stamped.filter(|one| !one.verified);
        let wrong = wrong.map(|one| one.verification.clone());
        let is_plain = |one: &&mut Measurement| {
            one.plan.name == plan && one.mode == mode && one.placement == placement
        };
        if let Some(plain) = run.results.iter_mut().find(is_plain) {
            plain.arrivals = figures;
            if let Some(verification) = wrong {
                plain.verified = false;
                plain.verification = verification;
            }
        }
    }
    run.results
        .retain(|one| name_without_stamps(&one.plan.name).is_none());
}

/// Series that are told of one by one; of more, the widest is.
const TOLD_APART: usize = 3;

/// A series whose budget ended before its precision was reached says so.
fn precision_warnings(run: &RunResult) -> Vec<Warning> {
    let wide: Vec<&Measurement> = run
        .results
        .iter()
        .filter(|one| {
            matches!(
                one.conditions.stopped_by,
                StoppedBy::Budget | StoppedBy::Samples
            )
        })
        .collect();
    let told = |text: String| Warning {
        code: "precision-not-reached".to_string(),
        text,
        remedy: Some("a larger --budget, or a --precision this machine can reach".to_string()),
    };
    if wide.len() > TOLD_APART {
        let reached = |one: &&&Measurement| one.conditions.precision_reached.unwrap_or(f64::MAX);
        let widest = wide
            .iter()
            .max_by(|one, other| reached(one).total_cmp(&reached(other)));
        return widest
            .map(|one| {
                told(format!(
                    "{} of {} series ended before the asked precision, {:.1} %; the widest is {}, with {}",
                    wide.len(),
                    run.results.len(),
                    one.conditions.precision_asked * 100.0,
                    one.label,
                    precision_words(one)
                ))
            })
            .into_iter()
            .collect();
    }
    wide.iter()
        .map(|one| {
            told(format!(
                "{}: the {} ended with {}, {:.1} % was asked",
                one.label,
                match one.conditions.stopped_by {
                    StoppedBy::Budget => "time budget",
                    _ => "number of samples",
                },
                precision_words(one),
                one.conditions.precision_asked * 100.0
            ))
        })
        .collect()
}

fn precision_words(one: &Measurement) -> String {
    one.conditions
        .precision_reached
        .map_or("too few samples for an interval".to_string(), |reached| {
            format!("± {:.1} %", reached * 100.0)
        })
}

/// Writes every file of the run but those named in `but`. A file that fails does not keep the
/// others from being written. `begins` is told of each file, counted from 0: making one takes its
/// time, and is no standstill.
///
/// # Errors
/// The first failure: exit code 3 when the system refuses.
pub(super) fn save_but(
    folder: &OutputFolder,
    run: &RunResult,
    series: &[Series],
    but: &[&str],
    begins: &dyn Fn(u64),
) -> Result<Vec<&'static str>> {
    let mut written = Vec::new();
    let mut first_error: Option<Error> = None;
    for (index, exporter) in exporters().into_iter().enumerate() {
        begins(index as u64);
        let name = exporter.file_name();
        if but.contains(&name) || !exporter.applies(run) {
            continue;
        }
        let says_why = name.starts_with("result") || name.starts_with("report");
        // A log has figures and no samples.
        if series.is_empty() && run.imported.is_none() && !says_why {
            continue;
        }
        let done = exporter.export(run, series).and_then(|bytes| {
            folder
                .write(name, &bytes)
                .map_err(|error| write_error(folder.path(), name, &error))
        });
        match done {
            Ok(()) => written.push(name),
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    let data = ["result.json", "samples.csv"];
    match first_error {
        // Whatever else could not be written can be made from these two.
        Some(error)
            if data
                .iter()
                .all(|name| written.contains(name) || but.contains(name)) =>
        {
            Err(error.try_this(format!(
                "make room there, then: commbench report {}",
                folder.path().display()
            )))
        }
        Some(error) => Err(error),
        None => Ok(written),
    }
}

fn remove_half_files(folder: &OutputFolder) {
    let exporters = exporters();
    let names: Vec<&str> = exporters.iter().map(|one| one.file_name()).collect();
    folder.remove_half_files(&names);
}

/// The exit code of a finished run.
pub(super) fn exit_code(run: &RunResult) -> i32 {
    match run.status {
        Status::Failed => Exit::WrongData.code(),
        _ => 0,
    }
}
