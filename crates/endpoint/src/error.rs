//! What can go wrong at the caller's end. What peers do wrong is counted, not returned.

use crate::awaited::Awaited;
use std::io;
use std::time::Duration;
use xoff_transport::{PostError, RegisterError};
use xoff_wire::cm::RejectReason;

/// Why a device could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address is a wildcard or multicast one.
    #[error("a device needs an address of its own, not {0}")]
    Address(std::net::IpAddr),
    /// Another endpoint of this machine has the address and port.
    #[error(
        "{} port {} is in use on this machine: another RoCE endpoint has it, and two cannot share an \
         address; give this one another address of the machine, for example 127.0.0.2",
        .0.ip(), .0.port()
    )]
    InUse(std::net::SocketAddr),
    /// The machine does not have the address, or it cannot be used.
    #[error("cannot use the address {address}: {error}")]
    Bind {
        /// Which, with the port.
        address: std::net::SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// The socket could not be made ready.
    #[error("{what}: {error}")]
    Socket {
        /// What was attempted.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

/// How a peer rejected a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Why. [`RejectReason::INVALID_SERVICE_ID`] is that nobody listens at the port,
    /// [`RejectReason::CONSUMER`] that the application does not want to.
    pub reason: RejectReason,
    /// What its application added, and the zeros behind it.
    pub private_data: Vec<u8>,
}

/// Why a call was refused, or has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A deadline of the caller's has passed. Only the wait has ended; the
    /// [`Pending`](crate::Pending) says what becomes of the call.
    #[error("timed out after {} ms, waiting for {what}", .after.as_millis())]
    TimedOut {
        /// What was waited for.
        what: Awaited,
        /// For how long.
        after: Duration,
    },
    /// The result of a call was taken before.
    #[error("the result of this call was taken already")]
    Taken,
    /// There is no such queue pair (any more).
    #[error("there is no such queue pair")]
    NoSuchPair,
    /// There is no such memory (any more).
    #[error("there is no such memory region")]
    NoSuchMemory,
    /// There is no such completion or receive queue.
    #[error("there is no such queue")]
    NoSuchQueue,
    /// The queue pair is not in a state that allows the call.
    #[error("the queue pair is not in a state that allows this")]
    WrongState,
    /// The service has no such call.
    #[error("this service does not allow the call")]
    WrongService,
    /// The bytes named are not all in the region.
    #[error("the bytes are not all inside the memory region")]
    OutOfRange,
    /// The region is in another protection domain, or its rights do not allow it.
    #[error("the protection domain or the access rights of the memory region do not allow it")]
    Forbidden,
    /// The peer's address is of another family, or no single host's.
    #[error("packets cannot be sent to this address")]
    BadAddress,
    /// An MTU other than 256, 512, 1024, 2048 or 4096.
    #[error("the MTU must be 256, 512, 1024, 2048 or 4096")]
    BadMtu,
    /// Too many of them.
    #[error("too many {0}")]
    Limit(&'static str),
    /// The transport did not take the work.
    #[error(transparent)]
    Post(#[from] PostError),
    /// The memory could not be registered.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// What the application adds to a message is longer than the message has room for.
    #[error("{given} bytes of private data are too many: the message has room for {most}")]
    PrivateData {
        /// How many were given.
        given: usize,
        /// How many fit.
        most: usize,
    },
    /// The peer rejected the connection.
    #[error("the peer rejected the connection: {}", .0.reason)]
    Rejected(Rejection),
    /// The peer did not answer, as often as the message was sent.
    #[error("no answer came, waiting for {0}")]
    NoAnswer(Awaited),
    /// A connection request waits no longer: it was answered, or nobody answered it in time.
    #[error("the connection request does not wait for an answer any more")]
    RequestGone,
    /// Another listener of the endpoint has the port.
    #[error("port {0} of this endpoint has a listener already")]
    PortInUse(u16),
    /// The other side answers no reads or atomics.
    #[error(
        "the connection was made with initiator depth 0: the peer answers no reads and no atomics"
    )]
    NoReads,
    /// The thread that drives the device has ended.
    #[error("the device was closed")]
    Gone,
}
