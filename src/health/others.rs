//! Which processes on a GPU are somebody else's.

use super::{GpuProcess, OtherProcess};

/// The daemons behind NVIDIA's multi-process service: the ranks' own work goes through them.
const MPS: &str = "nvidia-cuda-mps";

/// The processes of `seen` that are no ranks of the job. `own` are the ranks' processes on this
/// host, `sharers` the number of ranks on this GPU.
///
/// In a container the driver may give process numbers of the host, where the ranks have others:
/// then none of `own` is seen, and as many as there are ranks on the GPU are taken to be theirs.
pub fn others(seen: &[GpuProcess], own: &[u32], sharers: usize) -> Vec<OtherProcess> {
    let is_mps = |one: &GpuProcess| one.name.as_ref().is_some_and(|name| name.starts_with(MPS));
    let unknown: Vec<&GpuProcess> = seen
        .iter()
        .filter(|one| !own.contains(&one.pid) && !is_mps(one))
        .collect();
    let sees_own = seen.iter().any(|one| own.contains(&one.pid));
    if !sees_own && unknown.iter().all(|one| one.name.is_none()) && unknown.len() <= sharers {
        return Vec::new();
    }
    let as_other = |one: &&GpuProcess| OtherProcess {
        pid: one.pid,
        name: one.name.clone(),
        memory_bytes: one.memory_bytes,
        sm_percent: one.sm_percent,
    };
    unknown.iter().map(as_other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, name: Option<&str>) -> GpuProcess {
        GpuProcess {
            pid,
            name: name.map(str::to_string),
            memory_bytes: Some(1 << 30),
            sm_percent: None,
        }
    }

    #[test]
    fn ranks_and_the_sharing_service_are_not_others() {
        let seen = [
            process(10, Some("commbench")),
            process(11, Some("nvidia-cuda-mps-server")),
            process(12, Some("python3")),
        ];
        let found = others(&seen, &[10], 1);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].pid, 12);
        assert!(others(&seen[..2], &[10], 1).is_empty());
    }

    #[test]
    fn numbers_of_another_namespace_are_not_taken_for_others() {
        let seen = [process(70_001, None), process(70_002, None)];
        assert!(others(&seen, &[10, 11], 2).is_empty());
        assert_eq!(others(&seen, &[10], 1).len(), 2);
    }
}
