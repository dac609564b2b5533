//! Model facts from a Hugging Face configuration (`config.json`) as downloaded.

use serde_json::{Map, Value};

use super::model::MAX_COUNT;
use super::{DataType, ModelFacts, moe_layers};

/// Where multi-modal wrappers keep the configuration of their language model.
const NESTINGS: [&str; 4] = [
    "text_config",
    "language_config",
    "llm_config",
    "thinker_config",
];

/// Wrappers in wrappers end here.
const MAX_NESTING: usize = 4;

const LAYERS: &str = "num_hidden_layers";
const HIDDEN: &str = "hidden_size";

/// One entry a block, where a model has no uniform layers.
const BLOCK_PATTERNS: [&str; 2] = ["layers_block_type", "hybrid_override_pattern"];

const EXPERTS: [&str; 4] = [
    "n_routed_experts",
    "num_local_experts",
    "num_experts",
    "moe_num_experts",
];

/// Experts of a token. Never `top_k`: that is sampling.
const EXPERTS_PER_TOKEN: [&str; 6] = [
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "moe_topk",
    "moe_top_k",
    "top_k_experts",
];

/// Width of the rows that experts work on, where it is not the hidden size.
const EXPERT_ROW: [&str; 2] = ["routed_expert_hidden_size", "moe_latent_size"];

/// Experts that return their input and so need no communication.
const ZERO_EXPERTS: &str = "zero_expert_num";

/// Groups of experts, and how many of them a token's experts come from.
const GROUPS: [&str; 2] = ["n_group", "num_expert_group"];
const GROUPS_PER_TOKEN: &str = "topk_group";

const DTYPES: [&str; 2] = ["torch_dtype", "dtype"];

/// Longest text of a file's that is repeated in a message or a name.
const MAX_SHOWN_CHARS: usize = 80;

/// Reads the text of a `config.json`. `fallback_name` names a model that does not say its own.
///
/// A dense model has no field that counts experts, or says 0 or 1 there. Activations travel in
/// bf16 when the file names no 16- or 32-bit float: checkpoints of 8 bits and fewer compute in it,
/// and `source` says that it was assumed.
///
/// # Errors
/// A reason in one clause, with field and value, for text that is no JSON object, fields that are
/// missing, contradict each other or are no whole numbers, and models whose communication
/// [`ModelFacts`] cannot describe.
pub(super) fn parse(text: &str, fallback_name: &str) -> Result<ModelFacts, String> {
    let text = quote_non_numbers(text.trim_start_matches('\u{feff}'));
    let outer = match serde_json::from_str(&text).map_err(|error| format!("no JSON: {error}"))? {
        Value::Object(object) => object,
        other => return Err(format!("{} is no JSON object", shown(&other))),
    };
    let (config, path) = language_model(&outer);
    let hidden_size = whole(config, HIDDEN)?
        .ok_or_else(|| missing(&[HIDDEN], &path))
        .and_then(|size| at_least_one(HIDDEN, size))?;
    let stack = layer_stack(config, &path)?;
    let mut fields = vec![stack.field, HIDDEN];
    let experts = routed_experts(config, &path)?;
    let (mut moe_layers, mut routed_experts, mut experts_per_token) = (0, 0, 0);
    let mut limited = None;
    if let Some(found) = experts {
        refuse_what_facts_cannot_say(config, hidden_size)?;
        (routed_experts, experts_per_token) = (found.routed, found.per_token);
        fields.extend(found.fields);
        moe_layers = match stack.moe_layers {
            Some(from_pattern) => from_pattern,
            None => {
                let (with_experts, rules) = moe_layers::count(config, stack.layers)?;
                fields.extend(rules);
                with_experts
            }
        };
        limited = group_limit(config)?;
        if limited.is_some() {
            fields.push(GROUPS_PER_TOKEN);
        }
        if moe_layers == 0 {
            limited = None;
            (routed_experts, experts_per_token) = (0, 0);
        }
    }
    let (activation_dtype, dtype_words) = activation_dtype(config, &outer);
    let place = match path.as_str() {
        "" => String::new(),
        path => format!(" ({path})"),
    };
    Ok(ModelFacts {
        name: model_name(&outer, config, fallback_name),
        source: format!(
            "config.json{place}: {}; activations: {dtype_words}",
            fields.join(", ")
        ),
        layers: stack.layers,
        moe_layers,
        hidden_size,
        routed_experts,
        experts_per_token,
        expert_groups: limited.map(|(groups, _)| groups),
        groups_per_token: limited.map(|(_, chosen)| chosen),
        activation_dtype,
        // Not needed for a step's layers: a strange one is left out rather than refused.
        vocab_size: whole(config, "vocab_size")
            .ok()
            .flatten()
            .filter(|size| *size > 0 && *size <= MAX_COUNT),
    })
}

/// The innermost configuration that describes layers, and the dotted path to it. Fields of
/// different levels are never mixed: a wrapper's own `hidden_size` may be another tower's.
fn language_model(outer: &Map<String, Value>) -> (&Map<String, Value>, String) {
    let (mut found, mut found_path) = (outer, String::new());
    let (mut current, mut path) = (outer, String::new());
    for _ in 0..MAX_NESTING {
        let Some((name, inner)) = NESTINGS
            .iter()
            .find_map(|name| Some((*name, current.get(*name)?.as_object()?)))
        else {
            break;
        };
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
        current = inner;
        if inner.contains_key(HIDDEN) || inner.contains_key(LAYERS) {
            (found, found_path) = (inner, path.clone());
        }
    }
    (found, found_path)
}

/// How many layers a model has, in the sense of two all-reduces each.
struct LayerStack {
    layers: u64,
    /// Known here only where the field lists every block.
    moe_layers: Option<u64>,
    field: &'static str,
}

fn layer_stack(config: &Map<String, Value>, path: &str) -> Result<LayerStack, String> {
    for field in BLOCK_PATTERNS {
        if let Some(kinds) = block_kinds(config, field)? {
            let blocks = kinds.len() as u64;
            if let Some(said) = whole(config, LAYERS)?.filter(|said| *said != blocks) {
                return Err(format!(
                    "{LAYERS} = {said} contradicts {field} of {blocks} blocks"
                ));
            }
            return blocks_to_layers(field, &kinds);
        }
    }
    let layers = whole(config, LAYERS)?
        .ok_or_else(|| missing(&[LAYERS, BLOCK_PATTERNS[0], BLOCK_PATTERNS[1]], path))?;
    Ok(LayerStack {
        layers: at_least_one(LAYERS, layers)?,
        moe_layers: None,
        field: LAYERS,
    })
}

/// A pattern's block is attention, Mamba, MLP or MoE alone, and so has one all-reduce: two of them
/// make what a layer is elsewhere.
fn blocks_to_layers(field: &'static str, kinds: &[Block]) -> Result<LayerStack, String> {
    let blocks = kinds.len() as u64;
    if blocks == 0 || !blocks.is_multiple_of(2) || blocks > MAX_COUNT {
        return Err(format!(
            "{field} has {blocks} blocks of one all-reduce each, which are no whole number of layers of two"
        ));
    }
    let moe_layers = kinds.iter().filter(|kind| **kind == Block::Moe).count() as u64;
    Ok(LayerStack {
        layers: blocks / 2,
        moe_layers: Some(moe_layers),
        field,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Moe,
    Other,
}

/// The blocks that `field` lists; `None` where it is absent or lists mixers of whole layers.
fn block_kinds(config: &Map<String, Value>, field: &str) -> Result<Option<Vec<Block>>, String> {
    let kinds: Vec<&str> = match config.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(pattern)) => pattern.split("").filter(|kind| !kind.is_empty()).collect(),
        Some(Value::Array(entries)) => entries
            .iter()
            .map(|entry| entry.as_str().ok_or_else(|| unusable(field, entry)))
            .collect::<Result<_, _>>()?,
        Some(other) => return Err(unusable(field, other)),
    };
    // Families that list only mixers (Mamba, attention) have a feed-forward part in every layer.
    if !kinds
        .iter()
        .any(|kind| ["E", "-", "moe", "mlp"].contains(kind))
    {
        return Ok(None);
    }
    let blocks = kinds.into_iter().map(|kind| match kind {
        "E" | "moe" => Ok(Block::Moe),
        "M" | "*" | "-" | "mamba" | "attention" | "mlp" => Ok(Block::Other),
        other => Err(format!(
            "{field} holds a block '{}' of no known kind",
            clipped(other)
        )),
    });
    blocks.collect::<Result<_, _>>().map(Some)
}

struct Experts {
    routed: u64,
    per_token: u64,
    fields: Vec<&'static str>,
}

/// Experts and how many of them a token visits; `None` for a dense model.
fn routed_experts(config: &Map<String, Value>, path: &str) -> Result<Option<Experts>, String> {
    // Files of a family share its fields, and the dense models in it switch the block off.
    if config.get("enable_moe_block") == Some(&Value::Bool(false)) {
        return Ok(None);
    }
    let per_token = agreed(config, &EXPERTS_PER_TOKEN)?;
    match (agreed(config, &EXPERTS)?, per_token) {
        (Some((_, 0 | 1)), _) | (None, None) => Ok(None),
        (None, Some((field, per_token))) => Err(format!(
            "{field} = {per_token}, but {}",
            missing(&EXPERTS, path)
        )),
        (Some((field, routed)), None) => Err(format!(
            "{field} = {routed}, but {}",
            missing(&EXPERTS_PER_TOKEN, path)
        )),
        (Some((experts_field, routed)), Some((per_token_field, per_token))) => Ok(Some(Experts {
            routed,
            per_token: at_least_one(per_token_field, per_token)?,
            fields: vec![experts_field, per_token_field],
        })),
    }
}

/// Refuses models for which the facts would give wrong volumes without a word.
fn refuse_what_facts_cannot_say(
    config: &Map<String, Value>,
    hidden_size: u64,
) -> Result<(), String> {
    for field in EXPERT_ROW {
        if let Some(row) = whole(config, field)?.filter(|row| *row != hidden_size) {
            return Err(format!(
                "{field} = {row} says that experts get narrower rows than {HIDDEN} = {hidden_size}, which the facts of a model cannot express (as a TOML file without experts it still has its all-reduces)"
            ));
        }
    }
    match whole(config, ZERO_EXPERTS)? {
        None | Some(0) => Ok(()),
        Some(count) => Err(format!(
            "{ZERO_EXPERTS} = {count} says that tokens also go to experts without communication, which the facts of a model cannot express (as a TOML file without experts it still has its all-reduces)"
        )),
    }
}

/// Number of groups and how many a token chooses from; `None` where that is no limit.
fn group_limit(config: &Map<String, Value>) -> Result<Option<(u64, u64)>, String> {
    let groups = agreed(config, &GROUPS)?.map(|(_, groups)| groups);
    let chosen = whole(config, GROUPS_PER_TOKEN)?;
    Ok(groups
        .zip(chosen)
        .filter(|(groups, chosen)| chosen < groups))
}

/// The value that all of `fields` present agree on, and the first of them.
fn agreed<'a>(
    config: &Map<String, Value>,
    fields: &[&'a str],
) -> Result<Option<(&'a str, u64)>, String> {
    let mut agreed: Option<(&str, u64)> = None;
    for field in fields {
        let value = match config.get(*field) {
            Some(Value::Array(_)) => uniform(config, field)?,
            _ => whole(config, field)?,
        };
        match (agreed, value) {
            (Some((first, known)), Some(value)) if known != value => {
                return Err(format!("{first} = {known} contradicts {field} = {value}"));
            }
            (None, Some(value)) => agreed = Some((field, value)),
            _ => {}
        }
    }
    Ok(agreed)
}

/// The value of a list with one entry a layer.
fn uniform(config: &Map<String, Value>, field: &str) -> Result<Option<u64>, String> {
    let entries = listing(config, field)?.unwrap_or_default();
    match entries.iter().find(|entry| **entry != entries[0]) {
        Some(other) => Err(format!(
            "{field} differs between layers ({} and {other})",
            entries[0]
        )),
        None => Ok(entries.first().copied()),
    }
}

fn activation_dtype(config: &Map<String, Value>, outer: &Map<String, Value>) -> (DataType, String) {
    let named = [config, outer]
        .into_iter()
        .flat_map(|level| DTYPES.map(|field| (field, level.get(field))))
        .find_map(|(field, value)| value?.as_str().map(|name| (field, name)));
    let Some((field, name)) = named else {
        return (DataType::Bf16, "bf16 assumed, none is named".to_string());
    };
    let known = match name.trim_start_matches("torch.") {
        "bfloat16" => Some(DataType::Bf16),
        "float16" => Some(DataType::Fp16),
        "float32" => Some(DataType::Fp32),
        _ => None,
    };
    match known {
        Some(dtype) => (dtype, field.to_string()),
        None => (
            DataType::Bf16,
            format!("bf16 assumed, {field} is '{}'", clipped(name)),
        ),
    }
}

/// The last part of `_name_or_path` (it may be a path on somebody else's disk), else the family,
/// else what the file is called.
fn model_name(outer: &Map<String, Value>, config: &Map<String, Value>, fallback: &str) -> String {
    let text = |level: &Map<String, Value>, field: &str| {
        let text = level.get(field)?.as_str()?;
        let last = text.trim_end_matches('/').rsplit('/').next()?;
        Some(clipped(last.trim())).filter(|name| !name.is_empty() && name != ".")
    };
    text(outer, "_name_or_path")
        .or_else(|| text(config, "_name_or_path"))
        .or_else(|| text(outer, "model_type"))
        .or_else(|| text(config, "model_type"))
        .unwrap_or_else(|| clipped(fallback))
}

/// A count; `None` where the field is absent or null.
pub(super) fn whole(config: &Map<String, Value>, field: &str) -> Result<Option<u64>, String> {
    match config.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => count(field, value).map(Some),
    }
}

/// A list of counts, or the same as comma-separated text; `None` where it is absent or null.
pub(super) fn listing(
    config: &Map<String, Value>,
    field: &str,
) -> Result<Option<Vec<u64>>, String> {
    match config.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(entries)) => entries
            .iter()
            .map(|entry| count(field, entry))
            .collect::<Result<_, _>>()
            .map(Some),
        Some(Value::String(text)) => text
            .split(',')
            .map(|entry| entry.trim().parse().ok())
            .collect::<Option<_>>()
            .map(Some)
            .ok_or_else(|| format!("{field} = '{}' is no list of numbers", clipped(text))),
        Some(other) => Err(format!("{field} = {} is no list", shown(other))),
    }
}

fn count(field: &str, value: &Value) -> Result<u64, String> {
    value
        .as_u64()
        .filter(|count| *count <= MAX_COUNT)
        .ok_or_else(|| unusable(field, value))
}

fn at_least_one(field: &str, value: u64) -> Result<u64, String> {
    if value == 0 {
        return Err(format!("{field} = 0 is outside 1 to {MAX_COUNT}"));
    }
    Ok(value)
}

fn unusable(field: &str, value: &Value) -> String {
    format!(
        "{field} = {} is no whole number from 0 to {MAX_COUNT}",
        shown(value)
    )
}

fn missing(fields: &[&str], path: &str) -> String {
    let place = match path {
        "" => "at its top level or in text_config".to_string(),
        path => format!("in {path}"),
    };
    format!("no {} is {place}", fields.join(" or "))
}

/// A value for a message: short, on one line.
pub(super) fn shown(value: &Value) -> String {
    clipped(&value.to_string())
}

fn clipped(text: &str) -> String {
    let mut clean: String = text
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_SHOWN_CHARS)
        .collect();
    if text.chars().nth(MAX_SHOWN_CHARS).is_some() {
        clean.push('…');
    }
    clean
}

/// Python writes NaN and Infinity where JSON has no such numbers, and published files hold them in
/// fields that nobody here asks for. Quoted, they are JSON, and no count.
fn quote_non_numbers(text: &str) -> String {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let mut quoted = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if !in_string && let Some(word) = WORDS.iter().find(|word| rest.starts_with(*word)) {
            quoted.push('"');
            quoted.push_str(word);
            quoted.push('"');
            rest = &rest[word.len()..];
            continue;
        }
        if c == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = in_string && c == '\\' && !escaped;
        quoted.push(c);
        rest = &rest[c.len_utf8()..];
    }
    quoted
}

#[cfg(test)]
#[path = "huggingface_tests.rs"]
mod tests;
