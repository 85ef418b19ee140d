//! A capture file, compressed or not, analysed.
#![no_main]

#[allow(dead_code, reason = "a target uses one of the entrances")]
#[path = "../../crates/diagnose/tests/entries/mod.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entries::inspect(bytes));
