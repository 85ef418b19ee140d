//! How fast an endpoint is, beside bare UDP sockets that move the same bytes.
//!
//! `speed [SECONDS] [NAMESPACE ADDRESS NAMESPACE ADDRESS]`: over loopback, or between two network
//! namespaces (files as in /run/netns).

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use xoff_endpoint::bare::Bare;
use xoff_endpoint::*;
use xoff_transport::Access;
use xoff_units::Bytes;
use xoff_wire::{Psn, Service};

/// One end: in which namespace, and where.
#[derive(Clone)]
struct End {
    namespace: Option<String>,
    address: IpAddr,
}

impl End {
    /// Moves this thread to where the end is.
    fn enter(&self) {
        if let Some(path) = &self.namespace {
            let file = File::open(path).expect("the namespace exists");
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("rights to enter the namespace");
        }
    }

    fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, 4791)
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let seconds = args.first().and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let time = Duration::from_secs_f64(seconds);
    let end = |at: usize, default: &str| End {
        namespace: args.get(at).cloned(),
        address: args.get(at + 1).map_or(default, String::as_str).parse().expect("an address"),
    };
    let (a, b) = (end(1, "127.92.0.1"), end(3, "127.92.0.2"));
    println!("                                   Gbit/s   per CPU-second: sender, receiver");
    let (all, sender, receiver) = bare_stream(&a, &b, time);
    println!("bare UDP, runs of 4124 bytes     {all:8.2}           {sender:8.2}  {receiver:8.2}");
    let (all, sender, receiver) = write_stream(&a, &b, time);
    println!("write 64 KiB, MTU 4096, 1 pair   {all:8.2}           {sender:8.2}  {receiver:8.2}");
    for waiting in [Waiting::Sleep, Waiting::Spin] {
        println!("{waiting:?}:");
        let (time, busy) = bare_latency(&a, &b, waiting);
        println!("  UDP ping-pong, half            {time:8.2} us  {busy:8.2} us busy");
        let (time, busy) = write_latency(&a, &b, waiting);
        println!("  write 2 B, half                {time:8.2} us  {busy:8.2} us busy");
    }
}

/// Gbit/s, and Gbit per second of the calling thread's processor time, which is what can be compared
/// on a busy machine.
fn gbps(bytes: u64, time: Duration) -> (f64, f64) {
    let gbit = bytes as f64 * 8e-9;
    (gbit / time.as_secs_f64(), gbit / busy())
}

/// Seconds of processor time that the calling thread has used.
fn busy() -> f64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 * 1e-9
}

fn bare_stream(a: &End, b: &End, time: Duration) -> (f64, f64, f64) {
    let stop = Arc::new(AtomicBool::new(false));
    let (ready, wait) = mpsc::channel();
    let (from, to, stopped) = (a.clone(), b.clone(), stop.clone());
    let sink = b.clone();
    let receiver = thread::spawn(move || {
        sink.enter();
        let mut bare = Bare::open(sink.socket(), Waiting::Sleep).unwrap();
        ready.send(()).unwrap();
        let (mut bytes, start) = (0, Instant::now());
        while !stopped.load(Ordering::Relaxed) {
            bytes += bare.receive(Duration::from_millis(10)).get() / 4124 * 4096;
        }
        gbps(bytes, start.elapsed())
    });
    wait.recv().unwrap();
    let sender = thread::spawn(move || {
        from.enter();
        let bare = Bare::open(from.socket(), Waiting::Sleep).unwrap();
        let (mut bytes, start) = (0, Instant::now());
        while start.elapsed() < time {
            bytes += bare.send_runs(to.socket(), Bytes::new(4124)).get() / 4124 * 4096;
        }
        gbps(bytes, start.elapsed()).1
    });
    let sender = sender.join().unwrap();
    stop.store(true, Ordering::Relaxed);
    let (all, receiver) = receiver.join().unwrap();
    (all, sender, receiver)
}

fn bare_latency(a: &End, b: &End, waiting: Waiting) -> (f64, f64) {
    const ROUNDS: u32 = 20_000;
    let (ready, wait) = mpsc::channel();
    let (near, far) = (a.clone(), b.clone());
    let pong = thread::spawn(move || {
        far.enter();
        let mut bare = Bare::open(far.socket(), waiting).unwrap();
        ready.send(()).unwrap();
        for _ in 0..ROUNDS {
            while bare.receive(Duration::from_secs(1)) == Bytes::ZERO {}
            bare.send(near.socket(), &[1; 34]);
        }
    });
    wait.recv().unwrap();
    let (near, far) = (a.clone(), b.clone());
    let ping = thread::spawn(move || {
        near.enter();
        let mut bare = Bare::open(near.socket(), waiting).unwrap();
        let start = Instant::now();
        for _ in 0..ROUNDS {
            bare.send(far.socket(), &[1; 34]);
            while bare.receive(Duration::from_secs(1)) == Bytes::ZERO {}
        }
        (start.elapsed().as_secs_f64(), busy())
    });
    let (time, busy) = ping.join().unwrap();
    pong.join().unwrap();
    (time * 1e6 / f64::from(2 * ROUNDS), busy * 1e6 / f64::from(ROUNDS))
}

/// What one side tells the other.
struct Hello {
    address: SocketAddr,
    pair: PairId,
    memory: RemoteSlice,
}

/// A device that has a connected pair and a megabyte.
struct Side {
    device: Device,
    pair: PairId,
    completions: Completions,
    memory: Memory,
    peer: RemoteSlice,
}

fn connect(
    end: &End,
    waiting: Waiting,
    to: mpsc::Sender<Hello>,
    from: mpsc::Receiver<Hello>,
) -> Side {
    end.enter();
    let settings =
        DeviceSettings { waiting, hold_answers: true, ..DeviceSettings::new(end.address) };
    let mut device = Device::open(settings).unwrap();
    let domain = device.create_domain();
    let completions = device.create_completions(1024).unwrap();
    let memory = device.register(domain, vec![0; 1 << 20], Access::ALL, None).unwrap();
    let settings = PairSettings::new(Service::Reliable, domain, completions);
    let pair = device.create_pair(settings).unwrap();
    let own = RemoteSlice { address: device.base(memory).unwrap(), key: memory.key() };
    to.send(Hello { address: device.address(), pair, memory: own }).unwrap();
    let hello = from.recv().unwrap();
    let (qpn, address, psn) = (hello.pair.qpn(), hello.address, Psn::new(0));
    let remote = Remote { address, qpn, send_psn: psn, receive_psn: psn, mtu: 4096 };
    device.connect(pair, remote).unwrap();
    Side { device, pair, completions, memory, peer: hello.memory }
}

/// Runs `near` and `far` on connected devices.
fn between<T: Send + 'static>(
    (a, b): (&End, &End),
    waiting: Waiting,
    near: impl FnOnce(&mut Side) -> T + Send + 'static,
    mut far: impl FnMut(&mut Side) + Send + 'static,
) -> (T, (u64, f64)) {
    let ((to_b, from_a), (to_a, from_b)) = (mpsc::channel(), mpsc::channel());
    let (a, b) = (a.clone(), b.clone());
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let passive = thread::spawn(move || {
        let mut side = connect(&b, waiting, to_a, from_a);
        while !stopped.load(Ordering::Relaxed) {
            far(&mut side);
        }
        let discards = side.device.discards();
        if discards.total() > 0 {
            println!("  discarded {:?}", discards.iter().collect::<Vec<_>>());
        }
        if std::env::var_os("COUNTERS").is_some() {
            println!("  {:?}", side.device.counters(side.pair));
        }
        (side.device.delivered(side.pair).unwrap().get(), busy())
    });
    let active = thread::spawn(move || {
        let mut side = connect(&a, waiting, to_b, from_b);
        let result = near(&mut side);
        if let Ok(counters) = side.device.counters(side.pair)
            && counters.retransmitted + counters.timeouts > 0
        {
            println!("  retransmitted {}, timeouts {}", counters.retransmitted, counters.timeouts);
        }
        if std::env::var_os("COUNTERS").is_some() {
            println!("  {:?}", side.device.counters(side.pair));
        }
        result
    });
    let result = active.join().unwrap();
    stop.store(true, Ordering::Relaxed);
    (result, passive.join().unwrap())
}

fn write_stream(a: &End, b: &End, time: Duration) -> (f64, f64, f64) {
    const MESSAGE: u64 = 64 << 10;
    let near = move |side: &mut Side| {
        let local = Slice::new(side.memory, 0, MESSAGE);
        let work = Work::write(local, side.peer);
        (0..32).for_each(|_| side.device.post(side.pair, work).unwrap());
        let (mut done, start) = (0, Instant::now());
        while start.elapsed() < time {
            side.device.progress();
            while let Some(completion) = side.device.poll(side.completions) {
                assert!(completion.is_ok());
                done += MESSAGE;
                side.device.post(side.pair, work).unwrap();
            }
            side.device.wait(Duration::from_millis(10));
        }
        gbps(done, start.elapsed())
    };
    let ((all, sender), (bytes, busy)) = between((a, b), Waiting::Sleep, near, |side| {
        side.device.progress();
        side.device.wait(Duration::from_millis(10));
    });
    (all, sender, bytes as f64 * 8e-9 / busy)
}

fn write_latency(a: &End, b: &End, waiting: Waiting) -> (f64, f64) {
    const ROUNDS: u32 = 20_000;
    // Each waits for the other's byte to change, and answers with its own.
    fn turn(side: &mut Side, expected: u8) -> bool {
        side.device.progress();
        if side.device.bytes(side.memory).unwrap()[0] != expected {
            side.device.wait(Duration::from_millis(10));
            return false;
        }
        while side.device.poll(side.completions).is_some() {}
        true
    }
    fn say(side: &mut Side, value: u8) {
        side.device.bytes_mut(side.memory).unwrap()[64] = value;
        let work = Work::write(Slice::new(side.memory, 64, 2), side.peer);
        side.device.post(side.pair, work).unwrap();
    }
    let near = |side: &mut Side| {
        let start = Instant::now();
        for round in 0..ROUNDS {
            let value = (round % 100 + 1) as u8;
            say(side, value);
            while !turn(side, value) {}
        }
        let time = start.elapsed().as_secs_f64() * 1e6 / f64::from(2 * ROUNDS);
        (time, busy() * 1e6 / f64::from(ROUNDS))
    };
    let mut expected = 1;
    let far = move |side: &mut Side| {
        if turn(side, expected) {
            say(side, expected);
            expected = expected % 100 + 1;
        }
    };
    between((a, b), waiting, near, far).0
}
