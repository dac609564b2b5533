//! Why a GPU's clocks are held down, as words.

/// NVML's bits for what slows a GPU below what it was set to, with the words for them. Idleness and
/// clocks that somebody set are no slowing.
/// Source: NVML API reference, nvmlClocksEventReasons.
const REASONS: [(u64, &str); 6] = [
    (0x04, "power cap"),
    (0x08, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "thermal limit (software)"),
    (0x40, "thermal limit (hardware)"),
    (0x80, "power brake"),
];

/// The words for every slowing reason in `bits`.
pub fn reasons(bits: u64) -> Vec<String> {
    let set = REASONS.iter().filter(|(bit, _)| bits & bit != 0);
    set.map(|(_, words)| (*words).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::reasons;

    #[test]
    fn idleness_and_set_clocks_are_no_slowing() {
        assert!(reasons(0x01 | 0x02 | 0x100).is_empty());
        assert_eq!(reasons(0x84), ["power cap", "power brake"]);
    }
}
