use super::*;

fn facts(text: &str) -> ModelFacts {
    parse(text, "fallback").unwrap_or_else(|reason| panic!("{text}: {reason}"))
}

fn figures(text: &str) -> [u64; 5] {
    let facts = facts(text);
    [
        facts.layers,
        facts.moe_layers,
        facts.hidden_size,
        facts.routed_experts,
        facts.experts_per_token,
    ]
}

#[test]
fn a_nested_language_model_is_read_and_sampling_is_not_routing() {
    let text = r#"{"model_type": "kimi_k25", "hidden_size": 1152, "text_config": {
        "num_hidden_layers": 61, "hidden_size": 7168, "n_routed_experts": 384,
        "num_experts_per_tok": 8, "top_k": 50, "first_k_dense_replace": 1, "moe_layer_freq": 1,
        "dtype": "bfloat16"}, "vision_config": {"num_hidden_layers": 27, "num_experts": 3}}"#;
    assert_eq!(figures(text), [61, 60, 7168, 384, 8]);
    let facts = facts(text);
    assert_eq!(facts.name, "kimi_k25");
    assert_eq!(facts.activation_dtype, DataType::Bf16);
    assert!(facts.source.contains("text_config"), "{}", facts.source);
    assert!(facts.source.contains("first_k_dense_replace"));
}

#[test]
fn every_family_names_its_experts_differently() {
    for (experts, per_token) in [
        ("n_routed_experts", "num_experts_per_tok"),
        ("num_local_experts", "experts_per_token"),
        ("num_experts", "num_experts_per_token"),
        ("num_experts", "top_k_experts"),
        ("num_experts", "moe_topk"),
        ("moe_num_experts", "moe_top_k"),
    ] {
        let text = format!(
            r#"{{"num_hidden_layers": 4, "hidden_size": 64, "{experts}": 16, "{per_token}": 2}}"#
        );
        assert_eq!(figures(&text), [4, 4, 64, 16, 2], "{text}");
    }
}

#[test]
fn names_that_agree_are_fine_and_names_that_do_not_are_refused() {
    let base = r#""num_hidden_layers": 4, "hidden_size": 64, "num_experts_per_tok": 4"#;
    let text =
        format!(r#"{{{base}, "experts_per_token": 4, "num_experts": 32, "n_routed_experts": 32}}"#);
    assert_eq!(figures(&text), [4, 4, 64, 32, 4]);
    let text = format!(r#"{{{base}, "num_experts": 32, "n_routed_experts": 64}}"#);
    let reason = parse(&text, "f").unwrap_err();
    assert!(
        reason.contains("64 contradicts num_experts = 32"),
        "{reason}"
    );
}

#[test]
fn lists_with_one_entry_a_layer_count_when_they_are_uniform() {
    let of = |topk: &str| {
        parse(
            &format!(
                r#"{{"num_hidden_layers": 2, "hidden_size": 64, "num_experts": 64, "moe_topk": {topk}}}"#
            ),
            "f",
        )
    };
    assert_eq!(of("[8, 8]").unwrap().experts_per_token, 8);
    assert!(of("[8, 4]").unwrap_err().contains("8 and 4"));
}

#[test]
fn routers_limited_to_groups_say_so() {
    let of = |extra: &str| {
        let facts = facts(&format!(
            r#"{{"num_hidden_layers": 4, "hidden_size": 64, "num_experts": 16, "moe_topk": 2{extra}}}"#
        ));
        facts.expert_groups.zip(facts.groups_per_token)
    };
    assert_eq!(of(r#", "n_group": 8, "topk_group": 4"#), Some((8, 4)));
    assert_eq!(
        of(r#", "num_expert_group": 4, "topk_group": 2"#),
        Some((4, 2))
    );
    for unlimited in [
        "",
        r#", "n_group": 1, "topk_group": 1"#,
        r#", "n_group": null, "topk_group": 4"#,
        r#", "topk_group": 1"#,
    ] {
        assert_eq!(of(unlimited), None, "{unlimited}");
    }
}

#[test]
fn models_without_experts_are_dense() {
    for extra in [
        "",
        r#", "num_experts": null, "top_k_experts": null"#,
        r#", "num_experts": 1, "moe_topk": 1"#,
        r#", "num_local_experts": 0"#,
        r#", "num_experts": 128, "top_k_experts": 8, "enable_moe_block": false"#,
        r#", "num_experts": 8, "num_experts_per_tok": 2, "first_k_dense_replace": 9"#,
        r#", "top_k": 50"#,
    ] {
        let text = format!(r#"{{"num_hidden_layers": 4, "hidden_size": 64{extra}}}"#);
        assert_eq!(figures(&text), [4, 0, 64, 0, 0], "{text}");
    }
}

#[test]
fn blocks_of_one_all_reduce_pair_up_to_layers() {
    let base = r#""hidden_size": 64, "n_routed_experts": 16, "num_experts_per_tok": 2"#;
    let text =
        format!(r#"{{{base}, "num_hidden_layers": 6, "hybrid_override_pattern": "MEM*E-"}}"#);
    assert_eq!(figures(&text), [3, 2, 64, 16, 2]);
    let text = format!(r#"{{{base}, "layers_block_type": ["mamba", "moe", "attention", "moe"]}}"#);
    assert_eq!(figures(&text), [2, 2, 64, 16, 2]);
    let text = format!(r#"{{{base}, "num_hidden_layers": 5, "hybrid_override_pattern": "MEM*"}}"#);
    let reason = parse(&text, "f").unwrap_err();
    assert!(
        reason.contains("num_hidden_layers = 5 contradicts"),
        "{reason}"
    );
    for (pattern, hint) in [(r#""MEM""#, "3 blocks"), (r#""ME?*""#, "'?'"), ("7", "= 7")] {
        let text = format!(r#"{{{base}, "hybrid_override_pattern": {pattern}}}"#);
        let reason = parse(&text, "f").unwrap_err();
        assert!(reason.contains(hint), "{reason}");
    }
}

#[test]
fn what_facts_cannot_say_is_refused_not_guessed() {
    let base = r#""num_hidden_layers": 4, "hidden_size": 64, "num_experts": 16, "moe_topk": 2"#;
    for (extra, hint) in [
        (
            r#""routed_expert_hidden_size": 32"#,
            "routed_expert_hidden_size = 32",
        ),
        (r#""moe_latent_size": 16"#, "moe_latent_size = 16"),
        (r#""zero_expert_num": 8"#, "zero_expert_num = 8"),
    ] {
        let reason = parse(&format!("{{{base}, {extra}}}"), "f").unwrap_err();
        assert!(reason.contains(hint), "{reason}");
    }
    let same = format!(r#"{{{base}, "moe_latent_size": 64, "zero_expert_num": 0}}"#);
    assert_eq!(figures(&same), [4, 4, 64, 16, 2]);
}

#[test]
fn other_types_than_floats_of_16_and_32_bits_mean_bf16_and_say_so() {
    for (extra, dtype, words) in [
        (
            r#", "torch_dtype": "bfloat16""#,
            DataType::Bf16,
            "torch_dtype",
        ),
        (r#", "dtype": "torch.float16""#, DataType::Fp16, "dtype"),
        (
            r#", "torch_dtype": "float32""#,
            DataType::Fp32,
            "torch_dtype",
        ),
        ("", DataType::Bf16, "bf16 assumed, none is named"),
        (r#", "torch_dtype": null"#, DataType::Bf16, "none is named"),
        (
            r#", "torch_dtype": "float8_e4m3fn""#,
            DataType::Bf16,
            "bf16 assumed, torch_dtype is 'float8_e4m3fn'",
        ),
    ] {
        let facts = facts(&format!(
            r#"{{"num_hidden_layers": 4, "hidden_size": 64{extra}}}"#
        ));
        assert_eq!(facts.activation_dtype, dtype, "{extra}");
        assert!(facts.source.contains(words), "{}", facts.source);
    }
    let wrapped =
        r#"{"torch_dtype": "float16", "text_config": {"num_hidden_layers": 4, "hidden_size": 64}}"#;
    assert_eq!(facts(wrapped).activation_dtype, DataType::Fp16);
}

#[test]
fn the_name_comes_from_the_file_as_far_as_it_goes() {
    for (extra, name) in [
        (
            r#", "_name_or_path": "moonshotai/Kimi-K2.5", "model_type": "x""#,
            "Kimi-K2.5",
        ),
        (r#", "_name_or_path": "/home/me/models/mine/""#, "mine"),
        (
            r#", "_name_or_path": "", "model_type": "qwen3_moe""#,
            "qwen3_moe",
        ),
        (r#", "model_type": "a\u001b[31mb""#, "a[31mb"),
        ("", "fallback"),
    ] {
        let text = format!(r#"{{"num_hidden_layers": 4, "hidden_size": 64{extra}}}"#);
        assert_eq!(facts(&text).name, name);
    }
}

#[test]
fn numbers_that_only_python_writes_do_not_spoil_a_file() {
    let text = r#"{"num_hidden_layers": 4, "hidden_size": 64, "note": "NaN \" Infinity",
        "time_step_limit": [0.0, Infinity], "low": -Infinity, "model_type": "NaN"}"#;
    assert_eq!(facts(text).name, "NaN");
    let reason = parse(r#"{"num_hidden_layers": NaN, "hidden_size": 64}"#, "f").unwrap_err();
    assert!(reason.contains(r#"num_hidden_layers = "NaN""#), "{reason}");
}

#[test]
fn unusable_files_say_why_in_one_clause() {
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    for (text, hint) in [
        ("", "no JSON"),
        ("{\"num_hidden_layers\": 4,", "line 1 column"),
        (deep.as_str(), "recursion limit"),
        ("[1, 2]", "[1,2] is no JSON object"),
        ("{}", "no hidden_size"),
        (
            r#"{"hidden_size": 64}"#,
            "no num_hidden_layers or layers_block_type",
        ),
        (
            r#"{"text_config": {"hidden_size": 64}}"#,
            "is in text_config",
        ),
        (
            r#"{"hidden_size": 64, "num_hidden_layers": -4}"#,
            "num_hidden_layers = -4",
        ),
        (
            r#"{"hidden_size": 64.5, "num_hidden_layers": 4}"#,
            "hidden_size = 64.5",
        ),
        (
            r#"{"hidden_size": "64", "num_hidden_layers": 4}"#,
            "hidden_size = \"64\"",
        ),
        (
            r#"{"hidden_size": 0, "num_hidden_layers": 4}"#,
            "hidden_size = 0",
        ),
        (
            r#"{"hidden_size": 64, "num_hidden_layers": 0}"#,
            "num_hidden_layers = 0",
        ),
        (
            r#"{"hidden_size": 64, "num_hidden_layers": 99999999999}"#,
            "num_hidden_layers = 99999999999",
        ),
        (
            r#"{"hidden_size": 64, "num_hidden_layers": 99999999999999999999999}"#,
            "num_hidden_layers = 1e",
        ),
        (
            r#"{"hidden_size": 64, "num_hidden_layers": 4, "num_experts": 8}"#,
            "num_experts = 8, but no num_experts_per_tok or",
        ),
        (
            r#"{"hidden_size": 64, "num_hidden_layers": 4, "moe_topk": 8}"#,
            "moe_topk = 8, but no n_routed_experts or",
        ),
        (
            r#"{"hidden_size": 64, "num_hidden_layers": 4, "num_experts": 8, "moe_topk": 0}"#,
            "moe_topk = 0",
        ),
    ] {
        let reason = parse(text, "f").unwrap_err();
        assert!(reason.contains(hint), "{hint}: {reason}");
        assert!(!reason.contains('\n'), "{reason}");
        assert!(reason.chars().count() < 300, "{reason}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        let _ = parse(&text, "f");
    }

    #[test]
    fn no_values_panic(
        field in proptest::sample::select(vec![
            "num_hidden_layers", "hidden_size", "num_experts", "moe_topk", "moe_layer_freq",
            "mlp_only_layers", "moe_layers_enum", "text_config", "dtype", "model_type",
            "hybrid_override_pattern", "_name_or_path",
        ]),
        value in proptest::sample::select(vec![
            "null", "true", "-1", "0", "1", "3", "1e400", "1.5", "\"\"", "\"a,b\"", "[]", "[[]]",
            "[0]", "[1,1,1]", "[-1]", "{}", "{\"hidden_size\": 1}", "18446744073709551615",
        ]),
    ) {
        let mut config: std::collections::BTreeMap<&str, &str> =
            [("num_hidden_layers", "3"), ("hidden_size", "8"), ("num_experts", "4"), ("moe_topk", "2")].into();
        config.insert(field, value);
        let fields: Vec<String> = config.iter().map(|(k, v)| format!("\"{k}\": {v}")).collect();
        let _ = parse(&format!("{{{}}}", fields.join(",")), "f");
    }
}
