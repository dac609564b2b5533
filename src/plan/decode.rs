//! From model facts to the ops of one decode step.

use super::{DataType, ModelFacts, Op, OpKind, Plan};
use crate::error::{Error, Result};
use crate::units::format_bytes;

/// All-reduces of one layer under Tensor Parallelism: after attention, and after the MLP or MoE.
pub(super) const ALLREDUCES_PER_LAYER: u64 = 2;

/// More ops than any step has; keeps issue loops and sample files sane.
pub(super) const MAX_OPS: u64 = 100_000;

/// Payloads beyond this are refused before anything is allocated.
pub(super) const MAX_OP_BYTES: u64 = 1 << 40;

/// What the user asked of `allreduce-burst`; `None` means "as the model has it".
#[derive(Debug, Clone, Default)]
pub struct BurstRequest {
    /// Number of all-reduces.
    pub ops: Option<u64>,
    /// Payload of each, in bytes.
    pub bytes: Option<u64>,
    /// Element type.
    pub dtype: Option<DataType>,
    /// Tokens in the step (global batch).
    pub batch: u64,
    /// Ranks that share embedding and logits, where those are part of the step: with neither
    /// `ops` nor `bytes`.
    pub full_step: Option<u32>,
}

/// The all-reduces of one decode step under Tensor Parallelism: 2·L ops of B·H·e bytes each, with
/// what the user overrode.
///
/// # Errors
/// Exit code 2, naming the value, for facts that no model has, and for zero, huge or misaligned
/// sizes and counts.
pub fn allreduce_burst(model: &ModelFacts, request: &BurstRequest) -> Result<Plan> {
    model.require()?;
    let dtype = request.dtype.unwrap_or(model.activation_dtype);
    let ops = request.ops.unwrap_or_else(|| model.allreduces_per_step());
    if ops == 0 || ops > MAX_OPS {
        return Err(
            Error::usage(format!("a burst of {ops} ops cannot be replayed"))
                .try_this(format!("--ops 1 to --ops {MAX_OPS}")),
        );
    }
    if request.batch == 0 {
        return Err(Error::usage("a batch of 0 tokens sends nothing").try_this("--batch 1"));
    }
    let element_bytes = dtype.bytes();
    let bytes = match request.bytes {
        Some(bytes) => Some(bytes),
        None => model
            .hidden_size
            .checked_mul(element_bytes)
            .and_then(|token_bytes| token_bytes.checked_mul(request.batch)),
    }
    .filter(|bytes| *bytes <= MAX_OP_BYTES)
    .ok_or_else(|| {
        let asked = match request.bytes {
            Some(bytes) => format!("an all-reduce of {}", format_bytes(bytes)),
            None => format!("--batch {}", request.batch),
        };
        Error::usage(format!(
            "{asked} is beyond the largest payload, {}",
            format_bytes(MAX_OP_BYTES)
        ))
        .try_this("a smaller --bytes or --batch")
    })?;
    if bytes == 0 || bytes % element_bytes != 0 {
        let nearest = (bytes / element_bytes).max(1) * element_bytes;
        return Err(Error::usage(format!(
            "{bytes} bytes are no whole number of {dtype} elements of {element_bytes} bytes"
        ))
        .try_this(format!("--bytes {nearest}")));
    }
    let count_from = match request.ops {
        Some(_) => "--ops".to_string(),
        None => format!("{ALLREDUCES_PER_LAYER} × {} layers", model.layers),
    };
    let bytes_from = match request.bytes {
        Some(_) => "--bytes".to_string(),
        None => format!(
            "hidden {} × {element_bytes} B × batch {}",
            model.hidden_size, request.batch
        ),
    };
    let mut ops = vec![Op::even(OpKind::AllReduce, bytes, dtype); ops as usize];
    let mut origin = format!("{}: {count_from}; {bytes_from}", model.name);
    if let Some(ranks) = request.full_step {
        let logits = logits(model, request.batch, ranks, dtype)?;
        origin = format!("{origin}; with the embedding's all-reduce and the logits' all-gather");
        // The embedding is spread over the ranks like a layer's output.
        ops.insert(0, Op::even(OpKind::AllReduce, bytes, dtype));
        ops.push(logits);
    }
    Ok(Plan::alone(Plan::describe(&ops), origin, ops))
}

/// The all-gather of `batch` tokens' logits, whose vocabulary is spread over the ranks in parts of
/// ceil(V/N).
fn logits(model: &ModelFacts, batch: u64, ranks: u32, dtype: DataType) -> Result<Op> {
    let vocabulary = model.vocab_size.ok_or_else(|| {
        Error::usage(format!(
            "the vocabulary size of {} is not known",
            model.name
        ))
        .try_this("a config.json or a model file with vocab_size, or the step without --full-step")
    })?;
    let bytes = vocabulary
        .div_ceil(u64::from(ranks.max(1)))
        .checked_mul(dtype.bytes())
        .and_then(|token_bytes| token_bytes.checked_mul(batch))
        .filter(|bytes| *bytes <= MAX_OP_BYTES)
        .ok_or_else(|| {
            Error::usage(format!(
                "the logits of --batch {batch} are beyond the largest payload, {}",
                format_bytes(MAX_OP_BYTES)
            ))
            .try_this("a smaller --batch")
        })?;
    Ok(Op::even(OpKind::AllGather, bytes, dtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;
    use crate::plan::load_model;

    fn request() -> BurstRequest {
        BurstRequest {
            batch: 1,
            ..BurstRequest::default()
        }
    }

    #[test]
    fn kimi_k2_5_sends_122_all_reduces_of_14336_bytes() {
        let plan = allreduce_burst(&load_model("kimi-k2.5").unwrap(), &request()).unwrap();
        assert_eq!(plan.ops.len(), 122);
        assert!(plan.ops.iter().all(|op| op.bytes == 14_336));
        assert!(plan.ops.iter().all(|op| op.dtype == DataType::Bf16));
        assert_eq!(plan.total_bytes(), 122 * 14_336);
        assert_eq!(plan.label, "122 all-reduces of 14,336 B bf16");
    }

    #[test]
    fn a_full_step_has_embedding_and_logits_too() {
        let model = load_model("kimi-k2.5").unwrap();
        let full = BurstRequest {
            batch: 4,
            full_step: Some(8),
            ..BurstRequest::default()
        };
        let plan = allreduce_burst(&model, &full).unwrap();
        assert_eq!(plan.ops.len(), 124);
        // 163,840 entries over 8 ranks, bf16, 4 tokens.
        let last = plan.ops.last().unwrap();
        assert_eq!((last.kind, last.bytes), (OpKind::AllGather, 163_840));
        assert_eq!(plan.ops[0], plan.ops[1]);
        let unknown = ModelFacts {
            vocab_size: None,
            ..model
        };
        let error = allreduce_burst(&unknown, &full).unwrap_err();
        assert!(error.what.contains("vocabulary size"), "{}", error.what);
    }

    #[test]
    fn what_the_user_says_wins() {
        let model = load_model("kimi-k2.5").unwrap();
        let of = |request: BurstRequest| allreduce_burst(&model, &request).unwrap();
        assert_eq!(
            of(BurstRequest {
                batch: 8,
                ..request()
            })
            .ops[0]
                .bytes,
            8 * 14_336
        );
        assert_eq!(
            of(BurstRequest {
                ops: Some(7),
                ..request()
            })
            .ops
            .len(),
            7
        );
        assert_eq!(
            of(BurstRequest {
                bytes: Some(64),
                ..request()
            })
            .ops[0]
                .bytes,
            64
        );
        let wider = of(BurstRequest {
            dtype: Some(DataType::Fp32),
            ..request()
        });
        assert_eq!(wider.ops[0].bytes, 28_672, "hidden size is in elements");
    }

    #[test]
    fn impossible_requests_name_the_value_and_a_remedy() {
        let model = load_model("kimi-k2.5").unwrap();
        let cases = [
            (
                BurstRequest {
                    ops: Some(0),
                    ..request()
                },
                "0 ops",
            ),
            (
                BurstRequest {
                    ops: Some(u64::MAX),
                    ..request()
                },
                "18446744073709551615",
            ),
            (
                BurstRequest {
                    bytes: Some(0),
                    ..request()
                },
                "0 bytes",
            ),
            (
                BurstRequest {
                    bytes: Some(3),
                    ..request()
                },
                "3 bytes",
            ),
            (
                BurstRequest {
                    bytes: Some(u64::MAX),
                    ..request()
                },
                "TiB",
            ),
            (
                BurstRequest {
                    batch: 0,
                    ..request()
                },
                "batch of 0",
            ),
            (
                BurstRequest {
                    batch: u64::MAX,
                    ..request()
                },
                "18446744073709551615",
            ),
        ];
        for (request, hint) in cases {
            let error = allreduce_burst(&model, &request).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.what.contains(hint), "{hint}: {}", error.what);
            assert!(error.remedy.is_some());
        }
    }

    proptest::proptest! {
        #[test]
        fn volumes_are_the_formula(layers in 1u64..200, hidden in 1u64..20_000, batch in 1u64..4096) {
            let model = ModelFacts { layers, moe_layers: 0, hidden_size: hidden, ..load_model("kimi-k2.5").unwrap() };
            let plan = allreduce_burst(&model, &BurstRequest { batch, ..BurstRequest::default() }).unwrap();
            proptest::prop_assert_eq!(plan.total_bytes(), 2 * layers * hidden * 2 * batch);
        }
    }
}
