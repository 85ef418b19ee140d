//! Whether a packet is what its sender sent.

use crate::settings::Verify;
use std::net::{IpAddr, SocketAddr};
use xoff_wire::icrc::Flow;
use xoff_wire::ipv4::Fragment;
use xoff_wire::roce::Datagram;
use xoff_wire::udp::Port;

/// How far received packets are verified before they are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Every bit that the ICRC covers.
    Full,
    /// All but the IPv4 identification, which the socket does not show: of 65,536 corrupted packets
    /// one passes.
    UnknownIdentification,
    /// Not at all.
    Off,
}

impl Verification {
    /// What `verify` comes to over this version of IP, with or without a packet socket.
    pub(crate) fn of(verify: Verify, v6: bool, raw: bool) -> Self {
        match verify {
            Verify::Off => Self::Off,
            _ if v6 || raw => Self::Full,
            Verify::Socket | Verify::Full => Self::UnknownIdentification,
        }
    }

    /// Whether the packet may be believed. `identification` is what its IPv4 header says or, where
    /// that is not shown, most likely says.
    #[inline]
    pub(crate) fn accepts(self, datagram: &Datagram<'_>, flow: &Flow, identification: u16) -> bool {
        match self {
            Self::Off => true,
            _ if datagram.expected_icrc(flow, identification) == datagram.icrc => true,
            Self::Full => false,
            Self::UnknownIdentification => datagram.identification(flow).is_some(),
        }
    }
}

/// What the ICRC covers of the packets from `source` to `destination`, if both are of one family.
pub(crate) fn flow(source: SocketAddr, destination: SocketAddr) -> Option<Flow> {
    let (from, to) = (Port(source.port()), Port(destination.port()));
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            Some(Flow::v4_to((source, from), (destination, to), Fragment::WHOLE))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            Some(Flow::v6_to((source, from), (destination, to)))
        }
        _ => None,
    }
}
