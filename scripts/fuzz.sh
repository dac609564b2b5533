#!/usr/bin/env bash
# Fuzzes every reader, one after the other: fuzz.sh [SECONDS a target, default 3600] [TARGET...]
# Inputs that a reader trips over land in fuzz/artifacts/TARGET; docs/FUZZING.md says what then.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../fuzz"

step() { printf '== %s\n' "$*" >&2; }

seconds=${1:-3600}
if ! [[ "$seconds" =~ ^[1-9][0-9]*$ ]]; then
    step "'$seconds' is no number of seconds. Type: scripts/fuzz.sh 600"
    exit 2
fi
shift || true

if ! command -v cargo >/dev/null; then
    # rustup's place, which a shell that was open before the installation does not know yet.
    PATH="$HOME/.cargo/bin:$PATH"
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    step "installing cargo-fuzz"
    cargo install cargo-fuzz --locked
fi

# The sanitizers are flags of the nightly compiler; the stable one takes them when told to.
cargo=(cargo +nightly)
if ! "${cargo[@]}" --version >/dev/null 2>&1; then
    cargo=(cargo)
    export RUSTC_BOOTSTRAP=1
fi

mapfile -t targets < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else "${cargo[@]}" fuzz list; fi)
failed=()
for target in "${targets[@]}"; do
    step "$target, $seconds s"
    # What the fuzzer finds interesting goes to the first folder; the others are only read.
    mkdir -p "grown/$target" "findings/$target"
    "${cargo[@]}" fuzz run "$target" "grown/$target" "corpus/$target" "findings/$target" -- \
        -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=65536 \
        -print_final_stats=1 || failed+=("$target")
done
if [ ${#failed[@]} -gt 0 ]; then
    step "findings in ${failed[*]/#/fuzz/artifacts/}. Make one small with: cd fuzz && cargo fuzz tmin TARGET FILE"
    exit 1
fi
step "no findings"
