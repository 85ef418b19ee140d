//! How things end when the other side is dead, frozen, wrong, hostile or a stranger: always with an
//! answer, in the time the settings give, and with the reason.

mod common;

use common::loopback;
use std::io::Write;
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use xoff_endpoint::perftest::{
    Agreed, AtomicKind, Extent, Figures, Measure, Outcome as Result_, PerfError, Rendezvous, Row,
    Settings, Verb, run,
};
use xoff_endpoint::*;
use xoff_transport::{Access, Discard, Status};
use xoff_units::{Bytes, Span};
use xoff_wire::udp::Port;
use xoff_wire::{Psn, Qpn, Service};

const NET: u8 = 9;

// ---- queue pairs

/// One end of a connection to a peer that does not exist.
fn to_nobody(settings: impl FnOnce(&mut PairSettings) + Send + 'static) -> (Endpoint, Connection) {
    let near = Endpoint::open(DeviceSettings::new(loopback(NET))).unwrap();
    let ours = near.connection_with(Service::Reliable, settings).wait().unwrap();
    let address = (loopback(NET), 4791).into();
    let nobody = Introduction { address, qpn: Qpn::new(99), psn: Psn::new(0) };
    ours.connect(nobody, 1024).wait().unwrap();
    (near, ours)
}

#[test]
fn a_write_to_a_dead_peer_ends_in_the_time_of_its_settings() {
    for (timeout, retry_limit) in [(20, 7), (50, 3)] {
        let (near, ours) = to_nobody(move |settings| {
            let config = Arc::make_mut(&mut settings.config);
            (config.timeout, config.retry_limit) = (Span::from_ms(timeout), retry_limit);
        });
        let memory = near.register(vec![1; 100], Access::ALL).wait().unwrap();
        let start = Instant::now();
        let remote = RemoteSlice::default();
        let done = ours.write(memory.all(), remote).wait().unwrap();
        assert_eq!(done.status, Status::RetryExceeded);
        assert!(done.status.to_string().starts_with("retry exceeded"));
        let due = Duration::from_millis(timeout * (u64::from(retry_limit) + 1));
        let took = start.elapsed();
        assert!(took >= due && took < due + Duration::from_secs(2), "{took:?} for {due:?}");
        // What is posted afterwards is refused at once.
        let late = ours.write(memory.all(), remote).wait();
        assert!(late.is_err(), "{late:?}");
    }
}

#[test]
fn nothing_waits_for_ever_by_default() {
    let usual = host_config();
    let silence = usual.silence_limit().expect("silence has an end");
    assert!(silence < Span::from_ms(15_000), "{silence}");
    assert!(!usual.rnr_time_limit.is_zero() && usual.rnr_time_limit < Span::from_ms(15_000));
}

#[test]
fn a_receiver_that_never_posts_a_receive_is_given_up() {
    let open = || Endpoint::open(DeviceSettings::new(loopback(NET))).unwrap();
    let (near, far) = (open(), open());
    let limit = Duration::from_millis(300);
    let ours = near
        .connection_with(Service::Reliable, move |settings| {
            let config = Arc::make_mut(&mut settings.config);
            config.rnr_time_limit = Span::from_ms(limit.as_millis() as u64);
            assert_eq!(config.rnr_retry_limit, 7, "the count alone would be without end");
        })
        .wait()
        .unwrap();
    let theirs = far.connection().wait().unwrap();
    ours.connect(theirs.introduction(), 1024).wait().unwrap();
    theirs.connect(ours.introduction(), 1024).wait().unwrap();
    let memory = near.register(vec![1; 100], Access::ALL).wait().unwrap();
    let start = Instant::now();
    let done = ours.send(memory.all()).wait().unwrap();
    assert_eq!(done.status, Status::RnrRetryExceeded);
    let took = start.elapsed();
    assert!(took >= limit && took < limit + Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_refused_request_says_why_on_both_sides() {
    let open = || Endpoint::open(DeviceSettings::new(loopback(NET))).unwrap();
    let (near, far) = (open(), open());
    let (ours, theirs) = (near.connection().wait().unwrap(), far.connection().wait().unwrap());
    ours.connect(theirs.introduction(), 1024).wait().unwrap();
    theirs.connect(ours.introduction(), 1024).wait().unwrap();
    let source = near.register(vec![1; 100], Access::ALL).wait().unwrap();
    let readable = Access::LOCAL_WRITE | Access::REMOTE_READ;
    let target = far.register(vec![0; 100], readable).wait().unwrap();
    let done = ours.write(source.all(), target.remote(Bytes::ZERO)).wait().unwrap();
    assert_eq!(done.status, Status::RemoteAccess);
    assert!(done.status.to_string().contains("rights"));
    let pair = theirs.pair();
    let (state, counters) =
        far.with(move |device| (device.state(pair), device.counters(pair))).wait().unwrap();
    assert_eq!(state, Ok(PairState::Error));
    let counters = counters.unwrap();
    assert_eq!((counters.refused, counters.discards.get(Discard::AccessDenied)), (1, 1));
}

// ---- whole tests

/// Ports that no other test uses, here or in another process.
fn ports() -> (Port, Port) {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let own = 2_000 + (std::process::id() % 90) as u16 * 100;
    let next = own + NEXT.fetch_add(2, Ordering::Relaxed) % 100;
    (Port(next), Port(next + 1))
}

/// One side of a test under way.
struct Runner {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<Ended>,
    agreed: Receiver<Agreed>,
}

/// How it ended.
struct Ended {
    result: Result<Result_, PerfError>,
    rows: Vec<Row>,
    at: Instant,
}

fn start(settings: Settings) -> Runner {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let (say, agreed) = channel();
    let thread = thread::spawn(move || {
        let mut rows = Vec::new();
        // A client that is too early tries again.
        for _ in 0..100 {
            let met = |agreed: &Agreed| drop(say.send(agreed.clone()));
            let result = run(settings.clone(), &flag, met, |row| rows.push(*row));
            if !matches!(result, Err(PerfError::Connect { .. })) {
                return Ended { result, rows, at: Instant::now() };
            }
            thread::sleep(Duration::from_millis(30));
        }
        panic!("there is no server");
    });
    Runner { stop, thread, agreed }
}

/// Both sides, on addresses of their own.
fn start_both(server: Settings, client: Settings) -> [Runner; 2] {
    let (port, device_port) = ports();
    let at = |last: u8, settings: Settings| {
        let bind = Some(IpAddr::from([127, 0, 0, last]));
        Settings { port, device_port, bind, patience: Duration::from_secs(8), ..settings }
    };
    let client = Settings { server: Some("127.0.0.11".into()), ..at(12, client) };
    [start(at(11, server)), start(client)]
}

/// Both sides to their end, within a time that nothing below needs.
fn finish(runners: [Runner; 2]) -> [Ended; 2] {
    let end = Instant::now() + Duration::from_secs(20);
    runners.map(|runner| {
        while !runner.thread.is_finished() {
            assert!(Instant::now() < end, "a side does not end");
            thread::sleep(Duration::from_millis(5));
        }
        runner.thread.join().expect("no panic")
    })
}

fn both(server: Settings, client: Settings) -> [Ended; 2] {
    finish(start_both(server, client))
}

#[track_caller]
fn says(ended: &Ended, words: &[&str]) {
    let error = ended.result.as_ref().expect_err("it cannot end well").to_string();
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
}

fn bandwidth(verb: Verb) -> Settings {
    Settings { size: 4096, ..Settings::new(verb, Measure::Bandwidth) }
}

fn n(settings: Settings, count: u64) -> Settings {
    Settings { extent: Extent::Iterations(count), ..settings }
}

fn for_ms(settings: Settings, time: u64) -> Settings {
    Settings { extent: Extent::For(Duration::from_millis(time)), ..settings }
}

/// As before there were terms, and as the stock tools are.
fn plain(settings: Settings) -> Settings {
    Settings { extras: false, ..settings }
}

#[test]
fn a_peer_that_goes_is_noticed_at_once_and_what_was_measured_is_kept() {
    const SERVER: usize = 0;
    const CLIENT: usize = 1;
    let datagrams = Settings { service: Service::Datagram, ..bandwidth(Verb::Send) };
    let latency = Settings::new(Verb::Read, Measure::Latency);
    for (settings, rendezvous, goes, measures) in [
        (bandwidth(Verb::Write), Rendezvous::Tcp, SERVER, true),
        (bandwidth(Verb::Write), Rendezvous::Tcp, CLIENT, false),
        (bandwidth(Verb::Send), Rendezvous::Tcp, CLIENT, true),
        (bandwidth(Verb::Read), Rendezvous::Cm, SERVER, true),
        (bandwidth(Verb::Write), Rendezvous::Cm, CLIENT, false),
        (datagrams, Rendezvous::Tcp, SERVER, true),
        (latency, Rendezvous::Tcp, SERVER, true),
    ] {
        let settings = for_ms(Settings { rendezvous, ..settings }, 60_000);
        let case = format!("{:?} {rendezvous:?} {goes}", settings.verb);
        let runners = start_both(settings.clone(), settings);
        for runner in &runners {
            runner.agreed.recv_timeout(Duration::from_secs(10)).expect("they meet");
        }
        thread::sleep(Duration::from_millis(200));
        let went = Instant::now();
        runners[goes].stop.store(true, Ordering::Relaxed);
        let ended = finish(runners);
        assert!(matches!(ended[goes].result, Err(PerfError::Interrupted)), "{case}");
        let other = &ended[1 - goes];
        let result = &other.result;
        assert!(matches!(result, Err(PerfError::Gone(_))), "{case}: {result:?}");
        let took = other.at.duration_since(went);
        assert!(took < Duration::from_secs(3), "{case}: {took:?}");
        let partial = other.rows.last().filter(|row| row.iterations > 0 && !row.complete);
        assert_eq!(partial.is_some(), measures, "{case}: {:?}", other.rows);
    }
}

#[test]
fn different_numbers_of_messages_are_refused_on_both_sides() {
    for (server, client) in [(50, 100), (100, 50)] {
        let send = bandwidth(Verb::Send);
        let ended = both(n(send.clone(), server), n(send, client));
        for side in &ended {
            says(side, &["-n 50", "-n 100", "both need the same -n"]);
        }
    }
}

#[test]
fn different_numbers_of_messages_end_without_terms_too() {
    let send = || plain(bandwidth(Verb::Send));
    let began = Instant::now();
    let [server, client] = both(n(send(), 100), n(send(), 50));
    says(&server, &["stopped after 50 of 100 messages", "-n"]);
    says(&client, &["gone"]);
    let [server, client] = both(n(send(), 50), n(send(), 100));
    says(&server, &["more than the 50 messages", "-n"]);
    assert!(client.result.is_err());
    let latency = || plain(Settings::new(Verb::Send, Measure::Latency));
    let [server, client] = both(n(latency(), 100), n(latency(), 50));
    says(&server, &["stopped after 50 of 100 messages", "-n"]);
    assert!(client.result.is_err());
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
}

#[test]
fn another_test_is_refused_with_the_reason_on_both_sides() {
    let (read, write) = (bandwidth(Verb::Read), bandwidth(Verb::Write));
    for side in &both(n(read.clone(), 10), n(write.clone(), 10)) {
        says(side, &["read-bw", "write-bw", "both need the same test"]);
    }
    let datagrams = Settings { service: Service::Datagram, ..bandwidth(Verb::Send) };
    for side in &both(n(datagrams, 10), n(bandwidth(Verb::Send), 10)) {
        says(side, &["-c UD", "-c RC"]);
    }
    // By rdma_cm, too.
    let cm = |settings| Settings { rendezvous: Rendezvous::Cm, ..n(settings, 10) };
    for side in &both(cm(read.clone()), cm(write.clone())) {
        says(side, &["read-bw", "write-bw"]);
    }
    // How long a test runs is the client's business where the server only lends its memory.
    let [server, client] = both(n(write.clone(), 10), for_ms(write, 200));
    assert!(client.result.is_ok());
    let verified = server.result.unwrap().verified.unwrap();
    assert!(verified.is_ok(), "{verified:?}");
}

#[test]
fn each_test_gives_only_the_rights_it_needs() {
    let fetch = Verb::Atomic(AtomicKind::FetchAdd);
    for (server, client) in [
        (Verb::Read, Verb::Write),
        (Verb::Write, Verb::Read),
        (fetch, Verb::Write),
        (Verb::Read, fetch),
    ] {
        // Without terms, as with a stock client: the memory itself has to refuse.
        let settings = |verb| n(plain(Settings::new(verb, Measure::Bandwidth)), 20);
        let [server, client] = both(settings(server), settings(client));
        says(&client, &["remote access error", "same test"]);
        says(&server, &["we refused a request of the peer", "rights of our memory"]);
    }
}

#[test]
fn strangers_neither_end_nor_block_a_waiting_server() {
    let (port, device_port) = ports();
    let bind = Some(IpAddr::from([127, 0, 0, 11]));
    let server = n(bandwidth(Verb::Write), 50);
    let server = start(Settings { port, device_port, bind, ..server });
    let call = || {
        let end = Instant::now() + Duration::from_secs(5);
        loop {
            match TcpStream::connect(("127.0.0.1", port.0)) {
                Ok(stream) => return stream,
                Err(error) => assert!(Instant::now() < end, "{error}"),
            }
            thread::sleep(Duration::from_millis(20));
        }
    };
    drop(call());
    let silent: Vec<TcpStream> = (0..3).map(|_| call()).collect();
    let mut browser = call();
    browser.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut slow = call();
    slow.write_all(b"6.0").unwrap();
    let mut old = call();
    old.write_all(b"5.60\0\0\0\0\0\0\0\0\0\0\0\0").unwrap();
    thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    let client = n(bandwidth(Verb::Write), 50);
    let bind = Some(IpAddr::from([127, 0, 0, 12]));
    let called = Some("127.0.0.1".to_owned());
    let client = start(Settings { port, device_port, bind, server: called, ..client });
    let agreed = server.agreed.recv_timeout(Duration::from_secs(10)).expect("it is served");
    let whys: Vec<&str> = agreed.ignored.iter().map(|ignored| ignored.why).collect();
    let (hung_up, foreign) =
        ("it hung up without a word", "it does not speak the protocol of this test");
    assert_eq!(whys, [hung_up, foreign, foreign], "the silent ones are still waited for");
    for side in finish([server, client]) {
        assert!(side.result.is_ok(), "{:?}", side.result);
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop((silent, slow));
}

// ---- honest numbers

#[test]
fn added_up_by_time_too() {
    for pairs in [1, 3] {
        let settings = Settings::new(Verb::Atomic(AtomicKind::FetchAdd), Measure::Bandwidth);
        let settings = for_ms(Settings { pairs, ..settings }, 200);
        let [server, client] = both(settings.clone(), settings);
        for side in [server, client] {
            let verified = side.result.unwrap().verified.unwrap();
            assert!(verified.is_ok() && verified.messages > 0, "{verified:?}");
        }
    }
}

#[test]
fn what_was_lost_is_counted_and_overflow_is_named() {
    // A receive buffer that holds a packet or two.
    let small = |settings| Settings { socket_buffer: Bytes::new(1), ..for_ms(settings, 300) };
    for (verb, service) in [
        (Verb::Send, Service::Datagram),
        (Verb::Send, Service::Unreliable),
        (Verb::Write, Service::Unreliable),
    ] {
        let settings = Settings { service, ..bandwidth(verb) };
        let [server, client] = both(small(settings.clone()), for_ms(settings, 300));
        let (server, client) = (server.result.unwrap(), client.result.unwrap());
        let delivery = client.delivery.expect("the peer says what arrived");
        let lost = delivery.sent - delivery.arrived;
        assert!(lost > 0 && delivery.arrived > 0, "{delivery:?}");
        assert_eq!(server.verified.unwrap().lost, Some(lost), "{verb:?} {service:?}");
        assert_eq!(client.rows[0].iterations, delivery.sent);
        assert!(server.overflow.packets > 0, "{:?}", server.overflow);
        assert_eq!(client.peer_overflow, Some(server.overflow));
        assert_eq!(client.overflow.packets, 0);
    }
    // Without terms nobody says how many were sent.
    let settings = Settings { service: Service::Datagram, ..bandwidth(Verb::Send) };
    let [server, client] = both(small(plain(settings.clone())), for_ms(plain(settings), 300));
    let server = server.result.unwrap();
    assert_eq!(server.verified.unwrap().lost, None);
    assert!(server.overflow.packets > 0);
    assert_eq!(client.result.unwrap().delivery, None);
}

#[test]
fn datagrams_are_as_long_as_the_mtu_allows() {
    let settings = Settings::new(Verb::Send, Measure::Bandwidth);
    let settings = n(Settings { service: Service::Datagram, ..settings }, 30);
    assert_eq!(settings.size, 65_536, "the default of the stock tool");
    let small = Settings { mtu: Some(1024), ..settings.clone() };
    let runners = start_both(settings, small);
    for runner in &runners {
        let agreed = runner.agreed.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!((agreed.mtu, agreed.clamped), (1024, Some(1024)));
    }
    for side in finish(runners) {
        assert_eq!(side.rows[0].size, 1024);
        assert!(side.result.is_ok());
    }
}

#[test]
fn figures_keep_their_unit_between_two_that_print_others() {
    let write = n(bandwidth(Verb::Write), 200);
    let [server, client] = both(Settings { gigabits: true, ..write.clone() }, write);
    let average = |side: &Ended| match side.rows[0].figures {
        Figures::Bandwidth { average, .. } => average,
        other => panic!("{other:?}"),
    };
    let (a, b) = (average(&server), average(&client));
    assert!((a / b - 1.0).abs() < 1e-6, "{a} {b}");
}

#[test]
fn both_sides_on_one_machine_take_an_address_each() {
    for (name, rendezvous) in [("127.0.0.1", Rendezvous::Tcp), ("localhost", Rendezvous::Tcp)] {
        let (port, device_port) = ports();
        let settings = n(bandwidth(Verb::Write), 20);
        let settings = Settings { port, device_port, rendezvous, ..settings };
        let server = start(settings.clone());
        let client = start(Settings { server: Some(name.into()), ..settings });
        let agreed = client.agreed.recv_timeout(Duration::from_secs(10)).expect("they meet");
        let (ours, theirs) = agreed.ends[0];
        assert_ne!(ours.gid, theirs.gid);
        for side in finish([server, client]) {
            assert!(side.result.is_ok(), "{name}: {:?}", side.result);
        }
    }
    // By rdma_cm, where the server has to say its address.
    let (port, device_port) = ports();
    let settings = Settings { port, device_port, ..n(bandwidth(Verb::Write), 20) };
    let settings = Settings { rendezvous: Rendezvous::Cm, ..settings };
    let bind = Some(IpAddr::from([127, 0, 0, 1]));
    let server = start(Settings { bind, ..settings.clone() });
    thread::sleep(Duration::from_millis(200));
    let client = start(Settings { server: Some("127.0.0.1".into()), ..settings });
    for side in finish([server, client]) {
        assert!(side.result.is_ok(), "{:?}", side.result);
    }
}

#[test]
fn an_address_that_is_taken_is_named_with_the_cure() {
    let (port, device_port) = ports();
    let settings = Settings { port, device_port, ..n(bandwidth(Verb::Write), 20) };
    let server = start(settings.clone());
    let client = start(Settings { server: Some("::1".into()), ..settings });
    let sides = finish([server, client]);
    let taken = sides.iter().find(|side| matches!(side.result, Err(PerfError::InUse(_))));
    says(taken.expect("one of them"), &["::1", "--bind", "127.0.0.2"]);
}

#[test]
fn who_gets_no_acknowledgements_waits_for_none() {
    for (verb, service) in [
        (Verb::Send, Service::Datagram),
        (Verb::Send, Service::Unreliable),
        (Verb::Write, Service::Unreliable),
    ] {
        // Much longer than a silent peer is waited for.
        let patience = Duration::from_millis(300);
        let settings = for_ms(Settings { service, size: 512, ..bandwidth(verb) }, 1500);
        let (port, device_port) = ports();
        let at = |last: u8, server: Option<&str>| {
            let (bind, server) = (Some(IpAddr::from([127, 0, 0, last])), server.map(str::to_owned));
            let settings = settings.clone();
            start(Settings { port, device_port, bind, server, patience, ..settings })
        };
        for side in finish([at(11, None), at(12, Some("127.0.0.11"))]) {
            assert!(side.result.is_ok(), "{verb:?} {service:?}: {:?}", side.result);
        }
    }
}

// ---- many queue pairs

#[test]
fn a_thousand_queue_pairs_share_fairly_and_send_little_again() {
    // With as much of a buffer as the system gives, and with as little as it gives without rights.
    for buffer in [4 << 20, 212_992] {
        let write = Settings { pairs: 1000, ..for_ms(bandwidth(Verb::Write), 1500) };
        let write = Settings { socket_buffer: Bytes::new(buffer), ..write };
        let [server, client] = both(write.clone(), write);
        let server = server.result.unwrap();
        assert!(server.verified.unwrap().is_ok());
        let overflow = server.overflow;
        let client = client.result.unwrap();
        let packets = client.rows[0].iterations;
        let again = client.retransmitted;
        assert!(again * 50 < packets, "{again} of {packets} with {buffer}: {overflow:?}");
        let (fewest, most) = client.shares.expect("there are several");
        assert!(most > 5 && (most - fewest) * 10 <= most.max(10), "{fewest} to {most}");
    }
}

#[test]
fn a_thousand_queue_pairs_do_so_with_every_verb() {
    for (verb, duplex) in [(Verb::Write, true), (Verb::Send, false), (Verb::Read, false)] {
        let settings = Settings { pairs: 1000, duplex, ..for_ms(bandwidth(verb), 800) };
        // Half a second: that a busy machine stops a process for longer than the usual timeout is no
        // matter of queue pairs.
        let settings = Settings { ack_timeout: 17, ..settings };
        for side in both(settings.clone(), settings) {
            let side = side.result.unwrap();
            let Some((fewest, most)) = side.shares else { continue };
            let packets = side.rows[0].iterations;
            let again = side.retransmitted;
            assert!(again * 50 < packets, "{verb:?}: {again} of {packets}");
            let fair = most > 2 && (most - fewest) * 10 <= most.max(10);
            assert!(fair, "{verb:?}: {fewest} to {most}");
        }
    }
}
