//! Which layers of a Hugging Face configuration hold routed experts.
//!
//! Families say it in different words, and a file may say it in several at once: a layer has
//! experts when every rule that the file holds agrees.

use serde_json::{Map, Value};

use super::huggingface::{listing, shown, whole};

/// Number of dense layers that come first.
const DENSE_FIRST: [&str; 3] = [
    "first_k_dense_replace",
    "moe_layer_num_skipped",
    "num_dense_layers",
];

/// Every n-th layer has experts, counting from 1 (the n-th is the first that has them).
const EVERY_NTH_FROM_ONE: [&str; 2] = ["decoder_sparse_step", "interleave_moe_layer_step"];

/// Every n-th layer has experts, counting from 0; or a list with one 0 or 1 a layer.
const FREQUENCY: &str = "moe_layer_freq";

/// Indices of the layers that have experts, as a list or as comma-separated text.
const WITH_EXPERTS: [&str; 2] = ["moe_layers_enum", "moe_layers"];

/// Indices of the layers that have none.
const WITHOUT_EXPERTS: &str = "mlp_only_layers";

/// Counts the layers with routed experts among `layers`, and names the fields that decided it.
///
/// # Errors
/// A reason with field and value, for steps of zero, indices that no layer has, and lists of
/// another length.
pub(super) fn count(
    config: &Map<String, Value>,
    layers: u64,
) -> Result<(u64, Vec<&'static str>), String> {
    let length = usize::try_from(layers).map_err(|_| format!("{layers} layers are too many"))?;
    let mut has_experts = vec![true; length];
    let mut fields = Vec::new();
    for field in DENSE_FIRST {
        if let Some(dense) = whole(config, field)? {
            fields.push(field);
            for layer in has_experts.iter_mut().take(dense as usize) {
                *layer = false;
            }
        }
    }
    for field in EVERY_NTH_FROM_ONE {
        if let Some(step) = whole(config, field)? {
            fields.push(field);
            keep_every(&mut has_experts, field, step, 1)?;
        }
    }
    match config.get(FREQUENCY) {
        Some(Value::Array(flags)) => {
            fields.push(FREQUENCY);
            keep_flagged(&mut has_experts, flags)?;
        }
        _ => {
            if let Some(step) = whole(config, FREQUENCY)? {
                fields.push(FREQUENCY);
                keep_every(&mut has_experts, FREQUENCY, step, 0)?;
            }
        }
    }
    for field in WITH_EXPERTS {
        if let Some(listed) = indices(config, field, length)? {
            fields.push(field);
            for (layer, has) in has_experts.iter_mut().zip(listed) {
                *layer &= has;
            }
        }
    }
    if let Some(listed) = indices(config, WITHOUT_EXPERTS, length)? {
        fields.push(WITHOUT_EXPERTS);
        for (layer, is_dense) in has_experts.iter_mut().zip(listed) {
            *layer &= !is_dense;
        }
    }
    let with_experts = has_experts.iter().filter(|has| **has).count() as u64;
    Ok((with_experts, fields))
}

fn keep_every(
    has_experts: &mut [bool],
    field: &str,
    step: u64,
    first_number: u64,
) -> Result<(), String> {
    if step == 0 {
        return Err(format!(
            "{field} = 0 says nothing of which layers have experts"
        ));
    }
    for (number, layer) in (first_number..).zip(has_experts) {
        *layer &= number.is_multiple_of(step);
    }
    Ok(())
}

fn keep_flagged(has_experts: &mut [bool], flags: &[Value]) -> Result<(), String> {
    if flags.len() != has_experts.len() {
        return Err(format!(
            "{FREQUENCY} lists {} layers of {}",
            flags.len(),
            has_experts.len()
        ));
    }
    for (layer, flag) in has_experts.iter_mut().zip(flags) {
        *layer &= match flag.as_u64() {
            Some(0) => false,
            Some(1) => true,
            _ => {
                return Err(format!(
                    "{FREQUENCY} holds {}, not just 0 and 1",
                    shown(flag)
                ));
            }
        };
    }
    Ok(())
}

/// One flag a layer, set for those that `field` lists; `None` without such a list.
fn indices(
    config: &Map<String, Value>,
    field: &str,
    layers: usize,
) -> Result<Option<Vec<bool>>, String> {
    let Some(listed) = listing(config, field)? else {
        return Ok(None);
    };
    let mut flags = vec![false; layers];
    for index in listed {
        let flag = usize::try_from(index)
            .ok()
            .and_then(|index| flags.get_mut(index))
            .ok_or_else(|| format!("{field} lists layer {index} of {layers} (counted from 0)"))?;
        *flag = true;
    }
    Ok(Some(flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, layers: u64) -> Result<u64, String> {
        let config: Map<String, Value> = serde_json::from_str(text).unwrap();
        count(&config, layers).map(|(with_experts, _)| with_experts)
    }

    #[test]
    fn every_family_says_it_in_its_own_words() {
        for (text, layers, expected) in [
            ("{}", 32, 32),
            (
                r#"{"first_k_dense_replace": 1, "moe_layer_freq": 1}"#,
                61,
                60,
            ),
            (r#"{"first_k_dense_replace": 3, "moe_layer_freq": 2}"#, 8, 2),
            (r#"{"first_k_dense_replace": 9}"#, 8, 0),
            (r#"{"moe_layer_freq": [0, 1, 1, 0]}"#, 4, 2),
            (
                r#"{"moe_layer_freq": [0, 1, 1, 0], "first_k_dense_replace": 2}"#,
                4,
                1,
            ),
            (r#"{"interleave_moe_layer_step": 2}"#, 48, 24),
            (
                r#"{"interleave_moe_layer_step": 2, "moe_layers": [1, 3]}"#,
                4,
                2,
            ),
            (
                r#"{"decoder_sparse_step": 1, "mlp_only_layers": []}"#,
                94,
                94,
            ),
            (
                r#"{"decoder_sparse_step": 2, "mlp_only_layers": [1]}"#,
                6,
                2,
            ),
            (
                r#"{"decoder_sparse_step": null, "mlp_only_layers": null}"#,
                6,
                6,
            ),
            (r#"{"moe_layers_enum": "4,5, 6"}"#, 61, 3),
            (r#"{"moe_layers_enum": [4, 5, 5]}"#, 61, 2),
            (r#"{"moe_layer_num_skipped": 1}"#, 4, 3),
            (r#"{"num_dense_layers": 2}"#, 4, 2),
        ] {
            assert_eq!(of(text, layers), Ok(expected), "{text}");
        }
    }

    #[test]
    fn impossible_rules_name_field_and_value() {
        for (text, hint) in [
            (r#"{"decoder_sparse_step": 0}"#, "decoder_sparse_step = 0"),
            (r#"{"moe_layer_freq": 0}"#, "moe_layer_freq = 0"),
            (r#"{"moe_layer_freq": [1, 1]}"#, "2 layers of 4"),
            (r#"{"moe_layer_freq": [1, 1, 2, 1]}"#, "holds 2"),
            (r#"{"mlp_only_layers": [4]}"#, "layer 4 of 4"),
            (r#"{"mlp_only_layers": [-1]}"#, "-1"),
            (r#"{"mlp_only_layers": 3}"#, "mlp_only_layers = 3"),
            (r#"{"moe_layers_enum": "1,x"}"#, "'1,x'"),
            (r#"{"first_k_dense_replace": 1.5}"#, "1.5"),
        ] {
            let reason = of(text, 4).unwrap_err();
            assert!(reason.contains(hint), "{text}: {reason}");
        }
    }
}
