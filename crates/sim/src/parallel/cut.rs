//! Which part of the fabric is simulated on which thread, and how far parts may be apart in time.
//!
//! The first part has all hosts, with queue pairs, flows and jobs: what these do to each other takes no time, so
//! that they cannot be apart. Switches speak with everything else over cables. They are dealt out by what they sent of late,
//! in the order of their numbers, which mostly keeps those together that are close to each other.

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::Table;
use crate::net::Net;
use crate::parallel::effort::Effort;
use std::sync::Arc;
use xoff_fabric::model::{Fabric, PortId, SwitchId};
use xoff_units::Span;

/// A part of the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PartId(u8);

impl PartId {
    /// The part that has the hosts.
    pub(super) const HOSTS: Self = Self(0);
    /// So many there can be.
    pub(super) const MOST: usize = 256;

    pub(super) fn new(index: usize) -> Self {
        Self(u8::try_from(index).expect("parts have eight bits"))
    }

    pub(super) fn index(self) -> usize {
        self.0.into()
    }
}

/// The part of each port.
#[derive(Debug, Clone, Default)]
pub(super) struct Owners(Arc<[PartId]>);

impl Owners {
    pub(super) fn of(&self, port: PortId) -> PartId {
        self.0[port.index()]
    }
}

/// A fabric in parts.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) owners: Owners,
    /// By part.
    pub(super) switches: Vec<Vec<SwitchId>>,
    /// Nothing that one part does is felt in another before this time.
    pub(super) lookahead: Span,
    /// What hosts sent and received of late, in packets.
    pub(super) by_hosts: u64,
    /// By part, what its switches sent.
    pub(super) by_switches: Vec<u64>,
}

impl Cut {
    /// The ports of a part's switches.
    pub(super) fn ports<'a>(
        &'a self,
        fabric: &'a Fabric,
        part: usize,
    ) -> impl Iterator<Item = PortId> + 'a {
        let switches = self.switches[part].iter();
        switches.flat_map(|switch| fabric.switches[switch.index()].ports.clone()).map(PortId)
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// Cuts the fabric into so many parts of about the same work, by what was sent since `before`, which is then
    /// what was sent by now.
    pub(super) fn cut_into(
        &self,
        parts: usize,
        before: &mut Table<PortId, u64>,
        effort: &Effort,
    ) -> Cut {
        let sent = |port: PortId| -> u64 {
            self.net.ports[port].lanes.iter().map(|lane| lane.tx_packets).sum()
        };
        before.resize(self.net.ports.len(), 0);
        let now: Table<PortId, u64> = self.net.ports.ids().map(sent).collect();
        // Nothing is free: where nothing was sent, switches count by their ports.
        let load = |port: PortId| now[port] - before[port] + 1;
        let nics = self.net.ports.enumerate().filter(|(_, port)| port.is_nic());
        let by_hosts: u64 = nics.map(|(id, port)| load(id) + load(port.peer())).sum();
        let of_switch = |switch: &xoff_fabric::model::Switch| -> u64 {
            switch.ports.clone().map(|port| load(PortId(port))).sum()
        };
        let loads: Vec<u64> = self.fabric.switches.iter().map(of_switch).collect();
        let dealt = deal(effort.of_hosts(by_hosts), &loads, parts);
        let mut owners = vec![PartId::HOSTS; self.net.ports.len()];
        let mut switches = vec![Vec::new(); parts];
        let mut by_switches = vec![0; parts];
        for (switch, &part) in (0..).map(SwitchId).zip(&dealt) {
            switches[part].push(switch);
            by_switches[part] += loads[switch.index()];
            for port in self.fabric.switches[switch.index()].ports.clone() {
                owners[port as usize] = PartId::new(part);
            }
        }
        *before = now;
        let owners = Owners(owners.into());
        let lookahead = lookahead(&self.net, &owners);
        Cut { owners, switches, lookahead, by_hosts, by_switches }
    }
}

/// The part of each switch, where the first part has hosts to do as well.
fn deal(hosts: u64, loads: &[u64], parts: usize) -> Vec<usize> {
    let mut left = hosts + loads.iter().sum::<u64>();
    let (mut part, mut own) = (0, hosts);
    let mut dealt = Vec::with_capacity(loads.len());
    for &load in loads {
        // A part is full when it would come closer to its share without this one.
        while part + 1 < parts && own + load / 2 > left / (parts - part) as u64 {
            left -= own;
            (part, own) = (part + 1, 0);
        }
        own += load;
        dealt.push(part);
    }
    dealt
}

/// The time of the fastest packet or pause frame from one part to another.
fn lookahead(net: &Net, owners: &Owners) -> Span {
    let crosses =
        net.ports.enumerate().filter(|(id, port)| owners.of(*id) != owners.of(port.peer()));
    let spans = crosses.map(|(id, port)| {
        let frame = port.byte_time.times(net.pauses.frame_bytes());
        port.flight.min(frame + net.pauses.flight(id))
    });
    spans.min().unwrap_or(Span::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_dealt_evenly_and_in_order() {
        assert_eq!(deal(40, &[10; 6], 2), [0, 1, 1, 1, 1, 1]);
        assert_eq!(deal(0, &[10; 6], 3), [0, 0, 1, 1, 2, 2]);
        // Hosts that are more than their share get no switches.
        assert_eq!(deal(100, &[10; 4], 3), [1, 1, 2, 2]);
        // More parts than switches: some are empty.
        assert_eq!(deal(1, &[5, 5], 8).len(), 2);
        for hosts in [0, 7, 1000] {
            for parts in 1..9 {
                let loads: Vec<u64> = (0..40).map(|n| n * 37 % 23).collect();
                let dealt = deal(hosts, &loads, parts);
                assert!(dealt.is_sorted() && dealt.iter().all(|&part| part < parts));
            }
        }
    }
}
