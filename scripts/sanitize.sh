#!/usr/bin/env bash
# Runs the tests of the NCCL executor, of curves and of trust under AddressSanitizer, on the stand-ins for
# the GPU libraries. Needs the nightly compiler's standard library, or the stable one's with
# RUSTC_BOOTSTRAP=1.

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

cargo=(cargo +nightly)
if ! "${cargo[@]}" --version >/dev/null 2>&1; then
    cargo=(cargo)
    export RUSTC_BOOTSTRAP=1
fi
host=$(rustc -vV | sed -n 's/^host: //p')
# Leaks are not looked for: MPI keeps much to its end. Its own symbols are left alone too.
export ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0:abort_on_error=1
# Writing a picture takes seconds there, and a rank may stand still for half of this.
export COMMBENCH_TESTS_TIMEOUT_S=16
step "tests under AddressSanitizer"
RUSTFLAGS=-Zsanitizer=address "${cargo[@]}" test --locked --target "$host" --target-dir target/sanitize \
    --features fault-injection --lib --test nccl --test curves --test trust
