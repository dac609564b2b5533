//! Tables of models and of what a step sends, before anything is measured.

use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::table::STYLE;
use crate::plan::{Calls, ModelFacts, ParallelPlan, ParallelPlans};
use crate::units::{format_bytes, group_thousands};

/// Model names, one row each, with what their all-reduces come to.
pub fn models_table(models: &[ModelFacts]) -> String {
    let header = [
        "model",
        "layers",
        "MoE\nlayers",
        "hidden",
        "experts",
        "per\ntoken",
        "bytes per token and\nlayer all-reduce",
        "all-reduces\nper step",
    ];
    let rows = models.iter().map(|model| {
        vec![
            model.name.clone(),
            model.layers.to_string(),
            model.moe_layers.to_string(),
            model.hidden_size.to_string(),
            model.routed_experts.to_string(),
            model.experts_per_token.to_string(),
            group_thousands(model.token_bytes()),
            group_thousands(model.allreduces_per_step()),
        ]
    });
    aligned(&header, rows, 1)
}

/// Every plan of a step as one table, then what a reader must know, a line each.
pub fn plans_text(plans: &ParallelPlans) -> String {
    let model = &plans.model;
    let mut out = format!(
        "one decode step of {}: {} {} over {} ranks{}\n  {} layers{}, hidden {}, {}\n",
        model.name,
        group_thousands(plans.batch_tokens),
        if plans.batch_tokens == 1 {
            "token"
        } else {
            "tokens"
        },
        group_thousands(plans.ranks),
        match plans.tokens_per_rank {
            Some(tokens) => format!(", {} a rank", group_thousands(tokens)),
            None => String::new(),
        },
        model.layers,
        match model.moe_layers {
            0 => ", dense".to_string(),
            moe_layers => format!(
                " ({moe_layers} with {} experts, {} a token)",
                model.routed_experts, model.experts_per_token
            ),
        },
        model.hidden_size,
        model.activation_dtype
    );
    let header = [
        "plan",
        "op",
        "ops\nper step",
        "payload\nper op",
        "sent per rank\nand op",
        "sent per rank\nand step",
    ];
    let rows = plans.plans.iter().flat_map(plan_rows);
    out.push_str(&aligned(&header, rows, 2));
    for plan in &plans.plans {
        out.push_str(&format!("  {}: {}.\n", plan.name, plan.note));
    }
    for alike in plans.absent.chunk_by(|one, next| one.why == next.why) {
        let names: Vec<&str> = alike.iter().map(|absent| absent.name).collect();
        out.push_str(&format!(
            "  Not here ({}): {}.\n",
            names.join("; "),
            alike[0].why
        ));
    }
    out.push_str(
        "  Payload: what a rank hands over. Sent: what leaves it in a ring, 2(N−1)/N of an all-reduce's payload, (N−1)/N of a reduce-scatter's, N−1 times an all-gather's.\n",
    );
    out.push_str("  Nothing was run: these are the figures of the formulas.\n");
    out
}

/// A row a collective; the plan's name and sum only on its first.
fn plan_rows(plan: &ParallelPlan) -> Vec<Vec<String>> {
    let row = |(index, call): (usize, &Calls)| {
        let once = |text: String| if index == 0 { text } else { String::new() };
        vec![
            once(plan.name.to_string()),
            call.collective.name().to_string(),
            group_thousands(call.ops_per_step),
            format_bytes(call.payload_bytes),
            format_bytes(call.sent_bytes),
            once(format_bytes(plan.sent_bytes_per_step)),
        ]
    };
    plan.calls.iter().enumerate().map(row).collect()
}

/// A table whose first `words` columns are text, and the others figures.
fn aligned(header: &[&str], rows: impl Iterator<Item = Vec<String>>, words: usize) -> String {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{TokenFormats, load_model, parallel_plans, preset_names};

    #[test]
    fn models_have_a_row_each_with_figures_under_their_titles() {
        let models: Vec<ModelFacts> = preset_names()
            .into_iter()
            .map(|name| load_model(name).unwrap())
            .collect();
        let text = models_table(&models);
        for model in &models {
            assert!(text.contains(&model.name), "{text}");
        }
        let kimi = text.lines().find(|line| line.contains("kimi-k2.5"));
        let cells: Vec<&str> = kimi.unwrap().split_whitespace().collect();
        assert_eq!(
            cells,
            ["kimi-k2.5", "61", "60", "7168", "384", "8", "14,336", "122"]
        );
    }

    #[test]
    fn a_plan_that_does_not_apply_is_a_sentence_not_a_row() {
        let model = load_model("kimi-k2.5").unwrap();
        let text = plans_text(
            &parallel_plans(&model, TokenFormats::or_own(&model, None, None), 1, 8).unwrap(),
        );
        assert!(text.contains("1 token over 8 ranks\n"), "{text}");
        assert!(text.contains("all-gather): 1 token cannot"), "{text}");
        assert!(!text.contains("dispatch"), "{text}");
        let text = plans_text(
            &parallel_plans(&model, TokenFormats::or_own(&model, None, None), 8, 8).unwrap(),
        );
        for words in ["8 tokens over 8 ranks, 1 a rank", "dispatch", "combine"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
