//! A RoCEv2 endpoint in userspace: the [`xoff_transport`] queue pairs on a UDP socket, with wall
//! time and real memory. It needs no NIC, no kernel module and no privileges.
//!
//! A [`Device`] is one IP address with everything behind it: memory, queue pairs, completions. It
//! belongs to one thread and moves only when [`Device::progress`] is called:
//!
//! 1. [`open`](Device::open) it; [`register`](Device::register) memory, make a
//!    [completion queue](Device::create_completions) and [queue pairs](Device::create_pair).
//! 2. Exchange address, queue pair number, first packet number and memory keys with the peer by any
//!    means ([`cm`] is one), and [`connect`](Device::connect).
//! 3. [`post`](Device::post) work, call [`progress`](Device::progress) and
//!    [`wait`](Device::wait) in turn, and take what is done from [`poll`](Device::poll).
//!
//! The bytes of a region are the device's; between two calls the caller reads and changes them with
//! [`bytes`](Device::bytes) and [`bytes_mut`](Device::bytes_mut). So nothing is shared, and nothing
//! is locked.
//!
//! An [`Endpoint`] is a device on a thread of its own, for callers that block or await:
//!
//! ```
//! use xoff_endpoint::{Access, Bytes, DeviceSettings, Endpoint};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let near = Endpoint::open(DeviceSettings::new([127, 93, 0, 1]))?;
//! let far = Endpoint::open(DeviceSettings::new([127, 93, 0, 2]))?;
//! let source = near.register(b"over the wire".to_vec(), Access::ALL).wait()?;
//! let target = far.register(vec![0; 13], Access::ALL).wait()?;
//! let (ours, theirs) = (near.connection().wait()?, far.connection().wait()?);
//! ours.connect(theirs.introduction(), 1024).wait()?;
//! theirs.connect(ours.introduction(), 1024).wait()?;
//! assert!(ours.write(source.all(), target.remote(Bytes::ZERO)).wait()?.is_ok());
//! assert_eq!(target.bytes().wait()?, b"over the wire");
//! # Ok(())
//! # }
//! ```
//!
//! [`cm`] sets connections up as rdma_cm does, [`perftest`] speaks the protocol of the perftest
//! tools, [`bare`] measures the same sockets without RoCE, [`ethtool`] reads a NIC's statistics and its module, [`dcb`] its PFC,
//! [`sniffer`] what passes it.
//!
//! What it is not: authentication of peers, which RoCEv2 does not have. Read [`Device`] first, then
//! [`Work`].

mod alarms;
mod awaited;
pub mod bare;
mod clock;
pub mod cm;
mod completion;
mod connection;
pub mod dcb;
mod device;
mod dialog;
mod discard;
mod driver;
mod endpoint;
mod engine;
mod error;
pub mod ethtool;
mod head;
mod inbox;
mod listener;
mod memory;
mod moderation;
mod name;
mod outbox;
mod pair;
mod pending;
pub mod perftest;
mod post;
mod posted;
mod receive;
mod region;
mod run;
mod schedule;
mod settings;
mod slab;
pub mod sniffer;
mod socket;
mod syscall;
mod tap;
mod terms;
mod transmit;
mod verify;
mod work;

pub use awaited::Awaited;
pub use clock::{Clock, Steps};
pub use completion::{Completions, SharedReceives};
pub use connection::{Connection, Introduction};
pub use device::{Device, Progress};
pub use discard::{Reason, Reasons};
pub use endpoint::Endpoint;
pub use error::{Error, OpenError, Rejection};
pub use listener::{Listener, Request};
pub use memory::Memory;
pub use pair::{PairId, PairState, Remote};
pub use pending::Pending;
pub use region::Region;
pub use settings::{DeviceSettings, Limits, PairSettings, Verify, Waiting, host_config};
pub use terms::{End, Negotiated, Terms};
pub use verify::Verification;
pub use work::{Arrival, Completion, DatagramWork, Outcome, RemoteSlice, Slice, Work, WorkId};

// What signatures here are made of, so that a program needs this crate only. All else of the three
// crates below is under their names.
pub use xoff_transport::config::QpConfig;
pub use xoff_transport::{
    Access, Atomic, CongestionState, Counters, PostError, ProtectionDomain, Qkey, ReceivedKind,
    RegisterError, Status, Verb,
};
pub use xoff_units::{Bytes, Instant, Rate, Ratio, Span};
pub use xoff_wire::cm::{LookupStatus, RejectReason, ServiceId};
pub use xoff_wire::ip::{Ecn, TrafficClass};
pub use xoff_wire::udp::Port;
pub use xoff_wire::{Immediate, Psn, Qpn, Rkey, Service};
#[doc(no_inline)]
pub use {xoff_transport as transport, xoff_units as units, xoff_wire as wire};
