//! The rules of lossless Ethernet as pure functions: how much headroom a cable needs, where a
//! dynamic threshold stands, how ECN thresholds follow the rate, how flows are hashed.
//!
//! The renderer prints what these return, the auditor compares with it and the switch model obeys it.

pub mod adaptive;
pub mod buffer;
pub(crate) mod delay;
pub(crate) mod ecn;
pub mod hash;
pub mod headroom;
pub mod packet;
pub mod pause;
pub mod pcie;
pub mod uplinks;
