//! A middle box that loses, repeats, delays, reorders, corrupts and marks packets, as its seed says.

#![allow(dead_code, unreachable_pub, reason = "every test file uses a part of it")]

use super::common::{Side, Two, loopback};
use rustix::net::sockopt::{set_ip_tos, set_socket_recv_buffer_size};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;
use xoff_endpoint::*;
use xoff_transport::config::QpConfig;
use xoff_transport::{Atomic, Status};
use xoff_units::{Instant, Span};
use xoff_wire::icrc::Flow;
use xoff_wire::ipv4::Fragment;
use xoff_wire::udp::Port;
use xoff_wire::{Psn, Service};

/// How far the clock moves between two turns, where it is not the machine's: less than any timer of a queue pair.
const STEP: Span = Span::from_us(5);

/// What it does to packets, each in so many of a thousand.
#[derive(Clone, Copy, Default)]
pub struct Harm {
    pub lose: u32,
    pub repeat: u32,
    pub mark: u32,
    pub corrupt: u32,
    /// Held back for up to a millisecond, so that others overtake.
    pub hold: u32,
    /// All are late by this.
    pub delay: Span,
}

/// Packets for one side, and when they may go on.
type Held = VecDeque<(Instant, Vec<u8>, bool)>;

pub struct Relay {
    /// The socket that stands for the other side, and where that side is: for `a`, for `b`.
    sides: [(UdpSocket, SocketAddr); 2],
    held: [Held; 2],
    pub harm: Harm,
    seed: u64,
    pub passed: u64,
    pub lost: u64,
    pub marked: u64,
}

impl Relay {
    /// Between `a` and `b`, who take it for each other.
    pub fn new(net: u8, a: &Side, b: &Side, harm: Harm, seed: u64) -> Self {
        let open = || UdpSocket::bind((loopback(net), 4791)).unwrap();
        Self::with([open(), open()], a, b, harm, seed)
    }

    /// The same with these sockets: the first is `b` for `a`, the second `a` for `b`.
    pub fn with(sockets: [UdpSocket; 2], a: &Side, b: &Side, harm: Harm, seed: u64) -> Self {
        let side = |socket: UdpSocket, peer: &Side| {
            socket.set_nonblocking(true).unwrap();
            set_socket_recv_buffer_size(&socket, 4 << 20).unwrap();
            (socket, peer.device.address())
        };
        let [first, second] = sockets;
        let (sides, held) = ([side(first, a), side(second, b)], [VecDeque::new(), VecDeque::new()]);
        Self { sides, held, harm, seed, passed: 0, lost: 0, marked: 0 }
    }

    /// Connects a queue pair of each through it.
    pub fn connect(
        &self,
        two: &mut Two,
        a: PairSettings,
        b: PairSettings,
        mtu: u16,
    ) -> (PairId, PairId) {
        let a = two.a.device.create_pair(a).unwrap();
        let b = two.b.device.create_pair(b).unwrap();
        let remote = |side: usize, qpn, send, receive| Remote {
            address: self.sides[side].0.local_addr().unwrap(),
            qpn,
            send_psn: Psn::new(send),
            receive_psn: Psn::new(receive),
            mtu,
        };
        two.a.device.connect(a, remote(0, b.qpn(), 5, 0xff_fffe)).unwrap();
        two.b.device.connect(b, remote(1, a.qpn(), 0xff_fffe, 5)).unwrap();
        (a, b)
    }

    fn chance(&mut self, per_mille: u32) -> bool {
        self.random() % 1000 < per_mille
    }

    fn random(&mut self) -> u32 {
        self.seed =
            self.seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.seed >> 33) as u32
    }

    /// Passes on what is there.
    pub fn turn(&mut self, now: Instant) {
        for side in 0..2 {
            let mut room = [0; 5000];
            while let Ok((length, _)) = self.sides[side].0.recv_from(&mut room) {
                self.take(now, 1 - side, &room[..length]);
            }
        }
        for side in 0..2 {
            // Those whose time has not come are overtaken.
            for _ in 0..self.held[side].len() {
                let Some((due, packet, mark)) = self.held[side].pop_front() else { break };
                if due > now {
                    self.held[side].push_back((due, packet, mark));
                } else {
                    self.give(side, packet, mark);
                }
            }
        }
    }

    fn take(&mut self, now: Instant, to: usize, packet: &[u8]) {
        let harm = self.harm;
        if self.chance(harm.lose) {
            self.lost += 1;
            return;
        }
        let copies = if self.chance(harm.repeat) { 2 } else { 1 };
        for _ in 0..copies {
            let mut due = now + harm.delay;
            if self.chance(harm.hold) {
                due += Span::from_us((self.random() % 1000).into());
            }
            let mark = self.chance(harm.mark);
            self.held[to].push_back((due, packet.to_vec(), mark));
        }
    }

    fn give(&mut self, to: usize, mut packet: Vec<u8>, mark: bool) {
        let (socket, peer) = &self.sides[to];
        let (IpAddr::V4(from), IpAddr::V4(peer_ip)) =
            (socket.local_addr().unwrap().ip(), peer.ip())
        else {
            panic!("this middle box speaks IPv4")
        };
        // Another address, another ICRC.
        let flow = Flow::v4((from, Port::ROCE_V2), peer_ip, Fragment::WHOLE);
        let covered = packet.len() - 4;
        let icrc = flow.icrc(0, &packet[..covered], &[]);
        packet[covered..].copy_from_slice(&icrc.to_bytes());
        set_ip_tos(socket, if mark { 3 } else { 2 }).unwrap();
        let peer = *peer;
        if self.chance(self.harm.corrupt) {
            let at = self.random() as usize % packet.len();
            packet[at] ^= 1 << (self.random() % 8);
        }
        let _ = self.sides[to].0.send_to(&packet, peer);
        self.passed += 1;
        self.marked += u64::from(mark);
    }
}

/// Two devices with a middle box between them.
pub struct Apart {
    pub two: Two,
    pub relay: Relay,
    /// The clock of all, unless that is the machine's.
    steps: Option<Steps>,
    pub a: PairId,
    pub b: PairId,
}

impl Apart {
    pub fn new(net: u8, service: Service, harm: Harm, seed: u64) -> Self {
        let (two, steps) = Two::in_steps(net);
        let relay = Relay::new(net, &two.a, &two.b, harm, seed);
        // Tails of messages that get lost are missed soon.
        let config = QpConfig { timeout: Span::from_ms(4), ..host_config() };
        Self { steps: Some(steps), ..Self::with(two, relay, service, config) }
    }

    /// Connects two devices through a middle box.
    pub fn with(mut two: Two, relay: Relay, service: Service, mut config: QpConfig) -> Self {
        config.window = xoff_units::Bytes::new(64 << 10);
        let config = std::sync::Arc::new(config);
        let with = |settings: PairSettings| PairSettings { config: config.clone(), ..settings };
        let (a, b) = (with(two.a.settings(service)), with(two.b.settings(service)));
        let (a, b) = relay.connect(&mut two, a, b, 1024);
        Self { two, relay, steps: None, a, b }
    }

    /// What all clocks say.
    pub fn now(&self) -> Instant {
        self.two.a.device.now()
    }

    /// Runs everything until there is something, for 20 seconds at most of the clock, and in wall time for a minute.
    pub fn until<T>(&mut self, mut test: impl FnMut(&mut Two) -> Option<T>) -> T {
        let (start, wall) = (self.now(), std::time::Instant::now());
        loop {
            self.two.progress();
            self.relay.turn(self.now());
            if let Some(value) = test(&mut self.two) {
                return value;
            }
            let (a, b) = (self.two.a.device.counters(self.a), self.two.b.device.counters(self.b));
            let late = self.now().since(start) > Span::from_ms(20_000)
                || wall.elapsed() > Duration::from_secs(60);
            assert!(!late, "nothing happened: {a:?} {b:?}");
            match &self.steps {
                Some(steps) => steps.advance(STEP),
                None => std::thread::yield_now(),
            }
        }
    }

    /// Writes, reads, sends and atomics both ways; every byte is checked.
    pub fn move_everything(&mut self, seed: u64) {
        let (a, b) = (self.a, self.b);
        for round in 0..4u64 {
            let two = &mut self.two;
            two.a.fill(0, 90_000, seed + round);
            two.b.fill(200_000, 90_000, seed * 3 + round);
            two.b.bytes_mut(0, 8).copy_from_slice(&round.to_ne_bytes());
            two.a.bytes_mut(600_000, 8).copy_from_slice(&(round + 100).to_ne_bytes());
            let room = two.b.slice(400_000, 90_000);
            two.b.device.post_receive(b, WorkId(99), room).unwrap();
            let works = [
                Work::write(two.a.slice(0, 90_000), two.b.remote(100_000)),
                Work::read(two.a.slice(300_000, 90_000), two.b.remote(200_000)),
                Work::send(two.a.slice(0, 60_000)),
                Work::atomic(Atomic::FetchAdd { add: 7 }, two.a.slice(8 << 16, 8), two.b.remote(0)),
            ];
            for (n, work) in works.into_iter().enumerate() {
                two.a.device.post(a, work.named(WorkId(n as u64))).unwrap();
            }
            let swap = Atomic::CompareSwap { compare: round + 100, swap: 1 };
            let (local, remote) = (two.b.slice(700_000, 8), two.a.remote(600_000));
            two.b.device.post(b, Work::atomic(swap, local, remote).named(WorkId(50))).unwrap();
            for n in 0..4 {
                let done = self.run_a();
                assert_eq!((done.id, done.status), (WorkId(n), Status::Ok));
            }
            let mut ended = [self.run_b(), self.run_b()].map(|done| (done.id.0, done.status));
            ended.sort_by_key(|end| end.0);
            assert_eq!(ended, [(50, Status::Ok), (99, Status::Ok)]);
            let two = &self.two;
            assert_eq!(two.b.bytes(100_000, 90_000), two.a.bytes(0, 90_000));
            assert_eq!(two.a.bytes(300_000, 90_000), two.b.bytes(200_000, 90_000));
            assert_eq!(two.b.bytes(400_000, 60_000), two.a.bytes(0, 60_000));
            assert_eq!(two.b.bytes(0, 8), (round + 7).to_ne_bytes());
            assert_eq!(two.a.bytes(8 << 16, 8), round.to_ne_bytes());
            assert_eq!(two.a.bytes(600_000, 8), 1u64.to_ne_bytes());
        }
    }

    pub fn run_a(&mut self) -> Completion {
        self.until(|two| two.a.poll())
    }

    pub fn run_b(&mut self) -> Completion {
        self.until(|two| two.b.poll())
    }
}
