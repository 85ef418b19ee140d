//! Peers that are dead, frozen or hostile at any point of a test: each side ends in the time that
//! `patience` gives, with the reason.

mod common;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use xoff_endpoint::perftest::{Extent, Measure, Outcome, PerfError, Row, Settings, Verb, run};
use xoff_wire::icrc::Flow;
use xoff_wire::ipv4::Fragment;
use xoff_wire::roce::Datagram;
use xoff_wire::udp::Port;
use xoff_wire::{Aeth, Extension, Header, MAX_HEADER_LEN, Opcode, Psn, Qpn, Service, Syndrome};

const PATIENCE: Duration = Duration::from_millis(300);
/// So many times as long may be silent who prepares its data.
const PREPARING: u32 = 4;
/// What a busy machine adds, and what a test does before and after.
const SLACK: Duration = Duration::from_millis(2500);
const US: Ipv4Addr = Ipv4Addr::new(127, 0, 7, 12);
const PEER: Ipv4Addr = Ipv4Addr::new(127, 0, 7, 11);
/// Bytes of keys over TCP, and where their address begins.
const KEYS: usize = 108;
const GID: usize = 50;

fn ports() -> (Port, Port) {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let own = 12_000 + (std::process::id() % 70) as u16 * 100;
    let next = own + NEXT.fetch_add(2, Ordering::Relaxed) % 100;
    (Port(next), Port(next + 1))
}

fn settings(verb: Verb, (port, device_port): (Port, Port)) -> Settings {
    Settings {
        port,
        device_port,
        bind: Some(IpAddr::V4(US)),
        size: 4096,
        extent: Extent::Iterations(20),
        patience: PATIENCE,
        ..Settings::new(verb, Measure::Bandwidth)
    }
}

/// How a side of ours ended, and after what time.
struct Ended {
    result: Result<Outcome, PerfError>,
    partial: bool,
    at: Instant,
}

fn start(settings: Settings) -> JoinHandle<Ended> {
    thread::spawn(move || {
        let stop = Arc::new(AtomicBool::new(false));
        let mut rows: Vec<Row> = Vec::new();
        let result = run(settings, &stop, |_| (), |row| rows.push(*row));
        Ended { result, partial: rows.iter().any(|row| !row.complete), at: Instant::now() }
    })
}

/// The end of a side, which has to come within what its settings give.
#[track_caller]
fn ends(case: &str, side: JoinHandle<Ended>, since: Instant, least: Duration, says: &str) -> Ended {
    let most = PATIENCE * PREPARING + SLACK;
    while !side.is_finished() {
        assert!(since.elapsed() < most + SLACK, "{case}: it does not end");
        thread::sleep(Duration::from_millis(5));
    }
    let ended = side.join().expect("no panic");
    let took = ended.at.duration_since(since);
    let error = match &ended.result {
        Ok(_) => panic!("{case}: it cannot end well"),
        Err(error) => error.to_string(),
    };
    assert!(error.contains(says), "{case}: {error}");
    assert!(took >= least && took < most, "{case}: {took:?} until {error}");
    ended
}

// ---- a peer made by hand

/// What the peer does with packets of data.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Answers {
    /// It is dead or frozen.
    Nothing,
    /// It acknowledges all.
    Ack,
    /// It requests the first packet again, for ever.
    SequenceError,
    /// It is never ready.
    NotReady,
    /// It acknowledges what was never sent.
    FromTheFuture,
    /// It repeats what it acknowledged first.
    Stale,
    /// It refuses.
    NoRights,
    /// It sends anything, and much of it.
    Noise,
}

/// A peer that says what it hears with its own address in it, so that each exchange succeeds, and
/// becomes silent after so many messages.
struct Twin {
    over: Arc<AtomicBool>,
    talker: JoinHandle<Vec<Vec<u8>>>,
    answerer: JoinHandle<()>,
}

impl Twin {
    /// As server. It says `last` instead of the message it is silent at.
    fn server(ports: (Port, Port), answers: Answers, messages: usize, last: Vec<u8>) -> Self {
        let listener = TcpListener::bind((PEER, ports.0.0)).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let end = over.clone();
        let (say, hear) = std::sync::mpsc::channel();
        let talker = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            mirror(stream, messages, &last, end, &say)
        });
        let done = over.clone();
        let socket = UdpSocket::bind((PEER, ports.1.0)).unwrap();
        let answerer = thread::spawn(move || answer(&socket, answers, &hear, &done));
        Self { over, talker, answerer }
    }

    /// What it heard.
    fn end(self) -> Vec<Vec<u8>> {
        self.over.store(true, Ordering::Relaxed);
        self.answerer.join().unwrap();
        self.talker.join().unwrap()
    }
}

fn mirror(
    mut stream: TcpStream,
    messages: usize,
    last: &[u8],
    over: Arc<AtomicBool>,
    keys: &std::sync::mpsc::Sender<Vec<u8>>,
) -> Vec<Vec<u8>> {
    stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let (mut heard, mut silent) = (Vec::new(), false);
    let mut buffer = [0; 256];
    while !over.load(Ordering::Relaxed) {
        if heard.len() >= messages && !std::mem::replace(&mut silent, true) {
            let _ = stream.write_all(last);
        }
        let Ok(count) = stream.read(&mut buffer) else { continue };
        if count == 0 {
            break;
        }
        let mut message = buffer[..count].to_vec();
        heard.push(message.clone());
        if heard.len() > messages {
            continue;
        }
        if count == KEYS {
            let _ = keys.send(message.clone());
            let gid: String = PEER.octets().iter().map(|byte| format!("{byte:02x}:")).collect();
            let end = GID + 36;
            message[end..end + gid.len()].copy_from_slice(gid.as_bytes());
        }
        let _ = stream.write_all(&message);
    }
    heard
}

/// Answers packets until it is over.
fn answer(
    socket: &UdpSocket,
    answers: Answers,
    keys: &std::sync::mpsc::Receiver<Vec<u8>>,
    over: &AtomicBool,
) {
    socket.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let mut buffer = [0; 8192];
    let (mut pair, mut first) = (Qpn::new(0), None);
    while !over.load(Ordering::Relaxed) {
        let Ok((count, from)) = socket.recv_from(&mut buffer) else { continue };
        while let Ok(keys) = keys.try_recv() {
            let text = std::str::from_utf8(&keys[10..16]).unwrap();
            pair = Qpn::new(u32::from_str_radix(text, 16).unwrap());
        }
        let Ok(datagram) = Datagram::parse(&buffer[..count]) else { continue };
        let psn = datagram.header.psn;
        let first = *first.get_or_insert(psn);
        let (psn, syndrome) = match answers {
            Answers::Nothing => continue,
            Answers::Ack => (psn, Syndrome::Ack { credits: 31 }),
            Answers::SequenceError => (first, Syndrome::SequenceError),
            Answers::NotReady => (first, Syndrome::RnrNak { timer: 12 }),
            Answers::FromTheFuture => (psn.plus(100_000), Syndrome::Ack { credits: 31 }),
            Answers::Stale => (first.plus(0xff_ffff), Syndrome::Ack { credits: 31 }),
            Answers::NoRights => (first, Syndrome::RemoteAccessError),
            Answers::Noise => {
                (0..50u8).for_each(|n| drop(socket.send_to(&[n; 60], from)));
                continue;
            }
        };
        acknowledge(socket, from, pair, psn, syndrome);
    }
}

fn acknowledge(socket: &UdpSocket, to: SocketAddr, pair: Qpn, psn: Psn, syndrome: Syndrome) {
    let header = Header {
        service: Service::Reliable,
        opcode: Opcode::Acknowledge,
        ack_request: false,
        becn: false,
        dest_qp: pair,
        psn,
        extension: Extension::Aeth(Aeth { syndrome, msn: 0 }),
        payload: 0,
    };
    let mut bytes = [0; MAX_HEADER_LEN + 4];
    let length = header.encode((&mut bytes[..MAX_HEADER_LEN]).try_into().unwrap());
    let port = Port(socket.local_addr().unwrap().port());
    let flow = Flow::v4_to((PEER, port), (US, port), Fragment::WHOLE);
    let icrc = flow.icrc(0, &bytes[..length], &[]).to_bytes();
    bytes[length..length + 4].copy_from_slice(&icrc);
    let _ = socket.send_to(&bytes[..length + 4], to);
}

// ---- clients of such a peer

/// What a client says to a server that does not exist, and how it ends.
fn client(case: &str, answers: Answers, messages: usize, last: &[u8], least: Duration, says: &str) {
    let ports = ports();
    let twin = Twin::server(ports, answers, messages, last.to_vec());
    let server = Some(PEER.to_string());
    let began = Instant::now();
    let side = start(Settings { server, ..settings(Verb::Write, ports) });
    ends(case, side, began, least, says);
    twin.end();
}

/// Messages of the exchange before the data: greeting, cycle, line, MTU, terms, and the keys in
/// their turns.
fn messages_before_data() -> usize {
    let ports = ports();
    let twin = Twin::server(ports, Answers::Nothing, usize::MAX, Vec::new());
    let server = Some(PEER.to_string());
    let side = start(Settings { server, ..settings(Verb::Write, ports) });
    assert!(side.join().unwrap().result.is_err());
    let heard = twin.end();
    assert!(heard.len() > 5 && heard.iter().any(|message| message.len() == KEYS));
    heard.len()
}

#[test]
fn a_client_ends_whatever_its_server_does() {
    let all = messages_before_data();
    let none = Duration::ZERO;
    let silence = "nothing from the peer";
    // Frozen at each point of the exchange, the first of them before a word.
    for messages in 0..all {
        let case = format!("silent after {messages} messages");
        client(&case, Answers::Nothing, messages, b"", PATIENCE, silence);
    }
    for (case, answers, least, says) in [
        ("dead", Answers::Nothing, PATIENCE, "retry exceeded"),
        ("requests the same again", Answers::SequenceError, PATIENCE, "retry exceeded"),
        ("never ready", Answers::NotReady, PATIENCE, "posted no receive"),
        ("acknowledges the future", Answers::FromTheFuture, PATIENCE, "retry exceeded"),
        ("acknowledges the past", Answers::Stale, PATIENCE, "retry exceeded"),
        ("noise", Answers::Noise, PATIENCE, "retry exceeded"),
        ("refuses", Answers::NoRights, none, "remote access error"),
    ] {
        client(case, answers, usize::MAX, b"", least, says);
    }
    // The data arrives, but nobody speaks any more: as with a frozen process whose kernel answers.
    client("frozen after the data", Answers::Ack, all, b"", PATIENCE, silence);
    for (case, messages, words, least, says) in [
        ("half a greeting", 0, &b"6.06"[..], PATIENCE, silence),
        ("another protocol", 0, b"HTTP/1.1 400 Bad Request\r\n\r\n", none, "does not speak"),
        ("an old version", 0, b"5.10\0\0\0\0\0\0\0\0\0\0\0\0", none, "does not speak"),
        ("wrong keys", all - 1, &[b'x'; KEYS], none, "does not speak"),
    ] {
        client(case, Answers::Nothing, messages, words, least, says);
    }
}

#[test]
fn bytes_one_by_one_do_not_keep_a_client() {
    let ports = ports();
    let listener = TcpListener::bind((PEER, ports.0.0)).unwrap();
    let drip = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for byte in b"6.06\0\0\0\0\0\0\0\0\0\0\0" {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(PATIENCE / 2);
        }
    });
    let server = Some(PEER.to_string());
    let began = Instant::now();
    let side = start(Settings { server, ..settings(Verb::Write, ports) });
    ends("one by one", side, began, PATIENCE, "nothing from the peer");
    drip.join().unwrap();
}

// ---- servers of such a client

/// What a client of this test says before the data, to be said again to a server.
fn said(verb: Verb) -> Vec<Vec<u8>> {
    let ports = ports();
    let twin = Twin::server(ports, Answers::Nothing, usize::MAX, Vec::new());
    let server = Some(PEER.to_string());
    assert!(start(Settings { server, ..settings(verb, ports) }).join().unwrap().result.is_err());
    let mut all = twin.end();
    for message in all.iter_mut().filter(|message| message.len() == KEYS) {
        let gid: String = PEER.octets().iter().map(|byte| format!("{byte:02x}:")).collect();
        message[GID + 36..GID + 36 + gid.len()].copy_from_slice(gid.as_bytes());
    }
    all
}

#[test]
fn a_server_ends_whatever_its_client_does() {
    for verb in [Verb::Write, Verb::Read, Verb::Send] {
        let said = said(verb);
        // The first message is what makes it a client at all.
        for (count, flood) in
            (1..=said.len()).map(|count| (count, false)).chain([(said.len(), true)])
        {
            let case = format!("{verb:?} silent after {count} messages, flood {flood}");
            let ports = ports();
            let side = start(settings(verb, ports));
            let end = Instant::now() + Duration::from_secs(5);
            let mut stream = loop {
                match TcpStream::connect((US, ports.0.0)) {
                    Ok(stream) => break stream,
                    Err(error) => assert!(Instant::now() < end, "{error}"),
                }
                thread::sleep(Duration::from_millis(5));
            };
            stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            let mut buffer = [0; 256];
            for message in &said[..count] {
                stream.write_all(message).unwrap();
                assert!(stream.read(&mut buffer).is_ok_and(|count| count > 0), "{case}");
            }
            let frozen = Instant::now();
            let over = Arc::new(AtomicBool::new(false));
            let stranger = flood.then(|| {
                let (over, to) = (over.clone(), SocketAddr::from((US, ports.1.0)));
                thread::spawn(move || {
                    let socket = UdpSocket::bind((PEER, 0)).unwrap();
                    while !over.load(Ordering::Relaxed) {
                        (0..100u8).for_each(|n| drop(socket.send_to(&[n; 80], to)));
                        thread::yield_now();
                    }
                })
            });
            let ended = ends(&case, side, frozen, PATIENCE, "nothing from the peer");
            assert!(!ended.partial, "{case}: there was no data");
            over.store(true, Ordering::Relaxed);
            if let Some(stranger) = stranger {
                stranger.join().unwrap();
            }
        }
    }
}
