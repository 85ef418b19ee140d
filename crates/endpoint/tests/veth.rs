//! Two devices in two network namespaces, over a veth pair, with and without a middle box on the way.
//!
//! Needs root and the `ip` tool; where they are missing the tests say so and are skipped.

mod common;
#[path = "common/relay.rs"]
mod relay;

use common::{SIZE, Side, Two, pattern};
use relay::{Apart, Harm, Relay};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use xoff_endpoint::perftest::{
    Agreed, Extent, Measure, PerfError, Rendezvous, Settings, Verb, run as run_perf,
};
use xoff_endpoint::*;
use xoff_transport::Counters;
use xoff_wire::{Psn, Service};

/// Two namespaces that go away with this.
struct Namespaces {
    names: [String; 2],
}

fn run(words: &str) -> bool {
    let mut words = words.split_whitespace();
    let command = words.next().unwrap_or_default();
    let output = Command::new(command).args(words).output();
    output.is_ok_and(|output| output.status.success())
}

impl Namespaces {
    /// Makes them, unless we may not.
    fn make(tag: &str) -> Option<Self> {
        let id = std::process::id();
        let names = ["a", "b"].map(|side| format!("xoff-{tag}-{id}-{side}"));
        let made = Self { names };
        let [a, b] = &made.names;
        let done = run(&format!("ip netns add {a}"))
            && run(&format!("ip netns add {b}"))
            && run(&format!("ip link add veth0 netns {a} type veth peer name veth0 netns {b}"))
            && made.names.iter().zip(1..).all(|(name, n)| {
                run(&format!("ip -n {name} addr add 10.91.0.{n}/24 dev veth0"))
                    && run(&format!("ip -n {name} link set veth0 mtu 4500 up"))
            });
        if !done {
            eprintln!("SKIPPED {tag}: no right to make network namespaces, or no `ip`");
        }
        done.then_some(made)
    }

    /// Moves the calling thread into one of them.
    fn enter(name: &str) {
        let file = File::open(format!("/run/netns/{name}")).unwrap();
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            run(&format!("ip netns del {name}"));
        }
    }
}

/// What the sides tell each other.
struct Hello(Remote, RemoteSlice);

fn connect(
    name: &str,
    n: u8,
    verify: Verify,
    to: &Sender<Hello>,
    from: &Receiver<Hello>,
) -> (Side, PairId, RemoteSlice) {
    Namespaces::enter(name);
    let address = Ipv4Addr::new(10, 91, 0, n);
    let mut side = Side::open(DeviceSettings { verify, ..DeviceSettings::new(address) });
    let mut settings = side.settings(Service::Reliable);
    let mut config = host_config();
    config.timeout = xoff_units::Span::from_ms(8);
    settings.config = std::sync::Arc::new(config);
    let pair = side.device.create_pair(settings).unwrap();
    let psn = Psn::new(1);
    let (address, qpn) = (side.device.address(), pair.qpn());
    let own = Remote { address, qpn, send_psn: psn, receive_psn: psn, mtu: 4096 };
    to.send(Hello(own, side.remote(0))).unwrap();
    let Hello(remote, memory) = from.recv().unwrap();
    side.device.connect(pair, remote).unwrap();
    (side, pair, memory)
}

/// Writes to the other namespace and reads it back, many times. Gives what the sender counted.
fn transfer(names: &[String; 2], verify: Verify) -> Counters {
    let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
    let [a, b] = names.clone();
    let (finish, finished) = channel::<()>();
    let passive = thread::spawn(move || {
        let (mut side, _, _) = connect(&b, 2, verify, &to_a, &from_a);
        while finished.try_recv().is_err() {
            side.device.progress();
            side.device.wait(Duration::from_millis(5));
        }
        side.device.discards().total()
    });
    let active = thread::spawn(move || {
        let (mut side, pair, peer) = connect(&a, 1, verify, &to_b, &from_b);
        let half = SIZE / 2;
        for round in 0..40 {
            let data = pattern(half, round);
            side.bytes_mut(0, half).copy_from_slice(&data);
            let end = Instant::now() + Duration::from_secs(20);
            let (there, back) = (side.slice(0, half as u64), side.slice(half as u64, half as u64));
            side.device.post(pair, Work::write(there, peer).quiet()).unwrap();
            side.device.post(pair, Work::read(back, peer)).unwrap();
            let left = end.saturating_duration_since(Instant::now());
            let done = side.device.poll_until(side.completions, left).expect("an answer");
            assert!(done.is_ok());
            assert!(side.bytes(half, half) == data, "round {round}");
        }
        side.device.counters(pair).unwrap()
    });
    let counters = active.join().unwrap();
    finish.send(()).unwrap();
    assert_eq!(passive.join().unwrap(), 0, "nothing is discarded");
    counters
}

#[test]
fn twenty_megabytes_each_way() {
    let Some(namespaces) = Namespaces::make("plain") else { return };
    for verify in [Verify::Socket, Verify::Full] {
        transfer(&namespaces.names, verify);
    }
}

/// Calls something in a namespace. Sockets stay where they were opened.
fn inside<T: Send + 'static>(name: &str, call: impl FnOnce() -> T + Send + 'static) -> T {
    let name = name.to_owned();
    let there = move || {
        Namespaces::enter(&name);
        call()
    };
    thread::spawn(there).join().unwrap()
}

#[test]
fn through_a_middle_box_that_harms() {
    let Some(namespaces) = Namespaces::make("harm") else { return };
    let [a, b] = &namespaces.names;
    // Each namespace has an address at which the middle box stands for the device in it.
    assert!(run(&format!("ip -n {b} addr add 10.91.0.3/24 dev veth0")));
    assert!(run(&format!("ip -n {a} addr add 10.91.0.4/24 dev veth0")));
    let open = |n| move || Side::open(DeviceSettings::new([10, 91, 0, n]));
    let door = |n| move || UdpSocket::bind((Ipv4Addr::new(10, 91, 0, n), 4791)).unwrap();
    let two = Two { a: inside(a, open(1)), b: inside(b, open(2)) };
    let sockets = [inside(b, door(3)), inside(a, door(4))];
    let delay = xoff_units::Span::from_us(100);
    let harm = Harm { lose: 10, repeat: 10, mark: 50, corrupt: 0, hold: 10, delay };
    let relay = Relay::with(sockets, &two.a, &two.b, harm, 11);
    let mut apart = Apart::with(two, relay, Service::Reliable, host_config());
    apart.move_everything(11);
    assert!(apart.relay.lost > 0 && apart.relay.marked > 0);
    let counters = apart.two.a.device.counters(apart.a).unwrap();
    assert!(counters.retransmitted > 0 && counters.cnps_handled > 0, "{counters:?}");
}

/// Both sides of a test, each in its namespace, with link-local addresses.
fn link_local(spaces: &Namespaces, rendezvous: Rendezvous) {
    let settings = Settings {
        rendezvous,
        extent: Extent::Iterations(50),
        patience: Duration::from_secs(5),
        ..Settings::new(Verb::Write, Measure::Bandwidth)
    };
    let sides = [(0, None), (1, Some("fe80::91:1%veth0".to_owned()))].map(|(side, server)| {
        let (name, settings) = (spaces.names[side].clone(), settings.clone());
        thread::spawn(move || {
            Namespaces::enter(&name);
            // A server that is called by rdma_cm has to say its address; the system knows the
            // number of the interface.
            let own = "fe80::91:1%veth0";
            let mut addresses = (own, 0).to_socket_addrs().unwrap();
            let Some(SocketAddr::V6(own)) = addresses.next() else { panic!("no address") };
            let listens = server.is_none() && rendezvous == Rendezvous::Cm;
            let bind = listens.then(|| (*own.ip()).into());
            let scope = if listens { own.scope_id() } else { 0 };
            let settings = Settings { server, bind, scope, ..settings };
            let end = Instant::now() + Duration::from_secs(8);
            loop {
                let mut gids = None;
                let met = |agreed: &Agreed| gids = Some(agreed.ends[0]);
                let result = run_perf(settings.clone(), &Arc::default(), met, |_| ());
                let early =
                    matches!(result, Err(PerfError::Connect { .. } | PerfError::Silence(_)));
                if !early || Instant::now() > end {
                    return result.map(|outcome| (outcome, gids.unwrap()));
                }
                thread::sleep(Duration::from_millis(50));
            }
        })
    });
    for side in sides {
        let (outcome, (ours, theirs)) = side.join().unwrap().unwrap();
        assert!([ours, theirs].iter().all(|end| end.gid.is_unicast_link_local()), "{ours:?}");
        assert!(outcome.verified.is_none_or(|verified| verified.is_ok()));
        assert_eq!(outcome.rows[0].iterations, 50);
    }
}

#[test]
fn link_local_addresses_name_their_interface() {
    let Some(spaces) = Namespaces::make("local") else { return };
    for (name, n) in spaces.names.iter().zip(1..) {
        if !run(&format!("ip -n {name} addr add fe80::91:{n}/64 dev veth0 nodad")) {
            eprintln!("SKIPPED local: no IPv6");
            return;
        }
    }
    for rendezvous in [Rendezvous::Tcp, Rendezvous::Cm] {
        link_local(&spaces, rendezvous);
    }
}

/// Between two namespaces, with the addresses of both: what goes through the middle is what it was. Of what goes to the
/// server's queue pairs two of five datagrams are lost, nothing of what comes back, nor of the control connection.
struct Middle {
    forwarded: AtomicU64,
    dropped: AtomicU64,
    stop: AtomicBool,
}

/// The client's and the server's address on either side of the middle.
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 91, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 91, 0, 2);
const ROCE: u16 = 4791;
const PERFTEST: u16 = 18515;

impl Middle {
    /// Passes datagrams on until it is stopped.
    fn pass(&self, from: &UdpSocket, to: (&UdpSocket, Ipv4Addr), lossy: bool) {
        from.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let (mut bytes, mut count) = ([0; 1 << 16], 0_u64);
        while !self.stop.load(Ordering::Relaxed) {
            let Ok(length) = from.recv(&mut bytes) else { continue };
            count += 1;
            if lossy && count % 5 < 2 {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            if to.0.send_to(&bytes[..length], (to.1, ROCE)).is_ok() && lossy {
                self.forwarded.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Passes the control connection on.
    fn control(listener: &TcpListener, far: &str) {
        let Ok((near, _)) = listener.accept() else { return };
        let far = inside(far, move || {
            let patience = Instant::now() + Duration::from_secs(5);
            loop {
                match TcpStream::connect((SERVER, PERFTEST)) {
                    Ok(stream) => return stream,
                    Err(error) if Instant::now() > patience => panic!("no server: {error}"),
                    Err(_) => thread::sleep(Duration::from_millis(20)),
                }
            }
        });
        let ways = [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)];
        for (mut from, mut to) in ways {
            thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
        }
    }
}

#[test]
fn two_of_five_lost_on_the_way_are_counted() {
    let Some(near) = Namespaces::make("near") else { return };
    let Some(far) = Namespaces::make("far") else { return };
    // The middle is the far end of the first pair, as the server, and the near end of the second, as the client.
    let (entrance, exit) = (&near.names[1], &far.names[0]);
    for (verb, service) in [
        (Verb::Send, Service::Datagram),
        (Verb::Send, Service::Unreliable),
        (Verb::Write, Service::Unreliable),
    ] {
        let door =
            |space: &String, own| inside(space, move || UdpSocket::bind((own, ROCE)).unwrap());
        let (in_door, out_door) = (door(entrance, SERVER), door(exit, CLIENT));
        let listener = inside(entrance, || TcpListener::bind((SERVER, PERFTEST)).unwrap());
        let middle = Middle {
            forwarded: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        };
        let settings = Settings {
            service,
            size: 1024,
            mtu: Some(1024),
            extent: Extent::For(Duration::from_millis(300)),
            patience: Duration::from_secs(5),
            ..Settings::new(verb, Measure::Bandwidth)
        };
        let side = |space: &String, own: Ipv4Addr, server: Option<String>| {
            let settings = Settings { bind: Some(own.into()), server, ..settings.clone() };
            let space = space.clone();
            thread::spawn(move || {
                Namespaces::enter(&space);
                run_perf(settings, &Arc::default(), |_| (), |_| ())
            })
        };
        let (server, client) = thread::scope(|scope| {
            scope.spawn(|| middle.pass(&in_door, (&out_door, SERVER), true));
            scope.spawn(|| middle.pass(&out_door, (&in_door, CLIENT), false));
            scope.spawn(|| Middle::control(&listener, exit));
            let server = side(&far.names[1], SERVER, None);
            let client = side(&near.names[0], CLIENT, Some(SERVER.to_string()));
            let both = (server.join().unwrap(), client.join().unwrap());
            middle.stop.store(true, Ordering::Relaxed);
            both
        });
        let (server, client) = (server.unwrap(), client.unwrap());
        let delivery = client.delivery.expect("the peer says what arrived");
        let what = format!("{verb:?} {service:?}: {delivery:?}");
        let lost = delivery.sent - delivery.arrived;
        assert_eq!(server.verified.unwrap().lost, Some(lost), "{what}");
        assert_eq!(client.rows[0].iterations, delivery.sent, "{what}");
        // Each message is a packet. What the middle could not take in time is lost, too.
        let dropped = middle.dropped.load(Ordering::Relaxed);
        let forwarded = middle.forwarded.load(Ordering::Relaxed);
        assert!(dropped > 0 && lost >= dropped, "{what}, {dropped} dropped");
        assert!(lost * 100 >= delivery.sent * 39, "{what}");
        if server.overflow.packets == 0 {
            assert_eq!(delivery.arrived, forwarded, "{what}");
        }
    }
}
