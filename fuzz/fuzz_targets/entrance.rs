//! Datagrams to a device.
#![no_main]

#[path = "../../crates/endpoint/tests/entries/mod.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    entries::entrance(bytes);
});
