#!/usr/bin/env bash
# Checks the dependencies' licences, sources and known vulnerabilities with cargo-deny (deny.toml).
# Needs the network for the advisory database; scripts/test.sh does without.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! cargo deny --version >/dev/null 2>&1; then
    printf '== installing cargo-deny\n' >&2
    cargo install cargo-deny --locked
fi

# The fuzz targets and the stand-ins are workspaces of their own, with lock files of their own.
cargo deny check "$@"
for workspace in fuzz tests/stand-in; do
    cargo deny --manifest-path "$workspace/Cargo.toml" --config "$PWD/deny.toml" check "$@"
done
