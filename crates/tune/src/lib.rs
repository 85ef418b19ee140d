//! Values for *this* fabric and *these* workloads: which knobs there are, what is aimed at, where to look next,
//! and what was found.
//!
//! A [`Knob`] is a key of the fabric or the scenario with the values it may take; [`choose`] has those that mean
//! something on a given fabric, and a [`Tune`] file others. A [`Case`] is a workload with a [`Goal`]: a figure of its
//! runs, and bounds that other figures keep. [`search`](search::search) asks its [`Runner`] for runs, batch by batch,
//! and ends with a [`Found`]; [`Answer`] says what that means: the values, what each is worth, what is indifferent, what
//! speed costs in pauses, and whether all of it holds on seeds that the search has not seen.
//!
//! The search, in short: the present setting and a space-filling start on one seed, the better half of them on more
//! (successive halving); then batches that a Gaussian process proposes; then every knob back to where it was,
//! unless that costs something; at last the unseen seeds. All settings run with the same seeds (common random numbers), and
//! what is compared is the ratio to the present setting on the same seed.
//!
//! What it is not: it starts no threads, asks no clock, reads and writes no file but the table. The same plan gives the
//! same requests for runs in the same order, whoever runs them. Read [`knob`], [`goal`], then [`search`](mod@search).

pub mod answer;
pub mod choose;
mod design;
pub mod faults;
pub mod file;
mod gauss;
pub mod goal;
pub mod knob;
mod model;
pub mod page;
pub mod plan;
mod score;
pub mod search;
mod simplify;
pub mod statistics;
pub mod table;

pub use answer::{Answer, Verdict};
pub use file::Tune;
pub use goal::{Bound, Goal};
pub use knob::{Knob, Place};
pub use plan::{Case, Options, Plan};
pub use search::{Found, Point, Run, Runner, Stage};
