//! Counters from where operators keep them, and into it: [`prometheus`] reads recordings from a metric store and writes readings
//! to one, [`otlp`] writes them to a collector of OpenTelemetry.
//!
//! A series of a store is a name and labels; [`labels`] says which labels a place of a fabric has, [`names`] what series of other
//! exporters are called and mean. [`steplog`] reads the step times that jobs log, [`benchmark`] takes what
//! nccl-tests measured. What comes from a store is
//! not believed: answers are bounded in size and time, values that are no numbers are refused and counted, and a store that
//! answered in part says so.
//!
//! What it is not: it draws no conclusions (that is `xoff_diagnose`) and reads no device.

pub mod benchmark;
pub mod labels;
pub mod names;
pub mod otlp;
pub mod prometheus;
mod samples;
pub mod steplog;
pub mod store;

pub use samples::Written;
