//! A campaign of faults: at random moments of a run something happens to a rank, the launcher, the
//! GPU libraries, the disk or the clock, and the promises of docs/RELIABILITY.md are checked.
//!
//! `COMMBENCH_CAMPAIGN_TRIALS` and `COMMBENCH_CAMPAIGN_SEED` set its length and its dice; without
//! them it is short. `scripts/fault-campaign.sh` runs a long one.

#![cfg(feature = "mpi")]

#[path = "../common/mod.rs"]
mod common;
mod dice;
mod fault;
mod ledger;
mod promises;
mod trial;

use dice::Dice;
use fault::Fault;
use ledger::Ledger;

/// Trials of the version that runs with every `cargo test`: two of each kind of fault.
const SHORT: u64 = 2 * fault::KINDS;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn every_fault_keeps_every_promise() {
    let trials = number("COMMBENCH_CAMPAIGN_TRIALS", SHORT);
    let seed = number("COMMBENCH_CAMPAIGN_SEED", 1);
    let first = number("COMMBENCH_CAMPAIGN_FIRST", 0);
    let mut ledger = Ledger::default();
    for index in first..first + trials {
        // Each trial has dice of its own: any one can be run again alone.
        let mut dice = Dice::new(seed << 32 | index);
        let fault = Fault::draw(index, &mut dice);
        eprintln!("trial {index} of seed {seed}: {fault:?}");
        let outcome = trial::run(&fault);
        match &outcome {
            Ok(kept) => eprintln!("  {}: {}", kept.moment, kept.ending),
            Err(broken) => eprintln!("  BROKEN: {broken}"),
        }
        ledger.enter(&fault, outcome);
    }
    println!("{}", ledger.table());
    let broken = ledger.broken();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
