//! What one decode step sends: model facts in, an ordered list of collective calls out.
//! Knows neither MPI nor CUDA.

mod decode;
mod dtype;
mod huggingface;
mod model;
mod moe_layers;
mod op;
mod parallel;
mod routing;

pub use decode::{BurstRequest, allreduce_burst};
pub use dtype::DataType;
pub use model::{ModelFacts, load_model, preset_names};
pub(crate) use model::{parse_json, parse_toml};
pub use op::{Op, OpKind, Plan};
pub use parallel::{
    AbsentPlan, Calls, Collective, ParallelKind, ParallelPlan, ParallelPlans, Routing,
    parallel_plans,
};
pub use routing::{rank_hit_probability, rank_hit_probability_in_groups};
