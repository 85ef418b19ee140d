//! A GOAL schedule as a binary, without its cookie.
#![no_main]

#[path = "../../crates/workload/tests/entries/mod.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entries::goal_binary(bytes));
