//! The same transfers the other ways there are: IPv6, without offloads, from ports of their own.

mod common;

use common::*;
use std::net::{IpAddr, Ipv6Addr};
use xoff_endpoint::*;
use xoff_transport::Status;
use xoff_wire::icrc::Flow;
use xoff_wire::ipv4::Fragment;
use xoff_wire::udp::Port;
use xoff_wire::{Deth, Extension, Header, MAX_HEADER_LEN, Opcode, Psn, Qpn, Service};

const NET: u8 = 5;

fn transfer(two: &mut Two) {
    let (a, b) = two.connect(Service::Reliable, 4096);
    two.a.fill(0, 400_001, 1);
    let room = two.b.slice(500_000, 100_000);
    two.b.device.post_receive(b, WorkId(4), room).unwrap();
    let works = [
        Work::write(two.a.slice(0, 400_001), two.b.remote(1)),
        Work::send(two.a.slice(0, 100_000)),
        Work::read(two.a.slice(500_000, 400_001), two.b.remote(1)),
    ];
    for work in works {
        two.a.device.post(a, work).unwrap();
    }
    for _ in 0..3 {
        assert_eq!(two.run_a().status, Status::Ok);
    }
    assert!(two.run_b().is_ok());
    assert_eq!(two.b.bytes(1, 400_001), two.a.bytes(0, 400_001));
    assert_eq!(two.a.bytes(500_000, 400_001), two.a.bytes(0, 400_001));
    assert_eq!(two.b.bytes(500_000, 100_000), two.a.bytes(0, 100_000));
    let counters = two.a.device.counters(a).unwrap();
    assert_eq!((counters.retransmitted, counters.timeouts), (0, 0));
    assert_eq!(two.b.device.discards().total(), 0);
}

#[test]
fn ipv6_with_everything_verified() {
    let one = DeviceSettings::new(Ipv6Addr::LOCALHOST).port(Port(24_791));
    let other = one.clone().port(Port(24_792));
    let mut two = Two { a: Side::open(one), b: Side::open(other) };
    assert_eq!(two.a.device.verification(), Verification::Full);
    transfer(&mut two);
}

#[test]
fn without_offloads() {
    for (segmentation, coalescing) in [(false, true), (true, false), (false, false)] {
        let settings =
            DeviceSettings { segmentation, coalescing, ..DeviceSettings::new(loopback(NET)) };
        let (a, b) = (loopback(NET).into(), loopback(NET).into());
        let mut two = Two::with(settings, a, b);
        assert_eq!(two.a.device.verification(), Verification::UnknownIdentification);
        transfer(&mut two);
        assert_eq!(two.a.device.sends_runs(), segmentation);
    }
}

#[test]
fn answers_held_back() {
    let settings = DeviceSettings { hold_answers: true, ..DeviceSettings::default() };
    let mut two = Two::with(settings, loopback(NET).into(), loopback(NET).into());
    transfer(&mut two);
}

#[test]
fn without_verification() {
    let settings = DeviceSettings { verify: Verify::Off, ..DeviceSettings::default() };
    let mut two = Two::with(settings, loopback(NET).into(), loopback(NET).into());
    assert_eq!(two.b.device.verification(), Verification::Off);
    transfer(&mut two);
}

#[test]
fn from_ports_of_their_own() {
    let settings = DeviceSettings { entropy: true, ..DeviceSettings::default() };
    let mut two = Two::with(settings, loopback(NET).into(), loopback(NET).into());
    transfer(&mut two);
    transfer(&mut two);
    // And it is really another port that they come from.
    let listener = std::net::UdpSocket::bind((loopback(NET), 4791)).unwrap();
    listener.set_read_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
    let settings = two.a.settings(Service::Unreliable);
    let pair = two.a.device.create_pair(settings).unwrap();
    let (address, psn) = (listener.local_addr().unwrap(), Psn::new(0));
    let remote = Remote { address, qpn: Qpn::new(9), send_psn: psn, receive_psn: psn, mtu: 1024 };
    two.a.device.connect(pair, remote).unwrap();
    let work = Work::send(two.a.slice(0, 10));
    two.a.device.post(pair, work).unwrap();
    two.progress();
    let (length, from) = listener.recv_from(&mut [0; 100]).unwrap();
    assert_eq!(length, 12 + 12 + 4);
    assert!(from.port() >= 0xc000, "{from}");
}

#[test]
fn addresses_that_cannot_be() {
    for address in ["0.0.0.0", "224.0.0.1", "::"] {
        let address: std::net::IpAddr = address.parse().unwrap();
        assert!(matches!(Device::open(DeviceSettings::new(address)), Err(OpenError::Address(_))));
    }
    let mut side = Side::open(DeviceSettings::new(loopback(NET)));
    let taken = DeviceSettings::new(side.device.address().ip());
    assert!(matches!(Device::open(taken), Err(OpenError::InUse(_))));
    let settings = side.settings(Service::Reliable);
    let pair = side.device.create_pair(settings).unwrap();
    let psn = Psn::new(0);
    for (address, mtu, error) in [
        ("[::1]:4791", 1024, Error::BadAddress),
        ("255.255.255.255:4791", 1024, Error::BadAddress),
        ("127.0.0.1:0", 1024, Error::BadAddress),
        ("127.0.0.1:4791", 1000, Error::BadMtu),
    ] {
        let address = address.parse().unwrap();
        let remote = Remote { address, qpn: pair.qpn(), send_psn: psn, receive_psn: psn, mtu };
        assert_eq!(side.device.connect(pair, remote), Err(error));
    }
    assert_eq!(side.device.state(pair), Ok(PairState::Init));
    side.device.destroy(pair).unwrap();
    assert_eq!(side.device.state(pair), Err(Error::NoSuchPair));
}

/// Needs the right to open packet sockets; without, the device has to say so and work all the same.
#[test]
fn every_bit_verified_over_ipv4() {
    let settings = DeviceSettings { verify: Verify::Full, ..DeviceSettings::default() };
    let mut two = Two::with(settings, loopback(NET).into(), loopback(NET).into());
    match two.b.device.verification() {
        Verification::Full => {}
        level => {
            assert_eq!(level, Verification::UnknownIdentification);
            eprintln!("SKIPPED full verification: no right to open a packet socket");
        }
    }
    transfer(&mut two);
}

/// A packet whose ICRC is that of another identification is believed only where that is not seen.
#[test]
fn the_identification_counts_where_it_is_seen() {
    for verify in [Verify::Socket, Verify::Full] {
        let settings = DeviceSettings { verify, ..DeviceSettings::default() };
        let mut two = Two::with(settings, loopback(NET).into(), loopback(NET).into());
        let settings_b = two.b.settings(Service::Datagram);
        let (qkey, b) = (settings_b.qkey, two.b.device.create_pair(settings_b).unwrap());
        let room = two.b.slice(0, 100);
        two.b.device.post_receive(b, WorkId(1), room).unwrap();
        let (from, to) = (loopback(NET), two.b.device.address());
        let socket = std::net::UdpSocket::bind((from, 0)).unwrap();
        let deth = Deth { qkey: qkey.0, source: Qpn::new(7) };
        let header = Header {
            service: Service::Datagram,
            opcode: Opcode::SendOnly,
            ack_request: false,
            becn: false,
            dest_qp: b.qpn(),
            psn: Psn::new(0),
            extension: Extension::Deth(deth),
            payload: 4,
        };
        let mut out = [0; MAX_HEADER_LEN];
        let len = header.encode(&mut out);
        let covered = [&out[..len], b"data"].concat();
        let IpAddr::V4(ip) = to.ip() else { panic!("IPv4") };
        let port = Port(socket.local_addr().unwrap().port());
        let flow = Flow::v4((from, port), ip, Fragment::WHOLE);
        // The socket sends identification zero.
        let wrong = flow.icrc(777, &covered, &[]).to_bytes();
        socket.send_to(&[&covered[..], &wrong].concat(), to).unwrap();
        two.run_for(std::time::Duration::from_millis(2));
        let seen = two.b.device.verification() == Verification::Full;
        assert_eq!(two.b.poll().is_none(), seen);
        assert_eq!(two.b.device.discards().get(Reason::BadIcrc), u64::from(seen));
    }
}
