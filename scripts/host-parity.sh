#!/usr/bin/env bash
# Holds the host backend against a C loop of MPI_Allreduce, in turns:
# host-parity.sh [RANKS, default 2] [OPS, default 122] [BYTES, default 14336] [ROUNDS, default 9]
# Prints commbench over C for each round, and the median ratio with its interval. No test: the
# figures depend on who else is on the machine.

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

ranks=${1:-2} ops=${2:-122} bytes=${3:-14336} rounds=${4:-9}
for number in "$ranks" "$ops" "$bytes" "$rounds"; do
    if ! [[ "$number" =~ ^[1-9][0-9]*$ ]]; then
        step "'$number' is no number. Type: scripts/host-parity.sh 2 122 14336 9"
        exit 2
    fi
done
if [ $((bytes % 4)) != 0 ]; then
    step "$bytes B are no whole number of floats. Type: scripts/host-parity.sh $ranks $ops $((bytes / 4 * 4 + 4)) $rounds"
    exit 2
fi
samples=300

step "building both"
cargo build --locked --quiet --release
mkdir -p target/host-parity
mpicc -O2 -Wall -Wextra -Werror -o target/host-parity/allreduce_loop scripts/host-parity/allreduce_loop.c

in_c() {
    "${launcher[@]}" -np "$ranks" target/host-parity/allreduce_loop "$ops" $((bytes / 4)) "$samples"
}

ours() {
    "${launcher[@]}" -np "$ranks" target/release/commbench allreduce-burst --backend host \
        --ops "$ops" --bytes "$bytes" --dtype fp32 --mode eager --placement out \
        --precision 0.0001 --max-samples "$samples" --budget 60 --out "target/host-parity/out-$$-$round" \
        --json - 2>target/host-parity/stderr |
        sed -n 's/^ *"median": \([0-9.e+-]*\),*$/\1/p' | head -1
}

step "$rounds rounds of $ops all-reduces of $bytes B (fp32), $ranks ranks, $samples samples each"
ratios=()
for ((round = 1; round <= rounds; round++)); do
    # Who comes first changes with the round, so that a drift favours neither.
    if ((round % 2)); then
        c=$(in_c) rust=$(ours)
    else
        rust=$(ours) c=$(in_c)
    fi
    if [ -z "$rust" ] || [ -z "$c" ]; then
        step "no figure in round $round; commbench said:"
        cat target/host-parity/stderr >&2
        exit 1
    fi
    ratio=$(awk -v rust="$rust" -v c="$c" 'BEGIN { printf "%.4f", rust / c }')
    ratios+=("$ratio")
    printf 'round %d: commbench %.1f µs, C %.1f µs, ratio %s\n' "$round" "$rust" "$c" "$ratio"
done
# The order statistics that hold the median of all rounds with 95 % or, under six rounds, as much
# as there is: the coverage is printed.
printf '%s\n' "${ratios[@]}" | sort -n | awk '
    { ratio[NR] = $1 }
    END {
        n = NR
        below = 0; term = 0.5 ^ n; outside = 0
        while (below + 1 <= int(n / 2) && 2 * (outside + term) <= 0.05) {
            outside += term
            below++
            term = term * (n - below + 1) / below
        }
        low = below ? below : 1
        covered = below ? 1 - 2 * outside : 1 - 2 * 0.5 ^ n
        median = n % 2 ? ratio[(n + 1) / 2] : (ratio[n / 2] + ratio[n / 2 + 1]) / 2
        printf "commbench over C: %.3f [%.3f, %.3f], %.1f %% interval of %d rounds\n",
            median, ratio[low], ratio[n + 1 - low], covered * 100, n
    }'
