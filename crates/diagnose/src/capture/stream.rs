//! Streams: what one host sends to one queue pair of another.

mod answers;
mod requests;

use super::Limits;
use super::evidence::Evidence;
use super::pairing::{Pair, Pairing};
use super::report::Matched;
use super::timeline::{Sample, Timeline};
use answers::Answers;
use requests::Requests;
use std::collections::BTreeMap;
use std::net::IpAddr;
use xoff_units::Span;
use xoff_wire::capture::Timestamp;
use xoff_wire::ip::{Ecn, TrafficClass};
use xoff_wire::roce::Roce;
use xoff_wire::udp::Port;
use xoff_wire::{Opcode, Operation, Position, Psn, Qpn, Service};

/// Requests of other streams that an unmatched one is compared with before it gives up: bounds
/// the work on captures where nothing fits.
const COMPARISONS: u32 = 1 << 14;

/// What distinguishes streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// The queue pair at the destination.
    pub(super) to: Qpn,
    /// That at the source, where packets say it: datagrams do.
    pub(super) from: Option<Qpn>,
}

/// A packet of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) number: u64,
    pub(super) timestamp: Timestamp,
    pub(super) wire_len: u32,
    pub(super) class: TrafficClass,
    pub(super) port: Option<Port>,
    pub(super) roce: &'a Roce,
    pub(super) service: Service,
    pub(super) opcode: Opcode,
}

impl Seen<'_> {
    pub(super) const fn psn(&self) -> Psn {
        self.roce.bth.psn
    }

    /// The path's MTU, if this packet shows it: all but the last of a message are full.
    fn mtu(&self) -> Option<u32> {
        let full = matches!(self.opcode.position(), Position::First | Position::Middle);
        (full && self.roce.payload > 0).then_some(self.roce.payload)
    }
}

/// Everything known of one stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) key: Key,
    pub(super) service: Option<Service>,
    pub(super) partner: Option<usize>,
    pub(super) matched: Matched,
    /// The sender's queue pair, if anything says it.
    pub(super) from: Option<Qpn>,
    comparisons: u32,
    port: Option<Port>,
    /// Its first packet.
    pub(super) first: u64,
    pub(super) packets: u64,
    pub(super) wire_bytes: u64,
    pub(super) ecn_capable: u64,
    pub(super) congested: Evidence,
    pub(super) cnps: Evidence,
    /// The time of the first packet, and of the latest.
    pub(super) began: Timestamp,
    pub(super) ended: Timestamp,
    /// The latest notification, and the shortest time between two.
    latest_cnp: Option<Timestamp>,
    pub(super) cnp_interval: Option<Span>,
    pub(super) requests: Requests,
    pub(super) answers: Answers,
}

impl Stream {
    fn new(key: Key) -> Self {
        let matched = if key.from.is_some() { Matched::Datagram } else { Matched::OneWay };
        Self {
            key,
            service: None,
            partner: None,
            matched,
            from: key.from,
            comparisons: COMPARISONS,
            port: None,
            first: 0,
            packets: 0,
            wire_bytes: 0,
            ecn_capable: 0,
            congested: Evidence::default(),
            cnps: Evidence::default(),
            began: Timestamp::default(),
            ended: Timestamp::default(),
            latest_cnp: None,
            cnp_interval: None,
            requests: Requests::default(),
            answers: Answers::default(),
        }
    }

    fn count(&mut self, seen: &Seen<'_>) {
        if self.packets == 0 {
            self.first = seen.number;
            self.began = seen.timestamp;
        }
        self.ended = self.ended.max(seen.timestamp);
        self.packets += 1;
        self.wire_bytes += u64::from(seen.wire_len);
        self.port = seen.port.or(self.port);
        match seen.class.ecn() {
            Ecn::NotCapable => {}
            Ecn::Capable0 | Ecn::Capable1 => self.ecn_capable += 1,
            Ecn::Congested => {
                self.ecn_capable += 1;
                self.congested.add(seen.number);
            }
        }
    }

    fn notification(&mut self, seen: &Seen<'_>) {
        self.cnps.add(seen.number);
        if let Some(latest) = self.latest_cnp {
            let span = seen.timestamp.since(latest);
            self.cnp_interval = Some(self.cnp_interval.map_or(span, |least| least.min(span)));
        }
        self.latest_cnp = Some(seen.timestamp);
    }

    /// Packets sent again, and gaps, so far.
    const fn troubles(&self) -> (u64, u64) {
        let (requests, answers) = (&self.requests, &self.answers);
        (requests.resent.count + answers.resent.count, requests.gaps.count + answers.gaps.count)
    }
}

/// All streams.
#[derive(Debug)]
pub(super) struct Streams {
    limits: Limits,
    pub(super) all: Vec<Stream>,
    by_key: BTreeMap<Key, usize>,
    latest: Option<(Key, usize)>,
    /// Streams without partner, by source and destination.
    alone: BTreeMap<(IpAddr, IpAddr), Vec<usize>>,
    /// What each of the first streams sent when.
    pub(super) timeline: Timeline,
}

impl Streams {
    pub(super) fn new(limits: Limits) -> Self {
        let (by_key, alone) = (BTreeMap::new(), BTreeMap::new());
        let timeline = Timeline::default();
        Self { limits, all: Vec::new(), by_key, latest: None, alone, timeline }
    }

    /// The stream with this key, made if it is new; `None` if there are too many.
    pub(super) fn find(&mut self, key: Key, service: Service, known: &Pairing) -> Option<usize> {
        if let Some((latest, id)) = self.latest
            && latest == key
        {
            return Some(id);
        }
        let id = match self.by_key.get(&key) {
            Some(id) => *id,
            None => self.make(key, service, known)?,
        };
        self.latest = Some((key, id));
        Some(id)
    }

    fn make(&mut self, key: Key, service: Service, known: &Pairing) -> Option<usize> {
        if self.all.len() >= self.limits.streams {
            return None;
        }
        let id = self.all.len();
        self.all.push(Stream::new(key));
        self.by_key.insert(key, id);
        if service != Service::Datagram {
            self.alone.entry((key.source, key.destination)).or_default().push(id);
            self.apply(id, known);
        }
        Some(id)
    }

    /// Two streams belong together, as `known` says, from now on.
    pub(super) fn join(&mut self, (a, b): Pair, known: &Pairing) {
        let ids = [a, b].map(|key| self.by_key.get(&key).copied());
        for id in ids.into_iter().flatten() {
            // Whatever went over these queue pairs before was another connection.
            self.all[id].requests.restart();
            self.all[id].answers.restart();
            self.divorce(id);
        }
        for id in ids.into_iter().flatten() {
            self.apply(id, known);
        }
    }

    /// Applies what is known of a stream's other direction, which may be missing.
    fn apply(&mut self, id: usize, known: &Pairing) {
        let Some((key, matched)) = known.partner(&self.all[id].key) else { return };
        self.all[id].from = Some(key.to);
        self.all[id].matched = matched;
        if let Some(partner) = self.by_key.get(&key) {
            self.marry(id, *partner, matched);
        }
    }

    fn marry(&mut self, a: usize, b: usize, matched: Matched) {
        for (id, partner) in [(a, b), (b, a)] {
            let to = self.all[partner].key.to;
            let stream = &mut self.all[id];
            stream.partner = Some(partner);
            stream.matched = matched;
            stream.from = Some(to);
            let hosts = (stream.key.source, stream.key.destination);
            if let Some(alone) = self.alone.get_mut(&hosts) {
                alone.retain(|other| *other != id);
            }
        }
    }

    fn divorce(&mut self, id: usize) {
        let Some(partner) = self.all[id].partner.take() else { return };
        self.all[partner].partner = None;
        for id in [id, partner] {
            let key = self.all[id].key;
            self.all[id].matched = Matched::OneWay;
            self.all[id].from = None;
            self.alone.entry((key.source, key.destination)).or_default().push(id);
        }
    }

    /// A packet of a stream.
    pub(super) fn packet(&mut self, id: usize, seen: &Seen<'_>) {
        let before = self.all[id].troubles();
        self.follow(id, seen);
        let after = self.all[id].troubles();
        let sample = Sample {
            bytes: u64::from(seen.wire_len),
            cnps: u32::from(seen.opcode.operation() == Operation::Cnp),
            marked: u32::from(seen.class.ecn() == Ecn::Congested),
            resent: after.0.saturating_sub(before.0) as u32,
            gaps: after.1.saturating_sub(before.1) as u32,
        };
        self.timeline.add(id, seen.timestamp, sample);
    }

    fn follow(&mut self, id: usize, seen: &Seen<'_>) {
        let partner_mtu = self.all[id].partner.and_then(|partner| self.all[partner].answers.mtu());
        let limit = self.limits.history;
        let stream = &mut self.all[id];
        stream.count(seen);
        match seen.opcode.operation() {
            Operation::Cnp => {
                stream.notification(seen);
                return;
            }
            Operation::Send | Operation::Write | Operation::ReadRequest | Operation::Atomic => {
                stream.service = Some(seen.service);
                stream.requests.packet(seen, partner_mtu, limit);
                return;
            }
            Operation::Acknowledge | Operation::ReadResponse | Operation::AtomicAcknowledge => {
                stream.service = Some(seen.service);
            }
        }
        let partner = self.all[id].partner.or_else(|| self.search(id, seen));
        let both = partner.and_then(|partner| self.all.get_disjoint_mut([id, partner]).ok());
        match both {
            Some([stream, partner]) => {
                if seen.opcode.operation() == Operation::ReadResponse
                    && let Some(mtu) = seen.mtu()
                {
                    partner.requests.learn_mtu(mtu);
                }
                stream.answers.packet(seen, Some(&partner.requests));
                partner.requests.answered(seen);
            }
            None => self.all[id].answers.packet(seen, None),
        }
    }

    /// Searches for the one stream whose requests an answer fits.
    fn search(&mut self, id: usize, seen: &Seen<'_>) -> Option<usize> {
        let stream = &self.all[id];
        let hosts = (stream.key.destination, stream.key.source);
        let mut budget = stream.comparisons;
        // A NAK for a missing packet names one that may never have passed here; the one before it
        // has.
        let syndrome = seen.roce.aeth().map(|aeth| aeth.syndrome);
        let before = seen.psn().plus(0x00ff_ffff);
        let names = match syndrome {
            Some(nak) if nak.requests_packets() => [seen.psn(), before],
            _ => [seen.psn(); 2],
        };
        let mut found = [None; 2];
        let mut same_port = [None; 2];
        for other in self.alone.get(&hosts)? {
            if budget == 0 {
                break;
            }
            budget -= 1;
            let candidate = &self.all[*other];
            if *other == id || !names.iter().any(|psn| candidate.requests.asked(*psn)) {
                continue;
            }
            keep_two(&mut found, *other);
            if candidate.port.is_some() && candidate.port == seen.port {
                keep_two(&mut same_port, *other);
            }
        }
        // Many implementations give both directions of a connection the same port.
        let partner = match (found, same_port) {
            ([Some(only), None], _) | (_, [Some(only), None]) => Some(only),
            _ => None,
        };
        self.all[id].comparisons = budget;
        if let Some(partner) = partner {
            self.marry(id, partner, Matched::SequenceNumbers);
        }
        partner
    }
}

/// Remembers the first two.
fn keep_two(found: &mut [Option<usize>; 2], id: usize) {
    let [first, second] = found;
    if first.is_none() {
        *first = Some(id);
    } else {
        *second = Some(id);
    }
}
