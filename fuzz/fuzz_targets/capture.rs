//! A capture file.
#![no_main]

#[allow(dead_code, reason = "a target uses one of the entrances")]
#[path = "../../crates/wire/tests/entries/mod.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entries::capture(bytes));
