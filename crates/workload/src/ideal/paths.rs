//! [`Paths`]: what a fabric's NICs carry, and how long a message takes between each two of them while nothing else is
//! there.

use crate::layout;
use std::cell::RefCell;
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NicId};
use xoff_fabric::route::Routes;
use xoff_units::{Bytes, Rate, Ratio, Span};

/// The delays between all pairs of NICs of a fabric, by the shortest way that each has: NIC, cables with their FEC,
/// switches, and the last packet stored once more wherever a switch does not cut through.
#[derive(Debug)]
pub struct Paths<'a> {
    fabric: &'a Fabric,
    routes: Routes,
    /// Worked out so far, by pair and packet.
    known: RefCell<BTreeMap<(NicId, NicId, Bytes), Span>>,
}

impl<'a> Paths<'a> {
    /// Those of a fabric.
    pub fn new(fabric: &'a Fabric) -> Self {
        Self { fabric, routes: Routes::new(fabric), known: RefCell::default() }
    }

    /// The fabric.
    pub fn fabric(&self) -> &'a Fabric {
        self.fabric
    }

    /// What a NIC carries of payload in full packets.
    pub fn rate(&self, nic: NicId) -> Rate {
        let qp = &self.fabric.nics[nic.index()].qp;
        let mtu = qp.mtu.get();
        let share = Ratio::new(mtu, mtu + (qp.framing.header + qp.framing.gap).get());
        Rate::from_bps(share.of(layout::rate(self.fabric, nic).bps()))
    }

    /// From the first bit of a message at one NIC to its first bit at another; zero if there is no way.
    pub fn latency(&self, from: NicId, to: NicId, bytes: Bytes) -> Span {
        let nic = &self.fabric.nics[from.index()];
        let (framing, payload) = (&nic.qp.framing, bytes.min(nic.qp.mtu));
        let packet = payload + framing.header + framing.gap;
        let work_out = || {
            let path = self.routes.shortest_path(self.fabric, from, to).unwrap_or_default();
            let Some(&first) = path.first() else { return Span::ZERO };
            let own = self.fabric.cable(first).rate.time_for(packet);
            nic.latency + self.fabric.one_way(&path, packet).saturating_sub(own)
        };
        *self.known.borrow_mut().entry((from, to, packet)).or_insert_with(work_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fabric(switch: &str) -> Fabric {
        let text = format!(
            "[cluster]\nhosts = 8\nnic = 'generic-100g'\n[nic]\nlatency = '700ns'\n\
             [fabric]\nkind = 'leaf-spine'\nhosts-per-leaf = 4\nspines = 2\n\
             [links.host]\nrate = '100Gbps'\ndelay = '1us'\n[links.leaf-spine]\nrate = '100Gbps'\ndelay = '3us'\n\
             [switch]\nlatency = '500ns'\n{switch}"
        );
        Fabric::from_toml(&text).expect("a sound fabric")
    }

    /// On one leaf two cables and a switch lie between two NICs, on two leaves four and three.
    #[test]
    fn every_pair_has_the_delay_of_its_own_way() {
        let fabric = fabric("forwarding = 'cut-through'");
        let paths = Paths::new(&fabric);
        let latency = |to: u32| paths.latency(NicId(0), NicId(to), Bytes::new(1 << 20));
        assert_eq!(latency(1), Span::from_ns(700 + 2 * 1_000 + 500));
        assert_eq!(latency(7), Span::from_ns(700 + 2 * 1_000 + 2 * 3_000 + 3 * 500));
        assert_eq!(latency(0), Span::ZERO);
    }

    /// A switch that stores packets adds the time of one on the wire, and of a short one less.
    #[test]
    fn packets_are_stored_once_per_switch_without_cut_through() {
        let fabric = fabric("forwarding = 'store-and-forward'");
        let paths = Paths::new(&fabric);
        let qp = &fabric.nics[0].qp;
        let wire = |bytes: u64| {
            let packet = Bytes::new(bytes) + qp.framing.header + qp.framing.gap;
            Rate::from_gbps(100).time_for(packet)
        };
        let latency = |bytes| paths.latency(NicId(0), NicId(1), Bytes::new(bytes));
        assert_eq!(latency(64), Span::from_ns(3_200) + wire(64));
        assert_eq!(latency(1 << 20), Span::from_ns(3_200) + wire(qp.mtu.get()));
        assert!(paths.rate(NicId(0)) < Rate::from_gbps(100));
    }
}
