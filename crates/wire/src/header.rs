//! The header values of one RoCEv2 packet.

use crate::{Opcode, Psn, Qpn, Rkey, Service};

/// What stands between UDP and the payload: the base transport header and its
/// extension.
///
/// The payload itself is a length: the simulator has none, the endpoint keeps a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The service it belongs to.
    pub service: Service,
    /// What the packet is.
    pub opcode: Opcode,
    /// The receiver should answer with an acknowledgement.
    pub ack_request: bool,
    /// Backward congestion notification: set in a CNP, and in an ACK that echoes a CE mark.
    pub becn: bool,
    /// The queue pair at the receiver.
    pub dest_qp: Qpn,
    /// The packet's sequence number.
    pub psn: Psn,
    /// What follows the base header.
    pub extension: Extension,
    /// Payload bytes, without padding.
    pub payload: u32,
}

/// The extended headers that follow the base header, which service and opcode decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// Nothing follows.
    None,
    /// RDMA: where to write or read.
    Reth(Reth),
    /// Where to write, and immediate data.
    RethImm(Reth, Immediate),
    /// Acknowledgement.
    Aeth(Aeth),
    /// Immediate data alone.
    Imm(Immediate),
    /// The key to invalidate.
    Ieth(Rkey),
    /// What an atomic operation wants. (Its fields stand here and not in a type of their own because
    /// that makes all headers eight bytes shorter.)
    Atomic {
        /// Virtual address at the target, a multiple of eight.
        address: u64,
        /// Key of the memory region.
        rkey: Rkey,
        /// The value to write, or to add.
        operand: u64,
        /// The value expected there; zero where nothing is compared.
        compare: u64,
    },
    /// Acknowledgement of an atomic operation, and the value that was there before it.
    AtomicAck(Aeth, u64),
    /// Datagram: who sends it and with which right.
    Deth(Deth),
    /// The same with immediate data.
    DethImm(Deth, Immediate),
}

/// Four bytes that the sender hands to the receiver's completion, as they are on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Immediate(pub [u8; 4]);

/// Datagram extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deth {
    /// The queue key, which must be the receiver's.
    pub qkey: u32,
    /// The sender's queue pair.
    pub source: Qpn,
}

/// RDMA extended transport header: the remote buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reth {
    /// Virtual address at the target.
    pub address: u64,
    /// Key of the memory region.
    pub rkey: Rkey,
    /// Bytes of the whole operation.
    pub length: u32,
}

/// Acknowledgement extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aeth {
    /// What happened.
    pub syndrome: Syndrome,
    /// Message sequence number: messages completed at the responder, 24 bits. In a
    /// [`Syndrome::SelectiveNak`] the PSN that arrived, in [`Syndrome::Trimmed`] and [`Syndrome::Missing`] the one to send
    /// again.
    pub msn: u32,
}

/// The syndrome of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syndrome {
    /// Everything up to the PSN arrived; the five credit bits (0x1f: no credits reported).
    Ack {
        /// Encoded end-to-end credits.
        credits: u8,
    },
    /// Receiver not ready; retry after the coded delay (five bits).
    RnrNak {
        /// Encoded delay.
        timer: u8,
    },
    /// PSN sequence error: send again from the packet's PSN.
    SequenceError,
    /// The packet's PSN is missing, but the one in [`Aeth::msn`] arrived and was kept: send again
    /// only what is missing. Not part of the standard; xoff's own, for selective repeat.
    SelectiveNak,
    /// Everything before the packet's PSN arrived, and of the one in [`Aeth::msn`] only the header: send it
    /// again. Not part of the standard; xoff's own, for networks that trim.
    Trimmed,
    /// Everything before the packet's PSN arrived, and the one in [`Aeth::msn`] counts as lost: send it again. Not part of
    /// the standard; xoff's own, for receivers that let packets overtake each other.
    Missing,
    /// The request makes no sense here.
    InvalidRequest,
    /// The key or the rights do not allow it.
    RemoteAccessError,
    /// The responder could not carry it out.
    RemoteOperationalError,
}
