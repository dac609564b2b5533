//! The project's own description of a machine: TOML, short enough to write by hand.
//! `docs/TOPOLOGY.md` describes it.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::parse_topology_toml;
pub use write::topology_toml;

use serde::{Deserialize, Serialize};
use toml::Spanned;

/// Name and version of the format.
pub const TOPOLOGY_SCHEMA: &str = "commbench/topology/1";

/// Descriptions of sources stand in reports.
const MAX_SOURCE_CHARS: usize = 2_000;

/// What all NVSwitches of a machine are called as one part.
pub(super) const NVSWITCH: &str = "NVSwitch";

/// A file as it stands.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    name: String,
    /// Where the description comes from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    source: String,
    /// What PCIe links are that do not say otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<Spanned<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gpu_model: Option<String>,
    /// Compute capability, 120 for 12.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gpu_sm: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cpu: Vec<Spanned<CpuEntry>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cpu_link: Vec<Spanned<CpuLinkEntry>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    root_port: Vec<Spanned<RootPortEntry>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    switch: Vec<Spanned<SwitchEntry>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gpus: Vec<Spanned<GpusEntry>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nic: Vec<Spanned<DeviceEntry>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    device: Vec<Spanned<DeviceEntry>>,
    /// The same number of NVLinks from every GPU to the NVSwitches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nvswitch: Option<Spanned<NvSwitchEntry>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nvlink: Vec<Spanned<NvLinkEntry>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuEntry {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    numa: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    family: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuLinkEntry {
    between: [String; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Of one direction; left out, NCCL's constant for the processors' family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gb_per_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency_us: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RootPortEntry {
    name: String,
    cpu: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host_bridge: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

/// Fields that every PCIe link has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct LinkFields {
    /// What it is trained to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    /// What it could be: more than `link` marks it as degraded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max: Option<String>,
    /// Of one direction; left out, that of the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gb_per_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency_us: Option<f64>,
}

// `flatten` and `deny_unknown_fields` exclude each other: the link's fields are repeated below.
macro_rules! with_link_fields {
    ($name:ident { $($(#[$meta:meta])* $field:ident: $kind:ty,)* }) => {
        #[derive(Debug, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $name {
            $($(#[$meta])* $field: $kind,)*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            link: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            max: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            gb_per_s: Option<f64>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            latency_us: Option<f64>,
        }

        impl $name {
            fn link_fields(&self) -> LinkFields {
                LinkFields {
                    link: self.link.clone(),
                    max: self.max.clone(),
                    gb_per_s: self.gb_per_s,
                    latency_us: self.latency_us,
                }
            }
        }
    };
}

with_link_fields!(SwitchEntry {
    name: String,
    under: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chip: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
});

with_link_fields!(GpusEntry {
    under: String,
    /// Numbers of the GPUs: number 3 is called GPU3.
    ids: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sm: Option<u32>,
    /// PCI addresses, one for each of `ids`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<String>,
});

with_link_fields!(DeviceEntry {
    name: String,
    under: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
});

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NvSwitchEntry {
    links_per_gpu: u32,
    /// Of one direction of one GPU's links together; left out, NCCL's figure for the GPU's `sm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gb_per_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency_us: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NvLinkEntry {
    between: [String; 2],
    count: u32,
    /// Of one direction of all these links together; left out, NCCL's figure for the GPU's `sm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gb_per_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency_us: Option<f64>,
}
