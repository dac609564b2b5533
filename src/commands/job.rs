//! One run of a job that measures: from what is to be replayed to the files and the text that the
//! user gets. Every measuring command is this with plans of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::environment::{relevant_variables, share_gpu_variables};
use super::estate::{executor, keeper};
use super::machine::{all_health, all_transports, machine, neighbours};
use super::question::Question;
use super::run::{RunFrame, exit_code};
use super::show;
use super::variants::{
    asked_variants, beginnings_in_one_mode, best_mode, possible_variants, reasons_against,
};
use crate::cli::{BackendArg, InsideArgs, MachineArgs, OutputArgs, ReplayArgs, SamplingArgs};
use crate::clock::utc_now;
use crate::error::{Error, Result, tell};
use crate::estate::Estate;
use crate::executor::choose::{Ready, Request, Wanted, make_ready};
use crate::flight::{JOURNAL_CAPACITY, Phase};
use crate::health::{Watch, health_warnings};
use crate::measure::{
    FEWEST_SAMPLES, Progress, SeriesWords, Session, Settings, SharedState, Silent,
    TerminalProgress, sample_all,
};
use crate::plan::{ModelFacts, Plan, beginnings};
use crate::process::wake_parent;
use crate::report::{OutputFolder, PlanOutline, explain, nccl_tests_json, terminal_report};
use crate::result::{
    Backend, CommandInfo, Failure, Host, Machine, RunResult, SCHEMA, Status, Warning,
};
use crate::supervisor::{Terminals, Worker, supervise};
use crate::units::format_us;
use crate::verdict::MIN_SAMPLES;
use crate::world::{LaunchSite, World};

/// Sampling time of a series where the user names none: of a plan that is alone, and of one among
/// the points of curves.
const BUDGET_ALONE: Duration = Duration::from_millis(1500);
const BUDGET_OF_A_POINT: Duration = Duration::from_millis(300);

/// Most samples of a series where the user names no number.
const MAX_SAMPLES: u64 = 10_000;

/// What a command wants measured, the same on every rank.
pub(super) struct Job<'a> {
    /// The command's name.
    pub name: &'static str,
    pub model: Option<ModelFacts>,
    pub plans: Vec<Plan>,
    pub replay: &'a ReplayArgs,
    /// Whether curves are measured in one mode: that named, or the best that all plans have.
    pub one_mode: bool,
    pub sampling: &'a SamplingArgs,
    pub machine: &'a MachineArgs,
    pub output: &'a OutputArgs,
    /// Where to write the sweep as nccl-tests' JSON.
    pub nccl_tests_json: Option<&'a Path>,
    /// What the figures are to answer, where the command asks something.
    pub question: Option<Question>,
    /// What the reader should know of how the plans came about.
    pub warnings: Vec<Warning>,
    /// CLOCK_MONOTONIC of this host when the program started, in ns.
    pub started_ns: u64,
}

/// The ranks that a launcher started for `command`.
///
/// # Errors
/// Exit code 3 for a build without ranks, 2 where there are fewer than two.
pub(super) fn launched(command: &str) -> Result<LaunchSite> {
    if cfg!(not(feature = "mpi")) {
        return Err(
            Error::environment("this commbench was built without MPI and has no ranks")
                .try_this("cargo build --release, with the default features"),
        );
    }
    match LaunchSite::from_environment() {
        Some(site) if site.size > 1 => Ok(site),
        _ => Err(Error::usage(format!(
            "1 rank alone has nobody to send to: {command} needs at least 2"
        ))
        .try_this(format!("mpirun -np 8 commbench {command}"))),
    }
}

impl Job<'_> {
    /// Runs the job on this rank and returns its exit code. What the user reads is printed, by
    /// rank 0 alone.
    ///
    /// # Errors
    /// The same error on every rank, for rank 0 to print.
    pub fn run(&self, site: LaunchSite) -> Result<i32> {
        for plan in &self.plans {
            plan.check(site.size)?;
        }
        match Worker::from_supervisor()? {
            None => supervise(
                site,
                self.sampling.timeout,
                &self.worker_variables(site.rank),
                executor,
            ),
            Some(worker) => self.on_this_rank(worker),
        }
    }

    fn worker_variables(&self, rank: u32) -> Vec<(&'static str, String)> {
        let mut variables = Vec::new();
        if self.machine.share_gpu {
            variables.extend(share_gpu_variables(rank));
        }
        #[cfg(feature = "mpi")]
        variables.extend(
            crate::executor::nccl::PLUGIN_VARIABLES
                .iter()
                .filter(|(name, _)| std::env::var_os(name).is_none())
                .map(|(name, value)| (*name, value.to_string())),
        );
        variables
    }

    fn on_this_rank(&self, worker: Worker) -> Result<i32> {
        let Worker {
            recorder,
            estate,
            terminals,
        } = worker;
        let session = Session::open(recorder, self.sampling.timeout)?;
        let here = OnRank {
            job: self,
            session: &session,
            estate: &estate,
            terminals,
        };
        let outcome = here.run();
        if let Err(error) = &outcome {
            session.watchdog.disarm();
            if session.world.is_root() {
                tell(&error.to_terminal());
            }
        }
        session.recorder.enter(Phase::Finished, 0);
        wake_parent();
        // Printed once, here: the caller prints nothing more for a rank of a job.
        Ok(outcome.unwrap_or_else(|error| error.exit.code()))
    }

    fn request(&self) -> Request {
        Request {
            wanted: match self.machine.backend {
                BackendArg::Auto => Wanted::Auto,
                BackendArg::Nccl => Wanted::Nccl,
                BackendArg::Host => Wanted::Host,
            },
            devices: self.machine.devices.clone(),
            share_gpu: self.machine.share_gpu,
            nccl_library: self.machine.nccl_lib.clone(),
            buffers: self.replay.buffers(),
            variants: asked_variants(self.replay, self.plans.len()),
        }
    }

    /// How long to sample each of `series`.
    fn settings(&self, series: usize) -> Settings {
        let is_alone = self.plans.len() == 1;
        let budget = if is_alone {
            BUDGET_ALONE
        } else {
            BUDGET_OF_A_POINT
        };
        // What the recorders do not hold is lost with its rank.
        let room = (JOURNAL_CAPACITY / series.max(1)).max(1);
        Settings {
            precision: self.sampling.precision,
            budget: self.sampling.budget.unwrap_or(budget),
            warmup: self.sampling.warmup,
            min_samples: if is_alone {
                FEWEST_SAMPLES
            } else {
                MIN_SAMPLES as usize
            },
            max_samples: (self.sampling.max_samples.unwrap_or(MAX_SAMPLES) as usize).min(room),
        }
    }

    /// The outlines of the plans. Collective: ranks may have more or less to compute.
    fn outlines(&self, world: &World) -> Result<Vec<PlanOutline>> {
        let gaps = |plan: &Plan| plan.ops.iter().map(|op| op.gap_us).sum();
        let mine: Vec<f64> = self.plans.iter().map(gaps).collect();
        let all = world.all_gather(&mine)?;
        let outline = |(index, plan): (usize, &Plan)| {
            let sums = all.iter().map(|rank| rank[index]).collect();
            PlanOutline::of(plan, world.size()).with_gaps(sums)
        };
        Ok(self.plans.iter().enumerate().map(outline).collect())
    }

    /// What the watchdog says of the series.
    fn words(&self, state: &SharedState) -> Vec<SeriesWords> {
        let state = state.lock();
        let words = state.series.iter().map(|one| SeriesWords {
            label: one.label(),
            ops: self.plans[one.variant.plan].ops.len() as u64,
        });
        words.collect()
    }
}

/// The job on this rank.
struct OnRank<'a> {
    job: &'a Job<'a>,
    session: &'a Session,
    estate: &'a Estate,
    terminals: Terminals,
}

impl OnRank<'_> {
    fn run(&self) -> Result<i32> {
        let world = &self.session.world;
        let (started_at, folder_time) = utc_now();
        // A folder that cannot be written to is found before the GPUs are touched.
        let asked_folder = self.job.output.out.as_deref();
        let folder: OutputFolder =
            world.at_root(|| OutputFolder::create(asked_folder, &folder_time, self.job.name))?;
        let (frame, state) = match self.on_executor(&folder, started_at) {
            Ok(measured) => measured,
            Err(error) => {
                if world.is_root() {
                    self.keep_what_there_is(&error);
                    folder.remove_if_empty();
                }
                return Err(error);
            }
        };
        self.session.recorder.enter(Phase::Writing, 0);
        world.at_root(|| self.write_and_show(&frame, &state, &folder))
    }

    /// Saves samples that were taken before an error that all ranks share.
    fn keep_what_there_is(&self, error: &Error) {
        let failure = Failure {
            exit_code: error.exit.code(),
            text: error.what.clone(),
            rank: None,
            op: None,
            phase: Some(self.session.recorder.phase().words().to_string()),
        };
        match self.session.watchdog.rescue_now(&failure) {
            Some(Ok(folder)) => tell(&format!(
                "commbench: what was measured is in {}",
                folder.display()
            )),
            Some(Err(error)) => tell(&error.to_terminal()),
            None => {}
        }
    }

    /// Gets an executor, samples with it, and closes it whatever came of that: a process that
    /// ends with open communicators can crash on its way out.
    fn on_executor(
        &self,
        folder: &OutputFolder,
        started_at: String,
    ) -> Result<(RunFrame, SharedState)> {
        let session = self.session;
        let request = self.job.request();
        let mut ready = make_ready(&session.world, session.recorder, &self.job.plans, &request)?;
        session.watchdog.set_lifeline(ready.executor.lifeline());
        let sampled = self.sample(&request, &mut ready, folder, started_at);
        session.watchdog.set_lifeline(None);
        session.recorder.enter(Phase::Closing, 0);
        if let Err(error) = ready.executor.close() {
            // Closing is collective: the others wait in it, or behind it.
            session.recorder.give_up(&error);
        }
        session.world.barrier();
        sampled
    }

    fn sample(
        &self,
        request: &Request,
        ready: &mut Ready<'_>,
        folder: &OutputFolder,
        started_at: String,
    ) -> Result<(RunFrame, SharedState)> {
        let session = self.session;
        let plans = &self.job.plans;
        let (variants, waived) = possible_variants(
            self.job.replay,
            plans,
            &request.variants,
            &reasons_against(&session.world, &request.variants, ready)?,
        )?;
        let (variants, waived) = if self.job.one_mode {
            (best_mode(&variants, plans.len()), Vec::new())
        } else {
            (beginnings_in_one_mode(variants, plans), waived)
        };
        let mut warnings = self.job.warnings.clone();
        warnings.extend(waived);
        let machine = machine(&session.world, &ready.hardware)?;
        warnings.extend(crowding(ready, &machine.hosts));
        warnings.extend(unseen(session));
        let settings = self.job.settings(variants.len());
        let mut frame = self.frame(ready, settings, machine, warnings, started_at)?;
        let state = SharedState::new(&variants, plans, frame.settings.warmup);
        session.watchdog.describe(self.job.words(&state));
        session.watchdog.set_rescue({
            let (frame, state, folder) = (frame.clone(), state.clone(), folder.clone());
            Box::new(move |failure: &Failure, peers: &[_]| {
                frame.rescue(&state, &folder, failure, peers)
            })
        });
        state.set_keeper(keeper(self.estate, &frame, folder, &session.supervisors)?);
        let is_root = session.world.is_root();
        if is_root && ready.backend == Backend::MpiHost {
            tell(HOST_NOTICE);
        }
        let mut progress: Box<dyn Progress> = match self.terminals.err {
            Some(columns) if is_root => Box::new(TerminalProgress::new(columns)),
            _ => Box::new(Silent),
        };
        let mut watch = self.watch(ready)?;
        sample_all(
            &session.world,
            session.recorder,
            ready.executor.as_mut(),
            &frame.settings,
            &state,
            progress.as_mut(),
            &mut || {
                if let Some(watch) = &mut watch {
                    watch.between_rounds();
                }
            },
        )?;
        let health = all_health(&session.world, watch.map(Watch::finish))?;
        frame.skeleton.warnings.extend(health_warnings(&health));
        frame.skeleton.machine.health = health;
        // Known only now: connections are made when they are first used.
        let transports = all_transports(&session.world, &ready.executor.transports())?;
        frame.skeleton.machine.transports = transports;
        Ok((frame, state))
    }

    /// The watch over this rank's GPU, with its first reading; `None` without a GPU. Collective.
    fn watch(&self, ready: &Ready<'_>) -> Result<Option<Watch>> {
        let gpu = ready.hardware.gpu.as_ref();
        let uuid = gpu.map(|gpu| gpu.uuid.as_str());
        let (own, sharers) = neighbours(&self.session.world, uuid)?;
        Ok(gpu.map(|gpu| {
            let poll = self.job.machine.gpu_poll.map(Duration::from_millis);
            let mut watch = Watch::over(gpu, poll);
            watch.before(own, sharers);
            watch
        }))
    }

    fn frame(
        &self,
        ready: &Ready<'_>,
        settings: Settings,
        machine: Machine,
        warnings: Vec<Warning>,
        started_at: String,
    ) -> Result<RunFrame> {
        Ok(RunFrame {
            skeleton: RunResult {
                schema: SCHEMA.to_string(),
                status: Status::Partial,
                command: CommandInfo {
                    name: self.job.name.to_string(),
                    argv: std::iter::once("commbench".to_string())
                        .chain(std::env::args().skip(1))
                        .collect(),
                    version: env!("CARGO_PKG_VERSION").to_string(),
                    started_at,
                    wall_s: 0.0,
                    environment: relevant_variables(),
                },
                machine,
                backend: ready.backend,
                ranks: self.session.world.size(),
                model: self.job.model.clone(),
                results: Vec::new(),
                verdict: None,
                warnings,
                failure: None,
                imported: None,
            },
            plans: self.job.outlines(&self.session.world)?,
            question: self.job.question.clone(),
            settings,
            buffers: self.job.replay.buffers(),
            shared_gpu: ready.shared_gpu,
            one_host: self.session.one_host,
            started_ns: self.job.started_ns,
            written: Arc::default(),
        })
    }

    fn write_and_show(
        &self,
        frame: &RunFrame,
        state: &SharedState,
        folder: &OutputFolder,
    ) -> Result<i32> {
        let (run, series) = frame.result(state, None);
        let recorder = self.session.recorder;
        let written = frame.save_complete(folder, &run, &series, &|file| recorder.at_sample(file));
        if written.is_ok() {
            self.session.recorder.set_complete();
        }
        if let (Some(path), Ok(_)) = (self.job.nccl_tests_json, &written) {
            write_nccl_tests_json(&run, path)?;
        }
        let files: &[&str] = written.as_ref().map_or(&[], |files| files);
        if self.job.output.json.is_some() {
            show(&format!(
                "{}\n",
                serde_json::to_string_pretty(&run).unwrap_or_default()
            ))?;
        } else {
            let colour = self.terminals.out.is_some() && std::env::var_os("NO_COLOR").is_none();
            let folder = folder.path().display().to_string();
            show(&terminal_report(&run, &folder, files, colour))?;
            if self.job.output.explain {
                show(&explain(&run))?;
            }
        }
        written.map(|_| exit_code(&run))
    }
}

fn write_nccl_tests_json(run: &RunResult, path: &Path) -> Result<()> {
    let text = nccl_tests_json(run, &utc_now().0)?;
    std::fs::write(path, text).map_err(|error| {
        Error::environment(format!("cannot write {}: {error}", path.display()))
            .try_this("--nccl-tests-json FILE in a folder that can be written to")
    })
}

const HOST_NOTICE: &str = "\
commbench: no GPU in use: measuring HOST MEMORY with MPI instead. These will not be GPU figures.";

/// A plan, its beginnings where each op is asked for, and itself with stamps where arrivals are.
pub(super) fn with_instruments(plan: Plan, of: &InsideArgs) -> Vec<Plan> {
    let mut plans = vec![plan];
    if of.arrivals {
        plans.push(plans[0].with_stamps());
    }
    if of.per_op {
        plans.extend(beginnings(&plans[0]));
    }
    plans
}

/// Says that times hold the plan's gaps.
pub(super) fn times_hold_gaps(plan: &Plan) -> Option<Warning> {
    let gaps_us: f64 = plan.ops.iter().map(|op| op.gap_us).sum();
    (gaps_us > 0.0).then(|| Warning {
        code: "times-hold-gaps".to_string(),
        text: format!(
            "the times hold the plan's own gaps, {} in all and {} before an op",
            format_us(gaps_us),
            format_us(gaps_us / plan.ops.len() as f64)
        ),
        remedy: None,
    })
}

/// On host memory ranks need processors of their own, or times hold the wait for one.
fn crowding(ready: &Ready<'_>, hosts: &[Host]) -> Vec<Warning> {
    let crowded = |host: &&Host| host.ranks.len() > host.logical_cpus as usize;
    hosts
        .iter()
        .filter(crowded)
        .filter(|_| ready.backend == Backend::MpiHost)
        .map(|host| Warning {
            code: "ranks-share-processors".to_string(),
            text: format!(
                "{} ranks share {} processors on {}: times hold waiting for a processor",
                host.ranks.len(),
                host.logical_cpus,
                host.name
            ),
            remedy: None,
        })
        .collect()
}

/// A rank that cannot be watched can hang the job without being named.
fn unseen(session: &Session) -> Option<Warning> {
    (!session.peers_visible).then(|| Warning {
        code: "ranks-not-visible".to_string(),
        text: "the ranks of this host cannot see each other: one that hangs will not be named"
            .to_string(),
        remedy: Some("run them as one user in one PID namespace".to_string()),
    })
}
