//! Which GPU each rank takes, decided before any NCCL call.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What one rank sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Site {
    pub rank: u32,
    pub host: String,
    /// UUIDs of the GPUs that this rank's process sees, by CUDA ordinal.
    pub gpus: Vec<String>,
    /// Why it sees none, where the driver said so.
    pub why_none: Option<String>,
}

/// Position of each rank among the ranks of its host, and how many there are.
pub fn local_ranks(hosts: &[&str]) -> Vec<(u32, u32)> {
    let of = |rank: usize, upto: usize| {
        hosts[..upto]
            .iter()
            .filter(|host| **host == hosts[rank])
            .count() as u32
    };
    (0..hosts.len())
        .map(|rank| (of(rank, rank), of(rank, hosts.len())))
        .collect()
}

/// The CUDA ordinal of each rank, in rank order. `devices` is the user's list, indexed by local
/// rank; `share` lets ranks share a GPU.
///
/// # Errors
/// Exit code 3 when there are not enough GPUs, 2 when the user's list does not fit.
pub fn assign(sites: &[Site], devices: Option<&[u32]>, share: bool) -> Result<Vec<u32>> {
    if let Some(site) = sites.iter().find(|site| site.gpus.is_empty()) {
        return Err(without_gpu(sites, site));
    }
    let hosts: Vec<&str> = sites.iter().map(|site| site.host.as_str()).collect();
    let mut ordinals = Vec::with_capacity(sites.len());
    for (site, (local, local_size)) in sites.iter().zip(local_ranks(&hosts)) {
        ordinals.push(match devices {
            Some(devices) => listed(site, local, local_size, devices, share)?,
            None => by_default(site, local, local_size, share)?,
        });
    }
    if !share {
        refuse_doubles(sites, &ordinals)?;
    }
    Ok(ordinals)
}

fn without_gpu(sites: &[Site], site: &Site) -> Error {
    let why = site
        .why_none
        .as_ref()
        .map_or(String::new(), |why| format!(": {why}"));
    match sites.iter().find(|other| !other.gpus.is_empty()) {
        Some(other) => Error::environment(format!(
            "rank {} on host {} sees no GPU, while rank {} on host {} sees {}{why}",
            site.rank,
            site.host,
            other.rank,
            other.host,
            other.gpus.len()
        ))
        .try_this(
            "launch only on hosts with GPUs and check CUDA_VISIBLE_DEVICES there; or --backend host",
        ),
        None => Error::environment(format!("no rank sees a GPU{why}"))
            .try_this("nvidia-smi must list the GPUs first; or --backend host"),
    }
}

fn listed(site: &Site, local: u32, local_size: u32, devices: &[u32], share: bool) -> Result<u32> {
    let index = if share {
        local as usize % devices.len().max(1)
    } else {
        local as usize
    };
    let Some(device) = devices.get(index).copied() else {
        return Err(Error::usage(format!(
            "--devices lists {} GPUs for {local_size} ranks on host {}",
            devices.len(),
            site.host
        ))
        .try_this(format!("list {local_size}, one a rank; or --share-gpu")));
    };
    if device as usize >= site.gpus.len() {
        return Err(Error::usage(format!(
            "--devices names GPU {device}, but rank {} on host {} sees {} (numbered from 0)",
            site.rank,
            site.host,
            site.gpus.len()
        ))
        .try_this("list numbers that nvidia-smi -L shows, as CUDA_VISIBLE_DEVICES leaves them"));
    }
    Ok(device)
}

fn by_default(site: &Site, local: u32, local_size: u32, share: bool) -> Result<u32> {
    let visible = site.gpus.len() as u32;
    if local < visible {
        Ok(local)
    } else if visible == 1 {
        // A launcher that shows each rank its own GPU only; doubles are refused afterwards.
        Ok(0)
    } else if share {
        Ok(local % visible)
    } else {
        Err(too_few(site, local_size, visible))
    }
}

fn too_few(site: &Site, local_size: u32, gpus: u32) -> Error {
    Error::environment(format!(
        "{local_size} ranks but {gpus} {} on host {}: NCCL needs a GPU for each rank",
        if gpus == 1 { "GPU" } else { "GPUs" },
        site.host
    ))
    .try_this(format!(
        "mpirun -np {gpus}; or --share-gpu to try the tool out (its figures say nothing of a real box)"
    ))
}

fn refuse_doubles(sites: &[Site], ordinals: &[u32]) -> Result<()> {
    let uuid = |rank: usize| &sites[rank].gpus[ordinals[rank] as usize];
    for later in 0..sites.len() {
        let Some(earlier) = (0..later).find(|earlier| uuid(*earlier) == uuid(later)) else {
            continue;
        };
        let site = &sites[later];
        let on_host = sites.iter().filter(|other| other.host == site.host).count() as u32;
        let mut distinct: Vec<&String> = sites
            .iter()
            .filter(|other| other.host == site.host)
            .flat_map(|other| &other.gpus)
            .collect();
        distinct.sort();
        distinct.dedup();
        if (distinct.len() as u32) < on_host {
            return Err(too_few(site, on_host, distinct.len() as u32));
        }
        return Err(Error::usage(format!(
            "ranks {earlier} and {later} would both use GPU {} ({}) on host {}",
            ordinals[later],
            uuid(later),
            site.host
        ))
        .try_this("give each rank a GPU of its own with --devices 0,1,…; or --share-gpu"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;

    fn site(rank: u32, host: &str, gpus: &[&str]) -> Site {
        Site {
            rank,
            host: host.to_string(),
            gpus: gpus.iter().map(|gpu| gpu.to_string()).collect(),
            why_none: None,
        }
    }

    fn box_of(ranks: u32, gpus: u32) -> Vec<Site> {
        let names: Vec<String> = (0..gpus).map(|gpu| format!("GPU-{gpu}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        (0..ranks).map(|rank| site(rank, "a", &names)).collect()
    }

    #[test]
    fn one_rank_a_gpu_in_order() {
        let all: Vec<u32> = (0..8).collect();
        assert_eq!(assign(&box_of(8, 8), None, false), Ok(all));
        assert_eq!(assign(&box_of(2, 8), None, false), Ok(vec![0, 1]));
    }

    #[test]
    fn two_hosts_count_their_own_ranks() {
        let sites = [
            site(0, "a", &["A0", "A1"]),
            site(1, "a", &["A0", "A1"]),
            site(2, "b", &["B0", "B1"]),
            site(3, "b", &["B0", "B1"]),
        ];
        assert_eq!(assign(&sites, None, false), Ok(vec![0, 1, 0, 1]));
    }

    #[test]
    fn launchers_that_show_each_rank_its_own_gpu_work() {
        let sites = [site(0, "a", &["A0"]), site(1, "a", &["A1"])];
        assert_eq!(assign(&sites, None, false), Ok(vec![0, 0]));
    }

    #[test]
    fn more_ranks_than_gpus_says_both_numbers_and_the_way_out() {
        for gpus in [1, 4] {
            let error = assign(&box_of(8, gpus), None, false).unwrap_err();
            assert_eq!(error.exit, Exit::Environment);
            assert!(
                error.what.contains(&format!("8 ranks but {gpus} GPU")),
                "{}",
                error.what
            );
            let remedy = error.remedy.unwrap();
            assert!(remedy.contains("--share-gpu") && remedy.contains(&format!("-np {gpus}")));
        }
    }

    #[test]
    fn sharing_goes_round() {
        assert_eq!(assign(&box_of(8, 1), None, true), Ok(vec![0; 8]));
        assert_eq!(assign(&box_of(4, 2), None, true), Ok(vec![0, 1, 0, 1]));
        assert_eq!(assign(&box_of(4, 4), Some(&[3]), true), Ok(vec![3; 4]));
    }

    #[test]
    fn a_host_without_gpus_is_named() {
        let mut sites = vec![site(0, "a", &["A0"]), site(1, "b", &[])];
        sites[1].why_none = Some("no NVIDIA driver".to_string());
        let error = assign(&sites, None, false).unwrap_err();
        assert_eq!(error.exit, Exit::Environment);
        assert!(error.what.contains("rank 1 on host b sees no GPU"));
        assert!(error.what.contains("rank 0 on host a sees 1"));
        assert!(error.what.contains("no NVIDIA driver"));
    }

    #[test]
    fn the_users_list_is_followed_and_checked() {
        let sites = box_of(2, 8);
        assert_eq!(assign(&sites, Some(&[6, 7]), false), Ok(vec![6, 7]));
        for (devices, hint) in [
            (vec![0], "lists 1 GPUs for 2 ranks"),
            (vec![0, 9], "names GPU 9"),
            (vec![3, 3], "ranks 0 and 1 would both use GPU 3"),
        ] {
            let error = assign(&sites, Some(&devices), false).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.what.contains(hint), "{}", error.what);
        }
    }

    #[test]
    fn the_same_gpu_shown_to_two_ranks_is_too_few_gpus() {
        let sites = [site(0, "a", &["A0"]), site(1, "a", &["A0"])];
        let error = assign(&sites, None, false).unwrap_err();
        assert!(
            error.what.contains("2 ranks but 1 GPU on host a"),
            "{}",
            error.what
        );
    }
}
