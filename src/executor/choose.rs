//! Which executor a job gets, decided by all ranks together before anything is measured.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::assign::{Site, local_ranks};
use super::host::HostExecutor;
#[cfg(feature = "mpi")]
use super::nccl::on_gpus;
use super::{Executor, Variant};
use crate::error::Result;
use crate::flight::FlightRecorder;
use crate::gpu;
use crate::plan::Plan;
use crate::result::{Backend, Buffers, Gpu};
use crate::topology::host_facts;
use crate::world::World;

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// NCCL where there are GPUs, host memory where no rank sees one.
    Auto,
    Nccl,
    Host,
}

/// The user's wishes that decide the executor.
#[derive(Debug, Clone)]
pub struct Request {
    pub wanted: Wanted,
    /// CUDA ordinals by local rank.
    pub devices: Option<Vec<u32>>,
    pub share_gpu: bool,
    pub nccl_library: Option<PathBuf>,
    pub buffers: Buffers,
    pub variants: Vec<Variant>,
}

/// What one rank's hardware and libraries are.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RankHardware {
    pub gpu: Option<Gpu>,
    pub driver: Option<String>,
    pub cuda: Option<String>,
    pub nccl_version: Option<String>,
    pub nccl_library: Option<String>,
}

/// An executor ready to prepare variants, and what it runs on.
pub struct Ready<'a> {
    pub backend: Backend,
    pub executor: Box<dyn Executor + 'a>,
    pub hardware: RankHardware,
    /// Whether some GPU serves several ranks.
    pub shared_gpu: bool,
}

/// Decides and builds. Collective; the outcome is the same on every rank.
///
/// # Errors
/// Exit code 3 for what the machines lack, 2 for wishes that do not fit them.
pub fn make_ready<'a>(
    world: &'a World,
    recorder: &'a FlightRecorder,
    plans: &'a [Plan],
    request: &Request,
) -> Result<Ready<'a>> {
    let sites = match request.wanted {
        Wanted::Host => None,
        Wanted::Auto | Wanted::Nccl => {
            let sites = world.all_gather(&site(world))?;
            let none_has_one = sites.iter().all(|site| site.gpus.is_empty());
            (request.wanted == Wanted::Nccl || !none_has_one).then_some(sites)
        }
    };
    match sites {
        Some(sites) => on_gpus(world, recorder, plans, request, &sites),
        None => on_host(world, recorder, plans, request),
    }
}

fn site(world: &World) -> Site {
    let found = gpu::device_count().and_then(|count| {
        (0..count)
            .map(|ordinal| gpu::device_facts(ordinal).map(|facts| facts.uuid))
            .collect::<Result<Vec<String>>>()
    });
    let (gpus, why_none) = match found {
        Ok(gpus) if gpus.is_empty() => (
            gpus,
            Some("the driver is there but shows no GPU (CUDA_VISIBLE_DEVICES?)".to_string()),
        ),
        Ok(gpus) => (gpus, None),
        Err(error) => (Vec::new(), Some(error.what)),
    };
    Site {
        rank: world.rank(),
        host: world.host_name(),
        gpus,
        why_none,
    }
}

fn on_host<'a>(
    world: &'a World,
    recorder: &'a FlightRecorder,
    plans: &'a [Plan],
    request: &Request,
) -> Result<Ready<'a>> {
    let hosts = world.all_gather(&world.host_name())?;
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let (_, on_this_host) = local_ranks(&hosts)[world.rank() as usize];
    let memory_bytes = host_facts(Path::new("/")).available_bytes / u64::from(on_this_host);
    let executor = world.agree(HostExecutor::new(
        world,
        recorder,
        plans,
        request.buffers,
        memory_bytes,
    ))?;
    Ok(Ready {
        backend: Backend::MpiHost,
        executor: Box::new(executor),
        hardware: RankHardware::default(),
        shared_gpu: false,
    })
}

#[cfg(not(feature = "mpi"))]
fn on_gpus<'a>(
    _: &'a World,
    _: &'a FlightRecorder,
    _: &'a [Plan],
    _: &Request,
    _: &[Site],
) -> Result<Ready<'a>> {
    Err(
        crate::error::Error::environment("this commbench was built without NCCL")
            .try_this("cargo build --release, with the default features"),
    )
}
