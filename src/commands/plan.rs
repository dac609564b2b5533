//! `plan` and `models`: what a step sends, without running anything.

use crate::cli::ShowPlanArgs;
use crate::error::{Error, Result};
use crate::plan::{ModelFacts, load_model, parallel_plans, preset_names};
use crate::report::{models_table, plans_text};

/// Every parallel plan of one decode step, as a table or as JSON.
///
/// # Errors
/// Exit code 2 for a model, batch or number of ranks that cannot be, 3 for an unreadable file.
pub fn plan(args: &ShowPlanArgs) -> Result<String> {
    let model = load_model(&args.model)?;
    let plans = parallel_plans(&model, args.batch, args.ranks)?;
    if args.json {
        let mut text = serde_json::to_string_pretty(&plans)
            .map_err(|error| Error::other(format!("the plans do not become JSON: {error}")))?;
        text.push('\n');
        return Ok(text);
    }
    Ok(plans_text(&plans))
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
