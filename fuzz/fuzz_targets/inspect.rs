//! A capture file, analysed.
#![no_main]

#[path = "../../crates/diagnose/tests/entries/mod.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entries::inspect(bytes));
