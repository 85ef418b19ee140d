//! The state of wires and switches: ports and their queues, buffers, pauses, credits, links, routes, and the packets
//! in them.
//!
//! What is here knows neither the engine nor any host, so that the state of a switch can live wherever its events
//! are handled. What happens to it is in the modules above: [`crate::forward`], [`crate::transmit`],
//! [`crate::pause`] and their kin.

pub(crate) mod buffer;
pub(crate) mod chip;
pub(crate) mod hashing;
pub(crate) mod header;
pub(crate) mod packet;
pub(crate) mod port;
pub(crate) mod routing;
pub(crate) mod scheduler;
pub(crate) mod trail;
