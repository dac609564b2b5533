//! Replays every input that the fuzz targets start from or once tripped over, as `fuzz/` would.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use commbench::fuzzing::TARGETS;

/// Far more than any input takes, for the sake of a machine that is busy with something else.
const LONGEST: Duration = Duration::from_secs(5);

fn inputs(kind: &str, target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz")
        .join(kind)
        .join(target);
    // Git keeps no empty folders: a target without findings has none.
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_kept_input_is_read_or_refused_in_time() {
    for (target, body) in TARGETS {
        let seeds = inputs("corpus", target);
        assert!(!seeds.is_empty(), "fuzz/corpus/{target} is empty");
        for path in seeds.into_iter().chain(inputs("findings", target)) {
            let bytes = std::fs::read(&path).unwrap();
            // The harness shows this only where the target panics.
            eprintln!("replaying {}", path.display());
            let started = Instant::now();
            body(&bytes);
            let took = started.elapsed();
            assert!(took < LONGEST, "{} took {took:?}", path.display());
        }
    }
}

#[test]
fn every_target_has_a_fuzzer() {
    let fuzzers = include_str!("../fuzz/Cargo.toml");
    assert_eq!(fuzzers.matches("[[bin]]").count(), TARGETS.len());
    for (target, _) in TARGETS {
        assert!(
            fuzzers.contains(&format!("name = \"{target}\"")),
            "{target}"
        );
    }
}
