//! `plan` and `models`: what a step sends, without running anything.

use std::path::Path;

use super::curve::formats;
use crate::cli::{ParallelArg, ShowPlanArgs};
use crate::error::{Error, Result};
use crate::plan::{
    ModelFacts, ParallelKind, load_model, parallel_plans, plan_text, preset_names, step_plan,
};
use crate::report::{models_table, plans_text};

/// Every parallel plan of one decode step, as a table or as JSON.
///
/// # Errors
/// Exit code 2 for a model, batch or number of ranks that cannot be, 3 for an unreadable file.
pub fn plan(args: &ShowPlanArgs) -> Result<String> {
    let model = load_model(&args.model)?;
    let formats = formats(&model, &args.formats);
    let plans = parallel_plans(&model, formats, args.batch, args.ranks)?;
    if let Some(path) = &args.save {
        return save(args, &model, path);
    }
    if args.json {
        let mut text = serde_json::to_string_pretty(&plans)
            .map_err(|error| Error::other(format!("the plans do not become JSON: {error}")))?;
        text.push('\n');
        return Ok(text);
    }
    Ok(plans_text(&plans))
}

/// Writes the step's ops as a plan file, and says what to do with it.
fn save(args: &ShowPlanArgs, model: &ModelFacts, path: &Path) -> Result<String> {
    let ranks = u32::try_from(args.ranks)
        .map_err(|_| Error::usage(format!("--ranks {} is no number of ranks", args.ranks)))?;
    let kind = match args.parallel {
        ParallelArg::Tp => ParallelKind::Tp,
        ParallelArg::EpAllToAll => ParallelKind::DpAttentionEpAllToAll,
        ParallelArg::EpAllGather => ParallelKind::DpAttentionEpAllGather,
    };
    let plan = step_plan(
        model,
        formats(model, &args.formats),
        kind,
        args.batch,
        ranks,
    )?;
    let name = format!(
        "{} of {}, batch {}, {ranks} ranks",
        kind.name(),
        model.name,
        args.batch
    );
    let text = plan_text(&name, &plan, 2)?;
    std::fs::write(path, text).map_err(|error| {
        Error::environment(format!("cannot write {}: {error}", path.display()))
            .try_this("--save FILE, in a folder that can be written to")
    })?;
    Ok(format!(
        "{} in {}\ntry: mpirun -np {ranks} commbench replay {}\n",
        plan.label,
        path.display(),
        path.display()
    ))
}

/// The built-in models as a table.
///
/// # Errors
/// Exit code 2 for a preset that does not load, which tests rule out.
pub fn models() -> Result<String> {
    let models: Vec<ModelFacts> = preset_names()
        .into_iter()
        .map(load_model)
        .collect::<Result<_>>()?;
    Ok(models_table(&models))
}
