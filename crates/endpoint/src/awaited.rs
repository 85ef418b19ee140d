//! [`Awaited`]: what a caller waits for, so that a wait that ends without it can say so.

use crate::pair::PairId;
use std::fmt;
use std::net::IpAddr;
use xoff_transport::Verb;

/// What a [`Pending`](crate::Pending) stands for. [`Error::TimedOut`](crate::Error::TimedOut) names
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// The device's own thread carries out a call; no peer takes part.
    Call(&'static str),
    /// Posted work ends: the peer acknowledges it, or what is read has arrived.
    Work {
        /// Where it was posted.
        pair: PairId,
        /// What it is.
        verb: Verb,
    },
    /// A message arrives for a posted receive.
    Message {
        /// Where the receive was posted.
        pair: PairId,
    },
    /// A peer answers a connection request of ours.
    Answer {
        /// The peer.
        from: IpAddr,
        /// The port that the request is for.
        port: u16,
    },
    /// A peer requests a connection to a port of ours.
    Request {
        /// Which port.
        port: u16,
    },
    /// A peer confirms that it has seen that we accepted its request.
    Confirmation {
        /// The peer.
        from: IpAddr,
    },
    /// The peer agrees to a disconnect of ours.
    Disconnect {
        /// Our end of the connection.
        pair: PairId,
    },
    /// The connection ends, for whatever reason.
    End {
        /// Our end of the connection.
        pair: PairId,
    },
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Call(what) => write!(f, "the device's thread to {what}"),
            Self::Work { pair, verb } => {
                let what = match verb {
                    Verb::Write | Verb::WriteImmediate(_) => "the peer to acknowledge a write",
                    Verb::Read => "the data of a read",
                    Verb::Atomic(_) => "the result of an atomic operation",
                    _ => "the peer to acknowledge a send",
                };
                write!(f, "{what} (queue pair {})", pair.qpn().get())
            }
            Self::Message { pair } => {
                write!(f, "a message of the peer (queue pair {})", pair.qpn().get())
            }
            Self::Answer { from, port } => {
                write!(f, "{from} to answer a connection request for port {port}")
            }
            Self::Request { port } => write!(f, "a connection request for port {port}"),
            Self::Confirmation { from } => {
                write!(f, "{from} to confirm the connection that was accepted")
            }
            Self::Disconnect { pair } => {
                write!(f, "the peer to agree to the disconnect (queue pair {})", pair.qpn().get())
            }
            Self::End { pair } => {
                write!(f, "the connection to end (queue pair {})", pair.qpn().get())
            }
        }
    }
}
