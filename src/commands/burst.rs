//! `allreduce-burst`: the all-reduces of one decode step, replayed as a burst.

use std::sync::Arc;

use super::environment::{relevant_variables, share_gpu_variables};
use super::estate::{executor, keeper};
use super::machine::{all_transports, machine};
use super::run::{RunFrame, exit_code};
use super::show;
use crate::cli::{BackendArg, BurstArgs};
use crate::clock::{monotonic_ns, utc_now};
use crate::error::{Error, Result, tell};
use crate::estate::Estate;
use crate::executor::Variant;
use crate::executor::choose::{Ready, Request, Wanted, make_ready};
use crate::flight::Phase;
use crate::measure::{
    Progress, Session, Settings, SharedState, Silent, TerminalProgress, sample_all,
};
use crate::plan::{self, BurstRequest, ModelFacts, Plan, load_model};
use crate::process::wake_parent;
use crate::report::{OutputFolder, terminal_report};
use crate::result::{
    Backend, CommandInfo, Failure, Host, Machine, Mode, RunResult, SCHEMA, Status, Warning,
};
use crate::supervisor::{Terminals, Worker, supervise};
use crate::world::{LaunchSite, World};

const NAME: &str = "allreduce-burst";

/// Runs the command on this rank and returns its exit code. What the user reads is printed, by
/// rank 0 alone.
///
/// # Errors
/// The same error on every rank, for rank 0 to print.
pub fn allreduce_burst(args: &BurstArgs) -> Result<i32> {
    let started_ns = monotonic_ns();
    let model = load_model(&args.plan.model)?;
    let plan = plan::allreduce_burst(
        &model,
        &BurstRequest {
            ops: args.plan.ops,
            bytes: args.plan.bytes,
            dtype: args.plan.dtype,
            batch: args.plan.batch,
        },
    )?;
    if cfg!(not(feature = "mpi")) {
        return Err(
            Error::environment("this commbench was built without MPI and has no ranks")
                .try_this("cargo build --release, with the default features"),
        );
    }
    let launched = LaunchSite::from_environment();
    match launched {
        Some(site) if site.size > 1 => match Worker::from_supervisor()? {
            None => supervise(
                site,
                args.sampling.timeout,
                &worker_variables(args, site.rank),
                executor,
            ),
            Some(worker) => on_this_rank(args, &model, &plan, worker, started_ns),
        },
        _ => Err(Error::usage("1 rank alone: an all-reduce needs at least 2")
            .try_this(format!("mpirun -np 8 commbench {NAME}"))),
    }
}

fn worker_variables(args: &BurstArgs, rank: u32) -> Vec<(&'static str, String)> {
    let mut variables = Vec::new();
    if args.machine.share_gpu {
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

/// What the whole run on this rank rests on.
struct Job<'a> {
    args: &'a BurstArgs,
    model: &'a ModelFacts,
    plan: &'a Plan,
    session: &'a Session,
    estate: &'a Estate,
    terminals: Terminals,
    started_ns: u64,
}

fn on_this_rank(
    args: &BurstArgs,
    model: &ModelFacts,
    plan: &Plan,
    worker: Worker,
    started_ns: u64,
) -> Result<i32> {
    let Worker {
        recorder,
        estate,
        terminals,
    } = worker;
    let session = Session::open(recorder, args.sampling.timeout)?;
    let job = Job {
        args,
        model,
        plan,
        session: &session,
        estate: &estate,
        terminals,
        started_ns,
    };
    let outcome = job.run();
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

impl Job<'_> {
    fn run(&self) -> Result<i32> {
        let world = &self.session.world;
        let (started_at, folder_time) = utc_now();
        // A folder that cannot be written to is found before the GPUs are touched.
        let asked_folder = self.args.output.out.as_deref();
        let folder: OutputFolder =
            world.at_root(|| OutputFolder::create(asked_folder, &folder_time, NAME))?;
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
        let request = self.request();
        let mut ready = make_ready(&session.world, session.recorder, self.plan, &request)?;
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

    fn request(&self) -> Request {
        let machine = &self.args.machine;
        Request {
            wanted: match machine.backend {
                BackendArg::Auto => Wanted::Auto,
                BackendArg::Nccl => Wanted::Nccl,
                BackendArg::Host => Wanted::Host,
            },
            devices: machine.devices.clone(),
            share_gpu: machine.share_gpu,
            nccl_library: machine.nccl_lib.clone(),
            buffers: self.args.replay.buffers(),
            variants: asked_variants(self.args),
        }
    }

    fn settings(&self) -> Settings {
        let sampling = &self.args.sampling;
        Settings {
            precision: sampling.precision,
            budget: sampling.budget,
            warmup: sampling.warmup,
            max_samples: sampling.max_samples as usize,
        }
    }

    fn sample(
        &self,
        request: &Request,
        ready: &mut Ready<'_>,
        folder: &OutputFolder,
        started_at: String,
    ) -> Result<(RunFrame, SharedState)> {
        let session = self.session;
        let (variants, mut warnings) = possible_variants(
            self.args,
            &request.variants,
            &reasons_against(&session.world, &request.variants, ready)?,
        )?;
        let labels = variants.iter().map(|variant| variant.label()).collect();
        session
            .watchdog
            .describe(labels, self.plan.ops.len() as u64);
        let machine = machine(&session.world, &ready.hardware)?;
        warnings.extend(crowding(ready, &machine.hosts));
        warnings.extend(unseen(session));
        let mut frame = self.frame(ready, machine, warnings, started_at);
        let state = SharedState::new(&variants, frame.settings.warmup);
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
        sample_all(
            &session.world,
            session.recorder,
            ready.executor.as_mut(),
            &frame.settings,
            &state,
            progress.as_mut(),
        )?;
        // Known only now: connections are made when they are first used.
        let transports = all_transports(&session.world, &ready.executor.transports())?;
        frame.skeleton.machine.transports = transports;
        Ok((frame, state))
    }

    fn frame(
        &self,
        ready: &Ready<'_>,
        machine: Machine,
        warnings: Vec<Warning>,
        started_at: String,
    ) -> RunFrame {
        RunFrame {
            skeleton: RunResult {
                schema: SCHEMA.to_string(),
                status: Status::Partial,
                command: CommandInfo {
                    name: NAME.to_string(),
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
                model: Some(self.model.clone()),
                results: Vec::new(),
                verdict: None,
                warnings,
                failure: None,
            },
            plan: self.plan.clone(),
            settings: self.settings(),
            buffers: self.args.replay.buffers(),
            shared_gpu: ready.shared_gpu,
            one_host: self.session.one_host,
            started_ns: self.started_ns,
            written: Arc::default(),
        }
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
        let files: &[&str] = written.as_ref().map_or(&[], |files| files);
        if self.args.output.json.is_some() {
            show(&format!(
                "{}\n",
                serde_json::to_string_pretty(&run).unwrap_or_default()
            ));
        } else {
            let colour = self.terminals.out.is_some() && std::env::var_os("NO_COLOR").is_none();
            let folder = folder.path().display().to_string();
            show(&terminal_report(&run, &folder, files, colour));
        }
        written.map(|_| exit_code(&run))
    }
}

const HOST_NOTICE: &str = "\
commbench: no GPU in use: measuring HOST MEMORY with MPI instead. These will not be GPU figures.";

/// Every variant asked for: all modes where none was named.
fn asked_variants(args: &BurstArgs) -> Vec<Variant> {
    let modes = match args.replay.modes() {
        modes if modes.is_empty() => Mode::ALL.to_vec(),
        modes => modes,
    };
    let of = |mode: Mode| {
        args.replay
            .placements()
            .into_iter()
            .map(move |placement| Variant { mode, placement })
    };
    modes.into_iter().flat_map(of).collect()
}

/// Why the job cannot replay each of the variants: what one rank lacks, all lack, or they would
/// part ways here.
fn reasons_against(
    world: &World,
    asked: &[Variant],
    ready: &Ready<'_>,
) -> Result<Vec<Option<String>>> {
    let mine: Vec<Option<String>> = asked
        .iter()
        .map(|variant| ready.executor.why_not(*variant))
        .collect();
    let all = world.all_gather(&mine)?;
    let of_any = |index: usize| all.iter().find_map(|rank| rank[index].clone());
    Ok((0..asked.len()).map(of_any).collect())
}

/// The variants that this executor has. One that the user named and that it lacks is an error;
/// one of the defaults is left out with a note.
fn possible_variants(
    args: &BurstArgs,
    asked: &[Variant],
    reasons: &[Option<String>],
) -> Result<(Vec<Variant>, Vec<Warning>)> {
    let mut possible = Vec::new();
    // Reasons in the order met, each with the variants it concerns.
    let mut waived: Vec<(String, Vec<String>)> = Vec::new();
    for (variant, why) in asked.iter().zip(reasons) {
        let Some(why) = why.clone() else {
            possible.push(*variant);
            continue;
        };
        if !args.replay.mode.is_empty() {
            return Err(
                Error::usage(format!("--mode {}: {why}", variant.mode.name()))
                    .try_this("leave --mode out to measure all that this machine has"),
            );
        }
        match waived.iter_mut().find(|(known, _)| *known == why) {
            Some((_, labels)) => labels.push(variant.label()),
            None => waived.push((why, vec![variant.label()])),
        }
    }
    if possible.is_empty()
        && let Some((why, labels)) = waived.last()
    {
        return Err(Error::usage(format!("{}: {why}", labels.join(", ")))
            .try_this("--placement out, or --mode eager"));
    }
    let warnings = waived.iter().map(|(why, labels)| Warning {
        code: "mode-waived".to_string(),
        text: format!("not measured: {} ({why})", labels.join(", ")),
        remedy: None,
    });
    Ok((possible, warnings.collect()))
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
