//! Programs of requests whose time people ask for.
//!
//! [`Blocks`] is a closed loop: so many operations against remote disks are under way at a time, and the next
//! begins when one ends. [`Requests`] is an open one: key-value caches come when prompts do, whether or
//! not the network keeps up. Both say when each request begins and ends
//! ([`crate::program::Action::Begins`]), so that the runner knows its time.

mod blocks;
mod requests;

pub use blocks::{Blocks, BlocksSettings, Disk, End};
pub use requests::{Arrival, Requests};
