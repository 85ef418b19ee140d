//! Files of any systems, recognised and audited.
#![no_main]

#[path = "../../crates/config/tests/entries/mod.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entries::audit(bytes));
