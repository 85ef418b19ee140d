//! What a file says, checked beyond its shape: numbers that cannot be, names that are not there.

mod adaptive;
mod collective;
mod fault;
mod goals;
mod local;
mod quantities;
mod scenario;
mod trace;
mod traffic;
mod training;
mod transport;

pub(crate) use adaptive::pace;
pub(crate) use collective::{MOST_CHANNELS, costs};
pub(crate) use goals::goals;
pub(crate) use quantities::fabric;
pub(crate) use scenario::scenario;
