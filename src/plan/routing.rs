//! Where tokens go: how likely a rank holds at least one of a token's experts.

/// A smaller chance to miss does not change a hit's: with it the draws end after some 10,000 for
/// 2^24 experts, however many there are to come.
const CERTAIN: f64 = 1e-18;

/// Probability that at least one of the `per_token` distinct experts that a token picks, out of
/// `experts` with every set equally likely, is among the `on_rank` that a given rank holds:
/// 1 − C(E−m, k) / C(E, k).
///
/// Expert by expert, "hit so far, or hit by this one": only positive terms are added, so nothing
/// cancels however small the probability, and no factorial can overflow.
///
/// Counts beyond `experts` mean all of them; without experts nothing is hit.
pub fn rank_hit_probability(experts: u64, on_rank: u64, per_token: u64) -> f64 {
    if on_rank == 0 || per_token == 0 {
        return 0.0;
    }
    // The formula is symmetric in m and k: the smaller one is the shorter way.
    let (marked, drawn) = if per_token <= on_rank {
        (on_rank, per_token)
    } else {
        (per_token, on_rank)
    };
    let (mut hit, mut missed) = (0.0, 1.0);
    for already_drawn in 0..drawn {
        let left = experts.saturating_sub(already_drawn);
        if marked >= left {
            return if left == 0 { hit } else { 1.0 };
        }
        let this_one = marked as f64 / left as f64;
        hit += (1.0 - hit) * this_one;
        missed *= 1.0 - this_one;
        if missed < CERTAIN {
            return 1.0;
        }
    }
    hit
}

/// The same for a router that first picks `chosen` of `groups` equal groups of neighbouring experts,
/// each set of them equally likely, and then experts from these alone.
///
/// `groups` must be a multiple of the number of ranks, or a divisor of it: a rank then holds whole
/// groups or lies within one.
pub fn rank_hit_probability_in_groups(
    experts: u64,
    on_rank: u64,
    per_token: u64,
    groups: u64,
    chosen: u64,
) -> f64 {
    if groups == 0 {
        return rank_hit_probability(experts, on_rank, per_token);
    }
    let group = experts / groups;
    let candidates = group * chosen.min(groups);
    let own_groups = on_rank.checked_div(group).unwrap_or(0);
    if own_groups == 0 {
        let within = rank_hit_probability(candidates, on_rank, per_token);
        return within * (chosen.min(groups) as f64 / groups as f64);
    }
    // How many of the rank's groups are among the chosen, one choice after the other.
    let mut odds = vec![1.0];
    for already in 0..chosen.min(groups) {
        let left = (groups - already) as f64;
        let mut next = vec![0.0; odds.len() + 1];
        for (own_chosen, probability) in odds.iter().enumerate() {
            let own = own_groups.saturating_sub(own_chosen as u64) as f64 / left;
            next[own_chosen + 1] += probability * own;
            next[own_chosen] += probability * (1.0 - own);
        }
        odds = next;
    }
    let hit = |(own_chosen, probability): (usize, &f64)| {
        probability * rank_hit_probability(candidates, own_chosen as u64 * group, per_token)
    };
    // Thousands of rounded terms can come to a little more than certainty.
    odds.iter().enumerate().map(hit).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every set of `per_token` out of `experts`, as bits; counts those that touch the first `on_rank`.
    fn enumerated(experts: u32, on_rank: u32, per_token: u32) -> f64 {
        let rank: u32 = (1 << on_rank) - 1;
        let sets = (0u32..1 << experts).filter(|set| set.count_ones() == per_token);
        let (mut all, mut hit) = (0u64, 0u64);
        for set in sets {
            all += 1;
            hit += u64::from(set & rank != 0);
        }
        hit as f64 / all as f64
    }

    #[test]
    fn small_cases_are_those_of_enumeration() {
        for experts in 1..=12 {
            for on_rank in 0..=experts {
                for per_token in 0..=experts {
                    let expected = enumerated(experts, on_rank, per_token);
                    let got =
                        rank_hit_probability(experts.into(), on_rank.into(), per_token.into());
                    assert!(
                        (got - expected).abs() < 1e-14,
                        "E {experts}, m {on_rank}, k {per_token}: {got}, not {expected}"
                    );
                }
            }
        }
    }

    /// All experts' sets that lie in a set of chosen groups, for every such set.
    fn enumerated_in_groups(experts: u32, on_rank: u32, k: u32, groups: u32, chosen: u32) -> f64 {
        let size = experts / groups;
        let rank: u32 = (1 << on_rank) - 1;
        let (mut sum, mut choices) = (0.0, 0u32);
        for choice in (0u32..1 << groups).filter(|choice| choice.count_ones() == chosen) {
            let allowed: u32 = (0..groups)
                .filter(|group| choice & (1 << group) != 0)
                .map(|group| ((1 << size) - 1) << (group * size))
                .sum();
            let sets =
                (0u32..1 << experts).filter(|set| set.count_ones() == k && set & !allowed == 0);
            let (mut all, mut hit) = (0u64, 0u64);
            for set in sets {
                all += 1;
                hit += u64::from(set & rank != 0);
            }
            sum += hit as f64 / all as f64;
            choices += 1;
        }
        sum / f64::from(choices)
    }

    #[test]
    fn routing_in_groups_is_that_of_enumeration() {
        for groups in [1, 2, 3, 4, 6, 12] {
            for ranks in [1u32, 2, 3, 4, 6, 12] {
                if groups % ranks != 0 && ranks % groups != 0 {
                    continue;
                }
                for chosen in 1..=groups {
                    for k in 1..=(chosen * (12 / groups)).min(4) {
                        let expected = enumerated_in_groups(12, 12 / ranks, k, groups, chosen);
                        let got = rank_hit_probability_in_groups(
                            12,
                            (12 / ranks).into(),
                            k.into(),
                            groups.into(),
                            chosen.into(),
                        );
                        assert!(
                            (got - expected).abs() < 1e-13,
                            "{ranks} ranks, k {k}, {chosen} of {groups} groups: {got}, not {expected}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn routing_in_all_groups_is_routing_without_them() {
        let plain = rank_hit_probability(256, 32, 8);
        for groups in [1, 2, 4, 8, 16, 256] {
            let grouped = rank_hit_probability_in_groups(256, 32, 8, groups, groups);
            assert!((grouped - plain).abs() < 1e-12, "{groups}: {grouped}");
        }
    }

    /// xorshift64*: the same draws on every machine.
    struct Draws(u64);

    impl Draws {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            let word = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
            ((u128::from(word) * u128::from(bound)) >> 64) as u64
        }
    }

    #[test]
    fn a_large_sample_agrees() {
        const TOKENS: u32 = 200_000;
        let mut draws = Draws(20_250_713);
        for (experts, ranks, per_token) in [(384u64, 8u64, 8usize), (256, 16, 8), (128, 4, 4)] {
            let on_rank = experts / ranks;
            let mut pool: Vec<u64> = (0..experts).collect();
            let mut hits = 0u32;
            for _ in 0..TOKENS {
                for position in 0..per_token {
                    let other = position + draws.below(experts - position as u64) as usize;
                    pool.swap(position, other);
                }
                hits += u32::from(pool[..per_token].iter().any(|expert| *expert < on_rank));
            }
            let p = rank_hit_probability(experts, on_rank, per_token as u64);
            let sampled = f64::from(hits) / f64::from(TOKENS);
            let deviation = (p * (1.0 - p) / f64::from(TOKENS)).sqrt();
            assert!(
                (sampled - p).abs() < 4.0 * deviation,
                "E {experts}, N {ranks}, k {per_token}: {sampled} sampled, {p} computed"
            );
        }
    }

    #[test]
    fn extremes_stay_probabilities() {
        assert_eq!(rank_hit_probability(4096, 1, 1), 1.0 / 4096.0);
        assert_eq!(rank_hit_probability(4096, 4096, 1), 1.0);
        assert_eq!(rank_hit_probability(4096, 1, 4096), 1.0);
        assert_eq!(rank_hit_probability(0, 0, 0), 0.0);
        assert_eq!(rank_hit_probability(0, 3, 3), 0.0);
        assert_eq!(rank_hit_probability(8, 99, 1), 1.0);
        assert_eq!(rank_hit_probability(u64::MAX, u64::MAX, 1), 1.0);
        // One expert a rank and one a token: all the digits of 2/2^24 are there.
        let p = rank_hit_probability(1 << 24, 2, 1);
        assert_eq!(p, 2.0 / f64::from(1 << 24));
    }

    proptest::proptest! {
        #[test]
        fn it_is_symmetric_monotonic_and_bounded(experts in 1u64..=4096, on_rank in 0u64..=4096, per_token in 0u64..=64) {
            let on_rank = on_rank.min(experts);
            let per_token = per_token.min(experts);
            let p = rank_hit_probability(experts, on_rank, per_token);
            proptest::prop_assert!((0.0..=1.0).contains(&p));
            let swapped = rank_hit_probability(experts, per_token, on_rank);
            proptest::prop_assert!((p - swapped).abs() < 1e-12);
            let more = rank_hit_probability(experts, on_rank, (per_token + 1).min(experts));
            proptest::prop_assert!(more + 1e-12 >= p);
            // No more than the expected number of hits, no less than one draw's.
            proptest::prop_assert!(p <= (on_rank * per_token) as f64 / experts as f64 + 1e-12);
        }
    }
}
