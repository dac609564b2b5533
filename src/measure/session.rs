//! This rank's part in the job: the ranks, their recorders, and the watchdog over them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::watchdog::{Peer, Watchdog};
use crate::error::{Error, Result};
use crate::flight::{FlightRecorder, Phase};
use crate::world::{LaunchSite, World};

/// A rank that has joined the job and is watched.
pub struct Session {
    pub world: World,
    pub recorder: &'static FlightRecorder,
    pub watchdog: Watchdog,
    /// Whether all ranks run on one host, and share its clock.
    pub one_host: bool,
    /// The supervisors of all ranks in rank order: process, and descriptor of the recorder.
    pub supervisors: Vec<(u32, i32)>,
    /// Whether the watchdog sees every rank of this host.
    pub peers_visible: bool,
}

/// A panic is a defect of ours on one rank, and the others wait for it: its words go on record,
/// so that their watchdogs end the job over it and save what there is.
fn record_panics(recorder: &'static FlightRecorder) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        recorder.fail(&Error::other(format!("a defect in commbench: {panic}")));
        usual(panic);
    }));
}

#[derive(Serialize, Deserialize)]
struct Address {
    host: String,
    pid: u32,
    fd: i32,
    /// The process that outlives the rank's worker, and the recorder's number there.
    supervisor: (u32, i32),
}

impl Session {
    /// Joins the job. The watchdog is up before MPI is, since MPI may wait for ever for a rank
    /// that never comes.
    ///
    /// # Errors
    /// Exit code 3 when MPI cannot be had.
    pub fn open(recorder: FlightRecorder, timeout: Duration) -> Result<Session> {
        // Watchdog and main thread both use it until the process ends.
        let recorder: &'static FlightRecorder = Box::leak(Box::new(recorder));
        recorder.set_pid(std::process::id());
        let site = LaunchSite::from_environment().unwrap_or(LaunchSite { rank: 0, size: 1 });
        record_panics(recorder);
        let watchdog = Watchdog::start(site, recorder, timeout)?;
        let world = World::join()?;
        let addresses = world.all_gather(&Address {
            host: world.host_name(),
            pid: std::process::id(),
            fd: recorder.fd(),
            supervisor: (std::os::unix::process::parent_id(), recorder.asked_fd()),
        })?;
        let mine = world.host_name();
        let mut peers = Vec::new();
        let mut hidden: Option<Error> = None;
        for (rank, address) in addresses.iter().enumerate() {
            if address.host != mine {
                continue;
            }
            match FlightRecorder::open(address.pid, address.fd) {
                Ok(recorder) => peers.push(Peer {
                    rank: rank as u32,
                    recorder,
                }),
                Err(error) => hidden = Some(error),
            }
        }
        if let Some(error) = &hidden {
            tracing::warn!("a rank of this host cannot be watched: {}", error.what);
        }
        watchdog.watch_peers(peers);
        recorder.enter(Phase::Connecting, 0);
        // Nobody goes on before everybody is watched.
        world.barrier();
        Ok(Session {
            one_host: addresses.iter().all(|address| address.host == mine),
            supervisors: addresses.iter().map(|address| address.supervisor).collect(),
            peers_visible: hidden.is_none(),
            world,
            recorder,
            watchdog,
        })
    }
}
