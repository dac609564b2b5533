//! Bindings of NCCL's API, made by bindgen at build time; the library is opened at run time.
#![allow(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    missing_docs,
    clippy::all
)]

include!(concat!(env!("OUT_DIR"), "/nccl.rs"));
