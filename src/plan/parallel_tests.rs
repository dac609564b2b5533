use super::*;
use crate::error::Exit;
use crate::plan::{BurstRequest, allreduce_burst, load_model, preset_names};

fn plans(name: &str, batch: u64, ranks: u64) -> ParallelPlans {
    let model = load_model(name).unwrap();
    parallel_plans(&model, own(&model), batch, ranks).unwrap()
}

fn own(model: &ModelFacts) -> TokenFormats {
    TokenFormats::or_own(model, None, None)
}

fn find(plans: &ParallelPlans, kind: ParallelKind) -> &ParallelPlan {
    plans.plans.iter().find(|plan| plan.kind == kind).unwrap()
}

#[test]
fn kimi_k2_5_by_hand() {
    let all = plans("kimi-k2.5", 64, 8);
    assert_eq!(all.tokens_per_rank, Some(8));
    assert!(all.absent.is_empty(), "{:?}", all.absent);

    let tp = find(&all, ParallelKind::Tp);
    assert_eq!(tp.ops_per_step, 122);
    assert_eq!(tp.calls[0].payload_bytes, 64 * 14_336);
    assert_eq!(tp.calls[0].sent_bytes, 64 * 14_336 * 2 * 7 / 8);
    assert_eq!(tp.sent_bytes_per_step, 122 * 64 * 14_336 * 2 * 7 / 8);

    let all_to_all = find(&all, ParallelKind::DpAttentionEpAllToAll);
    assert_eq!(all_to_all.ops_per_step, 120);
    let routing = all_to_all.routing.as_ref().unwrap();
    // 1 − (336·335·…·329)/(384·383·…·377)
    assert!(
        (routing.rank_hit_probability - 0.660_001_965_444_325).abs() < 1e-14,
        "{routing:?}"
    );
    assert_eq!(routing.uniform_bytes_per_peer, 8 * 14_336 / 8);
    let expected = 8.0 * 14_336.0 * 7.0 * routing.rank_hit_probability;
    assert_eq!(all_to_all.calls[0].sent_bytes, expected.round() as u64);
    assert_eq!(all_to_all.calls[0].collective, Collective::Dispatch);
    assert_eq!(all_to_all.calls[1].collective, Collective::Combine);

    let all_gather = find(&all, ParallelKind::DpAttentionEpAllGather);
    assert_eq!(all_gather.ops_per_step, 120);
    assert_eq!(all_gather.calls[0].payload_bytes, 8 * 14_336);
    assert_eq!(all_gather.calls[1].payload_bytes, 64 * 14_336);
    assert_eq!(all_gather.calls[0].sent_bytes, 7 * 8 * 14_336);
    assert_eq!(all_gather.calls[1].sent_bytes, 7 * 8 * 14_336);
}

#[test]
fn a_router_limited_to_groups_reaches_fewer_ranks() {
    let all = plans("deepseek-v3", 64, 8);
    let plan = find(&all, ParallelKind::DpAttentionEpAllToAll);
    // A rank is a group, chosen by half the tokens: 4 · (1 − (96·…·89)/(128·…·121)).
    let ranks = plan.routing.as_ref().unwrap().expected_ranks_per_token;
    assert!((ranks - 3.6290109244257005).abs() < 1e-12, "{ranks}");
    assert!(plan.note.contains("4 of 8 groups"), "{}", plan.note);

    let uneven = ModelFacts {
        routed_experts: 240,
        ..all.model
    };
    let uneven = parallel_plans(&uneven, own(&uneven), 12, 12).unwrap();
    assert_eq!(uneven.plans.len(), 1);
    assert!(
        uneven.absent[0]
            .why
            .contains("8 groups of experts and 12 ranks")
    );
}

#[test]
fn tp_attention_with_ep_equals_tp_and_says_so() {
    let all = plans("kimi-k2.5", 64, 8);
    let ep = find(&all, ParallelKind::TpAttentionEp);
    assert_eq!(ep.calls, find(&all, ParallelKind::Tp).calls);
    assert!(ep.note.starts_with("equal to TP"));
}

#[test]
fn tp_is_the_burst() {
    for name in preset_names() {
        let model = load_model(name).unwrap();
        let burst = allreduce_burst(
            &model,
            &BurstRequest {
                batch: 3,
                ..BurstRequest::default()
            },
        )
        .unwrap();
        let tp = &parallel_plans(&model, own(&model), 3, 4).unwrap().plans[0];
        assert_eq!(tp.ops_per_step, burst.ops.len() as u64);
        assert_eq!(tp.calls[0].payload_bytes, burst.ops[0].bytes);
    }
}

#[test]
fn one_expert_a_token_and_one_a_rank_goes_home_or_to_one_peer() {
    let all = plans("llama-4-maverick", 128, 128);
    let plan = find(&all, ParallelKind::DpAttentionEpAllToAll);
    assert_eq!(plan.calls[0].sent_bytes, 10_240 * 127 / 128);
    assert_eq!(plan.ops_per_step, 48);
}

#[test]
fn ways_that_do_not_apply_say_why_and_the_others_stay() {
    let reasons = |plans: &ParallelPlans| -> Vec<String> {
        plans
            .absent
            .iter()
            .map(|absent| absent.why.clone())
            .collect()
    };

    let single = plans("kimi-k2.5", 1, 8);
    assert_eq!(single.tokens_per_rank, None);
    assert_eq!(single.plans.len(), 2);
    for why in reasons(&single) {
        assert!(
            why.contains("1 token") && why.contains("--batch 8"),
            "{why}"
        );
    }

    let uneven = plans("kimi-k2.5", 14, 7);
    assert_eq!(uneven.plans.len(), 1);
    for why in reasons(&uneven) {
        assert!(
            why.contains("384 experts") && why.contains("7 ranks") && why.contains("--ranks 8"),
            "{why}"
        );
    }

    let dense = ModelFacts {
        moe_layers: 0,
        routed_experts: 0,
        experts_per_token: 0,
        ..load_model("kimi-k2.5").unwrap()
    };
    let dense = parallel_plans(&dense, own(&dense), 8, 8).unwrap();
    assert_eq!((dense.plans.len(), dense.absent.len()), (1, 3));
    assert!(reasons(&dense).iter().all(|why| why.contains("dense")));

    let greedy = ModelFacts {
        experts_per_token: 385,
        ..load_model("kimi-k2.5").unwrap()
    };
    let greedy = parallel_plans(&greedy, own(&greedy), 8, 8).unwrap_err();
    assert!(greedy.what.contains("experts_per_token = 385"), "{greedy}");
}

#[test]
fn impossible_requests_name_the_value_and_a_remedy() {
    let model = load_model("kimi-k2.5").unwrap();
    for (batch, ranks, hint) in [
        (0, 8, "batch of 0"),
        (1, 0, "--ranks 0"),
        (1, 1, "--ranks 1"),
        (1, u64::MAX, "18446744073709551615"),
        (u64::MAX, 8, "18446744073709551615"),
        (1 << 40, 8, "1099511627776"),
    ] {
        let error = parallel_plans(&model, own(&model), batch, ranks).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert!(error.what.contains(hint), "{hint}: {}", error.what);
        assert!(error.remedy.is_some());
    }
}

#[test]
fn the_largest_figures_are_refused_not_wrapped() {
    let model = ModelFacts {
        layers: MAX_COUNT,
        moe_layers: MAX_COUNT,
        hidden_size: MAX_COUNT,
        ..load_model("kimi-k2.5").unwrap()
    };
    let error = parallel_plans(&model, own(&model), 1 << 15, 8).unwrap_err();
    assert!(error.what.contains("64 bits"), "{}", error.what);
}

#[test]
fn the_nearest_number_of_ranks_is_offered() {
    assert_eq!(nearest_divisor(384, 7), 8);
    assert_eq!(nearest_divisor(384, 1000), 384);
    assert_eq!(nearest_divisor(160, 6), 5);
    assert_eq!(nearest_divisor(7, 2), 7);
    assert_eq!(nearest_divisor(1, 2), 1);
}

proptest::proptest! {
    #[test]
    fn volumes_are_the_formulas(
        layers in 1u64..200, dense in 0u64..4, hidden in 1u64..20_000,
        ranks in 2u64..=64, on_rank in 1u64..=64, k in 1u64..=22, t in 1u64..=512,
    ) {
        let experts = ranks * on_rank;
        let model = ModelFacts {
            layers,
            moe_layers: layers.saturating_sub(dense),
            hidden_size: hidden,
            routed_experts: experts,
            experts_per_token: k.min(experts),
            ..load_model("kimi-k2.5").unwrap()
        };
        let all = parallel_plans(&model, own(&model), t * ranks, ranks).unwrap();
        if model.moe_layers == 0 {
            proptest::prop_assert_eq!(all.plans.len(), 1);
            return Ok(());
        }
        let row = 2 * hidden;
        let tp = find(&all, ParallelKind::Tp);
        // t·H·e·(N−1) both ways, whole because B is a multiple of N.
        proptest::prop_assert_eq!(tp.sent_bytes_per_step, 2 * layers * 2 * t * row * (ranks - 1));
        let gather = find(&all, ParallelKind::DpAttentionEpAllGather);
        proptest::prop_assert_eq!(
            gather.sent_bytes_per_step,
            2 * model.moe_layers * t * row * (ranks - 1)
        );
        // Deduplicated tokens never cost more than sending every token to every peer, nor more than
        // one copy an expert.
        let routed = find(&all, ParallelKind::DpAttentionEpAllToAll);
        proptest::prop_assert!(routed.sent_bytes_per_step <= gather.sent_bytes_per_step);
        let copies = 2 * model.moe_layers * t * row * model.experts_per_token;
        proptest::prop_assert!(routed.sent_bytes_per_step <= copies);
        let routing = routed.routing.as_ref().unwrap();
        proptest::prop_assert_eq!(routing.uniform_bytes_per_peer, (t * row).div_ceil(ranks));
    }
}

#[test]
fn fp8_dispatch_halves_what_is_dispatched_and_not_what_comes_back() {
    let model = load_model("kimi-k2.5").unwrap();
    let fp8 = TokenFormats::or_own(&model, Some(TokenFormat::Fp8), None);
    let calls = |formats: TokenFormats| {
        let all = parallel_plans(&model, formats, 64, 8).unwrap();
        find(&all, ParallelKind::DpAttentionEpAllToAll).clone()
    };
    let (half, whole) = (calls(fp8), calls(own(&model)));
    assert_eq!(half.calls[1], whole.calls[1]);
    // 7,392 B with scales instead of 14,336.
    let ratio = half.calls[0].sent_bytes as f64 / whole.calls[0].sent_bytes as f64;
    assert!((ratio - 7392.0 / 14336.0).abs() < 1e-6, "{ratio}");
    assert!(
        half.note.contains("fp8 for dispatch and bf16 for combine"),
        "{}",
        half.note
    );
    assert!(!whole.note.contains("for dispatch"), "{}", whole.note);
}
