//! Packets that nobody should have sent: nothing outside a region with the right key is touched, all
//! of them are counted, and whoever behaves is served afterwards.

mod common;

use common::*;
use std::fs::File;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use xoff_endpoint::*;
use xoff_transport::{Access, Discard, Status};
use xoff_wire::capture::Reader;
use xoff_wire::frame::Frame;
use xoff_wire::icrc::Flow;
use xoff_wire::ip::TrafficClass;
use xoff_wire::ipv4::Fragment;
use xoff_wire::udp::Port;
use xoff_wire::{Extension, Header, MAX_HEADER_LEN, Opcode, Psn, Qpn, Reth, Rkey, Service};

const NET: u8 = 4;

/// Somebody at the address of the peer, but not the peer.
struct Attacker {
    socket: UdpSocket,
    victim: SocketAddr,
    flow: Flow,
    seed: u64,
}

impl Attacker {
    fn new(from: IpAddr, victim: SocketAddr) -> Self {
        let socket = UdpSocket::bind((from, 0)).unwrap();
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (from, victim.ip()) else {
            panic!("these tests speak IPv4")
        };
        let port = Port(socket.local_addr().unwrap().port());
        let flow = Flow::v4((source, port), destination, Fragment::WHOLE);
        Self { socket, victim, flow, seed: 1 }
    }

    fn random(&mut self) -> u32 {
        self.seed =
            self.seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.seed >> 32) as u32
    }

    fn send(&self, bytes: &[u8]) {
        let _ = self.socket.send_to(bytes, self.victim);
    }

    /// Sends it with the ICRC of a packet with this identification.
    fn send_sealed(&self, covered: &[u8], identification: u16) {
        let icrc = self.flow.icrc(identification, covered, &[]);
        self.send(&[covered, &icrc.to_bytes()].concat());
    }

    fn send_header(&self, header: &Header, payload: &[u8]) {
        let mut out = [0; MAX_HEADER_LEN];
        let len = header.encode(&mut out);
        let pad = &[0; 3][..payload.len().wrapping_neg() & 3];
        self.send_sealed(&[&out[..len], payload, pad].concat(), 0);
    }
}

/// A victim, its peer, a region that peers may not touch beside one they may, and an attacker.
struct Scene {
    two: Two,
    a: PairId,
    b: PairId,
    private: Memory,
    attacker: Attacker,
}

const SECRET: u8 = 0x5a;

impl Scene {
    fn new(service: Service) -> Self {
        let mut two = Two::v4(NET);
        let (a, b) = two.connect(service, 1024);
        let domain = two.b.domain;
        let private = vec![SECRET; 1 << 16];
        let private = two.b.device.register(domain, private, Access::LOCAL_WRITE, None).unwrap();
        two.b.bytes_mut(0, SIZE).fill(SECRET);
        let attacker = Attacker::new(two.a.device.address().ip(), two.b.device.address());
        Self { two, a, b, private, attacker }
    }

    /// Lets the victim take everything that was sent.
    fn settle(&mut self) {
        while !self.two.b.device.progress().is_idle() {}
    }

    fn nothing_was_touched(&self) {
        assert!(self.two.b.bytes(0, SIZE).iter().all(|&byte| byte == SECRET));
        assert!(self.two.b.device.bytes(self.private).unwrap().iter().all(|&byte| byte == SECRET));
    }

    /// Whoever behaves is served: over a connection of its own, because the peer's may have ended.
    fn still_works(&mut self) {
        let (a, _) = self.two.connect(Service::Reliable, 1024);
        self.two.a.fill(0, 50_000, 3);
        let work =
            Work::write(self.two.a.slice(0, 50_000), self.two.b.remote(0)).named(WorkId(321));
        self.two.a.device.post(a, work).unwrap();
        let done = self.two.until(|two| two.a.poll().filter(|done| done.id == WorkId(321)));
        assert!(done.is_ok());
        assert_eq!(self.two.b.bytes(0, 50_000), self.two.a.bytes(0, 50_000));
    }

    fn discards(&self, reason: Reason) -> u64 {
        self.two.b.device.discards().get(reason)
    }

    fn write(&self, key: Rkey, address: u64, length: u32, payload: u32) -> Header {
        Header {
            service: Service::Reliable,
            opcode: Opcode::WriteOnly,
            ack_request: true,
            becn: false,
            dest_qp: self.b.qpn(),
            psn: Psn::new(0xff_fff0),
            extension: Extension::Reth(Reth { address, rkey: key, length }),
            payload,
        }
    }
}

#[test]
fn noise() {
    let mut scene = Scene::new(Service::Reliable);
    for _ in 0..4000 {
        let length = scene.attacker.random() as usize % 1500;
        let bytes: Vec<u8> = (0..length).map(|_| scene.attacker.random() as u8).collect();
        scene.attacker.send(&bytes);
        scene.settle();
    }
    assert_eq!(scene.two.b.device.discards().total(), 4000);
    scene.nothing_was_touched();
    scene.still_works();
}

#[test]
fn headers_that_look_right() {
    for service in [Service::Reliable, Service::Unreliable, Service::Datagram] {
        let mut scene = if service == Service::Datagram {
            let mut scene = Scene::new(Service::Reliable);
            let settings = scene.two.b.settings(service);
            scene.b = scene.two.b.device.create_pair(settings).unwrap();
            scene
        } else {
            Scene::new(service)
        };
        for _ in 0..6000 {
            let length = 12 + scene.attacker.random() as usize % 60;
            let mut bytes: Vec<u8> = (0..length).map(|_| scene.attacker.random() as u8).collect();
            // The right version and partition, often the right pair, a number near the right one.
            bytes[1] &= 0xf0;
            bytes[2..4].copy_from_slice(&[0xff, 0xff]);
            if scene.attacker.random() % 8 != 0 {
                bytes[5..8].copy_from_slice(&scene.b.qpn().get().to_be_bytes()[1..]);
                let psn = 0xff_ffe0 + scene.attacker.random() % 32;
                bytes[9..12].copy_from_slice(&psn.to_be_bytes()[1..]);
            }
            let identification = scene.attacker.random() as u16;
            scene.attacker.send_sealed(&bytes, identification);
            scene.settle();
        }
        assert_eq!(scene.discards(Reason::BadIcrc), 0, "identifications are found out");
        assert!(scene.discards(Reason::UnknownPair) > 0 && scene.discards(Reason::Malformed) > 0);
        scene.nothing_was_touched();
        scene.still_works();
    }
}

#[test]
fn real_packets_a_little_changed() {
    let mut scene = Scene::new(Service::Reliable);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/data/pcap");
    let mut sent = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let mut reader = Reader::new(File::open(file.unwrap().path()).unwrap()).unwrap();
        let mut count = 0;
        while let Some(packet) = reader.next_packet().unwrap() {
            let frame = Frame::parse(packet.bytes, packet.link_type);
            let Some(roce) = frame.roce() else { continue };
            count += 1;
            if count > 400 {
                break;
            }
            let start = frame.payload().start - roce.header_len();
            let covered = &packet.bytes[start..packet.bytes.len() - 4];
            for change in 0..3 {
                let mut bytes = covered.to_vec();
                bytes[5..8].copy_from_slice(&scene.b.qpn().get().to_be_bytes()[1..]);
                bytes[9..12].copy_from_slice(&0xff_fff0u32.to_be_bytes()[1..]);
                for _ in 0..change {
                    let at = scene.attacker.random() as usize % bytes.len().min(40);
                    bytes[at] ^= scene.attacker.random() as u8;
                }
                scene.attacker.send_sealed(&bytes, 0);
                sent += 1;
                scene.settle();
            }
        }
    }
    assert!(sent > 300, "{sent}");
    scene.nothing_was_touched();
    scene.still_works();
}

#[test]
fn what_is_injected_is_judged_like_the_rest() {
    let mut scene = Scene::new(Service::Reliable);
    let from = scene.two.a.device.address();
    for n in 0..2000u32 {
        let length = scene.attacker.random() as usize % 200;
        let bytes: Vec<u8> = (0..length).map(|_| scene.attacker.random() as u8).collect();
        scene.two.b.device.inject(from, TrafficClass(n as u8), &bytes);
    }
    assert_eq!(scene.two.b.device.discards().total(), 2000);
    scene.nothing_was_touched();
    scene.still_works();
}

#[test]
fn unknown_queue_pairs_get_no_answer() {
    let mut scene = Scene::new(Service::Reliable);
    for qpn in [0, 1, 2, 0xff_ffff, scene.b.qpn().get() ^ 1, scene.b.qpn().get() ^ (1 << 20)] {
        let header = Header { dest_qp: Qpn::new(qpn), ..scene.write(Rkey(1), 0, 4, 4) };
        scene.attacker.send_header(&header, b"evil");
    }
    let progress = scene.two.b.device.progress();
    assert_eq!((progress.received, progress.sent), (6, 0));
    assert_eq!(scene.discards(Reason::UnknownPair), 6);
    scene.still_works();
}

#[test]
fn strangers_and_forgers_are_not_heard() {
    let mut scene = Scene::new(Service::Reliable);
    let key = scene.two.b.memory.key();
    let address = scene.two.b.remote(0).address;
    // All that the peer knows, from another address.
    let stranger = Attacker::new(loopback(NET).into(), scene.two.b.device.address());
    stranger.send_header(&scene.write(key, address, 4, 4), b"evil");
    scene.settle();
    assert_eq!(scene.discards(Reason::WrongSource), 1);
    // From the right address with an ICRC that no identification has.
    let mut out = [0; MAX_HEADER_LEN];
    let len = scene.write(key, address, 4, 4).encode(&mut out);
    scene.attacker.send(&[&out[..len], b"evil", &[1, 2, 3, 4]].concat());
    scene.settle();
    assert_eq!(scene.discards(Reason::BadIcrc), 1);
    // Of another partition.
    out[2..4].copy_from_slice(&[0x80, 0x01]);
    scene.attacker.send_sealed(&[&out[..len], b"evil"].concat(), 0);
    scene.settle();
    assert_eq!(scene.discards(Reason::WrongPartition), 1);
    scene.nothing_was_touched();
    scene.still_works();
}

#[test]
fn keys_ranges_and_rights() {
    let base = |scene: &Scene| scene.two.b.remote(0).address;
    type Make = fn(&Scene, u64) -> Header;
    let cases: [(&str, Make); 6] = [
        ("no such key", |scene, base| scene.write(Rkey(0xdead_beef), base, 4, 4)),
        ("before the region", |scene, base| {
            scene.write(scene.two.b.memory.key(), base.wrapping_sub(1), 4, 4)
        }),
        ("over its end", |scene, base| {
            scene.write(scene.two.b.memory.key(), base + SIZE as u64 - 3, 4, 4)
        }),
        ("far too long", |scene, base| Header {
            opcode: Opcode::WriteFirst,
            ..scene.write(scene.two.b.memory.key(), base, 1 << 30, 1024)
        }),
        ("private memory", |scene, _| {
            let private = scene.two.b.device.base(scene.private).unwrap();
            scene.write(scene.private.key(), private, 4, 4)
        }),
        ("around the address space", |scene, _| {
            scene.write(scene.two.b.memory.key(), u64::MAX - 1, 4, 4)
        }),
    ];
    for (name, make) in cases {
        let mut scene = Scene::new(Service::Reliable);
        let header = make(&scene, base(&scene));
        scene.attacker.send_header(&header, &vec![b'x'; header.payload as usize]);
        scene.settle();
        let counters = scene.two.b.device.counters(scene.b).unwrap();
        assert_eq!(counters.discards.get(Discard::AccessDenied), 1, "{name}");
        assert_eq!(scene.two.b.device.state(scene.b), Ok(PairState::Error), "{name}");
        scene.nothing_was_touched();
        scene.still_works();
    }
}

#[test]
fn memory_given_back_is_out_of_reach_for_peers_and_work() {
    let mut scene = Scene::new(Service::Reliable);
    let (a, b) = (scene.a, scene.b);
    let domain = scene.two.b.domain;
    let memory = scene.two.b.device.register(domain, vec![1; 100], Access::ALL, None).unwrap();
    let remote =
        RemoteSlice { address: scene.two.b.device.base(memory).unwrap(), key: memory.key() };
    let work = Work::write(Slice::new(memory, 0, 100), scene.two.a.remote(0));
    scene.two.b.device.post(b, work).unwrap();
    assert_eq!(scene.two.b.device.deregister(memory).unwrap()[..], [1; 100]);
    let done = scene.two.run_b();
    assert_eq!(done.status, Status::LocalProtection);
    let local = scene.two.a.slice(0, 100);
    scene.two.a.device.post(a, Work::read(local, remote)).unwrap();
    scene.two.run_for(std::time::Duration::from_millis(2));
    assert_ne!(scene.two.a.poll().map(|done| done.status), Some(Status::Ok));
    scene.still_works();
}

#[test]
fn everything_has_a_limit() {
    let settings = DeviceSettings {
        limits: Limits { pairs: 3, regions: 1, posted: 4, queues: 2 },
        ..DeviceSettings::new(loopback(NET))
    };
    let mut side = Side::open(settings);
    let one = side.settings(Service::Datagram);
    for _ in 0..3 {
        side.device.create_pair(one.clone()).unwrap();
    }
    assert_eq!(side.device.create_pair(one.clone()), Err(Error::Limit("queue pairs")));
    assert!(side.device.open_management_pair(one).is_err());
    let again = side.device.register(side.domain, vec![0; 1], Access::ALL, None);
    assert_eq!(again, Err(Error::Limit("memory regions")));
    assert!(side.device.create_completions(1).is_ok());
    assert_eq!(side.device.create_completions(1), Err(Error::Limit("completion queues")));
}

#[test]
fn a_completion_queue_never_overflows() {
    let mut two = Two::v4(NET);
    let small = two.a.device.create_completions(3).unwrap();
    let settings = PairSettings { send_completions: small, ..two.a.settings(Service::Reliable) };
    let (a, _) = two.connect_with(settings, two.b.settings(Service::Reliable), 1024);
    let work = Work::write(two.a.slice(0, 10), two.b.remote(0));
    for _ in 0..3 {
        two.a.device.post(a, work).unwrap();
    }
    assert_eq!(two.a.device.post(a, work), Err(Error::Limit("completions")));
    for _ in 0..3 {
        two.until(|two| two.a.device.poll(small));
        two.a.device.post(a, work).unwrap();
    }
    // Quiet work gives its place back by itself.
    for _ in 0..3 {
        two.until(|two| two.a.device.poll(small));
    }
    for _ in 0..20 {
        two.until(|two| two.a.device.post(a, work.quiet()).ok());
    }
}
