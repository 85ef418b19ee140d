//! Programs of requests whose time people ask for.
//!
//! [`Blocks`] is a closed loop: so many operations against remote disks are under way at a time, and the next
//! begins when one ends. [`Requests`] is an open one: key-value caches come when prompts do, whether or
//! not the network keeps up. [`Serving`] is what is around them: prompts that are read, caches that are sent, answers
//! token by token. All say when each request begins and ends
//! ([`crate::program::Action::Begins`]), so that the runner knows its time.

mod blocks;
pub(crate) mod log;
mod requests;
mod serving;

pub use blocks::{Blocks, BlocksSettings, Disk, End};
pub use requests::{Arrival, Requests};
pub use serving::{Instance, Prompt, Served, Serving, ServingSettings};
