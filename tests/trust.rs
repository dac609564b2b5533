//! What a run reads, loads and writes beside its figures: no secret, no library from the working
//! folder, no file outside the output folder, no permission for others to change results.

#![cfg(feature = "mpi")]

mod common;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use common::{Scratch, alone, mpirun, run, stand_in, with_stand_in};

const QUICK: [&str; 9] = [
    "allreduce-burst",
    "--budget",
    "0.1",
    "--ops",
    "4",
    "--warmup",
    "1",
    "--out",
    "o",
];

#[test]
fn no_secret_of_the_environment_is_in_any_output() {
    let secret = "s3cr3t-0f-th3-t3st";
    let scratch = Scratch::new();
    // With the library's own log on, which lists variables that it knows.
    let mut command = mpirun(&scratch.0, 2, &QUICK);
    with_stand_in(&mut command, "");
    for name in [
        "AWS_SECRET_ACCESS_KEY",
        "HF_TOKEN",
        "NCCL_PLUGIN_TOKEN",
        "CUDA_LICENSE_KEY",
        "OMPI_MCA_secret",
        "SLURM_JWT",
        "COMMBENCH_TOKEN",
    ] {
        command.env(name, secret);
    }
    let output = run(command).expect_code(0);
    assert!(!output.stdout.contains(secret) && !output.stderr.contains(secret));
    let files = scratch.files();
    assert!(files.len() >= 6, "{files:?}");
    for name in files {
        let bytes = std::fs::read(scratch.0.join(&name)).unwrap();
        let found = bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes());
        assert!(!found, "{name}");
    }
}

#[test]
fn results_are_readable_by_others_and_writable_by_the_owner_alone() {
    let scratch = Scratch::new();
    let script = format!(
        "umask 000; exec mpirun --oversubscribe --bind-to none -np 2 {} {} --backend host --out a/b/c",
        common::BINARY,
        QUICK[..QUICK.len() - 2].join(" ")
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]);
    common::prepare(&mut command, &scratch.0);
    run(command).expect_code(0);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for folder in ["a", "a/b", "a/b/c"] {
        assert_eq!(mode(&scratch.0.join(folder)), 0o755, "{folder}");
    }
    for file in scratch.files() {
        assert_eq!(mode(&scratch.0.join(&file)), 0o644, "{file}");
    }
}

#[test]
fn links_in_the_output_folder_are_replaced_and_not_followed() {
    let scratch = Scratch::new();
    let outside = scratch.0.join("precious");
    std::fs::write(&outside, "precious").unwrap();
    std::fs::create_dir(scratch.0.join("o")).unwrap();
    for name in [
        "samples.csv",
        "report.md",
        "report.html",
        "burst.svg",
        "burst.png",
        "probe",
    ] {
        symlink(&outside, scratch.0.join("o").join(name)).unwrap();
    }
    let arguments = [&QUICK[..], &["--backend", "host"]].concat();
    run(mpirun(&scratch.0, 2, &arguments)).expect_code(0);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "precious");
    let csv = scratch.0.join("o/samples.csv");
    assert!(csv.symlink_metadata().unwrap().is_file());
    // The same when the files are made again.
    std::fs::remove_file(scratch.0.join("o/report.md")).unwrap();
    symlink(&outside, scratch.0.join("o/report.md")).unwrap();
    run(alone(&scratch.0, &["report", "o"])).expect_code(0);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "precious");
}

#[test]
fn libraries_in_the_working_folder_are_not_loaded() {
    for path in [None, Some(""), Some(":"), Some("."), Some("/nowhere::")] {
        let scratch = Scratch::new();
        for name in ["libcuda.so.1", "libcuda.so", "libnccl.so.2", "libnccl.so"] {
            let from = stand_in().join(if name.contains("cuda") {
                "libcuda.so.1"
            } else {
                "libnccl.so.2"
            });
            std::fs::copy(from, scratch.0.join(name)).unwrap();
        }
        let mut command = mpirun(&scratch.0, 2, &QUICK);
        match path {
            Some(path) => command.env("LD_LIBRARY_PATH", path),
            None => command.env_remove("LD_LIBRARY_PATH"),
        };
        let output = run(command).expect_code(0);
        let result = output.result(&scratch.0.join("o"));
        let text = result.to_string();
        assert!(!text.contains("NOT A GPU"), "{path:?}");
        assert_eq!(
            output.stderr.contains("is not searched for GPU libraries"),
            path == Some("."),
            "{}",
            output.stderr
        );
    }
    // The same libraries are taken where the user names their folder.
    let scratch = Scratch::new();
    let mut command = mpirun(&scratch.0, 2, &QUICK);
    with_stand_in(&mut command, "");
    let result = run(command).expect_code(0).result(&scratch.0.join("o"));
    assert!(result.to_string().contains("NOT A GPU"));
}
