//! NCCL's own log, read back: which transports it took, and its last warning.
//!
//! The launcher half of the program gives each rank an anonymous memory file and names it in
//! `NCCL_DEBUG_FILE`, unless the user has set up NCCL's log for themselves.

use std::collections::BTreeMap;

use crate::executor::NCCL_LOG_FD_VARIABLE;

fn text() -> Option<String> {
    let fd: i32 = std::env::var(NCCL_LOG_FD_VARIABLE).ok()?.parse().ok()?;
    let bytes = std::fs::read(format!("/proc/self/fd/{fd}")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last thing NCCL warned of in this process.
pub(super) fn last_warning() -> Option<String> {
    text()?
        .lines()
        .rev()
        .find_map(|line| line.split_once("NCCL WARN ").map(|(_, words)| words))
        .map(|words| words.trim().to_string())
}

/// Transports of this rank's connections, as NCCL logged them, with their number.
pub(super) fn transports() -> BTreeMap<String, u64> {
    text().map_or_else(BTreeMap::new, |text| count_transports(&text))
}

/// Counts the connections in NCCL's log by transport: lines like
/// `… Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0`.
fn count_transports(log: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in log.lines() {
        let Some((before, after)) = line.split_once(" via ") else {
            continue;
        };
        if !before.contains("Channel ") || !before.contains("->") {
            continue;
        }
        let name = after.split_whitespace().next().unwrap_or_default();
        // NET/Socket/0: the number is a device, not a kind.
        let name = match name.rsplit_once('/') {
            Some((kind, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => kind,
            _ => name,
        };
        *counts.entry(name.to_string()).or_insert(0) += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_by_kind() {
        let log = "\
h:1:1 [0] NCCL INFO Channel 00/0 : 7[0] -> 0[0] [receive] via NET/Socket/0
h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/1
h:1:1 [0] NCCL INFO Channel 01 : 0[3] -> 1[4] via SHM/direct/direct
h:1:1 [0] NCCL INFO Channel 02/0 : 0[3] -> 1[4] via P2P/IPC
h:1:1 [0] NCCL INFO comm 0x1 via nothing of interest
h:1:1 [0] NCCL INFO Channel 00/02 : 0 1 2 3";
        let counts = count_transports(log);
        let expected = [("NET/Socket", 2), ("P2P/IPC", 1), ("SHM/direct/direct", 1)];
        assert_eq!(
            counts
                .iter()
                .map(|(name, n)| (name.as_str(), *n))
                .collect::<Vec<_>>(),
            expected
        );
    }
}
