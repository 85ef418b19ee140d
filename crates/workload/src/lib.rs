//! What is sent when: the traffic of a scenario as a list of [`Flow`]s on a fabric.
//!
//! [`expand`] turns the `[[workload]]` entries of a scenario into flows, sorted by start. The list is
//! a function of scenario, fabric, files and seed: every random draw comes from a [`stream`] of its
//! own, so that one more workload or NIC moves no other draw.
//!
//! What it is not: it moves no bytes, and a flow knows nothing of packets. Read [`Flow`] and
//! [`expand`] first; each kind of traffic is a module beside them.

mod arrivals;
mod catalogue;
pub mod collective;
mod csv;
mod error;
mod expand;
mod flow;
pub mod ideal;
pub mod layout;
mod list;
mod logarithm;
mod patterns;
pub mod program;
mod resolve;
mod sizes;
pub mod stream;
#[cfg(test)]
mod testing;
pub mod trace;

pub use catalogue::SIZE_DISTRIBUTIONS;
pub use error::{Place, WorkloadError};
pub use expand::{MOST_FLOWS, Open, expand, folder, input_files, label};
pub use flow::{Flow, Pinned};
