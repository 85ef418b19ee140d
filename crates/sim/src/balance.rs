//! Switches that choose among equal ports by something else than the hash of the flow.
//!
//! A [`Balancer`] remembers the port of each flowlet in a table of fixed size, as hardware does: flows
//! with the same place share their port. Whoever chooses anew takes the best of the equal ports by the
//! level of their queues, then by how much they were used lately, then by a draw. Global balancing
//! adds the level that the best port of the next switch has. It sees that at once, where real switches
//! tell each other every few microseconds. Where ways are pinned, the place of the destination on its leaf
//! decides, and nothing else.

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::packet::Packet;
use crate::port::{Port, bit};
use xoff_fabric::model::{Balancing, Choice, PortId};
use xoff_units::{Instant, Span};
use xoff_workload::stream::Stream;

/// Queues that differ by less than this are equally good.
const STEP: u32 = 8 << 10;

/// The level of a port that is paused or whose queue is beyond all measure.
const WORST: u32 = 1 << 16;

/// How long use is counted before it is looked at again.
const PERIOD: Span = Span::from_us(4);

/// Links that were used for so much of a period are equally good. Without grades flows of equal
/// rate would find the same port least used every time, and never meet another.
const GRADE: u64 = PERIOD.as_ps() / 8;

/// Where a flowlet went, and when its last packet did.
#[derive(Debug, Clone, Copy)]
struct Flowlet {
    last: Instant,
    port: PortId,
}

/// How much a port is used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Use {
    since: Instant,
    sent: u64,
    /// Bytes sent in the last period, and half of those before.
    bytes: u64,
}

/// The choice of one switch.
pub(crate) struct Balancer {
    /// None where ways are pinned.
    choice: Option<Choice>,
    gap: Span,
    flowlets: Vec<Option<Flowlet>>,
    stream: Stream,
    /// Flowlets that took another port than the one before, or packets, if each chooses.
    pub(crate) moves: u64,
}

impl Balancer {
    /// What a switch balances with, if it does not hash.
    pub(crate) fn new(balancing: Balancing, stream: Stream) -> Option<Self> {
        let (choice, gap, table) = match balancing {
            Balancing::Hash | Balancing::Engineered | Balancing::Recycled => return None,
            Balancing::Pinned => (None, Span::ZERO, 0),
            Balancing::Adaptive { choice, gap, table } => (Some(choice), gap, table),
        };
        // Packets that choose each for themselves are not remembered.
        let places = if gap.is_zero() { 0 } else { table.max(1) as usize };
        Some(Self { choice, gap, flowlets: vec![None; places], stream, moves: 0 })
    }

    /// The place of a flow in the table, if there is one.
    fn place(&mut self, entropy: u32) -> Option<&mut Option<Flowlet>> {
        let places = self.flowlets.len() as u64;
        self.flowlets.get_mut(((u64::from(entropy) * places) >> 32) as usize)
    }

    /// The port that a flow's last packet took, if that was just now and the port is still equal.
    fn recall(&mut self, entropy: u32, now: Instant, choices: &[PortId]) -> Option<PortId> {
        let gap = self.gap;
        let flowlet = self.place(entropy)?.as_mut()?;
        let fresh = now.since(flowlet.last) <= gap && choices.contains(&flowlet.port);
        fresh.then(|| {
            flowlet.last = now;
            flowlet.port
        })
    }

    /// Remembers where a flow goes now.
    fn remember(&mut self, entropy: u32, now: Instant, port: PortId) {
        let moved = match self.place(entropy) {
            Some(place) => {
                let before = place.replace(Flowlet { last: now, port });
                before.is_some_and(|before| before.port != port)
            }
            None => true,
        };
        self.moves += u64::from(moved);
    }
}

impl Use {
    /// Bytes sent lately by a port that has sent `sent` in all.
    fn lately(&mut self, sent: u64, now: Instant) -> u64 {
        let new = sent - self.sent;
        if now.since(self.since) >= PERIOD {
            *self = Self { since: now, sent, bytes: new + self.bytes / 2 };
            return self.bytes;
        }
        new + self.bytes / 2
    }
}

/// How long the queue of a class at a port is, in steps.
fn level(port: &Port, class: u8, now: Instant) -> u32 {
    if port.paused & bit(class) != 0 {
        return WORST;
    }
    // What is on the wire counts as well: of two empty queues the idle one is better.
    let wire = u32::from(port.busy_until > now);
    (port.queued() / STEP + wire).min(WORST)
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// The port by which a packet leaves a switch that balances; nothing if it does not, or if no
    /// port leads there.
    pub(crate) fn balance(&mut self, switch: u32, packet: &Packet, class: u8) -> Option<u32> {
        let balancer = self.balancers.get_mut(switch as usize)?.as_mut()?;
        let choices = self.routing.choices(switch, packet.dst);
        if let Some(port) = balancer.recall(packet.entropy, self.now, choices) {
            return Some(port.0);
        }
        let Some(choice) = balancer.choice else {
            let place = self.places.get(packet.dst as usize).copied().unwrap_or(0) as usize;
            return choices.get(place.checked_rem(choices.len())?).map(|port| port.0);
        };
        let drawn = balancer.stream.next_u64();
        let port = match choice {
            Choice::Random => *choices.get(pick(drawn, choices.len()))?,
            Choice::Local | Choice::Global => {
                self.best_port(packet, class, choice == Choice::Global, drawn, switch)?
            }
        };
        let balancer = self.balancers[switch as usize].as_mut()?;
        balancer.remember(packet.entropy, self.now, port);
        Some(port.0)
    }

    /// The best of a switch's equal ports; `drawn` decides where several are.
    fn best_port(
        &mut self,
        packet: &Packet,
        class: u8,
        global: bool,
        drawn: u64,
        switch: u32,
    ) -> Option<PortId> {
        let count = self.routing.choices(switch, packet.dst).len();
        let start = pick(drawn, count);
        let mut best = None;
        for turn in 0..count {
            let at = (start + turn) % count;
            let port = self.routing.choices(switch, packet.dst)[at];
            let here = &self.ports[port.index()];
            let mut level = level(here, class, self.now);
            if global {
                level += self.level_beyond(here, packet, class);
            }
            let sent = self.uses[port.index()].lately(here.tx_bytes(), self.now);
            let used = here.byte_time.times(sent.min(1 << 24) as u32).as_ps() / GRADE;
            if best.is_none_or(|(least, _)| (level, used) < least) {
                best = Some(((level, used), port));
            }
        }
        best.map(|(_, port)| port)
    }

    /// The level of the best port by which a packet could go on after the next switch.
    fn level_beyond(&self, here: &Port, packet: &Packet, class: u8) -> u32 {
        let peer = &self.ports[here.peer() as usize];
        if peer.is_nic() {
            return 0;
        }
        let onward = self.routing.choices(peer.owner, packet.dst);
        let levels = onward.iter().map(|port| level(&self.ports[port.index()], class, self.now));
        levels.min().unwrap_or(WORST)
    }
}

/// One of `count`, evenly.
fn pick(drawn: u64, count: usize) -> usize {
    ((u128::from(drawn) * count as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: [PortId; 2] = [PortId(4), PortId(9)];

    fn balancer(gap: Span) -> Balancer {
        let balancing = Balancing::Adaptive { choice: Choice::Random, gap, table: 16 };
        Balancer::new(balancing, Stream::new(1, 0, "balance")).expect("it balances")
    }

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_flowlet_keeps_its_port_until_a_pause() {
        let mut balancer = balancer(Span::from_us(10));
        assert_eq!(balancer.recall(7, at(0), &PORTS), None);
        balancer.remember(7, at(0), PORTS[1]);
        for us in [10, 15, 25] {
            assert_eq!(balancer.recall(7, at(us), &PORTS), Some(PORTS[1]), "{us} us");
        }
        assert_eq!(balancer.recall(7, at(36), &PORTS), None);
    }

    #[test]
    fn a_port_that_no_longer_leads_there_is_forgotten() {
        let mut balancer = balancer(Span::from_us(10));
        balancer.remember(7, at(0), PORTS[1]);
        assert_eq!(balancer.recall(7, at(1), &PORTS[..1]), None);
    }

    #[test]
    fn packets_on_their_own_are_not_remembered() {
        let mut balancer = balancer(Span::ZERO);
        balancer.remember(7, at(0), PORTS[1]);
        assert_eq!(balancer.recall(7, at(0), &PORTS), None);
        assert_eq!(balancer.moves, 1);
    }

    #[test]
    fn use_fades() {
        let mut one = Use::default();
        assert_eq!(one.lately(1000, at(1)), 1000);
        assert_eq!(one.lately(4000, at(5)), 4000);
        assert_eq!(one.lately(4000, at(6)), 2000);
        assert_eq!(one.lately(4000, at(10)), 2000);
        assert_eq!(one.lately(4000, at(15)), 1000);
    }

    #[test]
    fn draws_cover_all_choices_evenly() {
        let mut stream = Stream::new(3, 1, "balance");
        let mut counts = [0u32; 5];
        (0..10_000).for_each(|_| counts[pick(stream.next_u64(), 5)] += 1);
        assert!(counts.iter().all(|count| (1850..2150).contains(count)), "{counts:?}");
    }
}
