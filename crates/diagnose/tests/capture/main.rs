//! Captures with known troubles, and what is said of them.

#[path = "../entries/mod.rs"]
mod entries;
mod harness;
mod hostile;
mod matching;
mod real;
mod trouble;
