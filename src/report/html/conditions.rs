//! Under which conditions the figures hold, and what else a reader should know.

use maud::{Markup, html};

use super::notes;
use crate::plan::ModelFacts;
use crate::report::table;
use crate::result::{RunResult, Warning};
use crate::units::group_thousands;

pub(super) fn conditions(run: &RunResult) -> Markup {
    html! {
        (notes(&table::conditions(run)))
        @if let Some(model) = &run.model { (model_facts(model)) }
    }
}

fn model_facts(model: &ModelFacts) -> Markup {
    let count = group_thousands;
    html! {
        dl {
            dt { "Model" } dd { (model.name) }
            dt { "Facts" } dd {
                (count(model.layers)) " layers, " (count(model.moe_layers)) " of them MoE; hidden size "
                (count(model.hidden_size)) "; " (count(model.routed_experts)) " routed experts, "
                (count(model.experts_per_token)) " a token; " (model.activation_dtype.name())
            }
            dt { "Source" } dd { (model.source) }
        }
    }
}

/// Warnings that ask for the same stand together, before what to do about them.
pub(super) fn warnings(run: &RunResult) -> Markup {
    let alike = |one: &Warning, next: &Warning| one.code == next.code && one.remedy == next.remedy;
    html! {
        ul.warnings {
            @for group in run.warnings.chunk_by(alike) {
                li {
                    @for warning in group { p { (warning.text) } }
                    @if let Some(remedy) = group.iter().find_map(|one| one.remedy.as_ref()) {
                        p.remedy { strong { "Try: " } (remedy) }
                    }
                }
            }
        }
    }
}
