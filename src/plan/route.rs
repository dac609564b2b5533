//! Sampled routing: the experts that tokens pick in one layer, and the ranks they travel to.

use super::ModelFacts;
use crate::error::{Error, Result};
use crate::stats::SplitMix64;

/// Steeper popularity than any router has; beyond it, weights leave what doubles can tell apart.
const MAX_SKEW: f64 = 4.0;

/// How tokens pick their experts.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutingRule {
    /// Exponent of the experts' popularity: the i-th most popular one has weight 1/i^skew. With 0
    /// all are equally popular. Which experts are popular differs from layer to layer.
    pub skew: f64,
    /// The same seed gives the same tokens the same experts.
    pub seed: u64,
}

impl RoutingRule {
    /// # Errors
    /// Exit code 2 for a skew outside 0 to 4.
    pub fn check(&self) -> Result<()> {
        if (0.0..=MAX_SKEW).contains(&self.skew) {
            return Ok(());
        }
        Err(Error::usage(format!(
            "a skew of {} is outside 0 to {MAX_SKEW}",
            self.skew
        ))
        .try_this("--skew 0 for equally popular experts, --skew 1 for Zipf's law"))
    }
}

/// Tokens of one MoE layer from each rank to each rank, `[from][to]`: a token counts once for each
/// distinct rank that holds one of its experts, its own rank included. Rank r holds the r-th of N
/// equal parts of the experts, and `tokens_per_rank` tokens.
///
/// A token picks `k` distinct experts, one after the other, each in proportion to its popularity
/// among those left (with skew 0: every set of k equally likely). A router that is limited to
/// groups first picks its groups in the same way, in proportion to their experts' popularity.
///
/// `layer` gives each layer its own popular experts and its own tokens. `model` must have experts
/// that spread evenly over `ranks`.
pub fn route_layer(
    model: &ModelFacts,
    tokens_per_rank: u64,
    ranks: u64,
    rule: &RoutingRule,
    layer: u64,
) -> Vec<Vec<u64>> {
    let experts = model.routed_experts as usize;
    let on_rank = (experts / ranks as usize).max(1);
    let mut random = SplitMix64::named(rule.seed, "layer", layer);
    let weights = popularity(experts, rule.skew, &mut random);
    let group_size = match model.expert_groups {
        Some(groups) => experts / groups as usize,
        None => experts,
    };
    let group_weights: Vec<f64> = weights
        .chunks(group_size)
        .map(|group| group.iter().sum())
        .collect();
    let groups_per_token = model.groups_per_token.unwrap_or(1) as usize;
    let per_token = model.experts_per_token as usize;
    let mut table = vec![vec![0u64; ranks as usize]; ranks as usize];
    let mut candidates = vec![0.0; experts];
    for row in &mut table {
        for _ in 0..tokens_per_rank {
            let mut groups = group_weights.clone();
            candidates.fill(0.0);
            for _ in 0..groups_per_token.min(groups.len()) {
                let first = pick(&mut groups, &mut random) * group_size;
                let members = first..first + group_size;
                candidates[members.clone()].copy_from_slice(&weights[members]);
            }
            let mut is_hit = vec![false; ranks as usize];
            for _ in 0..per_token {
                is_hit[pick(&mut candidates, &mut random) / on_rank] = true;
            }
            for (count, hit) in row.iter_mut().zip(&is_hit) {
                *count += u64::from(*hit);
            }
        }
    }
    table
}

/// Each expert's weight, the popular ones at random places.
fn popularity(experts: usize, skew: f64, random: &mut SplitMix64) -> Vec<f64> {
    let mut weights: Vec<f64> = (1..=experts).map(|i| (i as f64).powf(-skew)).collect();
    if skew > 0.0 {
        for last in (1..weights.len()).rev() {
            let other = (random.uniform() * (last + 1) as f64) as usize;
            weights.swap(last, other.min(last));
        }
    }
    weights
}

/// Picks one of the items whose weight is above zero, in proportion to it, and takes its weight
/// away. The last item where none has a weight.
fn pick(weights: &mut [f64], random: &mut SplitMix64) -> usize {
    // Summed afresh: taking weights away from a sum would leave rounding errors larger than the
    // smallest weights.
    let mut left = random.uniform() * weights.iter().sum::<f64>();
    let mut picked = weights.len() - 1;
    for (index, weight) in weights.iter().enumerate() {
        if *weight > 0.0 {
            picked = index;
            if left < *weight {
                break;
            }
            left -= weight;
        }
    }
    weights[picked] = 0.0;
    picked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{load_model, rank_hit_probability, rank_hit_probability_in_groups};

    fn model(experts: u64, per_token: u64) -> ModelFacts {
        ModelFacts {
            routed_experts: experts,
            experts_per_token: per_token,
            ..load_model("kimi-k2.5").unwrap()
        }
    }

    const FAIR: RoutingRule = RoutingRule { skew: 0.0, seed: 1 };

    /// Share of tokens that reach each rank, over `layers` layers.
    fn shares(
        model: &ModelFacts,
        tokens: u64,
        ranks: u64,
        rule: &RoutingRule,
        layers: u64,
    ) -> Vec<f64> {
        let mut hits = vec![0u64; ranks as usize];
        for layer in 0..layers {
            for row in route_layer(model, tokens, ranks, rule, layer) {
                hits.iter_mut()
                    .zip(row)
                    .for_each(|(sum, count)| *sum += count);
            }
        }
        let all = (tokens * ranks * layers) as f64;
        hits.iter().map(|count| *count as f64 / all).collect()
    }

    #[test]
    fn a_large_fair_sample_hits_ranks_as_often_as_the_formula_says() {
        for (experts, per_token, ranks) in [(384, 8, 8), (8, 2, 4), (128, 4, 16), (12, 12, 3)] {
            let p = rank_hit_probability(experts, experts / ranks, per_token);
            let (tokens, layers) = (400, 10);
            let n = (tokens * ranks * layers) as f64;
            // Six standard deviations of a rank's share: one false alarm in 10^8.
            let tolerance = 6.0 * (p * (1.0 - p) / n).sqrt() + 1e-12;
            for share in shares(&model(experts, per_token), tokens, ranks, &FAIR, layers) {
                assert!(
                    (share - p).abs() <= tolerance,
                    "{share}, not {p} ± {tolerance}"
                );
            }
        }
    }

    #[test]
    fn a_router_limited_to_groups_hits_as_often_as_its_formula_says() {
        let model = load_model("deepseek-v3").unwrap();
        let p = rank_hit_probability_in_groups(256, 32, 8, 8, 4);
        let tolerance = 6.0 * (p * (1.0 - p) / 32_000.0).sqrt();
        for share in shares(&model, 400, 8, &FAIR, 10) {
            assert!((share - p).abs() <= tolerance, "{share}, not {p}");
        }
    }

    #[test]
    fn every_set_of_experts_is_equally_likely_without_skew() {
        // 4 experts on 4 ranks, 2 a token: 6 sets; a rank pair is hit by a sixth of the tokens.
        let rows = route_layer(&model(4, 2), 60_000, 4, &FAIR, 0);
        for count in rows.iter().flatten() {
            // p = 1/2, n = 60,000: six deviations are 735.
            assert!(count.abs_diff(30_000) < 735, "{count}");
        }
        assert!(rows.iter().all(|row| row.iter().sum::<u64>() == 120_000));
    }

    #[test]
    fn skew_loads_ranks_unevenly_and_other_layers_load_others() {
        let load = |layer, skew| {
            let rule = RoutingRule { skew, seed: 1 };
            let rows = route_layer(&model(64, 4), 500, 8, &rule, layer);
            (0..8)
                .map(|to| rows.iter().map(|row| row[to]).sum::<u64>())
                .collect::<Vec<u64>>()
        };
        let spread =
            |load: &[u64]| *load.iter().max().unwrap() as f64 / *load.iter().min().unwrap() as f64;
        assert!(spread(&load(0, 0.0)) < 1.15);
        assert!(spread(&load(0, 1.0)) > 1.3);
        assert_ne!(load(0, 1.0), load(1, 1.0));
        assert_eq!(load(0, 1.0), load(0, 1.0), "the seed decides");
    }

    #[test]
    fn skews_out_of_range_are_refused() {
        for skew in [-0.1, 4.1, f64::NAN, f64::INFINITY] {
            assert!(RoutingRule { skew, seed: 0 }.check().is_err(), "{skew}");
        }
        assert!(RoutingRule { skew: 1.2, seed: 0 }.check().is_ok());
    }

    proptest::proptest! {
        #[test]
        fn tokens_reach_between_one_rank_and_k(
            ranks in 1u64..9, share in 1u64..6, per_token in 1u64..9, tokens in 1u64..20,
            skew in 0.0f64..4.0, seed in proptest::num::u64::ANY,
        ) {
            let model = model(ranks * share, per_token.min(ranks * share));
            let rule = RoutingRule { skew, seed };
            for row in route_layer(&model, tokens, ranks, &rule, 3) {
                let reached: u64 = row.iter().sum();
                let most = model.experts_per_token.min(ranks) * tokens;
                proptest::prop_assert!((tokens..=most).contains(&reached));
                proptest::prop_assert!(row.iter().all(|count| *count <= tokens));
            }
        }
    }
}
