//! The all-to-alls of MoE layers: from tokens per GPU to ops.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decode::MAX_OP_BYTES;
use super::route::{RoutingRule, route_layer};
use super::{DataType, ModelFacts, Op, OpKind, Traffic};
use crate::error::{Error, Result};
use crate::units::format_bytes;

/// Elements that share one scale in a block-scaled FP8 dispatch, and the bytes of the scale.
const FP8_BLOCK: u64 = 128;
const FP8_SCALE_BYTES: u64 = 4;

/// Which way tokens travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To the ranks of their experts.
    Dispatch,
    /// Back from there.
    Combine,
}

impl Direction {
    /// The name in tables and curves.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Dispatch => "dispatch",
            Direction::Combine => "combine",
        }
    }
}

/// What a token looks like on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenFormat {
    /// H elements of a type.
    Elements(DataType),
    /// H bytes of FP8 and a scale of 4 bytes for each 128 of them, as DeepSeek-V3 dispatches.
    Fp8,
}

impl TokenFormat {
    /// Bytes of one token of hidden size `hidden`; the largest number where it has no room.
    pub fn token_bytes(self, hidden: u64) -> u64 {
        match self {
            TokenFormat::Elements(dtype) => hidden.saturating_mul(dtype.bytes()),
            TokenFormat::Fp8 => hidden
                .div_ceil(FP8_BLOCK)
                .saturating_mul(FP8_SCALE_BYTES)
                .saturating_add(hidden),
        }
    }

    /// The type that the library is told: it only copies.
    pub fn wire_dtype(self) -> DataType {
        match self {
            TokenFormat::Elements(dtype) => dtype,
            TokenFormat::Fp8 => DataType::Int8,
        }
    }

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            TokenFormat::Elements(dtype) => dtype.name(),
            TokenFormat::Fp8 => "fp8",
        }
    }
}

/// The formats of both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenFormats {
    pub dispatch: TokenFormat,
    pub combine: TokenFormat,
}

impl TokenFormats {
    /// What is asked for, and else the model's own activations.
    pub fn or_own(
        model: &ModelFacts,
        dispatch: Option<TokenFormat>,
        combine: Option<TokenFormat>,
    ) -> TokenFormats {
        let own = TokenFormat::Elements(model.activation_dtype);
        TokenFormats {
            dispatch: dispatch.unwrap_or(own),
            combine: combine.unwrap_or(own),
        }
    }

    /// The format of one direction.
    pub fn of(self, direction: Direction) -> TokenFormat {
        match direction {
            Direction::Dispatch => self.dispatch,
            Direction::Combine => self.combine,
        }
    }
}

/// Where tokens go.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// A rank's tokens split evenly over all ranks, as published sweeps do.
    Uniform,
    /// As a model routes them, once to each distinct rank.
    Routed(RoutingRule),
}

impl Payload {
    /// How it is said in a plan's origin.
    pub fn words(&self) -> String {
        match self {
            Payload::Uniform => "uniform payload".to_string(),
            Payload::Routed(rule) => {
                format!("routed payload (skew {}, seed {})", rule.skew, rule.seed)
            }
        }
    }
}

/// The all-to-alls of MoE layers.
#[derive(Debug, Clone)]
pub struct Exchanges<'a> {
    pub model: &'a ModelFacts,
    pub ranks: u32,
    pub payload: Payload,
    pub formats: TokenFormats,
}

impl Exchanges<'_> {
    /// Whether the model's experts can be spread over the ranks.
    ///
    /// # Errors
    /// Exit code 2, naming the value: a dense model, experts or groups that do not divide, fewer
    /// than 2 ranks, a skew out of range.
    pub fn check(&self) -> Result<()> {
        self.model.require()?;
        if let Payload::Routed(rule) = &self.payload {
            rule.check()?;
        }
        super::parallel::why_no_expert_parallelism(self.model, u64::from(self.ranks))
            .map_or(Ok(()), |why| {
                Err(Error::usage(why).try_this("commbench models lists models with experts"))
            })
    }

    /// About what a rank hands over in one all-to-all, in bytes: to decide how many fit a replay.
    pub fn expected_bytes(&self, tokens_per_gpu: u64, direction: Direction) -> u64 {
        let own = self
            .formats
            .of(direction)
            .token_bytes(self.model.hidden_size)
            .saturating_mul(tokens_per_gpu);
        match self.payload {
            Payload::Uniform => own,
            // No token travels to more ranks than it has experts.
            Payload::Routed(_) => {
                let others = u64::from(self.ranks.saturating_sub(1));
                own.saturating_mul(self.model.experts_per_token.clamp(1, others.max(1)))
            }
        }
    }

    /// The ops of `layers` MoE layers for `tokens_per_gpu` tokens: in each layer one all-to-all in
    /// each of `directions`. A combine sends back what the dispatch of its layer brought.
    ///
    /// # Errors
    /// Exit code 2, naming the value, for no tokens and for payloads beyond any machine.
    pub fn ops(
        &self,
        tokens_per_gpu: u64,
        directions: &[Direction],
        layers: u64,
    ) -> Result<Vec<Op>> {
        if tokens_per_gpu == 0 {
            return Err(Error::usage("0 tokens per GPU send nothing").try_this("--tokens 1"));
        }
        for direction in directions {
            let bytes = self.expected_bytes(tokens_per_gpu, *direction);
            if bytes > MAX_OP_BYTES {
                return Err(Error::usage(format!(
                    "{tokens_per_gpu} tokens per GPU are beyond the largest payload, {}",
                    format_bytes(MAX_OP_BYTES)
                ))
                .try_this("fewer --tokens"));
            }
        }
        let mut ops = Vec::new();
        for layer in 0..layers {
            let routed = match &self.payload {
                Payload::Uniform => None,
                Payload::Routed(rule) => {
                    let ranks = u64::from(self.ranks);
                    Some(route_layer(self.model, tokens_per_gpu, ranks, rule, layer))
                }
            };
            for direction in directions {
                let format = self.formats.of(*direction);
                let dtype = format.wire_dtype();
                let token_bytes = format.token_bytes(self.model.hidden_size);
                ops.push(match &routed {
                    None => {
                        let bytes = even_bytes(tokens_per_gpu * token_bytes, self.ranks, dtype);
                        Op::even(OpKind::AllToAll, bytes, dtype)
                    }
                    Some(tokens) => Op::uneven(traffic(tokens, *direction, token_bytes)?, dtype),
                });
            }
        }
        Ok(ops)
    }
}

/// A buffer of `bytes` or little more that splits into whole elements for every rank.
fn even_bytes(bytes: u64, ranks: u32, dtype: DataType) -> u64 {
    bytes.next_multiple_of(u64::from(ranks) * dtype.bytes())
}

fn traffic(tokens: &[Vec<u64>], direction: Direction, token_bytes: u64) -> Result<Arc<Traffic>> {
    let back: Vec<Vec<u64>>;
    let items = match direction {
        Direction::Dispatch => tokens,
        Direction::Combine => {
            let column = |to: usize| tokens.iter().map(|row| row[to]).collect();
            back = (0..tokens.len()).map(column).collect();
            &back
        }
    };
    Traffic::of_items(items, token_bytes)
        .map(Arc::new)
        .ok_or_else(|| Error::other("a routing table is not square"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::load_model;

    fn exchanges(model: &ModelFacts, payload: Payload) -> Exchanges<'_> {
        Exchanges {
            model,
            ranks: 8,
            payload,
            formats: TokenFormats::or_own(model, None, None),
        }
    }

    const ROUTED: Payload = Payload::Routed(RoutingRule { skew: 0.0, seed: 1 });

    #[test]
    fn the_uniform_payload_is_that_of_published_sweeps() {
        // Kimi-K2.5, 1 token: 14,336 B over 8 ranks are 1,792 B to each peer.
        let model = load_model("kimi-k2.5").unwrap();
        let ops = exchanges(&model, Payload::Uniform)
            .ops(1, &[Direction::Dispatch], 60)
            .unwrap();
        assert_eq!(ops.len(), 60);
        assert!(
            ops.iter()
                .all(|op| op.bytes == 14_336 && op.traffic.is_none())
        );
    }

    #[test]
    fn fp8_tokens_carry_their_scales() {
        // 7168 + 7168 / 128 · 4
        assert_eq!(TokenFormat::Fp8.token_bytes(7168), 7392);
        let model = load_model("kimi-k2.5").unwrap();
        let mut exchanges = exchanges(&model, Payload::Uniform);
        exchanges.formats.dispatch = TokenFormat::Fp8;
        let both = [Direction::Dispatch, Direction::Combine];
        let ops = exchanges.ops(16, &both, 1).unwrap();
        assert_eq!((ops[0].bytes, ops[0].dtype), (16 * 7392, DataType::Int8));
        assert_eq!((ops[1].bytes, ops[1].dtype), (16 * 14_336, DataType::Bf16));
    }

    #[test]
    fn what_is_dispatched_comes_back_the_same_way() {
        let model = load_model("kimi-k2.5").unwrap();
        let both = [Direction::Dispatch, Direction::Combine];
        let ops = exchanges(&model, ROUTED).ops(16, &both, 3).unwrap();
        for layer in ops.chunks(2) {
            let [out, back] = [&layer[0], &layer[1]].map(|op| op.traffic.clone().unwrap());
            for from in 0..8 {
                for to in 0..8 {
                    assert_eq!(out.bytes(from, to), back.bytes(to, from));
                }
            }
        }
        assert_ne!(ops[0].traffic, ops[2].traffic, "layers route on their own");
    }

    #[test]
    fn a_routed_step_sends_what_the_formula_expects() {
        let model = load_model("kimi-k2.5").unwrap();
        let ops = exchanges(&model, ROUTED)
            .ops(64, &[Direction::Dispatch], 60)
            .unwrap();
        let mean = ops.iter().map(|op| op.bytes as f64).sum::<f64>() / 60.0;
        let p = super::super::rank_hit_probability(384, 48, 8);
        let expected = 64.0 * 14_336.0 * 7.0 * p;
        assert!(
            (mean / expected - 1.0).abs() < 0.01,
            "{mean}, not {expected}"
        );
    }

    #[test]
    fn odd_sizes_are_rounded_up_to_whole_elements() {
        let model = ModelFacts {
            hidden_size: 7,
            ..load_model("kimi-k2.5").unwrap()
        };
        let ops = exchanges(&model, Payload::Uniform)
            .ops(1, &[Direction::Dispatch], 1)
            .unwrap();
        assert_eq!(ops[0].bytes, 16, "14 bytes over 8 ranks: one bf16 each");
        assert!(ops[0].check(8).is_ok());
    }

    #[test]
    fn impossible_requests_name_the_value() {
        let model = load_model("kimi-k2.5").unwrap();
        let of =
            |tokens| exchanges(&model, Payload::Uniform).ops(tokens, &[Direction::Dispatch], 1);
        assert!(of(0).unwrap_err().what.contains("0 tokens"));
        for tokens in [u64::MAX, 1 << 40] {
            assert!(of(tokens).unwrap_err().what.contains(&tokens.to_string()));
        }
        let dense = ModelFacts {
            moe_layers: 0,
            routed_experts: 0,
            experts_per_token: 0,
            ..model.clone()
        };
        let error = exchanges(&dense, Payload::Uniform).check().unwrap_err();
        assert!(error.what.contains("dense"), "{}", error.what);
        let odd = Exchanges {
            ranks: 7,
            ..exchanges(&model, Payload::Uniform)
        };
        assert!(odd.check().unwrap_err().what.contains("384 experts"));
    }
}
