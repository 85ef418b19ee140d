//! What switches that balance remember: flowlets, the recent load of ports, and what neighbours reported.

use crate::id::{FlowHash, Table};
use crate::switch::port::Port;
use xoff_fabric::model::{Balancing, Choice, ClassId, Fabric, NicId, PortId, Switch, SwitchId};
use xoff_units::{Instant, Span};
use xoff_workload::stream::Stream;

/// The first band of queues, eight full packets; each further band is twice as wide. With bands of one or two
/// packets a permutation at full load locks in (see above): on a fat tree of 128 hosts the last flow then
/// takes up to a third longer than with random spraying; from four packets on it does not.
pub(super) const FIRST_BAND: u32 = 32 << 10;

/// A full packet, about.
pub(super) const PACKET: u32 = 4 << 10;

/// Bands of queues, as the quality tables of switch silicon have.
pub(super) const BANDS: u32 = 8;

/// Period over which the load of a link is measured.
pub(super) const PERIOD: Span = Span::from_us(4);

/// Loads that differ by less than an eighth of the link are equal.
pub(super) const LOAD_STEP: u64 = PERIOD.as_ps() / 8;

/// Where a flowlet went, and when its last packet did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flowlet {
    pub(super) last: Instant,
    pub(super) port: PortId,
}

/// The load of a port.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Use {
    pub(super) since: Instant,
    pub(super) sent: u64,
    /// Bytes per period, averaged over the periods that are complete; the last one counts half.
    pub(super) bytes: u64,
}

/// The quality of a port: as it is, or as its switch reported it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Quality {
    pub(super) band: u8,
    /// Classes that it may not send.
    pub(super) paused: u8,
}

impl Quality {
    /// What a port is like, where the first band is `first` bytes wide.
    fn of(port: &Port, first: u32) -> Self {
        Self { band: queue_band(port, first) as u8, paused: port.paused }
    }

    /// The band for a class: a port that may not send it is worse than any queue.
    #[inline(always)]
    pub(super) fn band(self, class: ClassId) -> u32 {
        u32::from(self.band) + if self.paused & class.bit() != 0 { BANDS } else { 0 }
    }
}

/// What switches have reported of their ports to their neighbours, where they balance globally: the last
/// report and the one before. A report counts at a neighbour when it has crossed the cable.
///
/// Reports are made when the first packet after their time is balanced. That makes no
/// difference, unless nothing was balanced for a whole period; the report is then newer than it would be.
#[derive(Debug, Default)]
pub(super) struct Reports {
    pub(super) refresh: Span,
    pub(super) made: Instant,
    pub(super) last: Table<PortId, Quality>,
    pub(super) before: Table<PortId, Quality>,
}

impl Reports {
    /// No reports, where no switch balances globally, or where queues are seen at once.
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let refresh = |switch: &Switch| match switch.balancing {
            Balancing::Adaptive { choice: Choice::Global { refresh }, .. } => Some(refresh),
            _ => None,
        };
        let refresh = fabric.switches.iter().filter_map(refresh).max().unwrap_or(Span::ZERO);
        let ports = if refresh.is_zero() { 0 } else { fabric.ports.len() };
        let none: Table<PortId, Quality> = vec![Quality::default(); ports].into();
        Self { refresh, made: Instant::ZERO, last: none.clone(), before: none }
    }

    /// Makes the reports that are due.
    pub(super) fn update(&mut self, ports: &Table<PortId, Port>, now: Instant) {
        let periods = now.since(self.made).as_ps() / self.refresh.as_ps().max(1);
        if periods == 0 || self.refresh.is_zero() {
            return;
        }
        self.made += Span::from_ps(periods * self.refresh.as_ps());
        std::mem::swap(&mut self.last, &mut self.before);
        let refresh = self.refresh;
        // A queue that is gone before the next report is no reason for all neighbours to turn away: they
        // would do so together, and together come back.
        let first = |port: &Port| {
            let packet = port.byte_time.times(PACKET).as_ps().max(1);
            let drained = refresh.as_ps() / packet * u64::from(PACKET);
            u32::try_from(drained).unwrap_or(u32::MAX).max(FIRST_BAND)
        };
        let quality = |port: &Port| Quality::of(port, first(port));
        self.last.iter_mut().zip(ports).for_each(|(last, port)| *last = quality(port));
    }

    /// The band of a port for a class as a neighbour knows it that hears of it after `delay`.
    pub(super) fn band(&self, port: PortId, class: ClassId, delay: Span, now: Instant) -> u32 {
        let arrived = now.since(self.made) >= delay;
        let known = if arrived { &self.last } else { &self.before }[port];
        known.band(class)
    }
}

/// The choice of one switch.
pub(super) struct Balancer {
    /// None where ways are pinned.
    pub(super) choice: Option<Choice>,
    pub(super) gap: Span,
    pub(super) flowlets: Vec<Option<Flowlet>>,
    pub(super) stream: Stream,
    /// Flowlets that took another port than the one before, or packets, if each chooses.
    pub(crate) moves: u64,
}

impl Balancer {
    /// What a switch balances with, if it does not hash.
    pub(crate) fn new(balancing: Balancing, stream: Stream) -> Option<Self> {
        let (choice, gap, table) = match balancing {
            Balancing::Hash | Balancing::Engineered | Balancing::Recycled | Balancing::Paths => {
                return None;
            }
            Balancing::Pinned => (None, Span::ZERO, 0),
            Balancing::Adaptive { choice, gap, table } => (Some(choice), gap, table),
        };
        // Packets that choose each for themselves are not remembered.
        let places = if gap.is_zero() { 0 } else { table.max(1) as usize };
        Some(Self { choice, gap, flowlets: vec![None; places], stream, moves: 0 })
    }

    /// The place of a flow in the table, if there is one.
    pub(super) fn place(&mut self, hash: FlowHash) -> Option<&mut Option<Flowlet>> {
        let places = self.flowlets.len() as u64;
        self.flowlets.get_mut(((u64::from(hash.0) * places) >> 32) as usize)
    }

    /// The port that a flow's last packet took, if that was just now and the port is still equal.
    pub(super) fn recall(
        &mut self,
        hash: FlowHash,
        now: Instant,
        choices: &[PortId],
    ) -> Option<PortId> {
        let gap = self.gap;
        let flowlet = self.place(hash)?.as_mut()?;
        let fresh = now.since(flowlet.last) <= gap && choices.contains(&flowlet.port);
        fresh.then(|| {
            flowlet.last = now;
            flowlet.port
        })
    }

    /// Remembers where a flow goes now.
    pub(super) fn remember(&mut self, hash: FlowHash, now: Instant, port: PortId) {
        let moved = match self.place(hash) {
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
    /// Bytes per period of a port that has sent `sent` in all. Only complete periods count: a value
    /// that moved with every packet would make the ports take turns.
    pub(super) fn measured(&mut self, sent: u64, now: Instant) -> u64 {
        let periods = now.since(self.since).as_ps() / PERIOD.as_ps();
        if let Some(mean) = (sent - self.sent).checked_div(periods) {
            // Every period halves the weight of what was before.
            let before = self.bytes >> periods.min(63);
            let bytes = mean - (mean >> periods.min(63)) + before;
            *self = Self { since: now, sent, bytes };
        }
        self.bytes
    }
}

/// What the switches of a run balance with; empty if none does.
#[derive(Default)]
pub(crate) struct Balance {
    pub(super) balancers: Table<SwitchId, Option<Balancer>>,
    /// What each port is like now, if any switch chooses by that. The queues of equal ports would be a cache line or two
    /// each; here sixty-four ports are in two.
    pub(super) qualities: Table<PortId, Quality>,
    /// Ports of equal quality, while a choice is made.
    pub(super) equals: Vec<PortId>,
    /// What each port was used for lately.
    pub(super) uses: Table<PortId, Use>,
    pub(super) reports: Reports,
    /// Where each NIC hangs on its leaf, counted from 0 among the NICs of that leaf, if a switch asks.
    pub(super) places: Table<NicId, u32>,
}

impl Balance {
    pub(crate) fn new(fabric: &Fabric, seed: u64) -> Self {
        let balancers = balancers(fabric, seed);
        let ports = if balancers.is_empty() { 0 } else { fabric.ports.len() };
        let by_queue = |switch: &Switch| match switch.balancing {
            Balancing::Adaptive { choice, .. } => choice != Choice::Random,
            _ => false,
        };
        let seen = if fabric.switches.iter().any(by_queue) { ports } else { 0 };
        Self {
            balancers,
            qualities: vec![Quality::default(); seen].into(),
            equals: Vec::new(),
            uses: vec![Use::default(); ports].into(),
            reports: Reports::new(fabric),
            places: places(fabric),
        }
    }

    /// Whether what it knows of the switches' ports is what they are like.
    pub(crate) fn is_true_of(&self, ports: &Table<PortId, Port>) -> bool {
        let same = |(port, quality): (&Port, &Quality)| {
            port.is_nic() || Quality::of(port, FIRST_BAND) == *quality
        };
        ports.iter().zip(self.qualities.iter()).all(same)
    }

    /// Another one of the same switches, none of which it has.
    pub(crate) fn like(&self) -> Self {
        Self {
            balancers: self.balancers.iter().map(|_| None).collect(),
            qualities: self.qualities.clone(),
            uses: self.uses.clone(),
            places: self.places.clone(),
            ..Self::default()
        }
    }

    /// Takes over what a switch remembers.
    pub(crate) fn take_switch(&mut self, from: &mut Self, switch: SwitchId) {
        if let Some(balancer) = from.balancers.get_mut(switch) {
            self.balancers[switch] = balancer.take();
        }
    }

    /// Takes over what a port is like, and what it was used for.
    pub(crate) fn copy_port(&mut self, from: &Self, port: PortId) {
        if let Some(&quality) = from.qualities.get(port) {
            self.qualities[port] = quality;
        }
        if let Some(&used) = from.uses.get(port) {
            self.uses[port] = used;
        }
    }

    /// Whether what one switch knows of another is more than packets tell.
    pub(crate) fn sees_beyond_cables(&self) -> bool {
        let global = |own: &Option<Balancer>| {
            let choice = own.as_ref().and_then(|own| own.choice);
            matches!(choice, Some(Choice::Global { .. }))
        };
        self.balancers.iter().any(global)
    }

    /// A port's queue or its pauses have changed.
    #[inline(always)]
    pub(crate) fn see(&mut self, id: PortId, port: &Port) {
        if let Some(quality) = self.qualities.get_mut(id) {
            *quality = Quality::of(port, FIRST_BAND);
        }
    }
}

/// Where each NIC hangs on its leaf, counted from 0 among the NICs of that leaf; nothing if no switch
/// asks.
fn places(fabric: &Fabric) -> Table<NicId, u32> {
    if fabric.switches.iter().all(|switch| switch.balancing != Balancing::Pinned) {
        return Table::new();
    }
    let mut places = vec![0; fabric.nics.len()];
    let peer = |port: u32| fabric.ports[fabric.ports[port as usize].peer.index()].node;
    for switch in &fabric.switches {
        let nodes = switch.ports.clone().map(peer);
        let nics = nodes.filter(|node| fabric.node_switch(*node).is_none());
        nics.zip(0..).for_each(|(node, place)| places[node.index()] = place);
    }
    places.into()
}

/// What switches balance with; nothing at all if none does.
fn balancers(fabric: &Fabric, seed: u64) -> Table<SwitchId, Option<Balancer>> {
    if fabric.switches.iter().all(|switch| switch.balancing.hashes()) {
        return Table::new();
    }
    let balancer = |(index, switch): (u64, &Switch)| {
        Balancer::new(switch.balancing, Stream::new(seed, index, "balance"))
    };
    (0..).zip(&fabric.switches).map(balancer).collect()
}

/// The band that the queues of a port fall into; the first is `first` bytes wide.
pub(super) fn queue_band(port: &Port, first: u32) -> u32 {
    (port.queued() / first + 1).ilog2().min(BANDS - 1)
}

/// One of `count`, evenly.
pub(super) fn pick(drawn: u64, count: usize) -> usize {
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

    const FLOW: FlowHash = FlowHash(7);

    #[test]
    fn a_flowlet_keeps_its_port_until_a_pause() {
        let mut balancer = balancer(Span::from_us(10));
        assert_eq!(balancer.recall(FLOW, at(0), &PORTS), None);
        balancer.remember(FLOW, at(0), PORTS[1]);
        for us in [10, 15, 25] {
            assert_eq!(balancer.recall(FLOW, at(us), &PORTS), Some(PORTS[1]), "{us} us");
        }
        assert_eq!(balancer.recall(FLOW, at(36), &PORTS), None);
    }

    #[test]
    fn a_port_that_no_longer_leads_there_is_forgotten() {
        let mut balancer = balancer(Span::from_us(10));
        balancer.remember(FLOW, at(0), PORTS[1]);
        assert_eq!(balancer.recall(FLOW, at(1), &PORTS[..1]), None);
    }

    #[test]
    fn packets_on_their_own_are_not_remembered() {
        let mut balancer = balancer(Span::ZERO);
        balancer.remember(FLOW, at(0), PORTS[1]);
        assert_eq!(balancer.recall(FLOW, at(0), &PORTS), None);
        assert_eq!(balancer.moves, 1);
    }

    #[test]
    fn load_is_that_of_complete_periods() {
        let mut one = Use::default();
        assert_eq!(one.measured(1000, at(1)), 0, "the first period is not over");
        assert_eq!(one.measured(4000, at(4)), 2000);
        assert_eq!(one.measured(6000, at(7)), 2000);
        assert_eq!(one.measured(8000, at(8)), 3000);
        // Three periods without a packet.
        assert_eq!(one.measured(8000, at(20)), 375);
    }

    #[test]
    fn draws_cover_all_choices_evenly() {
        let mut stream = Stream::new(3, 1, "balance");
        let mut counts = [0u32; 5];
        (0..10_000).for_each(|_| counts[pick(stream.next_u64(), 5)] += 1);
        assert!(counts.iter().all(|count| (1850..2150).contains(count)), "{counts:?}");
    }
}
