//! What needs no ranks, and so works in the build without MPI too.

mod common;

use common::{Scratch, alone, run};

#[test]
fn the_schema_file_is_that_of_the_types() {
    let scratch = Scratch::new();
    let printed = run(alone(&scratch.0, &["schema"])).expect_code(0).stdout;
    let kept = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/schema/result.schema.json"
    ))
    .unwrap();
    assert_eq!(
        printed, kept,
        "cargo run -- schema > schema/result.schema.json"
    );
}

#[test]
fn models_and_help_are_there() {
    let scratch = Scratch::new();
    let models = run(alone(&scratch.0, &["models"])).expect_code(0).stdout;
    assert!(models.contains("kimi-k2.5"), "{models}");
    let help = run(alone(&scratch.0, &["--help"])).expect_code(0).stdout;
    assert!(
        help.contains("mpirun -np 8 commbench allreduce-burst"),
        "{help}"
    );
    run(alone(&scratch.0, &["--version"])).expect_code(0);
}

#[test]
fn an_unknown_command_is_a_usage_error() {
    let scratch = Scratch::new();
    let output = run(alone(&scratch.0, &["allreduce-brust"])).expect_code(2);
    assert!(
        output.stderr.contains("allreduce-burst"),
        "{}",
        output.stderr
    );
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_build_without_mpi_says_how_to_get_one_with_it() {
    let scratch = Scratch::new();
    let output = run(alone(&scratch.0, &["allreduce-burst"])).expect_code(3);
    assert!(
        output.stderr.contains("cargo build --release"),
        "{}",
        output.stderr
    );
}
