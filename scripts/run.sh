#!/usr/bin/env bash
# Installs what is missing, builds commbench, and runs the main job: the all-reduces of one decode
# step of Kimi-K2.5, over 8 ranks. Further arguments go to `commbench allreduce-burst`.
#
# With 2 to 7 GPUs it starts one rank a GPU; RANKS=n sets the number.

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

step "building (the first time takes a few minutes)"
cargo build --release --locked --quiet

gpus=$({ nvidia-smi -L 2>/dev/null || true; } | grep -c '^GPU ' || true)
ranks=${RANKS:-8}
arguments=("$@")
if [ "$gpus" -ge 2 ] && [ "$gpus" -lt 8 ] && [ -z "${RANKS:-}" ]; then
    ranks=$gpus
elif [ "$gpus" -eq 1 ]; then
    arguments=(--share-gpu "$@")
fi
step "mpirun -np $ranks commbench allreduce-burst ${arguments[*]:-}"
exec "${launcher[@]}" -np "$ranks" target/release/commbench allreduce-burst "${arguments[@]}"
