#!/usr/bin/env bash
# Installs what is missing and runs every check: format, lints, unit tests, and black-box tests of
# the binary under mpirun. Needs no GPU.

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

step "format"
cargo fmt --check

step "lints, with and without ranks"
cargo clippy --locked --quiet --all-targets --features fault-injection -- -D warnings
cargo clippy --locked --quiet --all-targets --no-default-features -- -D warnings

step "unit tests and black-box tests under mpirun"
cargo test --locked --features fault-injection

step "tests of the build without MPI"
cargo test --locked --no-default-features

step "all checks passed"
