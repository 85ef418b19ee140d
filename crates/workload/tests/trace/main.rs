//! Traces as users have them, written by small writers here and read by the library: what goes in
//! comes out, whatever is damaged is refused or noted, and counts agree with other decoders.

mod chakra;
mod counts;
#[path = "../entries/mod.rs"]
mod entries;
mod folders;
mod goal;
mod kineto;
mod mutation;
mod nccl;
mod simai;

use std::io::Write;
use xoff_workload::trace::{Format, Options, Trace, TraceError, read_stream};

/// Reads a file that is told by its content.
fn read(name: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    read_stream(name, bytes, Options::default())
}

/// Reads a file that is said to be of a format.
fn read_as(format: Format, name: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    read_stream(name, bytes, Options { format: Some(format), ..Options::default() })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).expect("memory takes everything");
    packer.finish().expect("memory takes everything")
}
