//! The points of curves over tokens per GPU: a plan for each parallel plan and each t, at equal
//! global batch.

use super::decode::{ALLREDUCES_PER_LAYER, MAX_OP_BYTES};
use super::exchange::{Direction, Exchanges, Payload, TokenFormats};
use super::route::RoutingRule;
use super::{CurvePlace, Exchange, ModelFacts, Op, OpKind, ParallelKind, Plan};
use crate::error::{Error, Result};
use crate::units::{format_bytes, group_thousands};

/// How much of a step a replay holds.
#[derive(Debug, Clone, Copy)]
pub struct ReplaySize {
    /// As many layers of the step as stay within these bytes a rank, at least one.
    pub bytes: u64,
}

impl ReplaySize {
    /// Layers of `all` that a replay holds where one hands over `layer_bytes`.
    fn layers(self, layer_bytes: u64, all: u64) -> u64 {
        (self.bytes / layer_bytes.max(1)).clamp(1, all.max(1))
    }
}

fn place(curve: &str, tokens_per_gpu: u64, ops_per_step: u64) -> Option<CurvePlace> {
    Some(CurvePlace {
        curve: curve.to_string(),
        tokens_per_gpu,
        ops_per_step,
    })
}

/// "61 layers", or "3 of 61 layers, scaled to all".
fn share(layers: u64, all: u64, name: &str) -> String {
    if layers == all {
        format!("all {all} {name}")
    } else {
        format!("{layers} of {all} {name}, scaled to all")
    }
}

/// The all-reduces of Tensor Parallelism for `tokens_per_gpu`·N tokens: two of B·H·e a layer.
///
/// # Errors
/// Exit code 2, naming the value, for payloads beyond any machine.
pub fn tensor_parallel_point(
    model: &ModelFacts,
    tokens_per_gpu: u64,
    ranks: u32,
    size: ReplaySize,
) -> Result<Plan> {
    let (batch, bytes) = batch_bytes(model, tokens_per_gpu, ranks)?;
    let layers = size.layers(bytes.saturating_mul(ALLREDUCES_PER_LAYER), model.layers);
    let op = Op::even(OpKind::AllReduce, bytes, model.activation_dtype);
    let curve = ParallelKind::Tp.name();
    let ops = vec![op; (layers * ALLREDUCES_PER_LAYER) as usize];
    Ok(Plan {
        name: format!("{curve} t={tokens_per_gpu}"),
        label: Plan::describe(&ops),
        origin: format!(
            "{}: 2 all-reduces a layer, batch {} × hidden {}; {}",
            model.name,
            group_thousands(batch),
            model.hidden_size,
            share(layers, model.layers, "layers")
        ),
        ops,
        exchange: Exchange::Auto,
        place: place(curve, tokens_per_gpu, model.layers * ALLREDUCES_PER_LAYER),
        size: None,
        stamped: false,
    })
}

/// All-gather and reduce-scatter of data-parallel attention: t·H·e a rank out, B·H·e back.
///
/// # Errors
/// As [`tensor_parallel_point`].
pub fn all_gather_point(
    model: &ModelFacts,
    tokens_per_gpu: u64,
    ranks: u32,
    size: ReplaySize,
) -> Result<Plan> {
    let (batch, bytes) = batch_bytes(model, tokens_per_gpu, ranks)?;
    let own = bytes / u64::from(ranks.max(1));
    let layers = size.layers(own.saturating_add(bytes), model.moe_layers);
    let layer = [
        Op::even(OpKind::AllGather, own, model.activation_dtype),
        Op::even(OpKind::ReduceScatter, bytes, model.activation_dtype),
    ];
    let ops: Vec<Op> = (0..layers).flat_map(|_| layer.clone()).collect();
    let kind = ParallelKind::DpAttentionEpAllGather;
    let curve = kind.name();
    Ok(Plan {
        name: format!("{} t={tokens_per_gpu}", kind.short()),
        label: Plan::describe(&ops),
        origin: format!(
            "{}: an all-gather of {} and a reduce-scatter of {} a MoE layer, batch {}; {}",
            model.name,
            format_bytes(own),
            format_bytes(bytes),
            group_thousands(batch),
            share(layers, model.moe_layers, "MoE layers")
        ),
        ops,
        exchange: Exchange::Auto,
        place: place(curve, tokens_per_gpu, 2 * model.moe_layers),
        size: None,
        stamped: false,
    })
}

/// All-to-alls of MoE layers for one t, as a point of `curve`; `short` is its name in tables and
/// files, without commas.
///
/// # Errors
/// As [`Exchanges::ops`].
pub fn exchange_point(
    exchanges: &Exchanges<'_>,
    (curve, short): (&str, &str),
    tokens_per_gpu: u64,
    directions: &[Direction],
    exchange: Exchange,
    size: ReplaySize,
) -> Result<Plan> {
    let bytes = directions
        .iter()
        .map(|direction| exchanges.expected_bytes(tokens_per_gpu, *direction))
        .fold(0, u64::saturating_add);
    let all = exchanges.model.moe_layers;
    let layers = size.layers(bytes, all);
    let ops = exchanges.ops(tokens_per_gpu, directions, layers)?;
    Ok(Plan {
        name: format!("{short} t={tokens_per_gpu}"),
        label: Plan::describe(&ops),
        origin: format!(
            "{}: {} tokens per GPU, {}; {}",
            exchanges.model.name,
            group_thousands(tokens_per_gpu),
            exchanges.payload.words(),
            share(layers, all, "MoE layers")
        ),
        ops,
        exchange,
        place: place(curve, tokens_per_gpu, all * directions.len() as u64),
        size: None,
        stamped: false,
    })
}

/// The whole step of one parallel plan for `batch` tokens over `ranks` ranks, as its ops. Tokens
/// are routed without skew, by seed 1.
///
/// # Errors
/// Exit code 2 where [`parallel_plans`](super::parallel_plans) lists the plan as absent, and for
/// payloads beyond any machine.
pub fn step_plan(
    model: &ModelFacts,
    formats: TokenFormats,
    kind: ParallelKind,
    batch: u64,
    ranks: u32,
) -> Result<Plan> {
    let listed = super::parallel_plans(model, formats, batch, u64::from(ranks))?;
    if let Some(absent) = listed.absent.iter().find(|one| one.kind == kind) {
        return Err(
            Error::usage(format!("no plan {}: {}", absent.name, absent.why))
                .try_this("--parallel tp, or what the reason says"),
        );
    }
    let whole = ReplaySize { bytes: u64::MAX };
    // Where tokens do not share out evenly, the plan that needs it is listed as absent.
    let tokens_per_gpu = batch / u64::from(ranks);
    match kind {
        ParallelKind::Tp | ParallelKind::TpAttentionEp => {
            let request = super::BurstRequest {
                batch,
                ..super::BurstRequest::default()
            };
            super::allreduce_burst(model, &request)
        }
        ParallelKind::DpAttentionEpAllGather => {
            all_gather_point(model, tokens_per_gpu, ranks, whole)
        }
        ParallelKind::DpAttentionEpAllToAll => {
            let exchanges = Exchanges {
                model,
                ranks,
                payload: Payload::Routed(RoutingRule { skew: 0.0, seed: 1 }),
                formats,
            };
            let both = [Direction::Dispatch, Direction::Combine];
            let exchange = Exchange::Auto;
            exchange_point(
                &exchanges,
                (kind.name(), kind.short()),
                tokens_per_gpu,
                &both,
                exchange,
                whole,
            )
        }
    }
}

/// B = t·N, and the bytes of its activations.
fn batch_bytes(model: &ModelFacts, tokens_per_gpu: u64, ranks: u32) -> Result<(u64, u64)> {
    if tokens_per_gpu == 0 {
        return Err(Error::usage("0 tokens per GPU send nothing").try_this("--tokens 1"));
    }
    let batch = tokens_per_gpu.checked_mul(u64::from(ranks));
    batch
        .and_then(|batch| Some((batch, batch.checked_mul(model.token_bytes())?)))
        .filter(|(_, bytes)| *bytes <= MAX_OP_BYTES)
        .ok_or_else(|| {
            Error::usage(format!(
                "{tokens_per_gpu} tokens per GPU are beyond the largest payload, {}",
                format_bytes(MAX_OP_BYTES)
            ))
            .try_this("fewer --tokens")
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{load_model, parallel_plans};

    const WHOLE: ReplaySize = ReplaySize { bytes: u64::MAX };

    fn exchanges(model: &ModelFacts) -> Exchanges<'_> {
        Exchanges {
            model,
            ranks: 8,
            payload: Payload::Uniform,
            formats: TokenFormats::or_own(model, None, None),
        }
    }

    #[test]
    fn whole_steps_send_what_the_table_of_plans_says() {
        let model = load_model("kimi-k2.5").unwrap();
        for t in [1, 4, 32] {
            let table =
                parallel_plans(&model, TokenFormats::or_own(&model, None, None), 8 * t, 8).unwrap();
            let points = [
                tensor_parallel_point(&model, t, 8, WHOLE).unwrap(),
                all_gather_point(&model, t, 8, WHOLE).unwrap(),
            ];
            for point in points {
                let place = point.place.clone().unwrap();
                let listed = table
                    .plans
                    .iter()
                    .find(|plan| plan.name == place.curve)
                    .unwrap();
                assert_eq!(place.ops_per_step, listed.ops_per_step);
                assert_eq!(point.ops.len() as u64, listed.ops_per_step);
                let bus: f64 = point.ops.iter().map(|op| op.bus_bytes(8)).sum();
                assert!(
                    (bus - listed.sent_bytes_per_step as f64).abs() < 1e3,
                    "{bus}"
                );
                assert!(point.check(8).is_ok());
            }
        }
    }

    #[test]
    fn large_steps_are_cut_to_whole_layers_and_say_so() {
        let model = load_model("kimi-k2.5").unwrap();
        let size = ReplaySize { bytes: 64 << 20 };
        let point = tensor_parallel_point(&model, 16, 8, size).unwrap();
        // 128 tokens of 14,336 B twice a layer: 18 layers in 64 MiB.
        assert_eq!(point.ops.len(), 36);
        assert!(
            point.origin.contains("18 of 61 layers, scaled to all"),
            "{}",
            point.origin
        );
        let point = tensor_parallel_point(&model, 256, 8, size).unwrap();
        assert_eq!(point.ops.len(), 2);
        let both = [Direction::Dispatch, Direction::Combine];
        let point = exchange_point(
            &exchanges(&model),
            ("x", "x"),
            256,
            &both,
            Exchange::Auto,
            size,
        )
        .unwrap();
        assert_eq!(point.ops.len(), 2 * 9);
        assert_eq!(point.place.unwrap().ops_per_step, 120);
    }

    #[test]
    fn no_number_of_tokens_wraps() {
        let model = load_model("kimi-k2.5").unwrap();
        for t in [0, 1 << 60, u64::MAX] {
            assert!(tensor_parallel_point(&model, t, 8, WHOLE).is_err());
            assert!(all_gather_point(&model, t, 8, WHOLE).is_err());
        }
    }
}
