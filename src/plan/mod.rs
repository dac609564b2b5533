//! What one decode step sends: model facts in, an ordered list of collective calls out.
//! Knows neither MPI nor CUDA.

mod decode;
mod dtype;
mod exchange;
mod file;
mod gaps;
mod huggingface;
mod model;
mod moe_layers;
mod op;
mod parallel;
mod points;
mod prefix;
mod route;
mod routing;
mod size_point;
mod sizes;
mod tokens;
mod traffic;

pub use decode::{BurstRequest, allreduce_burst};
pub use dtype::DataType;
pub use exchange::{Direction, Exchanges, Payload, TokenFormat, TokenFormats};
pub use file::{PLAN_SCHEMA, load_plan, parse_plan, plan_text};
pub use gaps::{Gaps, LateRank, MAX_GAP_US};
pub use model::{ModelFacts, load_model, preset_names};
pub(crate) use model::{parse_json, parse_toml};
pub use op::{CurvePlace, Exchange, Op, OpKind, Plan, name_without_stamps};
pub use parallel::{
    AbsentPlan, Calls, Collective, ParallelKind, ParallelPlan, ParallelPlans, Routing,
    parallel_plans,
};
pub use points::{ReplaySize, all_gather_point, exchange_point, step_plan, tensor_parallel_point};
pub use prefix::{beginning_length, beginnings};
pub use route::{RoutingRule, route_layer};
pub use routing::{rank_hit_probability, rank_hit_probability_in_groups};
pub use size_point::SizePoint;
pub use sizes::{SizeStep, SizeSweep, SweptOp};
pub use tokens::parse_tokens;
pub use traffic::Traffic;
