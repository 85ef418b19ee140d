//! The state of hosts: NICs, the queue pairs on them, how they choose ports and paths, how fast the host takes and
//! gives data, and the jobs that run there.
//!
//! What is here knows neither the engine nor any switch. What happens to it is in the modules above:
//! [`crate::nic`], [`crate::connection`], [`crate::job`].

pub(crate) mod cnp_limit;
pub(crate) mod guest;
pub(crate) mod pcie;
pub(crate) mod recycle;
