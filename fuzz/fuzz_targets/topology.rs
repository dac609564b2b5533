#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| commbench::fuzzing::topology(data));
