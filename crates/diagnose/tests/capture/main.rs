//! Captures with known troubles, and what is said of them.

#[path = "../entries/mod.rs"]
mod entries;
mod harness;
mod hostile;
mod late;
mod matching;
mod offload;
mod places;
mod real;
mod snap;
mod time;
mod trouble;
mod tunnels;
