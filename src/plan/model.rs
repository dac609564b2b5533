//! Facts of a model, as far as communication depends on them.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decode::ALLREDUCES_PER_LAYER;
use super::{DataType, huggingface};
use crate::error::{Error, Result};
use crate::files::{ReadError, read_text};

/// A model file larger than this is no model file.
const MAX_MODEL_FILE_BYTES: u64 = 1 << 20;

/// Upper bound of every count in a model file: far above any model, far below overflow.
pub(super) const MAX_COUNT: u64 = 1 << 24;

/// Far above any router; the cost of working out their odds grows with the square.
const MAX_GROUPS: u64 = 4096;

/// Names stand in titles, sources in reports.
const MAX_NAME_CHARS: usize = 200;
const MAX_SOURCE_CHARS: usize = 2_000;

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../configs/models/", $name, ".toml")))),+]
    };
}

/// Presets compiled into the binary: file stem and text.
const PRESETS: &[(&str, &str)] = presets![
    "kimi-k2.5",
    "kimi-k2",
    "deepseek-v3",
    "glm-4.5",
    "glm-5",
    "minimax-m2",
    "minimax-m2.5",
    "qwen3-235b-a22b",
    "qwen3.5-397b-a17b",
    "gpt-oss-120b",
    "mixtral-8x7b",
    "llama-4-maverick",
];

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
    /// Equal groups that the experts of a layer form, where the router is limited to some of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expert_groups: Option<u64>,
    /// Groups that the experts of one token may come from; goes with `expert_groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_per_token: Option<u64>,
    /// Element type of activations on the wire.
    pub activation_dtype: DataType,
    /// Entries of the vocabulary, V, where they are known: for the embedding and the logits of a
    /// full step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocab_size: Option<u64>,
}

impl ModelFacts {
    /// Bytes of one token's activations, H·e: what an all-reduce moves for it.
    pub fn token_bytes(&self) -> u64 {
        self.hidden_size
            .saturating_mul(self.activation_dtype.bytes())
    }

    /// All-reduces of one decode step under Tensor Parallelism.
    pub fn allreduces_per_step(&self) -> u64 {
        self.layers.saturating_mul(ALLREDUCES_PER_LAYER)
    }

    /// Whether these can be the facts of a model: what is computed from facts that pass cannot
    /// overflow, and takes no time to speak of.
    ///
    /// # Errors
    /// A reason in one clause, with field and value.
    pub fn check(&self) -> std::result::Result<(), String> {
        check_text("name", &self.name, MAX_NAME_CHARS)?;
        check_text("source", &self.source, MAX_SOURCE_CHARS)?;
        let counts = [
            ("layers", self.layers, 1),
            ("moe_layers", self.moe_layers, 0),
            ("hidden_size", self.hidden_size, 1),
            ("routed_experts", self.routed_experts, 0),
            ("experts_per_token", self.experts_per_token, 0),
        ];
        let vocabulary = self.vocab_size.map(|size| ("vocab_size", size, 1));
        for (field, value, least) in counts.into_iter().chain(vocabulary) {
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
        if self.moe_layers > 0 && self.experts_per_token == 0 {
            return Err(format!(
                "experts_per_token = 0 contradicts moe_layers = {}",
                self.moe_layers
            ));
        }
        self.check_groups()
    }

    /// [`ModelFacts::check`] for facts that no file said: callers of the library make them too.
    ///
    /// # Errors
    /// Exit code 2 with field and value.
    pub(super) fn require(&self) -> Result<()> {
        self.check().map_err(|why| {
            Error::usage(format!("these are no facts of a model: {why}"))
                .try_this("facts as in configs/models/kimi-k2.5.toml")
        })
    }

    fn check_groups(&self) -> std::result::Result<(), String> {
        let (groups, chosen) = match (self.expert_groups, self.groups_per_token) {
            (None, None) => return Ok(()),
            (Some(groups), Some(chosen)) => (groups, chosen),
            (Some(groups), None) => {
                return Err(format!("expert_groups = {groups} needs groups_per_token"));
            }
            (None, Some(chosen)) => {
                return Err(format!("groups_per_token = {chosen} needs expert_groups"));
            }
        };
        if groups > MAX_GROUPS {
            return Err(format!("expert_groups = {groups} exceeds {MAX_GROUPS}"));
        }
        if groups == 0 || !self.routed_experts.is_multiple_of(groups) {
            return Err(format!(
                "expert_groups = {groups} does not divide routed_experts = {}",
                self.routed_experts
            ));
        }
        if chosen == 0 || chosen > groups {
            return Err(format!(
                "groups_per_token = {chosen} is outside 1 to expert_groups = {groups}"
            ));
        }
        // Both factors are at most the number of experts, 2^24.
        let candidates = chosen * (self.routed_experts / groups);
        if candidates < self.experts_per_token {
            return Err(format!(
                "groups_per_token = {chosen} leaves {candidates} experts to choose experts_per_token = {} from",
                self.experts_per_token
            ));
        }
        Ok(())
    }
}

/// Texts go to terminals, where control characters are commands.
pub(super) fn check_text(field: &str, text: &str, most: usize) -> std::result::Result<(), String> {
    if let Some(found) = text.chars().find(|c| c.is_control()) {
        return Err(format!(
            "{field} holds the control character {}",
            found.escape_unicode()
        ));
    }
    let chars = text.chars().count();
    if chars > most {
        return Err(format!("{field} has {chars} characters, more than {most}"));
    }
    Ok(())
}

/// Names of the models that are compiled in.
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// Loads a model by preset name, or from a file: a Hugging Face configuration when its name ends in
/// `.json` or its text starts with `{`, else TOML. A folder stands for the `config.json` in it.
///
/// # Errors
/// Exit code 2 for an unknown name or a file whose contents are missing or impossible, 3 for a file
/// that cannot be read.
pub fn load_model(name_or_path: &str) -> Result<ModelFacts> {
    if let Some((_, text)) = PRESETS.iter().find(|(name, _)| *name == name_or_path) {
        return parse_toml(text, name_or_path);
    }
    let mut path = PathBuf::from(name_or_path);
    if path.is_dir() {
        path.push("config.json");
    }
    let ends_in = |wanted: &str| {
        path.extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
    };
    if !path.exists() && !ends_in("toml") && !ends_in("json") {
        return Err(
            Error::usage(format!("unknown model '{name_or_path}'")).try_this(format!(
                "--model {}, or --model with the path of a config.json or model.toml",
                preset_names().join(", --model ")
            )),
        );
    }
    let origin = path.display().to_string();
    let text = read_model_file(&path, &origin)?;
    if ends_in("json") || (!ends_in("toml") && text.trim_start().starts_with('{')) {
        parse_json(&text, &path, &origin)
    } else {
        parse_toml(&text, &origin)
    }
}

fn read_model_file(path: &Path, origin: &str) -> Result<String> {
    let unreadable = |error: std::io::Error| {
        Error::environment(format!("cannot read the model file '{origin}': {error}"))
            .try_this("check the path and its permissions")
    };
    let not_a_model_file = |why: String| {
        Error::usage(format!("the model file '{origin}' {why}")).try_this(
            "--model with a model's config.json, or a TOML file as in configs/models/kimi-k2.5.toml",
        )
    };
    read_text(path, MAX_MODEL_FILE_BYTES).map_err(|error| match error {
        ReadError::Io(error) => unreadable(error),
        not_a_model => not_a_model_file(not_a_model.to_string()),
    })
}

pub(crate) fn parse_json(text: &str, path: &Path, origin: &str) -> Result<ModelFacts> {
    let refuse = |why: String| {
        Error::usage(format!("the model file '{origin}' is not usable: {why}")).try_this(
            "a whole config.json of a causal language model, or the facts as TOML like configs/models/kimi-k2.5.toml",
        )
    };
    let facts = huggingface::parse(text, &name_from_path(path)).map_err(refuse)?;
    facts.check().map_err(refuse)?;
    Ok(facts)
}

/// The file's stem; its folder's name for a `config.json`, as every download is called.
fn name_from_path(path: &Path) -> String {
    let stem = path.file_stem().filter(|stem| *stem != "config");
    stem.or_else(|| path.parent().and_then(Path::file_name))
        .or_else(|| path.file_stem())
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_else(|| "model".to_string())
}

/// Reads TOML; the error is one line, with the line of the text where one is to blame.
pub(super) fn from_toml<T: serde::de::DeserializeOwned>(
    text: &str,
) -> std::result::Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let line = error
            .span()
            .map(|span| text[..span.start.min(text.len())].lines().count().max(1));
        let message = error.message().replace('\n', " ");
        match line {
            Some(line) if !message.starts_with("missing field") => {
                format!("line {line}: {message}")
            }
            _ => message,
        }
    })
}

pub(crate) fn parse_toml(text: &str, origin: &str) -> Result<ModelFacts> {
    let refuse = |why: String| {
        Error::usage(format!("the model file '{origin}' is not usable: {why}"))
            .try_this("fill it in like configs/models/kimi-k2.5.toml")
    };
    let facts: ModelFacts = from_toml(text).map_err(refuse)?;
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
    fn every_file_of_the_folder_is_a_preset() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/models");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| name_from_path(&entry.unwrap().path()))
            .collect();
        files.sort();
        let mut names = preset_names();
        names.sort_unstable();
        assert_eq!(files, names);
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
            (
                good.replace("experts_per_token = 8", "experts_per_token = 0"),
                "experts_per_token = 0",
            ),
            (
                format!("{good}expert_groups = 8\n"),
                "needs groups_per_token",
            ),
            (
                format!("{good}groups_per_token = 8\n"),
                "needs expert_groups",
            ),
            (
                format!("{good}expert_groups = 7\ngroups_per_token = 2\n"),
                "expert_groups = 7",
            ),
            (
                format!("{good}expert_groups = 5000\ngroups_per_token = 9\n"),
                "expert_groups = 5000",
            ),
            (
                format!("{good}expert_groups = 8\ngroups_per_token = 9\n"),
                "groups_per_token = 9",
            ),
            (
                format!("{good}expert_groups = 384\ngroups_per_token = 7\n"),
                "leaves 7 experts",
            ),
            (good.replace("hidden_size", "hiden_size"), "hiden_size"),
            (good.replace("\"bf16\"", "\"bf17\""), "bf17"),
            ("{".to_string(), "line 1"),
        ];
        for (text, hint) in cases {
            let error = parse_toml(&text, "m.toml").unwrap_err();
            assert_eq!(error.exit, crate::error::Exit::Usage);
            assert!(error.what.contains(hint), "{hint}: {}", error.what);
            assert!(!error.what.contains('\n'), "one sentence: {}", error.what);
        }
    }

    #[test]
    fn files_are_told_apart_by_name_or_by_their_first_character() {
        let folder = std::env::temp_dir().join(format!("commbench-model-{}", std::process::id()));
        let download = folder.join("some-model");
        std::fs::create_dir_all(&download).unwrap();
        let json = r#"{"num_hidden_layers": 4, "hidden_size": 64}"#;
        let load = |path: &Path| load_model(path.to_str().unwrap());
        for (name, text) in [
            ("config.json", json),
            ("bare", json),
            ("facts.toml", PRESETS[0].1),
            ("facts", PRESETS[0].1),
            ("wrong.json", PRESETS[0].1),
            ("wrong.toml", json),
        ] {
            std::fs::write(download.join(name), text).unwrap();
        }
        std::fs::write(download.join("latin1.json"), b"{\"a\": \"\xe9\"}").unwrap();
        assert_eq!(load(&download).unwrap().name, "some-model");
        assert_eq!(load(&download.join("config.json")).unwrap().layers, 4);
        assert_eq!(load(&download.join("bare")).unwrap().name, "bare");
        assert_eq!(load(&download.join("facts.toml")).unwrap().layers, 61);
        assert_eq!(load(&download.join("facts")).unwrap().layers, 61);
        for name in ["wrong.json", "wrong.toml", "latin1.json"] {
            let error = load(&download.join(name)).unwrap_err();
            assert_eq!(error.exit, crate::error::Exit::Usage, "{name}");
            assert!(error.what.contains(name), "{}", error.what);
            assert!(error.remedy.is_some());
        }
        let error = load(&folder.join("absent.json")).unwrap_err();
        assert_eq!(error.exit, crate::error::Exit::Environment);
        let error = load(&folder).unwrap_err();
        assert_eq!(error.exit, crate::error::Exit::Environment);
        assert!(error.what.contains("config.json"), "{}", error.what);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_without_end_is_not_read_to_its_end() {
        let error = load_model("/dev/zero").unwrap_err();
        assert_eq!(error.exit, crate::error::Exit::Usage);
        assert!(
            error.what.contains("goes on after 1048576 bytes"),
            "{}",
            error.what
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}") {
            let _ = parse_toml(&text, "m.toml");
        }
    }
}
