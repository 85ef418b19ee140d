//! The quantities everything else is counted in: [`Instant`] and [`Span`] (picoseconds), [`Bytes`],
//! [`Rate`] (bits per second), [`PacketRate`], [`Length`] (millimetres) and [`Ratio`] (an exact fraction).
//!
//! All arithmetic is on integers, so it gives the same answer on every machine. Picoseconds because
//! from 10G to 1.6T one byte takes a whole number of them; a `u64` of them lasts 213 days.
//!
//! Every quantity parses from what people write (`400Gbps`, `30m`, `150KB`, `1MiB`, `2us`, `5%`,
//! `1/8`) and displays in a form that parses back. Decimal prefixes are powers of ten,
//! `Ki`/`Mi`/`Gi` powers of two; `b` is bits and `B` is bytes.
//!
//! What it is not: a dimensional-analysis library. Read [`time`] first.

mod bytes;
mod length;
mod packet_rate;
mod parse;
#[cfg(feature = "serde")]
mod pattern;
mod rate;
mod ratio;
#[cfg(feature = "serde")]
mod serde_impl;
pub mod time;

pub use bytes::Bytes;
pub use length::Length;
pub use packet_rate::PacketRate;
pub use parse::ParseError;
pub use rate::{ByteTime, Rate};
pub use ratio::Ratio;
pub use time::{Instant, Span};
