//! What a fuzzer may give to a device, and what must hold whatever it is.

#![allow(unreachable_pub, reason = "part of two kinds of programs")]

use std::cell::RefCell;
use std::net::SocketAddr;
use xoff_endpoint::*;
use xoff_transport::Access;
use xoff_wire::ip::TrafficClass;
use xoff_wire::udp::Port;
use xoff_wire::{Psn, Service};

/// A device with memory that peers may reach and memory that they may not.
struct Victim {
    device: Device,
    settings: [PairSettings; 3],
    open: Memory,
    closed: Memory,
    completions: Completions,
}

/// Where the peer of every queue pair is said to be. Nobody is there.
const PEER: ([u8; 4], u16) = ([127, 91, 9, 250], 4791);
const SECRET: u8 = 0x5a;
const SIZE: usize = 8192;

impl Victim {
    fn open() -> Self {
        let mut settings = DeviceSettings::new([127, 91, 9, 1]).port(Port(0));
        settings.verify = Verify::Off;
        let mut device = Device::open(settings).expect("loopback can be bound");
        let domain = device.create_domain();
        let completions = device.create_completions(1 << 12).expect("within the limits");
        let open = device.register(domain, vec![0; SIZE], Access::ALL, Some(0x1_0000));
        let closed =
            device.register(domain, vec![SECRET; SIZE], Access::LOCAL_WRITE, Some(0x1_2000));
        let settings = Service::ALL.map(|service| PairSettings::new(service, domain, completions));
        let (open, closed) = (open.expect("room"), closed.expect("room"));
        Self { device, settings, open, closed, completions }
    }

    /// New queue pairs, one of each service, with a receive each.
    fn pairs(&mut self) -> [PairId; 3] {
        let address = SocketAddr::from(PEER);
        self.settings.clone().map(|settings| {
            let connects = settings.service != Service::Datagram;
            let pair = self.device.create_pair(settings).expect("room for a queue pair");
            let (send_psn, receive_psn) = (Psn::new(5), Psn::new(0));
            let qpn = pair.qpn();
            let remote = Remote { address, qpn, send_psn, receive_psn, mtu: 1024 };
            if connects {
                self.device.connect(pair, remote).expect("a right connection");
            }
            let slice = Slice::new(self.open, 0, 4096);
            self.device.post_receive(pair, WorkId(1), slice).expect("room for a receive");
            pair
        })
    }
}

thread_local! {
    static VICTIM: RefCell<Option<Victim>> = const { RefCell::new(None) };
}

/// Datagrams, each with a byte before it that says for which queue pair it is and whether it knows the
/// key, and its length. Memory that peers may not reach stays as it is. Returns the bytes accepted.
pub fn entrance(mut input: &[u8]) -> u64 {
    VICTIM.with_borrow_mut(|victim| {
        let victim = victim.get_or_insert_with(Victim::open);
        let pairs = victim.pairs();
        while let [kind, low, high, rest @ ..] = input {
            let length = usize::from(u16::from_le_bytes([*low, *high]) & 0x1fff).min(rest.len());
            let (datagram, next) = rest.split_at(length);
            input = next;
            let mut datagram = datagram.to_vec();
            address(&mut datagram, *kind, &pairs, victim.open);
            let class = TrafficClass(kind >> 4 & 3);
            victim.device.inject(SocketAddr::from(PEER), class, &datagram);
            victim.device.progress();
        }
        let delivered =
            |pair: &PairId| victim.device.delivered(*pair).map_or(0, |bytes| bytes.get());
        let accepted = pairs.iter().map(delivered).sum();
        for pair in pairs {
            victim.device.destroy(pair).expect("it was there");
        }
        while victim.device.poll(victim.completions).is_some() {}
        let closed = victim.device.bytes(victim.closed).expect("still registered");
        assert!(
            closed.iter().all(|&byte| byte == SECRET),
            "memory that is closed to peers changed"
        );
        accepted
    })
}

/// Makes a datagram one for a queue pair that exists and, if asked to, one with a key that does.
fn address(datagram: &mut [u8], kind: u8, pairs: &[PairId; 3], open: Memory) {
    let pair = pairs[usize::from(kind & 3) % 3];
    if let Some(place) = datagram.get_mut(5..8) {
        place.copy_from_slice(&pair.qpn().get().to_be_bytes()[1..]);
    }
    if let Some(place) = datagram.get_mut(2..4) {
        place.fill(0xff);
    }
    if kind & 4 != 0
        && let Some(place) = datagram.get_mut(20..24)
    {
        place.copy_from_slice(&open.key().0.to_be_bytes());
    }
}
