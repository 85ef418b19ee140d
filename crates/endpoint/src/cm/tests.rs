//! Two managers over a network that loses, repeats and reorders, in virtual time; and a peer that
//! says nonsense.

mod data;
mod lookup;

use super::connection::{MAX_RETRIES, Phase, TIME_WAIT};
use super::manager::{MAX_CONNECTIONS, MAX_PENDING};
use super::*;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};
use xoff_units::{Bytes, Instant, Span};
use xoff_wire::cm::{
    CommId, Delay, Disconnect, Message, PathMtu, PrivateData, RejectReason, Rejected, Request,
    ServiceId,
};
use xoff_wire::mad::TransactionId;
use xoff_wire::udp::Port;
use xoff_wire::{Psn, Qpn, Service};

const A: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const B: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const PORT: Port = Port(18515);

fn offer(qpn: u32) -> Offer {
    Offer {
        qpn: Qpn::new(qpn),
        psn: Psn::new(qpn * 1000),
        service: Service::Reliable,
        mtu: Bytes::new(4096),
        responder_resources: 4,
        initiator_depth: 3,
    }
}

/// Two managers and what is on its way between them.
struct Wire {
    now: Instant,
    a: Manager,
    b: Manager,
    flying: Vec<(IpAddr, IpAddr, Vec<u8>)>,
    events: Vec<(IpAddr, Event)>,
}

impl Wire {
    fn new() -> Self {
        let mut b = Manager::new(B, 2);
        b.listen(PORT);
        let a = Manager::new(A, 1);
        Self { now: Instant::ZERO, a, b, flying: Vec::new(), events: Vec::new() }
    }

    fn side(&mut self, address: IpAddr) -> &mut Manager {
        if address == A { &mut self.a } else { &mut self.b }
    }

    fn collect(&mut self) {
        for from in [A, B] {
            while let Some((to, bytes)) = self.side(from).poll_transmit() {
                self.flying.push((from, to, bytes.to_vec()));
            }
            while let Some(event) = self.side(from).poll_event() {
                self.events.push((from, event));
            }
        }
    }

    /// Delivers one datagram.
    fn deliver(&mut self, index: usize) {
        let (from, to, bytes) = self.flying.remove(index);
        let now = self.now;
        self.side(to).handle(now, from, &bytes);
        self.collect();
    }

    fn deliver_all(&mut self) {
        self.collect();
        while !self.flying.is_empty() {
            self.deliver(0);
        }
    }

    /// Goes on to what is due next.
    fn wait(&mut self) {
        let due = self.a.deadline().min(self.b.deadline());
        if !due.is_never() {
            self.now = self.now.max(due);
            let now = self.now;
            self.a.handle_deadline(now);
            self.b.handle_deadline(now);
        }
        self.collect();
    }

    fn requested(&self) -> ConnectionId {
        let found = self.events.iter().find_map(|(_, event)| match event {
            Event::Requested { id, .. } => Some(*id),
            _ => None,
        });
        found.expect("a request")
    }

    /// A connection that stands: its names at both ends.
    fn connected() -> (Self, ConnectionId, ConnectionId) {
        let mut wire = Self::new();
        let now = wire.now;
        let ours = wire.a.connect(now, B, PORT, offer(17)).unwrap();
        wire.deliver_all();
        let theirs = wire.requested();
        assert!(wire.b.accept(now, theirs, offer(18)));
        wire.deliver_all();
        (wire, ours, theirs)
    }

    fn has(&self, at: IpAddr, wanted: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(|(side, event)| *side == at && wanted(event))
    }
}

#[test]
fn ask_accept_part() {
    let (mut wire, ours, theirs) = Wire::connected();
    let peer = |qpn: u32, address| Peer {
        address,
        qpn: Qpn::new(qpn),
        psn: Psn::new(qpn * 1000),
        service: Service::Reliable,
        mtu: Bytes::new(4096),
        responder_resources: 4,
        initiator_depth: 3,
        retry_count: 7,
        rnr_retry_count: 7,
    };
    assert!(wire.has(A, |e| *e == Event::Established { id: ours, peer: peer(18, B) }));
    assert!(wire.has(B, |e| *e == Event::Established { id: theirs, peer: peer(17, A) }));
    assert_eq!(wire.b.counters().received, 2);
    let now = wire.now;
    assert!(wire.b.disconnect(now, theirs));
    assert!(!wire.b.disconnect(now, theirs), "once is enough");
    wire.deliver_all();
    assert!(wire.has(A, |e| *e == Event::Disconnected { id: ours }));
    assert!(wire.has(B, |e| *e == Event::Disconnected { id: theirs }));
    assert_eq!((wire.a.open_connections(), wire.b.open_connections()), (0, 0));
    wire.now = wire.now + TIME_WAIT + TIME_WAIT;
    wire.wait();
    assert!(wire.a.connections.is_empty() && wire.b.connections.is_empty());
    assert!(wire.b.by_peer.is_empty() && wire.a.by_peer.is_empty());
    assert_eq!(wire.b.pending, 0);
}

#[test]
fn both_part_at_once() {
    let (mut wire, ours, theirs) = Wire::connected();
    let now = wire.now;
    assert!(wire.a.disconnect(now, ours) && wire.b.disconnect(now, theirs));
    wire.deliver_all();
    assert!(wire.has(A, |e| *e == Event::Disconnected { id: ours }));
    assert!(wire.has(B, |e| *e == Event::Disconnected { id: theirs }));
}

#[test]
fn nobody_there() {
    let mut wire = Wire::new();
    let id = wire.a.connect(wire.now, B, PORT, offer(17)).unwrap();
    for _ in 0..MAX_RETRIES {
        wire.collect();
        wire.flying.clear();
        assert!(!wire.has(A, |_| true));
        wire.wait();
    }
    wire.wait();
    assert!(wire.has(A, |e| *e == Event::TimedOut { id }));
    assert!(wire.a.connections.is_empty());
    assert_eq!(wire.a.counters().repeated, u64::from(MAX_RETRIES));
}

#[test]
fn refused_by_the_application_and_for_want_of_one() {
    let mut wire = Wire::new();
    let id = wire.a.connect(wire.now, B, PORT, offer(17)).unwrap();
    wire.deliver_all();
    let theirs = wire.requested();
    assert!(wire.b.reject(wire.now, theirs, RejectReason::CONSUMER));
    assert!(!wire.b.accept(wire.now, theirs, offer(1)), "too late");
    wire.deliver_all();
    assert!(wire.has(A, |e| *e == Event::Rejected { id, reason: RejectReason::CONSUMER }));
    let id = wire.a.connect(wire.now, B, Port(1), offer(19)).unwrap();
    wire.deliver_all();
    let reason = RejectReason::INVALID_SERVICE_ID;
    assert!(wire.has(A, |e| *e == Event::Rejected { id, reason }));
    assert_eq!(wire.b.counters().unserved, 1);
    assert_eq!(wire.b.pending, 0);
}

#[test]
fn a_lost_reply_and_a_lost_ready_are_made_up_for() {
    let mut wire = Wire::new();
    let ours = wire.a.connect(wire.now, B, PORT, offer(17)).unwrap();
    wire.deliver_all();
    let theirs = wire.requested();
    wire.b.accept(wire.now, theirs, offer(18));
    wire.collect();
    wire.flying.clear();
    wire.wait();
    // Both repeat: the request finds the reply again, and either does.
    assert_eq!(wire.flying.len(), 2);
    wire.deliver(0);
    assert_eq!(wire.b.counters().duplicates, 1);
    wire.deliver(0);
    assert!(wire.has(A, |e| matches!(e, Event::Established { id, .. } if *id == ours)));
    wire.flying.clear();
    assert!(!wire.has(B, |e| matches!(e, Event::Established { .. })));
    wire.wait();
    wire.deliver_all();
    assert!(wire.has(B, |e| matches!(e, Event::Established { id, .. } if *id == theirs)));
    let established =
        wire.events.iter().filter(|(_, e)| matches!(e, Event::Established { .. })).count();
    assert_eq!(established, 2, "once at each end");
}

#[test]
fn a_peer_that_needs_time_gets_it() {
    let mut wire = Wire::new();
    let id = wire.a.connect(wire.now, B, PORT, offer(17)).unwrap();
    wire.collect();
    let delay = Message::Delay(Delay {
        local_id: CommId(77),
        remote_id: CommId(id.0),
        about: Rejected::Request,
        service_timeout: 22,
        private_data: PrivateData::NONE,
    });
    let before = wire.a.deadline();
    wire.a.handle(wire.now, B, &delay.emit(TransactionId(1)));
    wire.a.handle_deadline(before);
    assert_eq!(wire.a.counters().repeated, 0);
    assert!(wire.a.deadline() > wire.now + Span::from_ms(10_000));
    // A name given in passing does not bind: the reply may come under any.
    assert_eq!(wire.a.connections[&id.0].remote_id, CommId(0));
}

/// A request that would be taken.
fn request(local_id: u32, qpn: u32) -> Request {
    let mut asker = Manager::new(A, 5);
    asker.connect(Instant::ZERO, B, PORT, offer(qpn)).unwrap();
    let (_, bytes) = asker.poll_transmit().unwrap();
    match Message::parse(&bytes).unwrap().1 {
        Message::Request(request) => Request { local_id: CommId(local_id), ..request },
        other => panic!("{other:?}"),
    }
}

fn hear(manager: &mut Manager, from: IpAddr, message: Message) {
    manager.handle(Instant::ZERO, from, &message.emit(TransactionId(9)));
}

#[test]
fn nonsense_is_refused_and_counted() {
    let mut b = Wire::new().b;
    let good = request(7, 40);
    hear(&mut b, B, Message::Request(good));
    assert_eq!((b.counters().nonsense, b.poll_transmit()), (1, None), "from somebody else");
    hear(&mut b, A, Message::Request(Request { path_mtu: PathMtu(9), ..good }));
    hear(&mut b, A, Message::Request(Request { transport: 3, ..good }));
    let other = Request { private_data: PrivateData([0xff; 92]), ..good };
    hear(&mut b, A, Message::Request(other));
    assert_eq!(b.counters().nonsense, 4);
    let reasons: Vec<RejectReason> = std::iter::from_fn(|| b.poll_transmit())
        .map(|(_, bytes)| match Message::parse(&bytes).unwrap().1 {
            Message::Reject(reject) => reject.reason,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(reasons, [RejectReason::INVALID_PATH_MTU, RejectReason::INVALID_TRANSPORT]);
    b.handle(Instant::ZERO, A, &[0; 100]);
    b.handle(Instant::ZERO, A, &[0xff; 256]);
    assert_eq!(b.counters().malformed, 2);
    assert!(b.connections.is_empty() && b.poll_event().is_none());
}

#[test]
fn a_queue_pair_that_an_older_connection_holds_is_stale() {
    let (mut wire, ..) = Wire::connected();
    hear(&mut wire.b, A, Message::Request(request(1234, 17)));
    assert_eq!(wire.b.counters().stale, 1);
    let (_, bytes) = wire.b.poll_transmit().unwrap();
    match Message::parse(&bytes).unwrap().1 {
        Message::Reject(reject) => assert_eq!(reject.reason, RejectReason::STALE_CONNECTION),
        other => panic!("{other:?}"),
    }
}

#[test]
fn strangers_cannot_end_a_connection() {
    let (mut wire, ours, theirs) = Wire::connected();
    let part = |remote_id, local_id, qpn| {
        Message::Disconnect(Disconnect {
            local_id,
            remote_id,
            remote_qpn: Qpn::new(qpn),
            private_data: PrivateData::NONE,
        })
    };
    let stranger = IpAddr::from([10, 0, 0, 9]);
    hear(&mut wire.b, stranger, part(CommId(theirs.0), CommId(ours.0), 18));
    hear(&mut wire.b, A, part(CommId(theirs.0), CommId(ours.0 ^ 1), 18));
    hear(&mut wire.b, A, part(CommId(theirs.0), CommId(ours.0), 99));
    assert_eq!((wire.b.counters().stray, wire.b.counters().unexpected), (2, 1));
    assert_eq!(wire.b.connections[&theirs.0].phase, Phase::Established);
    hear(&mut wire.b, A, part(CommId(theirs.0), CommId(ours.0), 18));
    assert_eq!(wire.b.open_connections(), 0);
}

#[test]
fn a_flood_of_requests_stays_bounded() {
    let mut b = Wire::new().b;
    for n in 0..3 * MAX_CONNECTIONS as u32 {
        hear(&mut b, A, Message::Request(request(n + 1, n % (1 << 20) + 2)));
        while b.poll_transmit().is_some() {}
    }
    assert_eq!(b.connections.len(), MAX_PENDING);
    assert_eq!(b.by_peer.len(), MAX_PENDING);
    assert_eq!(b.counters().overflow, 3 * MAX_CONNECTIONS as u64 - MAX_PENDING as u64);
    let later = Instant::ZERO + Span::from_ms(60_000);
    b.handle_deadline(later);
    assert!(b.connections.is_empty() && b.by_peer.is_empty());
    assert_eq!(b.pending, 0);
}

#[test]
fn families_do_not_mix() {
    let mut a = Manager::new(A, 1);
    assert_eq!(a.connect(Instant::ZERO, IpAddr::from([1; 16]), PORT, offer(1)), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever the network does short of losing everything, both ends agree in the end: it stands
    /// once at each, and is gone at both. Long, because it is the whole life of a connection.
    #[test]
    fn ends_agree_over_a_bad_network(
        luck in prop::collection::vec((0u8..10, any::<u16>()), 400),
        a_parts in any::<bool>(),
    ) {
        let mut luck = luck.into_iter().cycle();
        let mut bad = |wire: &mut Wire| {
            let (fate, which) = luck.next().unwrap();
            if wire.flying.is_empty() {
                return wire.wait();
            }
            let index = usize::from(which) % wire.flying.len();
            match fate {
                0..=1 => drop(wire.flying.remove(index)),
                2 => {
                    let copy = wire.flying[index].clone();
                    wire.flying.push(copy);
                }
                _ => wire.deliver(index),
            }
        };
        let mut wire = Wire::new();
        let ours = wire.a.connect(wire.now, B, PORT, offer(17)).unwrap();
        wire.collect();
        let mut theirs = None;
        for _ in 0..2000 {
            let stands = |at| wire.has(at, |e| matches!(e, Event::Established { .. }));
            if stands(A) && stands(B) {
                break;
            }
            bad(&mut wire);
            if theirs.is_none() && wire.has(B, |e| matches!(e, Event::Requested { .. })) {
                let id = wire.requested();
                prop_assert!(wire.b.accept(wire.now, id, offer(18)));
                wire.collect();
                theirs = Some(id);
            }
        }
        let count = |wire: &Wire, at, kind: fn(&Event) -> bool| {
            wire.events.iter().filter(|(side, e)| *side == at && kind(e)).count()
        };
        let established: fn(&Event) -> bool = |e| matches!(e, Event::Established { .. });
        prop_assert_eq!((count(&wire, A, established), count(&wire, B, established)), (1, 1));
        let now = wire.now;
        if a_parts {
            prop_assert!(wire.a.disconnect(now, ours));
        } else {
            prop_assert!(wire.b.disconnect(now, theirs.unwrap()));
        }
        wire.collect();
        let gone: fn(&Event) -> bool = |e| matches!(e, Event::Disconnected { .. });
        for _ in 0..2000 {
            if count(&wire, A, gone) == 1 && count(&wire, B, gone) == 1 {
                break;
            }
            bad(&mut wire);
        }
        prop_assert_eq!((count(&wire, A, gone), count(&wire, B, gone)), (1, 1));
        for _ in 0..100 {
            wire.deliver_all();
            wire.wait();
        }
        prop_assert!(wire.a.connections.is_empty() && wire.b.connections.is_empty());
        prop_assert_eq!(wire.b.pending, 0);
    }

    /// Any bytes, and any bytes that look like a message, in any state.
    #[test]
    fn no_input_panics(
        junk in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 256)), 1..60),
        attributes in prop::collection::vec(0x10u8..0x1a, 60),
    ) {
        let (mut wire, ours, theirs) = Wire::connected();
        for ((to_a, mut bytes), attribute) in junk.into_iter().zip(attributes) {
            bytes[..4].copy_from_slice(&[1, 7, 2, 3]);
            bytes[16..18].copy_from_slice(&[0, attribute]);
            let (id, other) = if to_a { (ours, theirs) } else { (theirs, ours) };
            bytes[28..32].copy_from_slice(&id.0.to_be_bytes());
            if bytes[100] & 1 == 0 {
                bytes[24..28].copy_from_slice(&other.0.to_be_bytes());
            }
            let (at, from) = if to_a { (A, B) } else { (B, A) };
            let now = wire.now;
            wire.side(at).handle(now, from, &bytes);
            wire.collect();
            if bytes[101] & 3 == 0 {
                wire.wait();
            }
        }
        let (a, b) = (&wire.a, &wire.b);
        prop_assert!(a.connections.len() < 70 && b.connections.len() < 70);
        prop_assert_eq!(b.pending, b.connections.values().filter(|c| c.is_pending()).count());
    }
}
