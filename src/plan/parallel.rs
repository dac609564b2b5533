//! What one decode step sends under each way to spread a model over ranks.

use serde::Serialize;

use super::decode::MAX_OP_BYTES;
use super::model::MAX_COUNT;
use super::{
    ModelFacts, TokenFormat, TokenFormats, rank_hit_probability, rank_hit_probability_in_groups,
};
use crate::error::{Error, Result};
use crate::units::format_bytes;

/// A way to spread a model over ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParallelKind {
    /// Tensor Parallelism throughout.
    Tp,
    /// Tensor-parallel attention, experts spread over the ranks.
    TpAttentionEp,
    /// Each rank attends to its own tokens; tokens travel to their experts and back.
    DpAttentionEpAllToAll,
    /// Each rank attends to its own tokens; every rank gets all tokens.
    DpAttentionEpAllGather,
}

impl ParallelKind {
    /// Every kind, in the order of tables.
    pub const ALL: [ParallelKind; 4] = [
        ParallelKind::Tp,
        ParallelKind::TpAttentionEp,
        ParallelKind::DpAttentionEpAllToAll,
        ParallelKind::DpAttentionEpAllGather,
    ];

    /// The name of its series, in tables and files: without commas.
    pub fn short(self) -> &'static str {
        match self {
            ParallelKind::Tp => "TP",
            ParallelKind::TpAttentionEp => "TP+EP",
            ParallelKind::DpAttentionEpAllToAll => "EP all-to-all",
            ParallelKind::DpAttentionEpAllGather => "EP all-gather",
        }
    }

    /// The name in tables and sentences.
    pub fn name(self) -> &'static str {
        match self {
            ParallelKind::Tp => "TP",
            ParallelKind::TpAttentionEp => "TP attention + EP",
            ParallelKind::DpAttentionEpAllToAll => "DP attention + EP, all-to-all",
            ParallelKind::DpAttentionEpAllGather => "DP attention + EP, all-gather",
        }
    }
}

/// A collective in its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Collective {
    AllReduce,
    /// The all-to-all that sends tokens to their experts' ranks.
    Dispatch,
    /// The all-to-all that brings results back.
    Combine,
    AllGather,
    ReduceScatter,
}

impl Collective {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Collective::AllReduce => "all-reduce",
            Collective::Dispatch => "dispatch",
            Collective::Combine => "combine",
            Collective::AllGather => "all-gather",
            Collective::ReduceScatter => "reduce-scatter",
        }
    }
}

/// One collective of a plan, all calls of it alike. Sizes are for one rank and one call, in bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calls {
    pub collective: Collective,
    pub ops_per_step: u64,
    /// What a rank hands over: its input, without what stays on the rank in an all-to-all.
    pub payload_bytes: u64,
    /// What leaves a rank in a ring, as nccl-tests' bus bandwidth counts it: 2(N−1)/N of an
    /// all-reduce's payload, (N−1)/N of a reduce-scatter's, N−1 times an all-gather's. Of an
    /// all-to-all, the payload.
    pub sent_bytes: u64,
}

/// The tokens of an all-to-all, both as a model routes them and as sweeps spread them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Routing {
    /// Chance that a token has an expert on a given rank, p.
    pub rank_hit_probability: f64,
    /// Ranks that a token is expected on, p·N, its own among them.
    pub expected_ranks_per_token: f64,
    /// Expected bytes of a dispatch to one peer, t·p·H·e.
    pub routed_bytes_per_peer: u64,
    /// Bytes of a dispatch to one peer with a rank's tokens split evenly, t·H·e/N: the payload of published
    /// sweeps.
    pub uniform_bytes_per_peer: u64,
}

/// One way to spread the model, and what a step then sends.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParallelPlan {
    pub kind: ParallelKind,
    pub name: &'static str,
    pub calls: Vec<Calls>,
    pub ops_per_step: u64,
    /// Bytes that leave one rank in the whole step.
    pub sent_bytes_per_step: u64,
    /// Only with an all-to-all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
    /// What a reader must know of it, in a sentence.
    pub note: String,
}

/// A way that this model cannot be spread over these ranks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AbsentPlan {
    pub kind: ParallelKind,
    pub name: &'static str,
    /// A clause with the value at fault and what would do.
    pub why: String,
}

/// All plans of one model at one global batch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParallelPlans {
    pub model: ModelFacts,
    /// Tokens of the step over all ranks, B.
    pub batch_tokens: u64,
    pub ranks: u64,
    /// t = B/N, where it is whole.
    pub tokens_per_rank: Option<u64>,
    pub plans: Vec<ParallelPlan>,
    pub absent: Vec<AbsentPlan>,
}

/// What each way of [`ParallelKind`] sends for `batch_tokens` tokens over `ranks` ranks. A way that
/// does not apply is listed with its reason instead: the others still answer the question.
///
/// # Errors
/// Exit code 2, naming the value, for facts that no model has, a batch of 0, fewer than 2 ranks,
/// and payloads beyond any machine.
pub fn parallel_plans(
    model: &ModelFacts,
    formats: TokenFormats,
    batch_tokens: u64,
    ranks: u64,
) -> Result<ParallelPlans> {
    model.require()?;
    if batch_tokens == 0 {
        return Err(Error::usage("a batch of 0 tokens sends nothing").try_this("--batch 1"));
    }
    if ranks < 2 {
        return Err(
            Error::usage(format!("--ranks {ranks} leaves nobody to send to"))
                .try_this("--ranks 2 or more"),
        );
    }
    if ranks > MAX_COUNT {
        return Err(
            Error::usage(format!("--ranks {ranks} is beyond {MAX_COUNT}"))
                .try_this("the number of GPUs that share the model, for example --ranks 8"),
        );
    }
    let step = Step::new(model, formats, batch_tokens, ranks)?;
    let mut plans = Vec::new();
    let mut absent = Vec::new();
    for kind in ParallelKind::ALL {
        match step.why_not(kind) {
            None => plans.push(step.plan(kind)?),
            Some(why) => absent.push(AbsentPlan {
                kind,
                name: kind.name(),
                why,
            }),
        }
    }
    Ok(ParallelPlans {
        model: model.clone(),
        batch_tokens,
        ranks,
        tokens_per_rank: step.tokens_per_rank,
        plans,
        absent,
    })
}

struct Step<'a> {
    model: &'a ModelFacts,
    formats: TokenFormats,
    batch: u64,
    ranks: u64,
    tokens_per_rank: Option<u64>,
    /// B·H·e
    batch_bytes: u64,
}

impl<'a> Step<'a> {
    fn new(model: &'a ModelFacts, formats: TokenFormats, batch: u64, ranks: u64) -> Result<Self> {
        let batch_bytes = model
            .token_bytes()
            .checked_mul(batch)
            .filter(|bytes| *bytes <= MAX_OP_BYTES)
            .ok_or_else(|| {
                Error::usage(format!(
                    "--batch {batch} is beyond the largest payload, {}",
                    format_bytes(MAX_OP_BYTES)
                ))
                .try_this("a smaller --batch")
            })?;
        Ok(Step {
            model,
            formats,
            batch,
            ranks,
            tokens_per_rank: batch.is_multiple_of(ranks).then(|| batch / ranks),
            batch_bytes,
        })
    }

    fn why_not(&self, kind: ParallelKind) -> Option<String> {
        if kind == ParallelKind::Tp {
            return None;
        }
        if let Some(why) = why_no_expert_parallelism(self.model, self.ranks) {
            return Some(why);
        }
        let (ranks, batch) = (self.ranks, self.batch);
        if kind != ParallelKind::TpAttentionEp && self.tokens_per_rank.is_none() {
            return Some(format!(
                "{batch} {} cannot be shared evenly by {ranks} ranks that each attend to their own (try --batch {})",
                if batch == 1 { "token" } else { "tokens" },
                batch.next_multiple_of(ranks)
            ));
        }
        None
    }

    fn plan(&self, kind: ParallelKind) -> Result<ParallelPlan> {
        let tokens_per_rank = self.tokens_per_rank.unwrap_or(0);
        let (calls, routing, note) = match kind {
            ParallelKind::Tp => (
                vec![self.all_reduces()],
                None,
                "two all-reduces of B·H·e a layer, after attention and after the MLP or MoE"
                    .to_string(),
            ),
            ParallelKind::TpAttentionEp => (
                vec![self.all_reduces()],
                None,
                "equal to TP: every rank already holds every token, so spreading the experts changes what is computed where, not what is sent"
                    .to_string(),
            ),
            ParallelKind::DpAttentionEpAllToAll => self.all_to_all(tokens_per_rank),
            ParallelKind::DpAttentionEpAllGather => self.all_gather(tokens_per_rank),
        };
        let sent: Option<u64> = calls
            .iter()
            .map(|one| one.ops_per_step.checked_mul(one.sent_bytes))
            .try_fold(0u64, |sum, bytes| sum.checked_add(bytes?));
        Ok(ParallelPlan {
            kind,
            name: kind.name(),
            ops_per_step: calls.iter().map(|one| one.ops_per_step).sum(),
            calls,
            sent_bytes_per_step: sent.ok_or_else(|| {
                Error::usage(format!(
                    "--batch {} over {} layers sends more than 64 bits can count",
                    self.batch, self.model.layers
                ))
                .try_this("a smaller --batch")
            })?,
            routing,
            note,
        })
    }

    fn all_reduces(&self) -> Calls {
        Calls {
            collective: Collective::AllReduce,
            ops_per_step: self.model.allreduces_per_step(),
            payload_bytes: self.batch_bytes,
            sent_bytes: self.share_of_others(2 * self.batch_bytes),
        }
    }

    fn all_to_all(&self, tokens_per_rank: u64) -> (Vec<Calls>, Option<Routing>, String) {
        let model = self.model;
        let (experts, per_token) = (model.routed_experts, model.experts_per_token);
        let on_rank = experts / self.ranks;
        let (p, choice) = match (model.expert_groups, model.groups_per_token) {
            (Some(groups), Some(chosen)) => (
                rank_hit_probability_in_groups(experts, on_rank, per_token, groups, chosen),
                format!(
                    "every set of {chosen} of {groups} groups, and of {per_token} of the experts in them, equally likely"
                ),
            ),
            _ => (
                rank_hit_probability(experts, on_rank, per_token),
                format!("every set of {per_token} of {experts} experts equally likely"),
            ),
        };
        let peers = (self.ranks - 1) as f64;
        // At most 2^41 · 4: the batch in the largest element is still far from overflow.
        let own_bytes =
            |format: TokenFormat| tokens_per_rank * format.token_bytes(model.hidden_size);
        let expected_bytes =
            |format, copies: f64| (own_bytes(format) as f64 * copies).round() as u64;
        let TokenFormats { dispatch, combine } = self.formats;
        let calls = [
            (Collective::Dispatch, dispatch),
            (Collective::Combine, combine),
        ]
        .map(|(collective, format)| {
            let sent_bytes = expected_bytes(format, p * peers);
            Calls {
                collective,
                ops_per_step: model.moe_layers,
                payload_bytes: sent_bytes,
                sent_bytes,
            }
        });
        let routing = Routing {
            rank_hit_probability: p,
            expected_ranks_per_token: p * self.ranks as f64,
            routed_bytes_per_peer: expected_bytes(dispatch, p),
            uniform_bytes_per_peer: own_bytes(dispatch).div_ceil(self.ranks),
        };
        let own = TokenFormat::Elements(model.activation_dtype);
        let of = match (dispatch, combine) {
            (dispatch, combine) if dispatch == own && combine == own => String::new(),
            (dispatch, combine) => format!(
                " in {} for dispatch and {} for combine",
                dispatch.name(),
                combine.name()
            ),
        };
        let note = format!(
            "expected bytes{of}, {choice}: a token goes once to each rank that holds one of its experts, which is {:.2} of {} ranks, and what stays on its own rank is not counted; {} to each peer{}, where the uniform payload of sweeps is {}",
            routing.expected_ranks_per_token,
            self.ranks,
            format_bytes(routing.routed_bytes_per_peer),
            if of.is_empty() { "" } else { " in a dispatch" },
            format_bytes(routing.uniform_bytes_per_peer)
        );
        (calls.to_vec(), Some(routing), note)
    }

    fn all_gather(&self, tokens_per_rank: u64) -> (Vec<Calls>, Option<Routing>, String) {
        let call = |collective, payload_bytes| Calls {
            collective,
            ops_per_step: self.model.moe_layers,
            payload_bytes,
            sent_bytes: self.share_of_others(self.batch_bytes),
        };
        let calls = vec![
            call(
                Collective::AllGather,
                tokens_per_rank * self.model.token_bytes(),
            ),
            call(Collective::ReduceScatter, self.batch_bytes),
        ];
        let note = "every rank gets every token, an all-gather of t·H·e a rank, and partial results come back in a reduce-scatter of B·H·e, whatever the routing"
            .to_string();
        (calls, None, note)
    }

    /// (N−1)/N of `bytes`, at most 2^41 · 2^24, rounded up.
    fn share_of_others(&self, bytes: u64) -> u64 {
        let ranks = u128::from(self.ranks);
        let share = (u128::from(bytes) * (ranks - 1)).div_ceil(ranks);
        // Less than `bytes`, so it fits.
        share as u64
    }
}

/// Why `model`'s experts cannot be spread over `ranks` ranks, as a clause with the value at fault
/// and what would do; `None` when they can.
pub(super) fn why_no_expert_parallelism(model: &ModelFacts, ranks: u64) -> Option<String> {
    let experts = model.routed_experts;
    if model.moe_layers == 0 || experts == 0 {
        return Some(format!(
            "{} is dense: it has no experts to spread",
            model.name
        ));
    }
    if !experts.is_multiple_of(ranks) {
        return Some(format!(
            "{experts} experts do not spread evenly over {ranks} ranks (try --ranks {})",
            nearest_divisor(experts, ranks)
        ));
    }
    match model.expert_groups {
        Some(groups) if !groups.is_multiple_of(ranks) && !ranks.is_multiple_of(groups) => {
            Some(format!(
                "{groups} groups of experts and {ranks} ranks do not fit into each other (try --ranks {groups})"
            ))
        }
        _ => None,
    }
}

/// The divisor of `experts`, 2 or more, that is nearest to `ranks`; the larger of two.
fn nearest_divisor(experts: u64, ranks: u64) -> u64 {
    // Divisors come in pairs, one of which is at most the square root.
    (1..=experts.isqrt())
        .filter(|small| experts.is_multiple_of(*small))
        .flat_map(|small| [small, experts / small])
        .filter(|divisor| *divisor >= 2)
        .min_by_key(|divisor| (divisor.abs_diff(ranks), u64::MAX - divisor))
        .unwrap_or(experts)
}

#[cfg(test)]
#[path = "parallel_tests.rs"]
mod tests;
