//! What needs no ranks, and so works in the build without MPI too.

mod common;

use common::{Scratch, alone, run};

#[test]
fn the_schema_files_are_those_of_the_types() {
    let scratch = Scratch::new();
    for of in ["result", "comparison"] {
        let printed = run(alone(&scratch.0, &["schema", of]))
            .expect_code(0)
            .stdout;
        let kept = std::fs::read_to_string(format!(
            "{}/schema/{of}.schema.json",
            env!("CARGO_MANIFEST_DIR")
        ))
        .unwrap();
        assert_eq!(
            printed, kept,
            "cargo run -- schema {of} > schema/{of}.schema.json"
        );
    }
    let printed = run(alone(&scratch.0, &["schema"])).expect_code(0).stdout;
    assert!(printed.contains("RunResult"), "{printed}");
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
