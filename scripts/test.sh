#!/usr/bin/env bash
# Installs what is missing and runs every check: format, lints, unit tests, and black-box tests of
# the binary under mpirun, and its page in a browser. Needs no GPU.

# Read by setup.sh and by the tests, which are waived without a browser otherwise.
with_browser=yes
export COMMBENCH_TESTS_NEED_CHROMIUM=1

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# Stand-ins for the GPU libraries, built where the tests build them too.
stand_in=(--manifest-path tests/stand-in/Cargo.toml --target-dir target/tmp/stand-in)

step "format"
cargo fmt --check
cargo fmt --all --check --manifest-path tests/stand-in/Cargo.toml

step "lints, with and without ranks"
cargo clippy --locked --quiet --all-targets --features fault-injection -- -D warnings
cargo clippy --locked --quiet --all-targets --no-default-features -- -D warnings

cargo clippy "${stand_in[@]}" --locked --quiet --all-targets -- -D warnings

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --locked --quiet --no-deps

step "tests of the stand-ins"
cargo test "${stand_in[@]}" --locked

step "unit tests and black-box tests under mpirun"
cargo test --locked --features fault-injection

step "tests of the build without MPI"
cargo test --locked --no-default-features

step "all checks passed"
