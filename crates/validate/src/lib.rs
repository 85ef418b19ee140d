//! What users come for: a fabric planned from a number of GPUs, a fabric validated in six phases with
//! evidence and advice, and a report that people want to read.
//!
//! [`plan`] turns a few wishes into a fabric, its parts, its cables and its alternatives. A validation is a
//! [`suite`](mod@suite) of [`Experiment`]s, each an ordinary scenario; [`measure`](mod@measure) runs one and
//! keeps what matters, [`judge`](mod@judge) turns all that was measured into [`Check`]s with advice.
//! [`page`](mod@page) makes a report of them; [`report`] turns figures and findings into one page that needs no network.
//!
//! What it is not: it reads no files, starts no threads and prints nothing; the binary does that. It has no
//! model of its own: whatever it says of a fabric it has from `fabric`'s rules or from a run of `sim`. Read
//! [`experiment`] first, then [`measure`](mod@measure) and [`judge`](mod@judge).

pub mod check;
pub mod compare;
pub mod configured;
pub mod experiment;
pub mod judge;
mod junit;
pub mod measure;
pub mod page;
pub mod phase;
pub mod plan;
pub mod report;
pub mod suite;
pub mod validation;

pub use check::{Advice, Check};
pub use experiment::Experiment;
pub use judge::{Evidence, judge};
pub use junit::junit;
pub use measure::{MeasureError, Measurement, measure};
pub use page::page;
pub use phase::Phase;
pub use report::Verdict;
pub use suite::{Choice, suite};
pub use validation::Validation;
