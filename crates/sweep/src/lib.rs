//! Many runs of one scenario: a sweep file says which keys of fabric and scenario change, and this
//! crate says what its points are, what each run gives, and what all of them show.
//!
//! A [`Sweep`] is read from its file; a [`Plan`] has its points, numbered, each a function of its
//! number alone. A [`Base`] is the scenario and the fabric that points change; [`Base::run`] makes a
//! [`Row`] of one point. Rows are kept in [`shard`]s, and [`table`](mod@table) makes one Parquet table of them in the
//! order of the points. [`analysis`] and [`page`](mod@page) say what the table shows.
//!
//! What it is not: it starts no threads and no jobs, asks no clock and writes no file but the table;
//! who runs points, where and when, is decided by the caller and cannot be seen in the result. Read
//! [`file`](mod@file) first, then [`plan`](mod@plan) and [`run`](mod@run).

pub mod analysis;
mod axis;
pub mod base;
pub mod check;
pub mod file;
mod key;
pub mod numeric;
pub mod page;
pub mod plan;
mod problem;
mod read;
pub mod row;
pub mod run;
mod sample;
pub mod shard;
pub mod sobol;
pub mod table;
mod value;

pub use axis::{Axis, Setting};
pub use base::{Base, Texts};
pub use file::Sweep;
pub use key::{File, Key};
pub use plan::{Plan, Point};
pub use problem::Problem;
pub use read::{Item, Reader};
pub use row::{Figure, Row};
pub use sample::Sample;
pub use value::{Measure, shown};
