//! [`Opcode`] and [`Service`]: what a packet is, as the first byte of the base transport header says
//! it.

/// The transport service a packet belongs to: the high three bits of the opcode byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Reliable connection (RC).
    Reliable,
    /// Unreliable connection (UC).
    Unreliable,
    /// Unreliable datagram (UD).
    Datagram,
}

impl Service {
    /// Every service there is.
    pub const ALL: [Self; 3] = [Self::Reliable, Self::Unreliable, Self::Datagram];

    /// RC, UC or UD.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reliable => "RC",
            Self::Unreliable => "UC",
            Self::Datagram => "UD",
        }
    }

    /// The opcode bits that say so.
    const fn bits(self) -> u8 {
        match self {
            Self::Reliable => 0x00,
            Self::Unreliable => 0x20,
            Self::Datagram => 0x60,
        }
    }

    /// Whether packets of this service may carry `opcode` (IBTA volume 1, table 38). A congestion
    /// notification packet belongs to no service; it counts as one of the reliable.
    pub const fn allows(self, opcode: Opcode) -> bool {
        match self {
            Self::Reliable => true,
            Self::Unreliable => (opcode as u8) <= Opcode::WriteOnlyImm as u8,
            Self::Datagram => matches!(opcode, Opcode::SendOnly | Opcode::SendOnlyImm),
        }
    }
}

/// The operations of the connected services, and the congestion notification packet.
///
/// The discriminant is the low five bits of the byte on the wire (IBTA volume 1, 9.2.1); only the
/// congestion notification packet (annex A17) has a whole byte of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Opcode {
    /// First packet of a send of several.
    SendFirst = 0x00,
    /// A packet inside a send.
    SendMiddle = 0x01,
    /// Last packet of a send of several.
    SendLast = 0x02,
    /// Last packet of a send of several, with immediate data.
    SendLastImm = 0x03,
    /// A send of one packet.
    SendOnly = 0x04,
    /// A send of one packet, with immediate data.
    SendOnlyImm = 0x05,
    /// First packet of a write of several.
    WriteFirst = 0x06,
    /// A packet inside a write.
    WriteMiddle = 0x07,
    /// Last packet of a write of several.
    WriteLast = 0x08,
    /// Last packet of a write of several, with immediate data.
    WriteLastImm = 0x09,
    /// A write of one packet.
    WriteOnly = 0x0a,
    /// A write of one packet, with immediate data.
    WriteOnlyImm = 0x0b,
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
    /// Acknowledgement of an atomic operation, with the value that was there before.
    AtomicAcknowledge = 0x12,
    /// Writes eight bytes if they have an expected value.
    CompareSwap = 0x13,
    /// Adds to eight bytes.
    FetchAdd = 0x14,
    /// Last packet of a send of several, which also invalidates a key.
    SendLastInvalidate = 0x16,
    /// A send of one packet, which also invalidates a key.
    SendOnlyInvalidate = 0x17,
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
    /// A request to change eight bytes in one step.
    Atomic,
    /// The answer to it.
    AtomicAcknowledge,
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
    /// Every opcode there is, in the order of their bytes.
    pub const ALL: [Self; 24] = [
        Self::SendFirst,
        Self::SendMiddle,
        Self::SendLast,
        Self::SendLastImm,
        Self::SendOnly,
        Self::SendOnlyImm,
        Self::WriteFirst,
        Self::WriteMiddle,
        Self::WriteLast,
        Self::WriteLastImm,
        Self::WriteOnly,
        Self::WriteOnlyImm,
        Self::ReadRequest,
        Self::ReadResponseFirst,
        Self::ReadResponseMiddle,
        Self::ReadResponseLast,
        Self::ReadResponseOnly,
        Self::Acknowledge,
        Self::AtomicAcknowledge,
        Self::CompareSwap,
        Self::FetchAdd,
        Self::SendLastInvalidate,
        Self::SendOnlyInvalidate,
        Self::Cnp,
    ];

    /// The opcode of a packet at `position` in `operation`. Everything but sends, writes and the
    /// data of reads is always a single packet, whatever the position; of the two atomic
    /// operations it is [`Opcode::FetchAdd`].
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
            (Operation::Atomic, _) => Self::FetchAdd,
            (Operation::AtomicAcknowledge, _) => Self::AtomicAcknowledge,
            (Operation::Cnp, _) => Self::Cnp,
        }
    }

    /// The same packet with immediate data, if one that ends a send or write can have it.
    #[must_use]
    pub const fn with_immediate(self) -> Option<Self> {
        Some(match self {
            Self::SendLast => Self::SendLastImm,
            Self::SendOnly => Self::SendOnlyImm,
            Self::WriteLast => Self::WriteLastImm,
            Self::WriteOnly => Self::WriteOnlyImm,
            _ => return None,
        })
    }

    /// The service and opcode of this byte, if it is one we speak.
    #[inline]
    pub fn from_raw(raw: u8) -> Option<(Service, Self)> {
        KNOWN[usize::from(raw)]
    }

    /// What it is called, with its service: `RC write first`.
    ///
    /// ```
    /// use xoff_wire::{Opcode, Service};
    ///
    /// assert_eq!(Opcode::WriteFirst.name(Service::Unreliable), "UC write first");
    /// assert_eq!(Opcode::Cnp.name(Service::Reliable), "CNP");
    /// ```
    pub fn name(self, service: Service) -> String {
        match self {
            Self::Cnp => "CNP".to_owned(),
            _ => format!("{} {}", service.name(), self.words()),
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::SendFirst => "send first",
            Self::SendMiddle => "send middle",
            Self::SendLast => "send last",
            Self::SendLastImm => "send last with immediate",
            Self::SendOnly => "send only",
            Self::SendOnlyImm => "send only with immediate",
            Self::WriteFirst => "write first",
            Self::WriteMiddle => "write middle",
            Self::WriteLast => "write last",
            Self::WriteLastImm => "write last with immediate",
            Self::WriteOnly => "write only",
            Self::WriteOnlyImm => "write only with immediate",
            Self::ReadRequest => "read request",
            Self::ReadResponseFirst => "read response first",
            Self::ReadResponseMiddle => "read response middle",
            Self::ReadResponseLast => "read response last",
            Self::ReadResponseOnly => "read response only",
            Self::Acknowledge => "acknowledge",
            Self::AtomicAcknowledge => "atomic acknowledge",
            Self::CompareSwap => "compare swap",
            Self::FetchAdd => "fetch add",
            Self::SendLastInvalidate => "send last with invalidate",
            Self::SendOnlyInvalidate => "send only with invalidate",
            Self::Cnp => "CNP",
        }
    }

    /// The byte on the wire.
    #[inline]
    pub const fn raw(self, service: Service) -> u8 {
        match self {
            Self::Cnp => self as u8,
            _ => service.bits() | self as u8,
        }
    }

    /// What the packet belongs to.
    #[inline]
    pub const fn operation(self) -> Operation {
        match self {
            Self::SendFirst
            | Self::SendMiddle
            | Self::SendLast
            | Self::SendLastImm
            | Self::SendOnly
            | Self::SendOnlyImm
            | Self::SendLastInvalidate
            | Self::SendOnlyInvalidate => Operation::Send,
            Self::WriteFirst
            | Self::WriteMiddle
            | Self::WriteLast
            | Self::WriteLastImm
            | Self::WriteOnly
            | Self::WriteOnlyImm => Operation::Write,
            Self::ReadRequest => Operation::ReadRequest,
            Self::ReadResponseFirst
            | Self::ReadResponseMiddle
            | Self::ReadResponseLast
            | Self::ReadResponseOnly => Operation::ReadResponse,
            Self::Acknowledge => Operation::Acknowledge,
            Self::CompareSwap | Self::FetchAdd => Operation::Atomic,
            Self::AtomicAcknowledge => Operation::AtomicAcknowledge,
            Self::Cnp => Operation::Cnp,
        }
    }

    /// Where in its message the packet stands.
    #[inline]
    pub const fn position(self) -> Position {
        match self {
            Self::SendFirst | Self::WriteFirst | Self::ReadResponseFirst => Position::First,
            Self::SendMiddle | Self::WriteMiddle | Self::ReadResponseMiddle => Position::Middle,
            Self::SendLast
            | Self::SendLastImm
            | Self::SendLastInvalidate
            | Self::WriteLast
            | Self::WriteLastImm
            | Self::ReadResponseLast => Position::Last,
            _ => Position::Only,
        }
    }

    /// Whether a RETH follows the base header.
    #[inline]
    pub const fn has_reth(self) -> bool {
        matches!(self, Self::WriteFirst | Self::WriteOnly | Self::WriteOnlyImm | Self::ReadRequest)
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
                | Self::AtomicAcknowledge
        )
    }

    /// Whether immediate data comes with the packet.
    #[inline]
    pub const fn has_immediate(self) -> bool {
        matches!(
            self,
            Self::SendLastImm | Self::SendOnlyImm | Self::WriteLastImm | Self::WriteOnlyImm
        )
    }

    /// Whether the packet names a key that is to be invalidated.
    #[inline]
    pub const fn has_invalidate(self) -> bool {
        matches!(self, Self::SendLastInvalidate | Self::SendOnlyInvalidate)
    }

    /// Whether the packet may carry payload.
    #[inline]
    pub const fn has_payload(self) -> bool {
        matches!(self.operation(), Operation::Send | Operation::Write | Operation::ReadResponse)
    }
}

/// What each byte means. Looked up for every packet that is received.
static KNOWN: [Option<(Service, Opcode)>; 256] = {
    let mut known = [None; 256];
    let mut at = 0;
    while at < Service::ALL.len() * Opcode::ALL.len() {
        let service = Service::ALL[at / Opcode::ALL.len()];
        let opcode = Opcode::ALL[at % Opcode::ALL.len()];
        if service.allows(opcode) {
            known[opcode.raw(service) as usize] = Some((service, opcode));
        }
        at += 1;
    }
    known
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_means_at_most_one_opcode() {
        let known: Vec<_> = (0..=255).filter_map(Opcode::from_raw).collect();
        // All of RC with the notification, the twelve of UC, the two of UD.
        assert_eq!(known.len(), Opcode::ALL.len() + 12 + 2);
        for (service, opcode) in known {
            assert!(service.allows(opcode));
            assert_eq!(Opcode::from_raw(opcode.raw(service)), Some((service, opcode)));
        }
        assert_eq!(Opcode::from_raw(0x64), Some((Service::Datagram, Opcode::SendOnly)));
        assert_eq!(Opcode::from_raw(0x2a), Some((Service::Unreliable, Opcode::WriteOnly)));
        assert_eq!(Opcode::from_raw(0x2c), None, "UC has no reads");
        assert_eq!(Opcode::from_raw(0x15), None, "reserved");
    }

    #[test]
    fn an_opcode_is_its_operation_and_position() {
        for opcode in Opcode::ALL {
            let plain = Opcode::new(opcode.operation(), opcode.position());
            let same = plain == opcode
                || plain.with_immediate() == Some(opcode)
                || opcode.has_invalidate()
                || opcode == Opcode::CompareSwap;
            assert!(same, "{opcode:?} is not {plain:?}");
            let position = opcode.position();
            assert_eq!(Position::of(position.begins(), position.ends()), position);
            assert!(!(opcode.has_reth() && opcode.has_aeth()));
        }
    }
}
