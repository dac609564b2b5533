# Sourced by run.sh and test.sh: makes sure of what the build needs, and says what it does.
# Needs Rust (https://rustup.rs); installs the rest on Debian and Ubuntu, as root or with sudo.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '== %s\n' "$*" >&2; }

# bindgen reads headers with libclang, and needs clang's own stddef.h beside it.
have_libclang() {
    { [ -n "${LIBCLANG_PATH:-}" ] && ls "$LIBCLANG_PATH"/libclang*.so* >/dev/null 2>&1; } ||
        { ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1 &&
            ls /usr/lib/llvm-*/lib/clang/*/include/stddef.h >/dev/null 2>&1; }
}

# A browser that the tests of report.html can drive; scripts/test.sh asks for one.
have_browser() {
    command -v chromium || command -v chromium-browser ||
        command -v google-chrome || command -v google-chrome-stable
} >/dev/null

missing_packages() {
    command -v cc >/dev/null && command -v make >/dev/null || echo build-essential
    have_libclang || echo libclang-dev
    command -v mpicc >/dev/null || echo libopenmpi-dev
    command -v mpirun >/dev/null || echo openmpi-bin
    [ "${with_browser:-no}" = no ] || have_browser || echo chromium
}

install_missing() {
    local missing as_root=()
    missing=$(missing_packages | tr '\n' ' ')
    [ -n "${missing// /}" ] || return 0
    if ! command -v apt-get >/dev/null; then
        step "missing: $missing(Debian's names). Install them with this system's package manager, then run this again."
        exit 3
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            step "missing: $missing. As root: apt-get install $missing"
            exit 3
        fi
        as_root=(sudo)
    fi
    step "installing $missing"
    # A repository that does not answer may not hold what is needed.
    "${as_root[@]}" apt-get update -qq || step "apt-get update had errors; trying to install all the same"
    # shellcheck disable=SC2086 # one word a package
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
}

if ! command -v cargo >/dev/null; then
    # rustup's place, which a shell that was open before the installation does not know yet.
    [ -x "$HOME/.cargo/bin/cargo" ] && PATH="$HOME/.cargo/bin:$PATH" || {
        step "Rust is missing: install it from https://rustup.rs, then run this again."
        exit 3
    }
fi
install_missing

# Open MPI asks root to say so twice, and refuses more ranks than processors unless told.
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
launcher=(mpirun)
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
    launcher+=(--oversubscribe --bind-to none)
fi
