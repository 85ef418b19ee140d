//! Captures with known troubles, and what is said of them.

mod harness;
mod hostile;
mod matching;
mod real;
mod trouble;
