//! Which series a job has: those asked for that its executor can replay.

use crate::cli::ReplayArgs;
use crate::error::{Error, Result};
use crate::executor::Variant;
use crate::executor::choose::Ready;
use crate::plan::{Plan, beginning_length};
use crate::result::{Mode, Placement, Warning, series_label};
use crate::world::World;

/// Every variant asked for: all modes where none was named.
pub(super) fn asked_variants(replay: &ReplayArgs, plans: usize) -> Vec<Variant> {
    let modes = match replay.modes() {
        modes if modes.is_empty() => Mode::ALL.to_vec(),
        modes => modes,
    };
    let mut variants = Vec::new();
    for plan in 0..plans {
        for mode in &modes {
            let of = |placement| Variant {
                plan,
                mode: *mode,
                placement,
            };
            variants.extend(replay.placements().into_iter().map(of));
        }
    }
    variants
}

/// Why the job cannot replay each of the variants: what one rank lacks, all lack, or they would
/// part ways here.
pub(super) fn reasons_against(
    world: &World,
    asked: &[Variant],
    ready: &Ready<'_>,
) -> Result<Vec<Option<String>>> {
    let mine: Vec<Option<String>> = asked
        .iter()
        .map(|variant| ready.executor.why_not(*variant))
        .collect();
    let all = world.all_gather(&mine)?;
    let of_any = |index: usize| all.iter().find_map(|rank| rank[index].clone());
    Ok((0..asked.len()).map(of_any).collect())
}

/// The variants that this executor has. One that the user named and that it lacks is an error;
/// one of the defaults is left out with a note.
pub(super) fn possible_variants(
    replay: &ReplayArgs,
    plans: &[Plan],
    asked: &[Variant],
    reasons: &[Option<String>],
) -> Result<(Vec<Variant>, Vec<Warning>)> {
    let mut possible = Vec::new();
    // Reasons in the order met, each with the variants it concerns.
    let mut waived: Vec<(String, Vec<String>)> = Vec::new();
    for (variant, why) in asked.iter().zip(reasons) {
        let Some(why) = why.clone() else {
            possible.push(*variant);
            continue;
        };
        if !replay.mode.is_empty() {
            return Err(
                Error::usage(format!("--mode {}: {why}", variant.mode.name()))
                    .try_this("leave --mode out to measure all that this machine has"),
            );
        }
        match waived.iter_mut().find(|(known, _)| *known == why) {
            Some((_, labels)) => labels.push(variant.label(plans)),
            None => waived.push((why, vec![variant.label(plans)])),
        }
    }
    if possible.is_empty()
        && let Some((why, labels)) = waived.last()
    {
        return Err(Error::usage(format!("{}: {why}", few(labels)))
            .try_this("--placement out, or --mode eager"));
    }
    // What no plan can be replayed in is told once, without the plans.
    let ways = |variant: &&Variant| (variant.mode, variant.placement);
    let warnings = waived.iter().map(|(why, labels)| {
        let lost: Vec<(Mode, Placement)> = asked
            .iter()
            .zip(reasons)
            .filter(|(_, reason)| reason.as_ref() == Some(why))
            .map(|(variant, _)| ways(&variant))
            .collect();
        let mut of_all: Vec<(Mode, Placement)> = lost.clone();
        of_all.sort();
        of_all.dedup();
        let everywhere =
            |way: &(Mode, Placement)| lost.iter().filter(|one| *one == way).count() == plans.len();
        let named = if of_all.iter().all(everywhere) {
            let name = |(mode, placement): &(Mode, Placement)| series_label("", *mode, *placement);
            of_all.iter().map(name).collect::<Vec<_>>().join(", ")
        } else {
            few(labels)
        };
        Warning {
            code: "mode-waived".to_string(),
            text: format!("not measured: {named} ({why})"),
            remedy: None,
        }
    });
    Ok((possible, warnings.collect()))
}

/// The series of one mode: the one nearest to how engines decode that all `plans` plans have.
pub(super) fn best_mode(possible: &[Variant], plans: usize) -> Vec<Variant> {
    let of = |mode: Mode| -> Vec<Variant> {
        let in_mode = possible.iter().filter(|variant| variant.mode == mode);
        in_mode.copied().collect()
    };
    let by_preference = [Mode::Graph, Mode::Eager, Mode::Gated].map(of);
    by_preference
        .iter()
        .find(|series| series.len() >= plans)
        .or_else(|| by_preference.iter().max_by_key(|series| series.len()))
        .cloned()
        .unwrap_or_default()
}

/// The series without those of a plan's beginnings in more than one mode and placement: they are
/// many, and the best mode is enough.
pub(super) fn beginnings_in_one_mode(possible: Vec<Variant>, plans: &[Plan]) -> Vec<Variant> {
    let is_beginning = |variant: &&Variant| beginning_length(&plans[variant.plan].name).is_some();
    let of_beginnings: Vec<Variant> = possible.iter().filter(is_beginning).copied().collect();
    let count = plans
        .iter()
        .filter(|plan| beginning_length(&plan.name).is_some())
        .count();
    let kept = best_mode(&of_beginnings, count);
    let placement = kept.first().map(|variant| variant.placement);
    let keep = |variant: &Variant| {
        !is_beginning(&variant) || (kept.contains(variant) && Some(variant.placement) == placement)
    };
    possible.into_iter().filter(keep).collect()
}

/// The labels, or the first of them and how many more there are.
fn few(labels: &[String]) -> String {
    const SHOWN: usize = 3;
    match labels.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", labels[..SHOWN].join(", ")),
        _ => labels.join(", "),
    }
}
