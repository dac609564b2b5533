//! Element types of the data that collectives move.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An element type. Names are commbench's short ones; nccl-tests' long names are read as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DataType {
    Bf16,
    Fp16,
    Fp32,
    Fp64,
    Int8,
    Int32,
}

impl DataType {
    /// Every type, in the order of the help text.
    pub const ALL: [DataType; 6] = [
        DataType::Bf16,
        DataType::Fp16,
        DataType::Fp32,
        DataType::Fp64,
        DataType::Int8,
        DataType::Int32,
    ];

    /// Size of one element in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            DataType::Int8 => 1,
            DataType::Bf16 | DataType::Fp16 => 2,
            DataType::Fp32 | DataType::Int32 => 4,
            DataType::Fp64 => 8,
        }
    }

    /// The largest integer up to which every integer is represented exactly, so that a sum that
    /// stays within it is exact in any order of adding.
    pub fn exact_integer_limit(self) -> u64 {
        match self {
            DataType::Int8 => 127,
            DataType::Bf16 => 1 << 8,
            DataType::Fp16 => 1 << 11,
            DataType::Fp32 => 1 << 24,
            DataType::Int32 => i32::MAX as u64,
            DataType::Fp64 => 1 << 53,
        }
    }

    /// The name in nccl-tests' columns.
    pub fn nccl_tests_name(self) -> &'static str {
        match self {
            DataType::Bf16 => "bfloat16",
            DataType::Fp16 => "half",
            DataType::Fp32 => "float",
            DataType::Fp64 => "double",
            DataType::Int8 => "int8",
            DataType::Int32 => "int32",
        }
    }

    /// The short name.
    pub fn name(self) -> &'static str {
        match self {
            DataType::Bf16 => "bf16",
            DataType::Fp16 => "fp16",
            DataType::Fp32 => "fp32",
            DataType::Fp64 => "fp64",
            DataType::Int8 => "int8",
            DataType::Int32 => "int32",
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DataType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "bf16" | "bfloat16" => DataType::Bf16,
            "fp16" | "f16" | "half" | "float16" => DataType::Fp16,
            "fp32" | "f32" | "float" | "float32" => DataType::Fp32,
            "fp64" | "f64" | "double" | "float64" => DataType::Fp64,
            "int8" | "i8" => DataType::Int8,
            "int32" | "i32" => DataType::Int32,
            _ => {
                let known: Vec<&str> = DataType::ALL.iter().map(|dtype| dtype.name()).collect();
                return Err(format!(
                    "'{text}' is no known datatype (known: {})",
                    known.join(", ")
                ));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for dtype in DataType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
            assert_eq!(dtype.nccl_tests_name().parse(), Ok(dtype));
            assert_eq!(
                serde_json::to_string(&dtype).unwrap(),
                format!("\"{}\"", dtype.name())
            );
        }
        assert_eq!("bfloat16".parse(), Ok(DataType::Bf16));
        assert!("fp8x".parse::<DataType>().unwrap_err().contains("fp8x"));
    }
}
