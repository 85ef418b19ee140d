//! What is sent when: the traffic of a scenario as a list of [`Flow`]s on a fabric, and as
//! [`program::Program`]s that unroll while they run.
//!
//! [`expand`] turns the `[[workload]]` entries of a scenario into flows, sorted by start; [`programs`]
//! turns collectives into [`Job`]s. Both are functions of scenario, fabric, files and seed: every random
//! draw comes from a [`stream`] of its own, so that one more workload or NIC moves no other draw.
//!
//! What it is not: it moves no bytes, and neither flow nor program knows anything of packets. Read
//! [`Flow`] and [`expand`] first, then [`program`] and [`collective`]; each kind of traffic is a module
//! beside them, [`training`] puts them together to steps. [`ideal`] runs programs without a network's
//! troubles; [`trace`] and [`ns3`] read what other tools wrote.

pub mod agenda;
mod arrivals;
pub mod calibrate;
mod catalogue;
pub mod collective;
mod csv;
mod error;
mod expand;
mod flow;
pub mod ideal;
mod job;
pub mod layout;
mod list;
mod logarithm;
pub mod measured;
pub mod ns3;
mod patterns;
mod permutation;
pub mod ports;
pub mod program;
pub mod replay;
mod resolve;
pub mod rounds;
pub mod service;
mod sizes;
mod storage;
pub mod stream;
#[cfg(test)]
mod testing;
pub mod trace;
pub mod training;

pub use catalogue::SIZE_DISTRIBUTIONS;
pub use error::{Place, WorkloadError};
pub use expand::{MOST_FLOWS, Open, expand, folder, input_files, label};
pub use flow::{Flow, Pinned};
pub use job::{
    Fallback, Job, JobError, ReplayRun, Run, ServiceRun, TokenObjective, TrainingRun, Turn,
    programs, programs_in,
};
