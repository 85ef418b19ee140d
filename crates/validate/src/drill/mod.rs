//! Drills: small faults on a fabric, simulated, as their counters would be scraped. Each fires an alert of
//! [`xoff_diagnose::alerts`]; without a fault none may fire.
//!
//! A drill runs on the fabric itself, whatever its size: a [cast](cast::Cast) of a few NICs below two leaves sends, and only the
//! counters of their ports and switches are kept. [`PERIOD`] of the run stands for a scrape every
//! [`INTERVAL`](xoff_diagnose::alerts::INTERVAL) seconds; the fault begins after [`BEFORE`] scrapes.
//!
//! What it is not: it evaluates no rule. That is for Prometheus and promtool.

mod cast;
mod kind;
mod run;
mod stage;
mod traffic;

pub use kind::Drill;
pub use run::{DrillError, Drilled, drill};

use xoff_units::Span;

/// What stands for the time between two scrapes.
pub const PERIOD: Span = Span::from_us(20);
/// Scrapes before the fault.
pub const BEFORE: u32 = 24;
/// Scrapes after it.
pub const AFTER: u32 = 38;

/// When the fault begins.
const FAULT: Span = Span::from_us(20 * BEFORE as u64);
/// When the run ends.
const END: Span = Span::from_us(20 * (BEFORE + AFTER) as u64);
/// The job whose steps are timed.
const JOB: &str = "train";
