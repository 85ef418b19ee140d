//! Why a test did not come to its end.

use super::message::Garbled;
use crate::{Error, OpenError};
use std::io;
use xoff_transport::Status;
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
    #[error("nothing from the peer for {0} s")]
    Silence(u64),
    /// Work ended badly.
    #[error("message {number} of queue pair {qpn} failed: {status:?}")]
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
    /// The device could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The device refused a call.
    #[error(transparent)]
    Device(#[from] Error),
}
