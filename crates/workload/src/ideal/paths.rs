//! [`Paths`]: what a fabric's NICs carry, and how long a message takes between each two of them while nothing else is
//! there.

use crate::layout::{self, Layout, RankId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NicId, PortId};
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
        let packet = self.packet(from, bytes);
        let work_out = || self.of_packet(from, &self.way(from, to), packet);
        *self.known.borrow_mut().entry((from, to, packet)).or_insert_with(work_out)
    }

    /// Whether a program takes as long in one layout as in the other: ranks sit alike, on NICs and NVLinks that are as
    /// fast, and every two of them are as far apart.
    pub fn are_alike(&self, one: &Layout, other: &Layout) -> bool {
        let ranks = || (0..one.ranks()).map(RankId);
        let (rates, delays) = (layout::nvlinks(self.fabric), layout::nvlink_latencies(self.fabric));
        let inside = |layout: &Layout, rank: RankId| {
            let seat = layout.seat(rank);
            (self.rate(seat.nic), rates[seat.gpu.index()], delays[seat.gpu.index()])
        };
        one.is_like(other)
            && ranks().all(|rank| inside(one, rank) == inside(other, rank))
            && ranks().all(|from| {
                ranks().all(|to| self.apart(one, from, to) == self.apart(other, from, to))
            })
    }

    /// How far apart two ranks are, for the shortest and for the longest packets: those between follow from them.
    fn apart(&self, layout: &Layout, from: RankId, to: RankId) -> [Span; 2] {
        let (from, to) = (layout.seat(from).nic, layout.seat(to).nic);
        let way = self.way(from, to);
        [0, u64::MAX].map(|bytes| {
            let packet = self.packet(from, Bytes::new(bytes));
            self.of_packet(from, &way, packet)
        })
    }

    /// What the longest packet of a message has on the wire.
    fn packet(&self, from: NicId, bytes: Bytes) -> Bytes {
        let qp = &self.fabric.nics[from.index()].qp;
        bytes.min(qp.mtu) + qp.framing.header + qp.framing.gap
    }

    fn way(&self, from: NicId, to: NicId) -> Vec<PortId> {
        self.routes.shortest_path(self.fabric, from, to).unwrap_or_default()
    }

    fn of_packet(&self, from: NicId, way: &[PortId], packet: Bytes) -> Span {
        let Some(&first) = way.first() else { return Span::ZERO };
        let own = self.fabric.cable(first).rate.time_for(packet);
        let latency = self.fabric.nics[from.index()].latency;
        latency + self.fabric.one_way(way, packet).saturating_sub(own)
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

    /// Layouts that are alike take the same time to the picosecond, whatever runs on them; others are told apart.
    #[test]
    fn jobs_that_sit_alike_take_as_long() {
        use crate::collective::{self, Algorithm, Collective, Settings};
        use crate::layout::{GpuId, Placement};
        let text = "[cluster]\ngpus = 128\n[fabric]\nkind = 'rail'\nhosts-per-leaf = 4\n";
        let fabric = Fabric::from_toml(text).expect("a sound fabric");
        let paths = Paths::new(&fabric);
        let on = |servers: &[u32]| {
            let gpus = servers.iter().flat_map(|server| 8 * server..8 * server + 8).map(GpuId);
            let placement = Placement::Listed(gpus.collect());
            Layout::new(&fabric, None, &placement).expect("servers that are there")
        };
        let (one, like) = (on(&[0, 4, 8, 12]), on(&[1, 5, 9, 13]));
        let (near, backwards) = (on(&[0, 1, 8, 12]), on(&[4, 0, 8, 12]));
        assert!(paths.are_alike(&one, &like));
        assert!(!paths.are_alike(&one, &near), "two of them share their leaves");
        assert!(!paths.are_alike(&one, &backwards), "ports choose in another order");
        assert!(!paths.are_alike(&one, &on(&[0, 4, 8])));
        let time = |layout: &Layout, kind, algorithm| {
            let size = Bytes::new(3_000_001);
            let program = collective::program(kind, algorithm, size, layout, &Settings::default());
            let mut program = program.expect("it can be run");
            super::super::run_on_paths(&mut program, &paths).expect("it ends").end
        };
        for (kind, algorithm) in [
            (Collective::AllReduce, Algorithm::Ring),
            (Collective::AllReduce, Algorithm::Tree),
            (Collective::AllToAll, Algorithm::Pairwise),
        ] {
            assert_eq!(time(&one, kind, algorithm), time(&like, kind, algorithm));
        }
        let tree = |layout| time(layout, Collective::AllReduce, Algorithm::Tree);
        assert_ne!(tree(&one), tree(&near), "the test tells layouts apart");
    }
}
