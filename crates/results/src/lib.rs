//! What a run gave: watched while it runs, summed up, judged and laid out as a page.
//!
//! A [`Case`] is what is simulated; [`Case::run`] simulates it under a [`Watcher`], which keeps or
//! writes only what its caller chose: drops and first pauses always, pauses, samples, series for a
//! page and the tables of a run folder on request. [`Results`] then are the case, the simulator's
//! report and what the watcher saw: [`Results::write`] makes the tables and the summary,
//! [`Verdict::of`] says which rules the run broke, [`isolation::compare`] what tenants cost each
//! other, and [`page`](mod@page) lays it all out. `xoff run`, a validation and a comparison all go
//! this way.
//!
//! What it is not: it models nothing, reads no input files, asks no clock and prints nothing; it
//! writes only through `telemetry`'s run folder. Read [`Case`] first, then [`Watcher`] and
//! [`Results`].

mod case;
mod critical;
pub mod isolation;
pub mod jobs;
pub mod page;
mod serving;
mod tables;
mod verdict;
pub mod verify;
pub mod watch;
mod workloads;

pub use case::{Case, StartError, settings};
pub use page::page;
pub use tables::Results;
pub use verdict::{Breach, Verdict};
pub use watch::{Watched, Watcher};
