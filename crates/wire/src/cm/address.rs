//! How rdma_cm says IP addresses and ports in a request (IBTA annex A11).

use crate::bytes::{field, put, u16_at};
use crate::udp::Port;
use std::net::{IpAddr, Ipv4Addr};

/// A service that requests ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(pub u64);

impl ServiceId {
    /// What rdma_cm's ids of TCP-like ports have above the port: a prefix and the protocol.
    const TCP: u64 = 0x0000_0000_0106_0000;

    /// The service on a port of the TCP port space, which is what rdma_cm uses for RC.
    pub const fn tcp(port: Port) -> Self {
        Self(Self::TCP | port.0 as u64)
    }

    /// The same of UDP-like ports.
    const UDP: u64 = 0x0000_0000_0111_0000;

    /// The service on a port of the UDP port space, which is what rdma_cm uses for datagrams.
    pub const fn udp(port: Port) -> Self {
        Self(Self::UDP | port.0 as u64)
    }

    /// The port, if this is a service of the TCP port space.
    ///
    /// ```
    /// use xoff_wire::{cm::ServiceId, udp::Port};
    ///
    /// assert_eq!(ServiceId::tcp(Port(18515)).tcp_port(), Some(Port(18515)));
    /// assert_eq!(ServiceId::udp(Port(18515)).tcp_port(), None);
    /// ```
    pub const fn tcp_port(self) -> Option<Port> {
        if self.0 & !0xffff == Self::TCP { Some(Port(self.0 as u16)) } else { None }
    }
}

/// The header in front of a request's private data: who asks whom, in terms of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addressing {
    /// The asker's address.
    pub source: IpAddr,
    /// The asked one's, of the same family.
    pub destination: IpAddr,
    /// The asker's port.
    pub source_port: Port,
}

impl Addressing {
    /// Bytes of the header.
    pub const LEN: usize = 36;

    /// Reads the header. `None` if the bytes end inside it, or for another version of it or of IP.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        const N: usize = Addressing::LEN;
        let bytes: &[u8; N] = bytes.first_chunk()?;
        let (source, destination) = (field::<4, 16, N>(bytes), field::<20, 16, N>(bytes));
        // An IPv4 address is in the last four bytes of its place.
        let v4 = |bytes: [u8; 16]| IpAddr::from(Ipv4Addr::from(field::<12, 4, 16>(&bytes)));
        let (source, destination) = match (bytes[0], bytes[1] >> 4) {
            (0, 4) => (v4(source), v4(destination)),
            (0, 6) => (IpAddr::from(source), IpAddr::from(destination)),
            _ => return None,
        };
        Some(Self { source, destination, source_port: Port(u16_at::<2, N>(bytes)) })
    }

    /// Its bytes; `None` if the two addresses are of different families.
    pub fn emit(&self) -> Option<[u8; Self::LEN]> {
        let mut out = [0; Self::LEN];
        put::<2, 2, _>(&mut out, self.source_port.0.to_be_bytes());
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                out[1] = 0x40;
                put::<16, 4, _>(&mut out, source.octets());
                put::<32, 4, _>(&mut out, destination.octets());
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                out[1] = 0x60;
                put::<4, 16, _>(&mut out, source.octets());
                put::<20, 16, _>(&mut out, destination.octets());
            }
            _ => return None,
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_ports() {
        assert_eq!(ServiceId::tcp(Port(18515)), ServiceId(0x0106_4853));
        assert_eq!(ServiceId(0x0106_4853).tcp_port(), Some(Port(18515)));
        assert_eq!(ServiceId::udp(Port(18515)), ServiceId(0x0111_4853));
        assert_eq!(ServiceId(0x0111_4853).tcp_port(), None, "UDP");
        assert_eq!(ServiceId(0x0001_0106_4853).tcp_port(), None);
    }

    #[test]
    fn ipv4_stands_at_the_end_of_its_place() {
        let header = Addressing {
            source: IpAddr::from([10, 0, 0, 1]),
            destination: IpAddr::from([10, 0, 0, 2]),
            source_port: Port(0x1234),
        };
        let bytes = header.emit().unwrap();
        assert_eq!(bytes[..4], [0, 0x40, 0x12, 0x34]);
        assert_eq!(bytes[4..20], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1]);
        assert_eq!(bytes[32..], [10, 0, 0, 2]);
        assert_eq!(Addressing::parse(&bytes), Some(header));
        assert_eq!(Addressing::parse(&bytes[..35]), None);
        assert_eq!(Addressing::parse(&[0x10; 36]), None);
    }

    #[test]
    fn families_do_not_mix() {
        let (v4, v6) = (IpAddr::from([1, 2, 3, 4]), IpAddr::from([1; 16]));
        let port = Port(1);
        assert_eq!(Addressing { source: v4, destination: v6, source_port: port }.emit(), None);
        let header = Addressing { source: v6, destination: v6, source_port: port };
        assert_eq!(Addressing::parse(&header.emit().unwrap()), Some(header));
    }
}
