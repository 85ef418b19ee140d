//! Packets that the capture has more than once, because they passed several of its places: both ends of
//! a virtual cable, a VLAN and the interface below it, both directions of a mirrored port, or a
//! loopback that is seen coming and going.
//!
//! The same packet at another place within a moment is one packet. The same at the same place is not: the
//! network or the sender doubled it, and that is worth knowing.

use xoff_units::Span;
use xoff_wire::capture::Timestamp;
use xoff_wire::frame::{Frame, Link, Network, Transport};
use xoff_wire::roce::Roce;

/// Packets that are remembered.
const REMEMBERED: usize = 1 << 12;
/// Places of one packet that are told apart.
const PLACES: usize = 4;
/// A host hands a packet on within this time.
const MOMENT: Span = Span::from_ms(10);

/// Where in a capture a packet was seen, as one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(u64);

impl Place {
    /// An interface of the capture.
    pub(super) fn new(interface: u32) -> Self {
        Self(mix(0, u64::from(interface)))
    }

    /// Inside a tunnel.
    pub(super) fn inside(self, outer: &Frame, session: u64) -> Self {
        let mut place = mix(self.0, session);
        if let Some((source, destination)) = outer.addresses() {
            place = mix(mix(place, number(source)), number(destination));
        }
        Self(mix(place, 1))
    }

    /// The place that the packet's own link layer names, which says how many routers it passed, too.
    fn of(self, frame: &Frame) -> Self {
        let mut place = self.0;
        match &frame.link {
            Link::None => {}
            Link::Ethernet(ethernet) => {
                for byte in ethernet.source.0.into_iter().chain(ethernet.destination.0) {
                    place = mix(place, u64::from(byte));
                }
                for tag in ethernet.tags.iter().flatten() {
                    place = mix(place, u64::from(u32::from_be_bytes(tag.emit())));
                }
            }
            Link::Cooked(cooked) => {
                let (interface, kind) = cooked.place();
                place = mix(mix(place, u64::from(interface)), u64::from(kind));
            }
        }
        let hops = match &frame.network {
            Network::Ipv4(ip) => ip.ttl,
            Network::Ipv6(ip) => ip.hop_limit,
            Network::Grh(grh) => grh.0.hop_limit,
            Network::None | Network::Pause(_) => 0,
        };
        Self(mix(place, u64::from(hops)))
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    digest: u64,
    when: Timestamp,
    places: [u64; PLACES],
    count: usize,
}

/// The latest packets and their places.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Nothing before the first packet.
    entries: Vec<Option<Entry>>,
}

impl Recorded {
    /// Whether the capture has this packet already, from another place.
    pub(super) fn again(
        &mut self,
        place: Place,
        frame: &Frame,
        roce: &Roce,
        now: Timestamp,
    ) -> bool {
        self.entries.resize(REMEMBERED, None);
        let digest = digest(frame, roce);
        let place = place.of(frame).0;
        let Some(entry) = self.entries.get_mut(digest as usize % REMEMBERED) else { return false };
        let fresh = Entry { digest, when: now, places: [place; PLACES], count: 1 };
        let Some(known) = entry.as_mut().filter(|known| {
            known.digest == digest && now.max(known.when).since(known.when.min(now)) <= MOMENT
        }) else {
            *entry = Some(fresh);
            return false;
        };
        let here = known.places.get(..known.count).is_some_and(|places| places.contains(&place));
        if here {
            // Once more at the same place: another packet, which may pass the other places, too.
            *known = fresh;
            return false;
        }
        if let Some(free) = known.places.get_mut(known.count) {
            *free = place;
            known.count += 1;
        }
        true
    }
}

/// What distinguishes a packet from all others of the moment, and is the same at every place.
fn digest(frame: &Frame, roce: &Roce) -> u64 {
    let mut digest = 0;
    if let Some((source, destination)) = frame.addresses() {
        digest = mix(mix(digest, number(source)), number(destination));
    }
    if let Network::Ipv4(ip) = &frame.network {
        digest = mix(digest, u64::from(ip.identification));
    }
    if let Transport::RoceV2(udp, _) = &frame.transport {
        digest = mix(digest, u64::from(udp.source.0));
    }
    let bth = &roce.bth;
    digest = mix(digest, u64::from(bth.opcode.0) << 24 | u64::from(bth.dest_qp.get()));
    digest = mix(digest, u64::from(bth.ack_request) << 24 | u64::from(bth.psn.get()));
    digest = mix(digest, u64::from(roce.payload));
    mix(digest, roce.icrc.map_or(0, |icrc| u64::from(icrc.0)))
}

fn number(address: std::net::IpAddr) -> u64 {
    match address {
        std::net::IpAddr::V4(address) => u64::from(u32::from(address)),
        std::net::IpAddr::V6(address) => {
            let wide = u128::from(address);
            mix(wide as u64, (wide >> 64) as u64)
        }
    }
}

/// Stirs a number into another.
const fn mix(state: u64, value: u64) -> u64 {
    (state.rotate_left(23) ^ value)
        .wrapping_add(0x9e37_79b9_7f4a_7c15)
        .wrapping_mul(0xff51_afd7_ed55_8ccd)
}
