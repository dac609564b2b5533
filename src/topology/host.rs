//! Facts of the host this process runs on.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// What the operating system says of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Name of the processor.
    pub cpu: String,
    /// Logical processors that this process may use.
    pub logical_cpus: u32,
    pub memory_bytes: u64,
    /// Memory that can be had without swapping.
    pub available_bytes: u64,
    pub kernel: String,
}

/// Reads them below `root`, which is "/" but in tests.
pub fn host_facts(root: &Path) -> HostFacts {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let memory = read("proc/meminfo");
    let kib = |name: &str| {
        memory
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let cpu = read("proc/cpuinfo")
        .lines()
        .find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == "model name").then(|| value.trim().to_string())
        })
        .unwrap_or_else(|| "unknown processor".to_string());
    HostFacts {
        cpu,
        logical_cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        memory_bytes: kib("MemTotal") * 1024,
        available_bytes: kib("MemAvailable") * 1024,
        kernel: read("proc/sys/kernel/osrelease").trim().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_below_the_root() {
        let root = std::env::temp_dir().join(format!("commbench-host-{}", std::process::id()));
        std::fs::create_dir_all(root.join("proc/sys/kernel")).unwrap();
        std::fs::write(
            root.join("proc/meminfo"),
            "MemTotal:       2048 kB\nMemAvailable:   1024 kB\n",
        )
        .unwrap();
        std::fs::write(
            root.join("proc/cpuinfo"),
            "processor\t: 0\nmodel name\t: EPYC 9575F\n",
        )
        .unwrap();
        std::fs::write(root.join("proc/sys/kernel/osrelease"), "6.1.0\n").unwrap();
        let facts = host_facts(&root);
        assert_eq!(
            (facts.memory_bytes, facts.available_bytes),
            (2 << 20, 1 << 20)
        );
        assert_eq!(
            (facts.cpu.as_str(), facts.kernel.as_str()),
            ("EPYC 9575F", "6.1.0")
        );
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_machine_that_says_nothing_is_no_error() {
        let facts = host_facts(Path::new("/nonexistent"));
        assert_eq!(
            (facts.memory_bytes, facts.cpu.as_str()),
            (0, "unknown processor")
        );
    }
}
