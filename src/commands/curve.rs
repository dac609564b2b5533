//! What the commands over tokens per GPU have in common.

use crate::cli::{CurveArgs, FormatArgs, PayloadArg};
use crate::plan::{Exchanges, ModelFacts, Payload, ReplaySize, RoutingRule, TokenFormats};
use crate::result::Warning;

/// The all-to-alls that `args` ask for.
pub(super) fn exchanges<'a>(
    model: &'a ModelFacts,
    args: &CurveArgs,
    payload: PayloadArg,
    ranks: u32,
) -> Exchanges<'a> {
    Exchanges {
        model,
        ranks,
        payload: match payload {
            PayloadArg::Uniform => Payload::Uniform,
            PayloadArg::Routed => Payload::Routed(RoutingRule {
                skew: args.skew,
                seed: args.seed,
            }),
        },
        formats: formats(model, &args.formats),
    }
}

/// What tokens are made of.
pub(super) fn formats(model: &ModelFacts, args: &FormatArgs) -> TokenFormats {
    TokenFormats::or_own(model, args.dispatch_dtype, args.combine_dtype)
}

/// How much of a step a replay holds.
pub(super) fn replay_size(args: &CurveArgs) -> ReplaySize {
    ReplaySize {
        bytes: args.replay_bytes,
    }
}

/// Says that a skew does nothing where tokens are split evenly.
pub(super) fn unused_skew(args: &CurveArgs, payload: PayloadArg) -> Option<Warning> {
    (payload == PayloadArg::Uniform && args.skew != 0.0).then(|| Warning {
        code: "skew-unused".to_string(),
        text: format!("--skew {} does nothing to a uniform payload", args.skew),
        remedy: Some("--payload routed".to_string()),
    })
}
