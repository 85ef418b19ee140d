//! A workload of AICB, without the line of columns that it begins with.
#![no_main]

#[path = "../../crates/workload/tests/entries/mod.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entries::aicb(bytes));
