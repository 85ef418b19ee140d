//! Parts of hosts: how NICs limit CNPs, transports of single workloads, how fast a host gives data, and how senders
//! choose entropies.
//!
//! What is here knows neither the engine nor any switch. [`crate::hosts::Hosts`] puts it together with what
//! [`crate::nic`], [`crate::connection`], [`crate::plane`] and [`crate::job`] remember.

pub(crate) mod cnp_limit;
pub(crate) mod guest;
pub(crate) mod pcie;
pub(crate) mod recycle;
