//! Parts of wires and switches: ports and their queues, buffers, schedulers, routes, and the packets in them.
//!
//! What is here knows neither the engine nor any host, so that the state of a switch can live wherever its events
//! are handled. [`crate::net::Net`] puts it together with what [`crate::pause`], [`crate::credit`], [`crate::link`],
//! [`crate::balance`] and [`crate::voq`] remember; what happens to it is in [`crate::forward`],
//! [`crate::transmit`], [`crate::route`] and [`crate::drop`].

pub(crate) mod buffer;
pub(crate) mod chip;
pub(crate) mod hashing;
pub(crate) mod header;
pub(crate) mod packet;
pub(crate) mod port;
pub(crate) mod routing;
pub(crate) mod scheduler;
pub(crate) mod trail;
