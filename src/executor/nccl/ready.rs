//! From what the ranks see to an executor on each rank's GPU.

use std::sync::Arc;

use super::buffers::NcclBuffers;
use super::comm::UniqueId;
use super::executor::{NcclExecutor, NcclRequest};
use super::library::Library;
use crate::error::{Error, Result};
use crate::executor::Variant;
use crate::executor::assign::{Site, assign};
use crate::executor::choose::{RankHardware, Ready, Request};
use crate::flight::FlightRecorder;
use crate::gpu;
use crate::plan::Plan;
use crate::result::{Backend, Gpu, Mode, Placement};
use crate::world::World;

/// Gives each rank its GPU and joins them all in a communicator. Collective.
///
/// # Errors
/// Exit code 3 for what the machines lack, 2 for wishes that do not fit them.
pub(crate) fn on_gpus<'a>(
    world: &'a World,
    recorder: &'a FlightRecorder,
    plans: &'a [Plan],
    request: &Request,
    sites: &[Site],
) -> Result<Ready<'a>> {
    let ordinals = assign(sites, request.devices.as_deref(), request.share_gpu)?;
    let rank = world.rank() as usize;
    let ordinal = ordinals[rank];
    let uuid_of = |rank: usize| &sites[rank].gpus[ordinals[rank] as usize];
    let ranks_on_gpu = (0..sites.len())
        .filter(|other| uuid_of(*other) == uuid_of(rank))
        .count() as u64;
    let shared_gpu =
        (0..sites.len()).any(|one| (0..one).any(|other| uuid_of(other) == uuid_of(one)));

    let library = world.agree(Library::open(request.nccl_library.as_deref()))?;
    same_version(world, &library)?;
    let facts = world.agree(gpu::device_facts(ordinal))?;
    let context = world.agree(gpu::Context::enter(ordinal))?;
    let nccl_request = NcclRequest {
        rank: world.rank(),
        ranks: world.size(),
        buffers: request.buffers,
        in_place: request
            .variants
            .iter()
            .any(|variant| variant.placement == Placement::InPlace),
        l2_bytes: facts.l2_bytes,
        ranks_on_gpu,
        graph_apart: graph_apart(&request.variants),
    };
    let buffers = world.agree(NcclBuffers::new(plans, nccl_request, &context, &facts.uuid))?;
    let ids: Vec<UniqueId> = world.at_root(|| {
        (0..nccl_request.communicators())
            .map(|_| UniqueId::new(&library))
            .collect()
    })?;
    let joined = NcclExecutor::join(
        Arc::clone(&library),
        &ids,
        buffers,
        nccl_request,
        plans,
        recorder,
    );
    let executor = match joined {
        Ok(executor) => executor,
        Err(error) => recorder.give_up(&error),
    };
    let (driver, cuda) = gpu::driver_versions();
    let (major, minor) = facts.compute_capability;
    Ok(Ready {
        backend: Backend::Nccl,
        executor: Box::new(executor),
        hardware: RankHardware {
            gpu: Some(Gpu {
                rank: world.rank(),
                host: sites[rank].host.clone(),
                device: ordinal,
                name: facts.name,
                uuid: facts.uuid,
                pci_bus_id: facts.pci_bus_id,
                memory_bytes: facts.memory_bytes,
                l2_bytes: facts.l2_bytes,
                compute_capability: format!("{major}.{minor}"),
            }),
            driver,
            cuda,
            nccl_version: Some(library.version()),
            nccl_library: Some(library.path().to_string()),
        },
        shared_gpu,
    })
}

/// Whether graphs and other replays both occur, and so need communicators apart.
fn graph_apart(variants: &[Variant]) -> bool {
    let graphs = variants
        .iter()
        .filter(|variant| variant.mode == Mode::Graph)
        .count();
    graphs > 0 && graphs < variants.len()
}

/// NCCL of different versions does not find its peers: it hangs or fails with words that nobody
/// understands.
fn same_version(world: &World, library: &Library) -> Result<()> {
    let versions = world.all_gather(&(library.version(), library.path().to_string()))?;
    match versions
        .iter()
        .position(|(version, _)| *version != versions[0].0)
    {
        Some(rank) => Err(Error::environment(format!(
            "rank {rank} loaded NCCL {} ({}), rank 0 NCCL {} ({})",
            versions[rank].0, versions[rank].1, versions[0].0, versions[0].1
        ))
        .try_this("the same NCCL on every host; --nccl-lib PATH names one")),
        None => Ok(()),
    }
}
