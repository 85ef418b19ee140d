//! A fabric validated in six phases: experiments, what they measured, how that is judged, and
//! advice.
//!
//! A validation is a [`suite`](mod@suite) of [`Experiment`]s, each an ordinary scenario;
//! [`measure`](mod@measure) runs one and keeps the figures, [`judge`](mod@judge) turns all of them
//! into [`Check`]s with advice, and [`page`](mod@page) lays the checks out as a report. [`compare`]
//! makes the variants of a fabric that `xoff compare` measures side by side; [`configured`] is a
//! fabric with the settings that its devices have.
//!
//! What it is not: it reads no files, starts no threads and prints nothing; the binary does that.
//! It has no model of its own: every figure comes from `fabric`'s rules or from a run of `sim`.
//! Read [`experiment`] first, then [`measure`](mod@measure) and [`judge`](mod@judge).

pub mod advice;
pub mod blind;
pub mod check;
pub mod compare;
pub mod configured;
pub mod drill;
pub mod experiment;
pub mod judge;
mod junit;
pub mod measure;
pub mod page;
pub mod phase;
pub mod remedy;
pub mod suite;
pub mod validation;

pub use advice::Advice;
pub use check::{Aspect, Check};
pub use experiment::Experiment;
pub use judge::{Evidence, judge};
pub use junit::junit;
pub use measure::{MeasureError, Measurement, measure};
pub use page::page;
pub use phase::Phase;
pub use suite::{Choice, suite};
pub use validation::Validation;
