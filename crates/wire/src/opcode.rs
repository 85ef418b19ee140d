//! [`Opcode`]: what a packet is, as the first byte of the base transport header says it.

/// The operations of the reliable connected service, and the congestion notification packet.
///
/// The discriminant is the byte on the wire (IBTA volume 1, 9.2.1; the CNP is from annex A17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Opcode {
    /// First packet of a send of several.
    SendFirst = 0x00,
    /// A packet inside a send.
    SendMiddle = 0x01,
    /// Last packet of a send of several.
    SendLast = 0x02,
    /// A send of one packet.
    SendOnly = 0x04,
    /// First packet of a write of several.
    WriteFirst = 0x06,
    /// A packet inside a write.
    WriteMiddle = 0x07,
    /// Last packet of a write of several.
    WriteLast = 0x08,
    /// A write of one packet.
    WriteOnly = 0x0a,
    /// Asks for data.
    ReadRequest = 0x0c,
    /// First packet of the data asked for.
    ReadResponseFirst = 0x0d,
    /// A packet inside the data asked for.
    ReadResponseMiddle = 0x0e,
    /// Last packet of the data asked for.
    ReadResponseLast = 0x0f,
    /// All the data asked for.
    ReadResponseOnly = 0x10,
    /// Acknowledgement, positive or negative.
    Acknowledge = 0x11,
    /// Congestion notification packet.
    Cnp = 0x81,
}

/// What a packet belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// A message into a buffer the receiver posted.
    Send,
    /// A message into a buffer the sender names.
    Write,
    /// A request for data.
    ReadRequest,
    /// The data of a read.
    ReadResponse,
    /// An acknowledgement.
    Acknowledge,
    /// A congestion notification.
    Cnp,
}

/// Where in its message a packet stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    /// It begins a message of several.
    First,
    /// It has packets of its message before and after it.
    Middle,
    /// It ends a message of several.
    Last,
    /// It is the whole message.
    Only,
}

impl Position {
    /// The position of a packet that begins and/or ends its message.
    #[inline]
    pub const fn of(begins: bool, ends: bool) -> Self {
        match (begins, ends) {
            (true, true) => Self::Only,
            (true, false) => Self::First,
            (false, false) => Self::Middle,
            (false, true) => Self::Last,
        }
    }

    /// Whether the message begins with this packet.
    #[inline]
    pub const fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Whether the message ends with this packet.
    #[inline]
    pub const fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

impl Opcode {
    /// Every opcode there is.
    pub const ALL: [Self; 15] = [
        Self::SendFirst,
        Self::SendMiddle,
        Self::SendLast,
        Self::SendOnly,
        Self::WriteFirst,
        Self::WriteMiddle,
        Self::WriteLast,
        Self::WriteOnly,
        Self::ReadRequest,
        Self::ReadResponseFirst,
        Self::ReadResponseMiddle,
        Self::ReadResponseLast,
        Self::ReadResponseOnly,
        Self::Acknowledge,
        Self::Cnp,
    ];

    /// The opcode of a packet at `position` in `operation`. Read requests, acknowledgements and
    /// congestion notifications are always a single packet, whatever the position.
    #[inline]
    pub const fn new(operation: Operation, position: Position) -> Self {
        use Position::{First, Last, Middle, Only};
        match (operation, position) {
            (Operation::Send, First) => Self::SendFirst,
            (Operation::Send, Middle) => Self::SendMiddle,
            (Operation::Send, Last) => Self::SendLast,
            (Operation::Send, Only) => Self::SendOnly,
            (Operation::Write, First) => Self::WriteFirst,
            (Operation::Write, Middle) => Self::WriteMiddle,
            (Operation::Write, Last) => Self::WriteLast,
            (Operation::Write, Only) => Self::WriteOnly,
            (Operation::ReadRequest, _) => Self::ReadRequest,
            (Operation::ReadResponse, First) => Self::ReadResponseFirst,
            (Operation::ReadResponse, Middle) => Self::ReadResponseMiddle,
            (Operation::ReadResponse, Last) => Self::ReadResponseLast,
            (Operation::ReadResponse, Only) => Self::ReadResponseOnly,
            (Operation::Acknowledge, _) => Self::Acknowledge,
            (Operation::Cnp, _) => Self::Cnp,
        }
    }

    /// The opcode with this byte, if it is one we speak.
    pub const fn from_raw(raw: u8) -> Option<Self> {
        Some(match raw {
            0x00 => Self::SendFirst,
            0x01 => Self::SendMiddle,
            0x02 => Self::SendLast,
            0x04 => Self::SendOnly,
            0x06 => Self::WriteFirst,
            0x07 => Self::WriteMiddle,
            0x08 => Self::WriteLast,
            0x0a => Self::WriteOnly,
            0x0c => Self::ReadRequest,
            0x0d => Self::ReadResponseFirst,
            0x0e => Self::ReadResponseMiddle,
            0x0f => Self::ReadResponseLast,
            0x10 => Self::ReadResponseOnly,
            0x11 => Self::Acknowledge,
            0x81 => Self::Cnp,
            _ => return None,
        })
    }

    /// The byte on the wire.
    pub const fn raw(self) -> u8 {
        self as u8
    }

    /// What the packet belongs to.
    #[inline]
    pub const fn operation(self) -> Operation {
        match self {
            Self::SendFirst | Self::SendMiddle | Self::SendLast | Self::SendOnly => Operation::Send,
            Self::WriteFirst | Self::WriteMiddle | Self::WriteLast | Self::WriteOnly => {
                Operation::Write
            }
            Self::ReadRequest => Operation::ReadRequest,
            Self::ReadResponseFirst
            | Self::ReadResponseMiddle
            | Self::ReadResponseLast
            | Self::ReadResponseOnly => Operation::ReadResponse,
            Self::Acknowledge => Operation::Acknowledge,
            Self::Cnp => Operation::Cnp,
        }
    }

    /// Where in its message the packet stands.
    #[inline]
    pub const fn position(self) -> Position {
        match self {
            Self::SendFirst | Self::WriteFirst | Self::ReadResponseFirst => Position::First,
            Self::SendMiddle | Self::WriteMiddle | Self::ReadResponseMiddle => Position::Middle,
            Self::SendLast | Self::WriteLast | Self::ReadResponseLast => Position::Last,
            _ => Position::Only,
        }
    }

    /// Whether a RETH follows the base header.
    #[inline]
    pub const fn has_reth(self) -> bool {
        matches!(self, Self::WriteFirst | Self::WriteOnly | Self::ReadRequest)
    }

    /// Whether an AETH follows the base header.
    #[inline]
    pub const fn has_aeth(self) -> bool {
        matches!(
            self,
            Self::ReadResponseFirst
                | Self::ReadResponseLast
                | Self::ReadResponseOnly
                | Self::Acknowledge
        )
    }

    /// Whether the packet may carry payload.
    #[inline]
    pub const fn has_payload(self) -> bool {
        !matches!(self, Self::ReadRequest | Self::Acknowledge | Self::Cnp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_means_at_most_one_opcode() {
        let known: Vec<Opcode> = (0..=255).filter_map(Opcode::from_raw).collect();
        assert_eq!(known, Opcode::ALL);
        for opcode in Opcode::ALL {
            assert_eq!(Opcode::from_raw(opcode.raw()), Some(opcode));
        }
    }

    #[test]
    fn an_opcode_is_its_operation_and_position() {
        for opcode in Opcode::ALL {
            assert_eq!(Opcode::new(opcode.operation(), opcode.position()), opcode);
            let position = opcode.position();
            assert_eq!(Position::of(position.begins(), position.ends()), position);
            assert!(!(opcode.has_reth() && opcode.has_aeth()));
        }
    }
}
