//! A server of ours against what a stock client said, and against clients that say nonsense.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use xoff_endpoint::perftest::{
    AtomicKind, Extent, Figures, Measure, Outcome, PerfError, Settings, Verb, run,
};
use xoff_endpoint::{Device, DeviceSettings, PairSettings, Remote, RemoteSlice, Slice, Work};
use xoff_transport::{Access, Atomic};
use xoff_wire::udp::Port;
use xoff_wire::{Psn, Qpn, Rkey, Service};

/// Keys of `ib_write_bw` of perftest 4.5 in a Debian guest.
const KEYS: &[u8] = b"0000:0001:000012:0dddf7:00000328:00007f078460e000:\
    00:00:00:00:00:00:00:00:00:00:ff:ff:0a:63:00:02:00000000:\0";

/// Everything that client says in `-s 65536 -n 40`, message by message.
fn said() -> Vec<Vec<u8>> {
    let mut messages = vec![
        b"6.06\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
        4096u32.to_be_bytes().to_vec(),
        64u32.to_be_bytes().to_vec(),
        b"5\0".to_vec(),
    ];
    // Keys, two barriers, and the one after the data.
    messages.extend(vec![KEYS.to_vec(); 4]);
    messages.push(65536u64.to_be_bytes().to_vec());
    messages.push(40u64.to_be_bytes().to_vec());
    for figure in [26.5, 26.11, 0.000418] {
        messages.push(f64::to_be_bytes(figure).to_vec());
    }
    messages.push(KEYS.to_vec());
    messages.push(b"done\0".to_vec());
    messages
}

/// A server of its own, and its port.
fn serve(patience: Duration) -> (JoinHandle<Result<Outcome, PerfError>>, u16) {
    let extent = Extent::Iterations(40);
    let settings = Settings { extent, ..Settings::new(Verb::Write, Measure::Bandwidth) };
    serve_with(settings, patience)
}

fn serve_with(
    settings: Settings,
    patience: Duration,
) -> (JoinHandle<Result<Outcome, PerfError>>, u16) {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Below the ports that systems give to connections by themselves.
    let own = 12_000 + (std::process::id() % 400) as u16 * 50;
    let next = own + 2 * NEXT.fetch_add(1, Ordering::Relaxed) % 50;
    let settings = Settings {
        port: Port(next),
        device_port: Port(next + 1),
        bind: Some(IpAddr::from([127, 0, 0, 3])),
        patience,
        ..settings
    };
    let stop = Arc::new(AtomicBool::new(false));
    (thread::spawn(move || run(settings, &stop, |_| (), |_| ())), next)
}

fn call(port: u16) -> TcpStream {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_recorded_stock_client_is_served_to_the_end() {
    let (server, port) = serve(Duration::from_secs(5));
    let mut client = call(port);
    client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    for (step, message) in said().iter().enumerate() {
        client.write_all(message).unwrap();
        let mut answer = vec![0; message.len()];
        client.read_exact(&mut answer).unwrap_or_else(|error| panic!("step {step}: {error}"));
        match message.len() {
            108 => assert!(answer.ends_with(b":00000000:\0"), "step {step}"),
            5 => assert_eq!(&answer, b"done\0"),
            16 => assert!(answer.starts_with(b"6.06\0")),
            _ => {}
        }
    }
    drop(client);
    let outcome = server.join().unwrap().unwrap();
    let Figures::Bandwidth { average, .. } = outcome.rows[0].figures else { panic!("no figures") };
    assert!((average / 1_048_576.0 - 26.11).abs() < 1e-6);
    assert_eq!((outcome.rows[0].size, outcome.rows[0].iterations), (65536, 40));
    // No data came, and that is noticed.
    assert_eq!(outcome.verified.unwrap().untouched, 65536);
}

#[test]
fn nonsense_ends_the_server_and_nothing_else() {
    // A first message that is no greeting is a stranger's, who is not served: see `ends.rs`.
    for broken in 1..said().len() - 1 {
        let (server, port) = serve(Duration::from_secs(2));
        let mut client = call(port);
        client.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        for (step, message) in said().iter().enumerate() {
            let mut message = message.clone();
            if step == broken {
                message.fill(0xff);
            }
            let mut answer = vec![0; message.len()];
            // The server may hang up at any time from now on.
            if client.write_all(&message).is_err() || client.read_exact(&mut answer).is_err() {
                assert!(step >= broken);
                break;
            }
        }
        drop(client);
        let result = server.join().expect("no panic");
        // Figures may be anything: a side that measured nothing sends what it has.
        let figures = (8..13).contains(&broken);
        assert_eq!(result.is_ok(), figures, "message {broken}: {result:?}");
    }
}

#[test]
fn a_client_that_falls_silent_is_given_up() {
    let (server, port) = serve(Duration::from_millis(400));
    let mut client = call(port);
    client.write_all(&said()[0]).unwrap();
    let result = server.join().unwrap();
    assert!(matches!(result, Err(PerfError::Silence(_))), "{result:?}");
}

/// A stock `ib_atomic_bw -D` that does ten operations and reports `counted` of them: it counts only
/// those in the middle of its time.
fn ten_atomics(counted: u64) -> Outcome {
    let settings = Settings {
        extent: Extent::For(Duration::from_secs(1)),
        ..Settings::new(Verb::Atomic(AtomicKind::FetchAdd), Measure::Bandwidth)
    };
    let (server, port) = serve_with(settings, Duration::from_secs(5));
    let address = Ipv4Addr::new(127, 0, 0, 4);
    let settings = DeviceSettings::new(address).port(Port(port + 1));
    let mut device = Device::open(settings).unwrap();
    let domain = device.create_domain();
    let completions = device.create_completions(32).unwrap();
    let memory = device.register(domain, vec![0; 8], Access::LOCAL_WRITE, None).unwrap();
    let settings = PairSettings::new(Service::Reliable, domain, completions);
    let pair = device.create_pair(settings).unwrap();
    let mut client = call(port);
    client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut talk = |message: &[u8]| {
        client.write_all(message).unwrap();
        let mut answer = vec![0; message.len()];
        client.read_exact(&mut answer).unwrap();
        answer
    };
    said()[..4].iter().for_each(|message| drop(talk(message)));
    let mut keys = format!("0000:0001:{:06x}:000007:00000001:{:016x}:", pair.qpn().get(), 0);
    for byte in address.to_ipv6_mapped().octets() {
        keys.push_str(&format!("{byte:02x}:"));
    }
    keys.push_str("00000000:\0");
    let theirs = String::from_utf8(talk(keys.as_bytes())).unwrap();
    let word = |n: usize| u64::from_str_radix(theirs.split(':').nth(n).unwrap(), 16).unwrap();
    let remote = Remote {
        address: (Ipv4Addr::new(127, 0, 0, 3), port + 1).into(),
        qpn: Qpn::new(word(2) as u32),
        send_psn: Psn::new(7),
        receive_psn: Psn::new(word(3) as u32),
        mtu: 4096,
    };
    device.connect(pair, remote).unwrap();
    (0..2).for_each(|_| drop(talk(keys.as_bytes())));
    let (local, remote) =
        (Slice::new(memory, 0, 8), RemoteSlice { address: word(5), key: Rkey(word(4) as u32) });
    for _ in 0..10 {
        device.post(pair, Work::atomic(Atomic::FetchAdd { add: 1 }, local, remote)).unwrap();
        let done = device.poll_until(completions, Duration::from_secs(5)).expect("it is done");
        assert!(done.is_ok(), "{done:?}");
    }
    talk(keys.as_bytes());
    talk(&8u64.to_be_bytes());
    talk(&counted.to_be_bytes());
    (0..3).for_each(|_| drop(talk(&1f64.to_be_bytes())));
    talk(keys.as_bytes());
    talk(b"done\0");
    drop(client);
    server.join().unwrap().unwrap()
}

#[test]
fn a_stock_client_that_runs_for_a_time_counts_less_than_it_does() {
    for (counted, right) in [(7, true), (10, true), (13, false)] {
        let verified = ten_atomics(counted).verified.unwrap();
        assert_eq!(verified.is_ok(), right, "{counted}: {verified:?}");
    }
}
