//! Whether runs measured the same thing, and what else is different about them.

use super::pairing::places;
use super::{Side, StoredRun};
use crate::result::{Backend, Measurement, Mode, RunResult, Status};
use crate::units::group_thousands;

/// What forbids to compare: another thing was measured, or figures must not be used. Each is a
/// clause with both values.
pub(super) fn unlike(sides: &[Side], modes: &[Mode]) -> Vec<String> {
    let mut found = Vec::new();
    let runs: Vec<&StoredRun> = sides.iter().flat_map(|side| &side.runs).collect();
    let Some((first, rest)) = runs.split_first() else {
        return found;
    };
    let any_imported = runs.iter().any(|run| run.run.imported.is_some());
    for run in &runs {
        // Logs of runs that looked at no data (-c 0) are the rule, and are told.
        let unchecked = |one: &Measurement| {
            !one.verified && (run.run.imported.is_none() || one.verification.wrong > 0)
        };
        if run.run.status == Status::Failed || run.run.results.iter().any(unchecked) {
            found.push(format!(
                "the data of {} were wrong or not checked",
                run.folder
            ));
        }
    }
    for other in rest {
        let mut differ = |what: &str, one: String, two: String| {
            if one != two {
                let (a, b) = (&first.folder, &other.folder);
                found.push(format!("{what} is {one} in {a} and {two} in {b}"));
            }
        };
        let (a, b) = (&first.run, &other.run);
        differ("the backend", backend(a).into(), backend(b).into());
        differ(
            "the number of ranks",
            a.ranks.to_string(),
            b.ranks.to_string(),
        );
        differ("sharing of GPUs", shared(a).into(), shared(b).into());
    }
    for (place, one, run) in same_place(sides, modes) {
        let (base, of_base) = &one;
        let (folder, other) = run;
        let mut differing = facts(of_base, other);
        differing.retain(|(_, a, b)| a != b);
        // Another program's clock is another one: that is told, and forbids nothing.
        differing.retain(|(what, ..)| *what != CLOCK || !any_imported);
        // A title says the number of ops and their bytes.
        if differing.first().is_some_and(|(what, ..)| *what == SENT) {
            differing.retain(|(what, ..)| !IN_TITLES.contains(what));
        }
        for (what, a, b) in differing {
            found.push(format!(
                "{what} of {place} is {a} in {base} and {b} in {folder}"
            ));
        }
    }
    found
}

/// Each measurement after the first of its place, with that first one, and their folders.
type Met<'a> = (String, (String, &'a Measurement), (String, &'a Measurement));

fn same_place<'a>(sides: &'a [Side], modes: &[Mode]) -> Vec<Met<'a>> {
    let Some(base) = sides.first() else {
        return Vec::new();
    };
    let mut met = Vec::new();
    for place in places(base, modes) {
        let is_here = |one: &&Measurement| {
            one.plan.name == place.plan
                && one.mode == place.mode
                && one.placement == place.placement
        };
        let mut all = sides.iter().flat_map(|side| &side.runs).filter_map(|run| {
            let one = run.run.results.iter().find(is_here)?;
            Some((run.folder.clone(), one))
        });
        if let Some(first) = all.next() {
            met.extend(all.map(|other| (place.label.clone(), first.clone(), other)));
        }
    }
    met
}

const SENT: &str = "what is sent";
const CLOCK: &str = "the clock";
const IN_TITLES: [&str; 2] = ["the number of ops", "the payload of an op"];

/// What makes two measurements of one name the same thing.
fn facts(a: &Measurement, b: &Measurement) -> Vec<(&'static str, String, String)> {
    let both = |what, of: &dyn Fn(&Measurement) -> String| (what, of(a), of(b));
    vec![
        both(SENT, &|one| one.plan.title.clone()),
        both(IN_TITLES[0], &|one| group_thousands(one.plan.ops)),
        both(IN_TITLES[1], &|one| {
            format!("{} B", group_thousands(one.plan.bytes))
        }),
        both("the gap before an op", &|one| {
            format!("{} µs", one.plan.gap_us)
        }),
        both("the state of caches", &|one| {
            format!("{:?}", one.conditions.buffers).to_lowercase()
        }),
        both(CLOCK, &|one| one.conditions.clock.clone()),
    ]
}

fn backend(run: &RunResult) -> &'static str {
    match run.backend {
        Backend::Nccl => "NCCL on GPUs",
        Backend::MpiHost => "MPI on host memory",
        Backend::Predicted => "a prediction",
    }
}

fn shared(run: &RunResult) -> &'static str {
    match run.results.iter().any(|one| one.conditions.shared_gpu) {
        true => "several ranks a GPU",
        false => "none",
    }
}

/// The labels that stand on every figure of any run.
pub(super) fn notices(sides: &[Side]) -> Vec<String> {
    let mut found = Vec::new();
    for run in sides.iter().flat_map(|side| &side.runs) {
        match run.run.backend {
            Backend::MpiHost => found.push(
                "HOST MEMORY: MPI moved this data between processes on the processor. These are not GPU figures."
                    .to_string(),
            ),
            Backend::Predicted => found.push("PREDICTED: computed from a model, not measured.".to_string()),
            Backend::Nccl => {}
        }
        if shared(&run.run) != "none" {
            found.push(
                "SHARED GPU: several ranks ran on one GPU. These figures say nothing about a real box."
                    .to_string(),
            );
        }
        if let Some(imported) = &run.run.imported {
            found.push(format!(
                "IMPORTED: the figures in {} are those of {}, not measured by commbench, and have no intervals.",
                run.folder, imported.file
            ));
            if run.run.results.iter().any(|one| !one.verified) {
                found.push(format!(
                    "NOT VERIFIED: the run of {} did not look at all of its data.",
                    imported.file
                ));
            }
        }
        if run.run.status == Status::Partial {
            found.push(format!(
                "INCOMPLETE: the run in {} ended early.",
                run.folder
            ));
        }
    }
    let mut told = Vec::new();
    found.retain(|notice| {
        let new = !told.contains(notice);
        told.push(notice.clone());
        new
    });
    found
}

/// What of a run, and how to read it.
type Fact = (&'static str, &'static dyn Fn(&RunResult) -> String);

/// What does not forbid to compare, and is often what is asked about.
pub(super) fn differences(sides: &[Side]) -> Vec<String> {
    let facts: [Fact; 8] = [
        ("commbench", &|run| run.command.version.clone()),
        ("NCCL", &|run| or_none(&run.machine.nccl_version)),
        ("driver", &|run| or_none(&run.machine.driver)),
        ("MPI", &|run| or_none(&run.machine.mpi)),
        (CLOCK, &|run| {
            let first = run.results.first();
            first.map_or(String::new(), |one| one.conditions.clock.clone())
        }),
        ("GPUs", &|run| {
            let mut names: Vec<&str> = run.machine.gpus.iter().map(|gpu| &*gpu.name).collect();
            names.dedup();
            names.join(", ")
        }),
        ("hosts", &|run| {
            let names: Vec<&str> = run.machine.hosts.iter().map(|host| &*host.name).collect();
            names.join(", ")
        }),
        ("transports", &|run| run.machine.transports.join(", ")),
    ];
    let mut found = Vec::new();
    for (what, of) in facts {
        let values: Vec<String> = sides.iter().map(|side| of_side(side, of)).collect();
        tell(&mut found, what, sides, &values);
    }
    let mut variables: Vec<&String> = sides
        .iter()
        .flat_map(|side| &side.runs)
        .flat_map(|run| run.run.command.environment.keys())
        .collect();
    variables.sort();
    variables.dedup();
    for variable in variables {
        let of = |run: &RunResult| {
            let value = run.command.environment.get(variable);
            value.cloned().unwrap_or("unset".to_string())
        };
        let values: Vec<String> = sides.iter().map(|side| of_side(side, &of)).collect();
        tell(&mut found, variable, sides, &values);
    }
    for (place, (_, a), (folder, b)) in same_place(sides, &[]) {
        let (one, two) = (&a.conditions.nccl_choice, &b.conditions.nccl_choice);
        if one != two {
            found.push(format!(
                "NCCL chose {} for {place} in the first run and {} in {folder}",
                or_none(one),
                or_none(two)
            ));
        }
    }
    found
}

fn tell(found: &mut Vec<String>, what: &str, sides: &[Side], values: &[String]) {
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        return;
    }
    let each: Vec<String> = sides
        .iter()
        .zip(values)
        .map(|(side, value)| format!("{} in {}", value, side.name))
        .collect();
    found.push(format!("{what}: {}", each.join(", ")));
}

/// The value of a side's runs, or all of theirs.
fn of_side(side: &Side, of: &dyn Fn(&RunResult) -> String) -> String {
    let mut values: Vec<String> = side.runs.iter().map(|run| of(&run.run)).collect();
    values.dedup();
    let text = values.join(" and ");
    if text.is_empty() { "none".into() } else { text }
}

fn or_none(value: &Option<String>) -> String {
    value.clone().unwrap_or("none".to_string())
}
