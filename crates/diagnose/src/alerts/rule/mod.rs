//! The alerts, by concern.

pub(super) mod congestion;
pub(super) mod hosts;
pub(super) mod jobs;
pub(super) mod links;
pub(super) mod pauses;

/// The team of the network.
const NETWORK: &str = "network";
/// The team of the hosts.
const HOSTS: &str = "hosts";
