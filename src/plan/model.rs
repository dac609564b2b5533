//! Facts of a model, as far as communication depends on them.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DataType;
use crate::error::{Error, Result};

/// A model file larger than this is no model file.
const MAX_MODEL_FILE_BYTES: u64 = 1 << 20;

/// Upper bound of every count in a model file: far above any model, far below overflow.
const MAX_COUNT: u64 = 1 << 24;

/// Presets compiled into the binary: file stem and text.
const PRESETS: &[(&str, &str)] = &[(
    "kimi-k2.5",
    include_str!("../../configs/models/kimi-k2.5.toml"),
)];

/// What communication needs to know of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelFacts {
    pub name: String,
    /// Where the figures come from.
    pub source: String,
    /// Transformer layers, L.
    pub layers: u64,
    /// Layers with routed experts, M; 0 for a dense model.
    pub moe_layers: u64,
    /// Hidden size, H, in elements.
    pub hidden_size: u64,
    /// Routed experts a layer, E; 0 for a dense model.
    pub routed_experts: u64,
    /// Experts a token is sent to, k; 0 for a dense model.
    pub experts_per_token: u64,
    /// Element type of activations on the wire.
    pub activation_dtype: DataType,
}

impl ModelFacts {
    fn check(&self) -> std::result::Result<(), String> {
        let counts = [
            ("layers", self.layers, 1),
            ("moe_layers", self.moe_layers, 0),
            ("hidden_size", self.hidden_size, 1),
            ("routed_experts", self.routed_experts, 0),
            ("experts_per_token", self.experts_per_token, 0),
        ];
        for (field, value, least) in counts {
            if value < least || value > MAX_COUNT {
                return Err(format!(
                    "{field} = {value} is outside {least} to {MAX_COUNT}"
                ));
            }
        }
        if self.moe_layers > self.layers {
            return Err(format!(
                "moe_layers = {} exceeds layers = {}",
                self.moe_layers, self.layers
            ));
        }
        if self.experts_per_token > self.routed_experts {
            return Err(format!(
                "experts_per_token = {} exceeds routed_experts = {}",
                self.experts_per_token, self.routed_experts
            ));
        }
        Ok(())
    }
}

/// Names of the models that are compiled in.
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// Loads a model by preset name, or from a TOML file when `name_or_path` ends in `.toml` or names
/// an existing file.
///
/// # Errors
/// Exit code 2 for an unknown name or a file whose fields are missing or impossible, 3 for a file
/// that cannot be read.
pub fn load_model(name_or_path: &str) -> Result<ModelFacts> {
    if let Some((_, text)) = PRESETS.iter().find(|(name, _)| *name == name_or_path) {
        return parse_model(text, name_or_path);
    }
    let path = Path::new(name_or_path);
    if !path.is_file() && path.extension().is_none_or(|extension| extension != "toml") {
        return Err(
            Error::usage(format!("unknown model '{name_or_path}'")).try_this(format!(
                "--model {}, or --model path/to/model.toml",
                preset_names().join(", --model ")
            )),
        );
    }
    let unreadable = |error: std::io::Error| {
        Error::environment(format!(
            "cannot read the model file '{name_or_path}': {error}"
        ))
        .try_this("check the path and its permissions")
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_MODEL_FILE_BYTES {
        return Err(Error::usage(format!(
            "the model file '{name_or_path}' has {size} bytes; a model file has at most {MAX_MODEL_FILE_BYTES}"
        ))
        .try_this("--model with a TOML file as in configs/models/kimi-k2.5.toml"));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    parse_model(&text, name_or_path)
}

fn parse_model(text: &str, origin: &str) -> Result<ModelFacts> {
    let refuse = |why: String| {
        Error::usage(format!("the model file '{origin}' is not usable: {why}"))
            .try_this("fill it in like configs/models/kimi-k2.5.toml")
    };
    let facts: ModelFacts = toml::from_str(text).map_err(|error| {
        let line = error
            .span()
            .map(|span| text[..span.start.min(text.len())].lines().count().max(1));
        let message = error.message().replace('\n', " ");
        match line {
            Some(line) if !message.starts_with("missing field") => {
                refuse(format!("line {line}: {message}"))
            }
            _ => refuse(message),
        }
    })?;
    facts.check().map_err(refuse)?;
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_loads_under_its_own_name() {
        for name in preset_names() {
            assert_eq!(load_model(name).unwrap().name, name);
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = load_model("kimi-k9").unwrap_err();
        assert_eq!(error.exit, crate::error::Exit::Usage);
        assert!(error.what.contains("kimi-k9"));
        assert!(error.remedy.unwrap().contains("kimi-k2.5"));
    }

    #[test]
    fn broken_files_name_the_field_or_line() {
        let good = PRESETS[0].1;
        let cases = [
            (good.replace("layers = 61\n", ""), "layers"),
            (good.replace("layers = 61", "layers = -61"), "line"),
            (good.replace("layers = 61", "layers = 0"), "layers = 0"),
            (
                good.replace("hidden_size = 7168", "hidden_size = 0"),
                "hidden_size = 0",
            ),
            (
                good.replace("moe_layers = 60", "moe_layers = 62"),
                "moe_layers = 62",
            ),
            (
                good.replace("experts_per_token = 8", "experts_per_token = 385"),
                "385",
            ),
            (
                good.replace("layers = 61", "layers = 99999999999"),
                "99999999999",
            ),
            (good.replace("hidden_size", "hiden_size"), "hiden_size"),
            (good.replace("\"bf16\"", "\"bf17\""), "bf17"),
            ("{".to_string(), "line 1"),
        ];
        for (text, hint) in cases {
            let error = parse_model(&text, "m.toml").unwrap_err();
            assert_eq!(error.exit, crate::error::Exit::Usage);
            assert!(error.what.contains(hint), "{hint}: {}", error.what);
            assert!(!error.what.contains('\n'), "one sentence: {}", error.what);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}") {
            let _ = parse_model(&text, "m.toml");
        }
    }
}
