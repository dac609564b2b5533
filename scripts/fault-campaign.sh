#!/usr/bin/env bash
# Tries faults at random moments of a run and checks every promise of docs/RELIABILITY.md:
# fault-campaign.sh [TRIALS, default 500] [SEED, default 1]
# Prints each trial and at the end the table fault × moment × outcome. A trial alone, again:
# COMMBENCH_CAMPAIGN_FIRST=NUMBER scripts/fault-campaign.sh 1 SEED

. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

export COMMBENCH_CAMPAIGN_TRIALS=${1:-500} COMMBENCH_CAMPAIGN_SEED=${2:-1}
for number in "$COMMBENCH_CAMPAIGN_TRIALS" "$COMMBENCH_CAMPAIGN_SEED"; do
    if ! [[ "$number" =~ ^[1-9][0-9]*$ ]]; then
        step "'$number' is no number. Type: scripts/fault-campaign.sh 500 1"
        exit 2
    fi
done
step "$COMMBENCH_CAMPAIGN_TRIALS trials, about 4 s each"
cargo test --locked --features fault-injection --test campaign -- --nocapture
