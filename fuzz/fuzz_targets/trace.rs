//! A trace of any format: the first byte says which, or that its content tells.
#![no_main]

#[path = "../../crates/workload/tests/entries/mod.rs"]
mod entries;

use xoff_workload::trace::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((first, rest)) = bytes.split_first() {
        entries::trace(Format::ALL.get(usize::from(*first)).copied(), rest);
    }
});
