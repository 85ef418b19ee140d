//! What users come for: a fabric planned from a number of GPUs, a fabric validated in six phases with
//! evidence and advice, and a report that people want to read.
//!
//! [`plan`] turns a few wishes into a fabric, its parts, its cables and its alternatives. [`report`] turns
//! figures and findings into one page that needs no network.
//!
//! What it is not: it reads no files, starts no threads and prints nothing; the binary does that. It has no
//! model of its own: whatever it says of a fabric it has from `fabric`'s rules or from a run of `sim`. Read
//! [`plan`] first.

pub mod plan;
pub mod report;
