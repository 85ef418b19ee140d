//! Two devices on one machine, driven by one thread.

#![allow(dead_code, unreachable_pub, reason = "every test file uses a part of it")]

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use xoff_endpoint::*;
use xoff_transport::{Access, ProtectionDomain};
use xoff_wire::{Psn, Service};

/// A device, with one domain, one completion queue and one region.
pub struct Side {
    pub device: Device,
    pub domain: ProtectionDomain,
    pub completions: Completions,
    pub memory: Memory,
}

/// Bytes of each side's region.
pub const SIZE: usize = 1 << 20;

impl Side {
    pub fn open(settings: DeviceSettings) -> Self {
        let mut device = Device::open(settings).unwrap();
        let domain = device.create_domain();
        let completions = device.create_completions(1 << 16).unwrap();
        let memory = device.register(domain, vec![0; SIZE], Access::ALL, None).unwrap();
        Self { device, domain, completions, memory }
    }

    pub fn settings(&self, service: Service) -> PairSettings {
        PairSettings::new(service, self.domain, self.completions)
    }

    pub fn slice(&self, offset: u64, length: u64) -> Slice {
        Slice::new(self.memory, offset, length)
    }

    /// What a peer has to know to reach the byte at `offset`.
    pub fn remote(&self, offset: u64) -> RemoteSlice {
        let address = self.device.base(self.memory).unwrap() + offset;
        RemoteSlice { address, key: self.memory.key() }
    }

    pub fn bytes(&self, offset: usize, length: usize) -> &[u8] {
        &self.device.bytes(self.memory).unwrap()[offset..offset + length]
    }

    pub fn bytes_mut(&mut self, offset: usize, length: usize) -> &mut [u8] {
        &mut self.device.bytes_mut(self.memory).unwrap()[offset..offset + length]
    }

    pub fn fill(&mut self, offset: usize, length: usize, seed: u64) {
        let data = pattern(length, seed);
        self.bytes_mut(offset, length).copy_from_slice(&data);
    }

    pub fn poll(&mut self) -> Option<Completion> {
        self.device.poll(self.completions)
    }
}

/// Bytes that are different everywhere.
pub fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let step = |_| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 56) as u8
    };
    (0..length).map(step).collect()
}

/// Addresses that no other test of this process has; each test file has its own `net`.
pub fn loopback(net: u8) -> Ipv4Addr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    Ipv4Addr::new(127, 91, net, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Two devices that know nothing of each other.
pub struct Two {
    pub a: Side,
    pub b: Side,
}

impl Two {
    pub fn v4(net: u8) -> Self {
        let open = || Side::open(DeviceSettings::new(loopback(net)));
        Self { a: open(), b: open() }
    }

    /// The same with a clock that [`Steps::advance`] moves.
    pub fn in_steps(net: u8) -> (Self, Steps) {
        let steps = Steps::default();
        let open = || {
            let clock = Clock::Steps(steps.clone());
            Side::open(DeviceSettings { clock, ..DeviceSettings::new(loopback(net)) })
        };
        (Self { a: open(), b: open() }, steps)
    }

    pub fn with(mut settings: DeviceSettings, a: IpAddr, b: IpAddr) -> Self {
        settings.address = a;
        let first = Side::open(settings.clone());
        settings.address = b;
        Self { a: first, b: Side::open(settings) }
    }

    /// A queue pair on each side, connected.
    pub fn connect(&mut self, service: Service, mtu: u16) -> (PairId, PairId) {
        let (a, b) = (self.a.settings(service), self.b.settings(service));
        self.connect_with(a, b, mtu)
    }

    pub fn connect_with(&mut self, a: PairSettings, b: PairSettings, mtu: u16) -> (PairId, PairId) {
        let (to_a, to_b) = (self.a.device.address(), self.b.device.address());
        let a = self.a.device.create_pair(a).unwrap();
        let b = self.b.device.create_pair(b).unwrap();
        let (x, y) = (Psn::new(0xff_fff0), Psn::new(77));
        let remote = |address, qpn, send_psn, receive_psn| Remote {
            address,
            qpn,
            send_psn,
            receive_psn,
            mtu,
        };
        self.a.device.connect(a, remote(to_b, b.qpn(), x, y)).unwrap();
        self.b.device.connect(b, remote(to_a, a.qpn(), y, x)).unwrap();
        (a, b)
    }

    pub fn progress(&mut self) {
        self.a.device.progress();
        self.b.device.progress();
    }

    /// Runs both until something ends at `a`.
    pub fn run_a(&mut self) -> Completion {
        self.until(|two| two.a.poll())
    }

    /// Runs both until something ends at `b`.
    pub fn run_b(&mut self) -> Completion {
        self.until(|two| two.b.poll())
    }

    /// Runs both until there is something, for ten seconds at most.
    pub fn until<T>(&mut self, mut test: impl FnMut(&mut Self) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            self.progress();
            if let Some(value) = test(self) {
                return value;
            }
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "nothing happened: {:?} {:?}",
                self.a.device.discards(),
                self.b.device.discards()
            );
            std::thread::yield_now();
        }
    }

    /// Runs both for a while.
    pub fn run_for(&mut self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            self.progress();
            std::thread::yield_now();
        }
    }
}

/// The smallest executor.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park_timeout(Duration::from_secs(10)),
        }
    }
}
