//! Models by name and by file, and what a step of them sends: through the binary, without ranks.

mod common;

use common::{Output, Scratch, alone, run};
use serde_json::{Value, json};

const PRESETS: [&str; 12] = [
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

fn plan(scratch: &Scratch, arguments: &[&str]) -> Output {
    let mut all = vec!["plan"];
    all.extend_from_slice(arguments);
    run(alone(&scratch.0, &all))
}

fn plan_json(scratch: &Scratch, arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.push("--json");
    let output = plan(scratch, &all).expect_code(0);
    assert_eq!(output.stderr, "");
    serde_json::from_str(&output.stdout).unwrap()
}

/// The figures of a model, without its name and where they come from.
fn figures(scratch: &Scratch, model: &str) -> Value {
    let mut facts = plan_json(scratch, &["--model", model, "--ranks", "8"])["model"].take();
    let fields = facts.as_object_mut().unwrap();
    fields.remove("name");
    fields.remove("source");
    facts
}

fn write(scratch: &Scratch, name: &str, text: impl AsRef<[u8]>) {
    std::fs::write(scratch.0.join(name), text).unwrap();
}

#[track_caller]
fn refused(scratch: &Scratch, arguments: &[&str], code: i32, hints: &[&str]) {
    let output = plan(scratch, arguments).expect_code(code);
    assert_eq!(output.stdout, "", "{arguments:?}");
    let said = &output.stderr;
    assert_eq!(said.matches("error:").count(), 1, "{arguments:?}: {said}");
    assert_eq!(said.matches("try:").count(), 1, "{arguments:?}: {said}");
    assert!(said.len() < 1000, "{arguments:?}: {said}");
    for hint in hints {
        assert!(
            said.contains(hint),
            "{arguments:?} should say '{hint}': {said}"
        );
    }
}

#[test]
fn every_preset_is_listed_and_has_plans() {
    let scratch = Scratch::new();
    let listed = run(alone(&scratch.0, &["models"])).expect_code(0).stdout;
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|first| PRESETS.contains(first))
        .collect();
    assert_eq!(names, PRESETS, "{listed}");
    let widths: std::collections::BTreeSet<usize> =
        listed.lines().map(|line| line.chars().count()).collect();
    assert_eq!(widths.len(), 1, "the table is aligned: {listed}");
    for name in PRESETS {
        let all = plan_json(
            &scratch,
            &["--model", name, "--batch", "64", "--ranks", "8"],
        );
        assert_eq!(all["plans"].as_array().unwrap().len(), 4, "{name}: {all:#}");
        assert_eq!(all["absent"], json!([]), "{name}");
    }
}

#[test]
fn one_token_of_kimi_k2_5_is_122_all_reduces_of_14336_bytes() {
    let scratch = Scratch::new();
    let arguments = ["--model", "kimi-k2.5", "--batch", "1", "--ranks", "8"];
    let text = plan(&scratch, &arguments).expect_code(0).stdout;
    for words in ["122", "14,336 B", "equal to TP", "--batch 8"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let all = plan_json(&scratch, &arguments);
    let call = &all["plans"][0]["calls"][0];
    assert_eq!(call["ops_per_step"], 122);
    assert_eq!(call["payload_bytes"], 14_336);
    assert_eq!(all["tokens_per_rank"], Value::Null);
    assert!(scratch.files().is_empty(), "{:?}", scratch.files());
}

#[test]
fn a_downloaded_config_says_the_same_as_the_preset() {
    let scratch = Scratch::new();
    let text_config = json!({
        "num_hidden_layers": 61, "hidden_size": 7168, "n_routed_experts": 384,
        "num_experts_per_tok": 8, "first_k_dense_replace": 1, "moe_layer_freq": 1,
        "n_group": 1, "topk_group": 1, "top_k": 50, "dtype": "bfloat16",
        "vocab_size": 163840,
    });
    let wrapped = json!({
        "model_type": "kimi_k25", "text_config": text_config,
        "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
    });
    let deepseek = json!({
        "_name_or_path": "deepseek-ai/DeepSeek-V3", "num_hidden_layers": 61, "hidden_size": 7168,
        "n_routed_experts": 256, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
        "moe_layer_freq": 1, "n_group": 8, "topk_group": 4, "torch_dtype": "bfloat16",
        "vocab_size": 129280,
    });
    std::fs::create_dir(scratch.0.join("download")).unwrap();
    for (name, config, preset) in [
        ("config.json", &wrapped, "kimi-k2.5"),
        ("download/config.json", &wrapped, "kimi-k2.5"),
        ("no-extension", &wrapped, "kimi-k2.5"),
        ("deepseek.json", &deepseek, "deepseek-v3"),
    ] {
        write(&scratch, name, config.to_string());
        assert_eq!(figures(&scratch, name), figures(&scratch, preset), "{name}");
    }
    assert_eq!(
        figures(&scratch, "download"),
        figures(&scratch, "kimi-k2.5")
    );
    let named = plan_json(&scratch, &["--model", "deepseek.json", "--ranks", "8"]);
    assert_eq!(named["model"]["name"], "DeepSeek-V3");
}

#[test]
fn files_that_are_no_model_are_refused_in_a_sentence() {
    let scratch = Scratch::new();
    let good = r#"{"num_hidden_layers": 4, "hidden_size": 64, "num_experts": 8, "num_experts_per_tok": 2}"#;
    let nested = |depth: usize| {
        format!(
            "{}1{}",
            "{\"text_config\":".repeat(depth),
            "}".repeat(depth)
        )
    };
    for (name, text, hint) in [
        ("truncated.json", good[..40].to_string(), "no JSON"),
        ("empty.json", String::new(), "no JSON"),
        ("deep.json", nested(10_000), "recursion limit"),
        ("long.json", nested(640_000), "at most 1048576"),
        ("list.json", "[]".to_string(), "no JSON object"),
        (
            "no-layers.json",
            good.replace("num_hidden_layers", "depth"),
            "no num_hidden_layers",
        ),
        (
            "no-hidden.json",
            good.replace("hidden_size", "width"),
            "no hidden_size",
        ),
        (
            "negative.json",
            good.replace("64", "-64"),
            "hidden_size = -64",
        ),
        (
            "fraction.json",
            good.replace("64", "64.5"),
            "hidden_size = 64.5",
        ),
        (
            "huge.json",
            good.replace("64", "6400000000000"),
            "hidden_size = 6400000000000",
        ),
        (
            "greedy.json",
            good.replace(": 2", ": 9"),
            "experts_per_token = 9 exceeds routed_experts = 8",
        ),
        (
            "latent.json",
            good.replace('}', ", \"moe_latent_size\": 32}"),
            "moe_latent_size = 32",
        ),
    ] {
        write(&scratch, name, text);
        refused(
            &scratch,
            &["--model", name, "--ranks", "4"],
            2,
            &[name, hint],
        );
    }
    write(&scratch, "binary.json", b"\xff\xfe{\0");
    refused(
        &scratch,
        &["--model", "binary.json", "--ranks", "4"],
        2,
        &["binary.json", "no text"],
    );
    refused(
        &scratch,
        &["--model", "absent.json", "--ranks", "4"],
        3,
        &["absent.json"],
    );
}

#[test]
fn impossible_requests_are_refused_in_a_sentence() {
    let scratch = Scratch::new();
    for (arguments, hints) in [
        (&["--ranks", "8", "--batch", "0"][..], &["batch of 0"][..]),
        (&["--ranks", "1"], &["--ranks 1"]),
        (&["--ranks", "0"], &["--ranks 0"]),
        (&["--ranks", "99999999999"], &["99999999999"]),
        (
            &["--ranks", "8", "--batch", "99999999999999"],
            &["99999999999999"],
        ),
        (
            &["--ranks", "8", "--model", "gpt-9"],
            &["gpt-9", "kimi-k2.5"],
        ),
    ] {
        refused(&scratch, arguments, 2, hints);
    }
    plan(&scratch, &[]).expect_code(2);
    plan(&scratch, &["--ranks", "-8"]).expect_code(2);
}

#[test]
fn experts_that_do_not_spread_evenly_leave_tp_and_the_reason() {
    let scratch = Scratch::new();
    let text = plan(&scratch, &["--batch", "14", "--ranks", "7"])
        .expect_code(0)
        .stdout;
    for words in [
        "122",
        "384 experts do not spread evenly over 7 ranks",
        "--ranks 8",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("dispatch"), "{text}");
}

#[test]
fn a_dense_model_has_tp_alone_and_says_so() {
    let scratch = Scratch::new();
    write(
        &scratch,
        "config.json",
        r#"{"model_type": "llama", "num_hidden_layers": 80, "hidden_size": 8192, "torch_dtype": "float16"}"#,
    );
    let arguments = ["--model", "config.json", "--batch", "8", "--ranks", "8"];
    let text = plan(&scratch, &arguments).expect_code(0).stdout;
    for words in [
        "80 layers, dense",
        "fp16",
        "160",
        "131,072 B",
        "llama is dense",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let all = plan_json(&scratch, &arguments);
    assert_eq!(all["plans"].as_array().unwrap().len(), 1);
    assert_eq!(all["absent"].as_array().unwrap().len(), 3);
    assert_eq!(all["model"]["moe_layers"], 0);
}

/// Published configurations that lie beside a checkout on some machines: their name there.
const PUBLISHED: [(&str, &str); 11] = [
    ("kimi-k2.5", "Kimi-K2.5"),
    ("kimi-k2", "Kimi-K2-Instruct"),
    ("deepseek-v3", "DeepSeek-V3"),
    ("glm-4.5", "GLM-4.5 355B / GLM-4.7"),
    ("glm-5", "GLM-5"),
    ("minimax-m2.5", "MiniMax-M2.5"),
    ("qwen3-235b-a22b", "Qwen3-235B-A22B"),
    ("qwen3.5-397b-a17b", "Qwen3.5-397B-A17B"),
    ("gpt-oss-120b", "gpt-oss-120b"),
    ("mixtral-8x7b", "Mixtral-8x7B"),
    ("llama-4-maverick", "Llama-4-Maverick"),
];

/// A configuration again from a record of it: fields by topic, and lists as length and sum.
fn as_config(record: &Value) -> Value {
    let mut config = serde_json::Map::new();
    for topic in [
        "layers",
        "hidden",
        "experts",
        "top_k",
        "dense_layers",
        "dtype",
    ] {
        for (field, value) in record["fields"][topic].as_object().into_iter().flatten() {
            let value = match value.get("list_len").and_then(Value::as_u64) {
                None => value.clone(),
                Some(0) => json!([]),
                Some(length) => {
                    let with_experts = value["sum"].as_u64().unwrap();
                    let flags = (0..length).map(|layer| u64::from(layer >= length - with_experts));
                    flags.collect()
                }
            };
            config.insert(field.clone(), value);
        }
    }
    for (field, value) in record["routing_extra"].as_object().into_iter().flatten() {
        config.insert(field.clone(), value.clone());
    }
    match record["nested_in"].as_str() {
        Some(level) => json!({ level: config }),
        None => Value::Object(config),
    }
}

#[test]
fn presets_are_the_published_configurations() {
    const RECORDS: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../shared/data/moe_configs.json"
    );
    let Ok(text) = std::fs::read_to_string(RECORDS) else {
        eprintln!("waived: no published configurations beside this checkout ({RECORDS})");
        return;
    };
    let records: Value = serde_json::from_str(&text).unwrap();
    let scratch = Scratch::new();
    // The records have the later model of that family, whose figures are the same.
    let mut shipped_but_one = PRESETS.to_vec();
    shipped_but_one.retain(|preset| *preset != "minimax-m2");
    assert_eq!(PUBLISHED.map(|(preset, _)| preset)[..], shipped_but_one);
    for (preset, published) in PUBLISHED {
        let record = records["models"]
            .as_array()
            .unwrap()
            .iter()
            .find(|record| record["model"] == published)
            .unwrap_or_else(|| panic!("no {published} in {RECORDS}"));
        write(&scratch, "config.json", as_config(record).to_string());
        let mut shipped = figures(&scratch, preset);
        // The records say nothing of vocabularies.
        shipped.as_object_mut().unwrap().remove("vocab_size");
        assert_eq!(figures(&scratch, "config.json"), shipped, "{preset}");
    }
}
