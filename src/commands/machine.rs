//! Puts what every rank knows of its hardware together.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::executor::choose::RankHardware;
use crate::health::GpuHealth;
use crate::result::{Host, Machine};
use crate::topology::{HostFacts, host_facts};
use crate::world::World;

#[derive(Serialize, Deserialize)]
struct RankFacts {
    host_name: String,
    host: HostFacts,
    hardware: RankHardware,
}

/// The machine under the job, the same on every rank. Transports are not known yet: connections
/// are made during warm-up.
///
/// # Errors
/// None that a user could cause.
pub(super) fn machine(world: &World, hardware: &RankHardware) -> Result<Machine> {
    let all = world.all_gather(&RankFacts {
        host_name: world.host_name(),
        host: host_facts(Path::new("/")),
        hardware: hardware.clone(),
    })?;
    let mut hosts: Vec<Host> = Vec::new();
    for (rank, facts) in all.iter().enumerate() {
        match hosts.iter_mut().find(|host| host.name == facts.host_name) {
            Some(host) => host.ranks.push(rank as u32),
            None => hosts.push(Host {
                name: facts.host_name.clone(),
                ranks: vec![rank as u32],
                cpu: facts.host.cpu.clone(),
                logical_cpus: facts.host.logical_cpus,
                memory_bytes: facts.host.memory_bytes,
                kernel: facts.host.kernel.clone(),
            }),
        }
    }
    let first = &all[0].hardware;
    Ok(Machine {
        hosts,
        gpus: all
            .iter()
            .filter_map(|facts| facts.hardware.gpu.clone())
            .collect(),
        driver: first.driver.clone(),
        cuda: first.cuda.clone(),
        nccl_version: first.nccl_version.clone(),
        nccl_library: first.nccl_library.clone(),
        mpi: world.mpi_library(),
        transports: Vec::new(),
        health: Vec::new(),
    })
}

/// The transports of all ranks' connections together, as "P2P/IPC (56)".
///
/// # Errors
/// None that a user could cause.
pub(super) fn all_transports(world: &World, mine: &BTreeMap<String, u64>) -> Result<Vec<String>> {
    let mut sum: BTreeMap<String, u64> = BTreeMap::new();
    for one in world.all_gather(mine)? {
        for (name, count) in one {
            *sum.entry(name).or_insert(0) += count;
        }
    }
    Ok(sum
        .into_iter()
        .map(|(name, count)| format!("{name} ({count})"))
        .collect())
}

/// The state of every rank's GPU, in rank order; empty where ranks have none.
///
/// # Errors
/// None that a user could cause.
pub(super) fn all_health(world: &World, mine: Option<GpuHealth>) -> Result<Vec<GpuHealth>> {
    Ok(world.all_gather(&mine)?.into_iter().flatten().collect())
}

/// The processes of this host's ranks, and how many ranks share the GPU with this UUID.
///
/// # Errors
/// None that a user could cause.
pub(super) fn neighbours(world: &World, uuid: Option<&str>) -> Result<(Vec<u32>, usize)> {
    let mine = (
        world.host_name(),
        std::process::id(),
        uuid.map(str::to_string),
    );
    let all = world.all_gather(&mine)?;
    let here = all.iter().filter(|(host, ..)| *host == mine.0);
    let sharers = here.clone().filter(|(.., other)| *other == mine.2).count();
    Ok((here.map(|(_, pid, _)| *pid).collect(), sharers))
}
