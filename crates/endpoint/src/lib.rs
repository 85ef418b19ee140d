//! A RoCEv2 endpoint in userspace: the queue pairs of [`transport`] on a UDP socket, with wall time
//! and real memory. It needs no NIC, no kernel module and no privileges, and it speaks to those that
//! have them.
//!
//! An [`Endpoint`] is one IP address with a thread that answers peers. Endpoints meet by rdma_cm: one
//! [listens](Endpoint::listen), another [connects](Endpoint::connect); a few bytes of private data go
//! along, which say where memory is. Then a [`Connection`] writes to and reads from the other's
//! memory, or sends messages to it:
//!
//! ```
//! use xoff_endpoint::{Access, Bytes, DeviceSettings, Endpoint, RemoteSlice, Rkey};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The server: memory that peers may write to, and where it is in the answer to a request.
//! let server = Endpoint::open(DeviceSettings::new([127, 93, 0, 1]))?;
//! let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
//! let target = server.register(vec![0; 13], rights).wait()?;
//! let listener = server.listen(7471).wait()?;
//!
//! // The client.
//! let client = Endpoint::open(DeviceSettings::new([127, 93, 0, 2]))?;
//! let source = client.register(b"over the wire".to_vec(), Access::LOCAL_READ).wait()?;
//! let connecting = client.connect([127, 93, 0, 1], 7471, b"who I am");
//!
//! let RemoteSlice { address, key } = target.remote(Bytes::ZERO);
//! let card = [&address.to_be_bytes()[..], &key.0.to_be_bytes()[..]].concat();
//! let theirs = listener.next().wait()?.accept(&card).wait()?;
//!
//! let ours = connecting.wait()?;
//! let card = &ours.negotiated().ok_or("not connected")?.private_data;
//! let address = u64::from_be_bytes(card[..8].try_into()?);
//! let key = Rkey(u32::from_be_bytes(card[8..12].try_into()?));
//! let written = ours.write(source.all(), RemoteSlice { address, key }).wait()?;
//! assert!(written.is_ok(), "{}", written.status);
//! assert_eq!(target.bytes().wait()?, b"over the wire");
//!
//! // The other side hears of the end.
//! ours.disconnect(b"").wait()?;
//! theirs.ended().wait()?;
//! # Ok(())
//! # }
//! ```
//!
//! Every call gives a [`Pending`], which can be waited for or awaited, with a deadline or without; its
//! page says what becomes of work that is given up. `docs/endpoint.md` of the repository teaches from
//! here to a file copy in ten minutes; the examples `rping`, `key_value` and `file_copy` are programs of
//! one page.
//!
//! Below it is the [`Device`]: the same without a thread. It belongs to its caller and moves only when
//! [`Device::progress`] is called:
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
//! Whatever a signature is made of is found here: a program needs no other crate.
//!
//! [`cm`] sets connections up as rdma_cm does, [`perftest`] speaks the protocol of the perftest
//! tools, [`bare`] measures the same sockets without RoCE, [`ethtool`] reads a NIC's statistics and its module, [`dcb`] its PFC,
//! [`sniffer`] what passes it.
//!
//! What it is not: authentication of peers, which RoCEv2 does not have. Read [`Endpoint`] first, then
//! [`Connection`], [`Pending`] and [`Work`].

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
mod flight;
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

/// The page that teaches, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/endpoint.md")]
struct Page;
