//! Socket addresses and control messages as the kernel reads and writes them, put together and
//! taken apart byte by byte, so that nothing here is unsafe.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes of the longer of the two kinds of address.
const LONGEST: usize = 28;
const V4: usize = 16;

/// A socket address (`sockaddr_in` or `sockaddr_in6`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(8))]
pub(crate) struct Name {
    bytes: [u8; LONGEST],
    length: u32,
}

impl Name {
    /// Room for one.
    pub(crate) const EMPTY: Self = Self { bytes: [0; LONGEST], length: LONGEST as u32 };

    pub(crate) fn of(address: SocketAddr) -> Self {
        let mut bytes = [0; LONGEST];
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        let (family, length) = match address {
            SocketAddr::V4(v4) => {
                bytes[4..8].copy_from_slice(&v4.ip().octets());
                (libc::AF_INET, V4)
            }
            SocketAddr::V6(v6) => {
                bytes[4..8].copy_from_slice(&v6.flowinfo().to_be_bytes());
                bytes[8..24].copy_from_slice(&v6.ip().octets());
                bytes[24..28].copy_from_slice(&v6.scope_id().to_ne_bytes());
                (libc::AF_INET6, LONGEST)
            }
        };
        bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        Self { bytes, length: length as u32 }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..(self.length as usize).min(LONGEST)]
    }

    /// The room, for the kernel to write to.
    pub(crate) fn room(&mut self) -> &mut [u8; LONGEST] {
        &mut self.bytes
    }

    /// The kernel wrote `length` bytes.
    pub(crate) fn set_length(&mut self, length: u32) {
        self.length = length;
    }

    /// The address and port in it, if it is one of IP.
    pub(crate) fn address(&self) -> Option<(IpAddr, u16)> {
        let bytes = &self.bytes;
        let family = i32::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
        let port = u16::from_be_bytes([bytes[2], bytes[3]]);
        if family == libc::AF_INET && self.length as usize >= V4 {
            let octets: [u8; 4] = bytes[4..8].try_into().ok()?;
            Some((Ipv4Addr::from(octets).into(), port))
        } else if family == libc::AF_INET6 && self.length as usize >= LONGEST {
            let octets: [u8; 16] = bytes[8..24].try_into().ok()?;
            Some((Ipv6Addr::from(octets).into(), port))
        } else {
            None
        }
    }
}

/// Bytes of a control message's header: its length, level and type (`cmsghdr`).
const HEADER: usize = size_of::<usize>() + 8;
/// Room for the few control messages we deal in.
const ROOM: usize = 96;

/// Control messages beside a packet.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Control {
    bytes: [u8; ROOM],
    length: usize,
}

impl Control {
    /// Room for some.
    pub(crate) const EMPTY: Self = Self { bytes: [0; ROOM], length: 0 };

    /// Adds one. What does not fit is left out; ours do.
    pub(crate) fn push(&mut self, level: i32, kind: i32, value: &[u8]) {
        let size = HEADER + value.len();
        let Some(room) = self.bytes.get_mut(self.length..self.length + aligned(size)) else {
            return;
        };
        let (header, body) = room.split_at_mut(HEADER);
        let (length, rest) = header.split_at_mut(size_of::<usize>());
        length.copy_from_slice(&size.to_ne_bytes());
        rest[..4].copy_from_slice(&level.to_ne_bytes());
        rest[4..].copy_from_slice(&kind.to_ne_bytes());
        body[..value.len()].copy_from_slice(value);
        self.length += aligned(size);
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The room, for the kernel to write to.
    pub(crate) fn room(&mut self) -> &mut [u8; ROOM] {
        &mut self.bytes
    }

    /// The kernel wrote `length` bytes.
    pub(crate) fn set_length(&mut self, length: usize) {
        self.length = length.min(ROOM);
    }

    /// Calls `each` with level, type and value of every message.
    pub(crate) fn each(&self, mut each: impl FnMut(i32, i32, &[u8])) {
        let mut rest = self.as_slice();
        while let Some((header, _)) = rest.split_at_checked(HEADER) {
            let (length, kind) = header.split_at(size_of::<usize>());
            let Ok(length) = length.try_into().map(usize::from_ne_bytes) else { return };
            let Some(value) = rest.get(HEADER..length) else { return };
            let number = |at: usize| {
                kind.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes)
            };
            if let (Some(level), Some(kind)) = (number(0), number(4)) {
                each(level, kind, value);
            }
            rest = rest.get(aligned(length)..).unwrap_or(&[]);
        }
    }
}

/// Messages begin at multiples of the machine's word.
const fn aligned(length: usize) -> usize {
    length.next_multiple_of(size_of::<usize>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layouts_are_those_of_the_system() {
        assert_eq!(size_of::<libc::sockaddr_in>(), V4);
        assert_eq!(size_of::<libc::sockaddr_in6>(), LONGEST);
        assert_eq!(size_of::<libc::cmsghdr>(), HEADER);
        assert_eq!(std::mem::offset_of!(libc::sockaddr_in, sin_addr), 4);
        assert_eq!(std::mem::offset_of!(libc::sockaddr_in6, sin6_addr), 8);
        assert_eq!(std::mem::offset_of!(libc::cmsghdr, cmsg_level), size_of::<usize>());
    }

    #[test]
    fn addresses_come_back() {
        for text in ["127.0.0.1:4791", "[::1]:4791", "[fe80::1]:9"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(Name::of(address).address(), Some((address.ip(), address.port())));
        }
        assert_eq!(Name::EMPTY.address(), None);
    }

    #[test]
    fn messages_come_back() {
        let mut control = Control::EMPTY;
        control.push(1, 2, &[3]);
        control.push(-4, 5, &[6, 7, 8, 9, 10, 11, 12, 13]);
        let mut seen = Vec::new();
        control.each(|level, kind, value| seen.push((level, kind, value.to_vec())));
        assert_eq!(seen, [(1, 2, vec![3]), (-4, 5, (6..14).collect())]);
        control.push(0, 0, &[0; ROOM]);
        assert_eq!(control.as_slice().len(), 48);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_left(bytes in proptest::collection::vec(any::<u8>(), ROOM),
                                      small in 0usize..40, at in 0usize..88, length in 0usize..200) {
            let mut control = Control::EMPTY;
            control.room().copy_from_slice(&bytes);
            control.room()[at..at + 8].copy_from_slice(&small.to_ne_bytes());
            control.set_length(length);
            control.each(|_, _, value| assert!(value.len() <= ROOM));
        }
    }
}
