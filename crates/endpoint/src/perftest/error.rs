//! Why a test did not come to its end.

use super::message::Garbled;
use crate::{Error, OpenError};
use std::io;
use std::time::Duration;
use xoff_transport::{Discard, Status};
use xoff_wire::cm::{LookupStatus, RejectReason};

/// Why a test did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// The settings contradict each other or are out of range.
    #[error("{0}")]
    Settings(&'static str),
    /// No address of ours to use.
    #[error("{0}")]
    Address(String),
    /// The server cannot be reached.
    #[error("cannot connect to {server}: {error}")]
    Connect {
        /// Its name or address.
        server: String,
        /// Why.
        error: io::Error,
    },
    /// The port cannot be listened on.
    #[error("cannot listen on port {port}: {error}")]
    Listen {
        /// Which.
        port: u16,
        /// Why.
        error: io::Error,
    },
    /// The exchange broke off.
    #[error("the exchange with the peer broke off: {0}")]
    Exchange(#[from] io::Error),
    /// The peer's message is not what the protocol expects.
    #[error(transparent)]
    Garbled(#[from] Garbled),
    /// The peer, which is another xoff, runs another test.
    #[error(
        "the two sides differ: the peer has {theirs}, we have {ours}; both need the same {what}"
    )]
    Differs {
        /// The option.
        what: &'static str,
        /// What the peer has.
        theirs: String,
        /// What we have.
        ours: String,
    },
    /// The peer has ended before the test was over.
    #[error("the peer has gone: {0}")]
    Gone(&'static str),
    /// The peer has gone on, and messages are missing.
    #[error("the peer stopped after {arrived} of {expected} messages: both sides need the same -n")]
    Fewer {
        /// Messages that came.
        arrived: u64,
        /// Messages that had to come.
        expected: u64,
    },
    /// The peer sends on after the last message.
    #[error(
        "the peer sends more than the {0} messages expected of each queue pair: both sides need \
         the same -n"
    )]
    More(u64),
    /// We refused what the peer requested, which ended the queue pair.
    #[error("we refused a request of the peer on queue pair {qpn:#x}: {}", why(*.reason))]
    Refused {
        /// On which queue pair.
        qpn: u32,
        /// Why.
        reason: Discard,
    },
    /// The peer runs another kind of test.
    #[error("the peer uses {theirs}, we use {ours}")]
    Mismatch {
        /// What the peer has.
        theirs: &'static str,
        /// What we have.
        ours: &'static str,
    },
    /// The peer refused the connection.
    #[error("the peer rejected the connection: {0}")]
    Rejected(RejectReason),
    /// The lookup of where datagrams go was declined.
    #[error("the peer declined the datagram lookup: {0}")]
    NotFound(LookupStatus),
    /// The peer has become silent.
    #[error("nothing from the peer for {0:.1?}; is it frozen, or the way to it cut?")]
    Silence(Duration),
    /// Work ended badly.
    #[error("message {number} of queue pair {qpn:#x} failed: {status}{}", cure(*.status))]
    Failed {
        /// Which message.
        number: u64,
        /// On which queue pair.
        qpn: u32,
        /// How.
        status: Status,
    },
    /// The caller stopped the test.
    #[error("interrupted")]
    Interrupted,
    /// Our address is taken, mostly by the other side of the test on the same machine.
    #[error(
        "{} port {} is in use on this machine, by another RoCE endpoint (the other side of this \
         test?): give this side another address with --bind; IPv4 has 127.0.0.2 and more, ::1 is \
         the only one of its kind", .0.ip(), .0.port()
    )]
    InUse(std::net::SocketAddr),
    /// The device could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The device refused a call.
    #[error(transparent)]
    Device(#[from] Error),
}

/// Why a request was refused, in words.
fn why(reason: Discard) -> &'static str {
    match reason {
        Discard::AccessDenied => {
            "the key, the address range or the rights of our memory do not allow it (each test gives \
             only the rights it needs: does the peer run the same test?)"
        }
        Discard::ReceiveTooShort => {
            "the message is longer than the receive: both sides need the same -s"
        }
        Discard::BadLength => {
            "a packet is not as long as its message and our MTU say: both sides need the same -m"
        }
        Discard::TooManyReads => "it has more reads outstanding than we answer",
        Discard::Misaligned => "the address of an atomic is not a multiple of eight",
        other => other.name(),
    }
}

/// What to do about it, where that is known.
fn cure(status: Status) -> &'static str {
    match status {
        Status::RnrRetryExceeded => "; do both sides have the same -n?",
        Status::RemoteInvalidRequest => "; do both sides have the same -s and -m?",
        Status::RemoteAccess => "; does the peer run the same test?",
        _ => "",
    }
}
