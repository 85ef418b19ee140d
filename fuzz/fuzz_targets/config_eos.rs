//! A configuration read as eos.
#![no_main]

#[path = "../../crates/config/tests/entries/mod.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    entries::configuration(xoff_config::SystemId::Eos, bytes);
});
