//! Endpoints that meet by rdma_cm: requests, answers, private data, terms and ends.

mod common;

use common::{block_on, loopback};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use xoff_endpoint::cm::{ACCEPT_DATA, DISCONNECT_DATA, REJECT_DATA, REQUEST_DATA};
use xoff_endpoint::*;

const NET: u8 = 22;
const PORT: u16 = 7471;
const SHORT: Duration = Duration::from_millis(40);
/// Far more than anything here takes, for a loaded machine.
const LATE: Duration = Duration::from_secs(5);

fn open() -> Endpoint {
    Endpoint::open(DeviceSettings::new(loopback(NET))).unwrap()
}

/// A client, and a server that listens.
fn two() -> (Endpoint, Endpoint, Listener) {
    let (client, server) = (open(), open());
    let listener = server.listen(PORT).wait().unwrap();
    (client, server, listener)
}

/// Both ends of a connection.
fn meet(client: &Endpoint, listener: &Listener, server: &Endpoint) -> (Connection, Connection) {
    let ours = client.connect(server.address().ip(), PORT, b"");
    let theirs = listener.next().within(LATE).wait().unwrap().accept(b"");
    (ours.within(LATE).wait().unwrap(), theirs.within(LATE).wait().unwrap())
}

fn padded(text: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = text.to_vec();
    bytes.resize(length, 0);
    bytes
}

#[test]
fn both_say_who_they_are_and_move_data() {
    let (client, server, listener) = two();
    let asking = client.connect(server.address().ip(), PORT, b"client");
    let request = listener.next().within(LATE).wait().unwrap();
    assert_eq!(request.private_data(), padded(b"client", REQUEST_DATA));
    assert_eq!(request.peer(), client.address().ip());
    assert_eq!((request.service(), request.mtu().get()), (Service::Reliable, 1024));
    let theirs = request.accept(b"server").within(LATE).wait().unwrap();
    let ours = asking.within(LATE).wait().unwrap();
    let (here, there) = (ours.negotiated().unwrap(), theirs.negotiated().unwrap());
    assert_eq!(here.private_data, padded(b"server", ACCEPT_DATA));
    assert_eq!(there.private_data, padded(b"client", REQUEST_DATA));
    assert_eq!((here.peer, there.peer), (server.address(), client.address()));
    assert_eq!((here.qpn, there.qpn), (theirs.pair().qpn(), ours.pair().qpn()));
    let text = client.register(b"text".to_vec(), Access::ALL).wait().unwrap();
    let room = server.register(vec![0; 4], Access::ALL).wait().unwrap();
    let coming = theirs.receive(room.all());
    assert!(ours.send(text.all()).within(LATE).wait().unwrap().is_ok());
    assert!(coming.within(LATE).wait().unwrap().is_ok());
    assert_eq!(room.bytes().wait().unwrap(), b"text");
    room.fill(Bytes::ZERO, b"back".to_vec()).wait().unwrap();
    assert!(theirs.write(room.all(), text.remote(Bytes::ZERO)).wait().unwrap().is_ok());
    assert_eq!(text.bytes().wait().unwrap(), b"back");
    assert!(ours.probe().within(LATE).wait().unwrap().is_ok());
}

#[test]
fn resources_are_what_both_can_do() {
    let (client, server, listener) = two();
    let terms = Terms {
        mtu: 4096,
        initiator_depth: 8,
        responder_resources: 0,
        retry_count: 3,
        rnr_retry_count: 4,
        ..Terms::default()
    };
    let asking = client.connect_with(server.address().ip(), PORT, terms);
    let request = listener.next().within(LATE).wait().unwrap();
    assert_eq!((request.initiator_depth(), request.responder_resources()), (8, 0));
    let terms = Terms { responder_resources: 5, rnr_retry_count: 6, ..Terms::default() };
    let theirs = request.accept_with(terms).within(LATE).wait().unwrap();
    let ours = asking.within(LATE).wait().unwrap();
    let read = |connection: &Connection| {
        let agreed = connection.negotiated().unwrap();
        let depths = (agreed.initiator_depth, agreed.responder_resources);
        (agreed.mtu, depths, agreed.retry_count, agreed.rnr_retry_count)
    };
    assert_eq!(read(&ours), (4096, (5, 0), 3, 6));
    assert_eq!(read(&theirs), (4096, (0, 5), 3, 4));
    // The server may not read, because the client answers no reads; the client may, many at a time.
    let room = server.register(vec![7; 64], Access::ALL).wait().unwrap();
    let mine = client.register(vec![1; 64], Access::ALL).wait().unwrap();
    let refused = theirs.read(room.all(), mine.remote(Bytes::ZERO)).wait();
    assert_eq!(refused, Err(Error::NoReads));
    let reads: Vec<_> = (0..20).map(|_| ours.read(mine.all(), room.remote(Bytes::ZERO))).collect();
    assert!(reads.into_iter().all(|read| read.within(LATE).wait().unwrap().is_ok()));
    assert_eq!(mine.bytes().wait().unwrap(), [7; 64]);
}

#[test]
fn what_cannot_be_said_is_refused() {
    let client = open();
    let ask = |terms| client.connect_with([127, 0, 0, 1], PORT, terms).wait().err();
    assert_eq!(ask(Terms { mtu: 1500, ..Terms::default() }), Some(Error::BadMtu));
    assert!(matches!(ask(Terms { retry_count: 8, ..Terms::default() }), Some(Error::Limit(_))));
    let v6 = client.connect(std::net::Ipv6Addr::LOCALHOST, PORT, b"").wait().err();
    assert_eq!(v6, Some(Error::BadAddress));
    let datagrams = Terms { service: Service::Datagram, ..Terms::default() };
    assert_eq!(ask(datagrams), Some(Error::WrongState), "there is nothing to connect");
}

#[test]
fn a_rejection_says_why() {
    let (client, server, listener) = two();
    let asking = client.connect(server.address().ip(), PORT, b"");
    let request = listener.next().within(LATE).wait().unwrap();
    request.reject(RejectReason::CONSUMER, b"try tomorrow").wait().unwrap();
    let private_data = padded(b"try tomorrow", REJECT_DATA);
    let why = Rejection { reason: RejectReason::CONSUMER, private_data };
    let error = asking.within(LATE).wait().err().unwrap();
    assert_eq!(error.to_string(), "the peer rejected the connection: refused by the application");
    assert_eq!(error, Error::Rejected(why));
    // A request that nobody answers is rejected when it is dropped.
    let asking = client.connect(server.address().ip(), PORT, b"");
    drop(listener.next().within(LATE).wait().unwrap());
    assert!(matches!(asking.within(LATE).wait(), Err(Error::Rejected(_))));
    // Nobody listens at this port; and no longer at that one.
    let reason = |port| match client.connect(server.address().ip(), port, b"").within(LATE).wait() {
        Err(Error::Rejected(rejection)) => Some(rejection.reason),
        _ => None,
    };
    assert_eq!(reason(PORT + 1), Some(RejectReason::INVALID_SERVICE_ID));
    drop(listener);
    assert_eq!(reason(PORT), Some(RejectReason::INVALID_SERVICE_ID));
}

#[test]
fn too_much_private_data_is_an_error() {
    let (client, server, listener) = two();
    let to = server.address().ip();
    let too_long = |most| Some(Error::PrivateData { given: most + 1, most });
    let asked = client.connect(to, PORT, &[1; REQUEST_DATA + 1]).wait();
    assert_eq!(asked.err(), too_long(REQUEST_DATA));
    let asking = client.connect(to, PORT, &[1; REQUEST_DATA]);
    let request = listener.next().within(LATE).wait().unwrap();
    assert_eq!(request.private_data(), [1; REQUEST_DATA]);
    let accepted = request.accept(&[2; ACCEPT_DATA + 1]).wait();
    assert_eq!(accepted.err(), too_long(ACCEPT_DATA));
    assert!(matches!(asking.within(LATE).wait(), Err(Error::Rejected(_))), "it is not left alone");
    let asking = client.connect(to, PORT, b"");
    let request = listener.next().within(LATE).wait().unwrap();
    let rejected = request.reject(RejectReason::CONSUMER, &[3; REJECT_DATA + 1]).wait();
    assert_eq!(rejected.err(), too_long(REJECT_DATA));
    assert!(matches!(asking.within(LATE).wait(), Err(Error::Rejected(_))));
    let (ours, theirs) = meet(&client, &listener, &server);
    let parted = ours.disconnect(&[4; DISCONNECT_DATA + 1]).wait();
    assert_eq!(parted.err(), too_long(DISCONNECT_DATA));
    assert!(theirs.probe().wait().unwrap().is_ok(), "and the connection stands");
    ours.disconnect(&[4; DISCONNECT_DATA]).within(LATE).wait().unwrap();
    let end = theirs.ended().within(LATE).wait().unwrap();
    assert_eq!(end, End::Peer { private_data: vec![4; DISCONNECT_DATA] });
}

#[test]
fn each_side_can_end_it() {
    let (client, server, listener) = two();
    for ends in 0..4 {
        let (ours, theirs) = meet(&client, &listener, &server);
        let (one, other) = if ends % 2 == 0 { (ours, theirs) } else { (theirs, ours) };
        let room = other.endpoint().register(vec![0; 8], Access::ALL).wait().unwrap();
        let coming = other.receive(room.all());
        let end = other.ended();
        if ends < 2 {
            one.disconnect(b"done").within(LATE).wait().unwrap();
            assert_eq!(one.ended().wait().unwrap(), End::Local);
            one.disconnect(b"again").within(LATE).wait().unwrap();
        } else {
            // The last handle ends it, too.
            drop(one);
        }
        let text: &[u8] = if ends < 2 { b"done" } else { b"" };
        let private_data = padded(text, DISCONNECT_DATA);
        assert_eq!(end.within(LATE).wait().unwrap(), End::Peer { private_data });
        assert_eq!(coming.within(LATE).wait().unwrap().status, Status::Flushed);
        let late = other.write(room.all(), room.remote(Bytes::ZERO)).wait();
        assert_eq!(late.err(), Some(Error::Post(PostError::Failed)));
        other.disconnect(b"").wait().unwrap();
    }
}

#[test]
fn an_endpoint_that_goes_says_so() {
    let (client, server, listener) = two();
    let (ours, theirs) = meet(&client, &listener, &server);
    let end = ours.ended();
    let start = Instant::now();
    drop((theirs, listener, server));
    assert!(matches!(end.within(LATE).wait().unwrap(), End::Peer { .. }));
    assert!(start.elapsed() < LATE / 2);
}

#[test]
fn a_peer_that_dies_is_found_out_by_work() {
    let (client, server, listener) = two();
    let terms = Terms { retry_count: 2, ..Terms::default() };
    let asking = client.connect_with(server.address().ip(), PORT, terms);
    let theirs = listener.next().within(LATE).wait().unwrap().accept(b"").wait().unwrap();
    let ours = asking.within(LATE).wait().unwrap();
    let gone = server.with(|_| std::panic::resume_unwind(Box::new(())));
    assert_eq!(gone.wait(), Err::<(), _>(Error::Gone));
    let mut end = ours.ended();
    let what = Awaited::End { pair: ours.pair() };
    assert_eq!(end.wait_for(SHORT), Err(Error::TimedOut { what, after: SHORT }));
    // Three timeouts of 67 ms.
    let start = Instant::now();
    assert_eq!(ours.probe().within(LATE).wait().unwrap().status, Status::RetryExceeded);
    assert!(start.elapsed() >= Duration::from_millis(190), "{:?}", start.elapsed());
    assert_eq!(end.within(LATE).wait().unwrap(), End::Failed(Status::RetryExceeded));
    // It does not answer a disconnect, either; whoever does not want to wait does not.
    let parting = ours.disconnect(b"").within(SHORT).wait();
    assert!(matches!(parting, Err(Error::TimedOut { what: Awaited::Disconnect { .. }, .. })));
    assert_eq!(theirs.ended().within(LATE).wait(), Err(Error::Gone));
}

#[test]
fn nobody_is_there() {
    let mut settings = DeviceSettings::new(loopback(NET));
    settings.limits.pairs = 2;
    let client = Endpoint::open(settings).unwrap();
    let to = loopback(NET);
    let what = Awaited::Answer { from: to.into(), port: PORT };
    let mut asking = client.connect(to, PORT, b"");
    let error = asking.wait_for(SHORT).err().unwrap();
    assert_eq!(error, Error::TimedOut { what, after: SHORT });
    let text = format!("timed out after 40 ms, waiting for {to} to answer a connection request");
    assert_eq!(error.to_string(), format!("{text} for port 7471"));
    // Room for the management queue pair and for one more.
    assert!(client.connection().wait().is_err(), "the request is under way");
    assert!(asking.cancel().is_none());
    let start = Instant::now();
    while client.connection().wait().is_err() {
        assert!(start.elapsed() < LATE, "a request that was given up leaves nothing behind");
        thread::yield_now();
    }
}

#[test]
fn a_frozen_server_learns_that_the_client_has_gone() {
    let (client, server, listener) = two();
    server.with(|_| thread::sleep(3 * SHORT)).cancel();
    let late = client.connect(server.address().ip(), PORT, b"").within(SHORT).wait();
    assert!(matches!(late, Err(Error::TimedOut { .. })));
    let request = listener.next().within(LATE).wait().unwrap();
    let accepted = request.accept(b"").within(LATE).wait();
    let Err(Error::Rejected(rejection)) = accepted else { panic!("it was withdrawn") };
    assert_eq!(rejection.reason, RejectReason::TIMEOUT);
    // Both are as good as new.
    let (ours, _theirs) = meet(&client, &listener, &server);
    assert!(ours.probe().within(LATE).wait().unwrap().is_ok());
}

#[test]
fn no_request_gets_lost_between_those_who_wait() {
    let (client, server, listener) = two();
    let what = Awaited::Request { port: PORT };
    let none = block_on(listener.next().within(SHORT)).err();
    assert!(matches!(none, Some(Error::TimedOut { what: for_what, .. }) if for_what == what));
    // One who gave up, one whose request arrived and was not taken, one who takes it.
    let _ = listener.next().cancel();
    let mut untaken = listener.next();
    let asking = client.connect(server.address().ip(), PORT, b"me");
    let start = Instant::now();
    while untaken.try_take().is_none() {
        assert!(start.elapsed() < LATE);
        thread::yield_now();
    }
    // That one was taken and dropped: rejected.
    assert!(matches!(asking.within(LATE).wait(), Err(Error::Rejected(_))));
    let untaken = listener.next();
    let asking = client.connect(server.address().ip(), PORT, b"me");
    thread::sleep(SHORT);
    drop(untaken);
    let request = listener.next().within(LATE).wait().unwrap();
    assert!(request.private_data().starts_with(b"me"));
    let theirs = request.accept(b"");
    assert!(asking.within(LATE).wait().is_ok());
    assert!(theirs.within(LATE).wait().is_ok());
}

#[test]
fn receives_can_be_there_before_the_peer() {
    let (client, server, listener) = two();
    let room = server.register(vec![0; 16], Access::ALL).wait().unwrap();
    let ready = server.connection().wait().unwrap();
    let coming = ready.receive(room.all());
    let mine = client
        .connection_with(Service::Reliable, |pair| {
            let config = QpConfig { rnr_retry_limit: 0, ..host_config() };
            pair.config = Arc::new(config);
        })
        .wait()
        .unwrap();
    let terms = || Terms { rnr_retry_count: 0, ..Terms::default() };
    let asking = mine.request(server.address().ip(), PORT, terms());
    let request = listener.next().within(LATE).wait().unwrap();
    let theirs = request.accept_on(&ready, terms());
    let ours = asking.within(LATE).wait().unwrap();
    // Not ready once would be the end.
    let text = client.register(b"early".to_vec(), Access::ALL).wait().unwrap();
    assert!(ours.send(text.all()).within(LATE).wait().unwrap().is_ok());
    assert!(coming.within(LATE).wait().unwrap().is_ok());
    assert!(theirs.within(LATE).wait().is_ok());
    // A queue pair is connected once.
    let again = ours.request(server.address().ip(), PORT, Terms::default()).wait();
    assert_eq!(again.err(), Some(Error::WrongState));
}

#[test]
fn a_port_has_one_listener() {
    let (_client, server, listener) = two();
    assert_eq!(server.listen(PORT).wait().err(), Some(Error::PortInUse(PORT)));
    drop(listener);
    assert!(server.listen(PORT).wait().is_ok());
}

#[test]
fn many_connect_at_once() {
    let (client, server, listener) = two();
    let to = server.address().ip();
    let asking: Vec<_> = (0..100u8).map(|n| client.connect(to, PORT, &[n])).collect();
    let answered: Vec<_> = (0..100)
        .map(|_| {
            let request = listener.next().within(LATE).wait().unwrap();
            let name = [request.private_data()[0]];
            request.accept(&name)
        })
        .collect();
    let theirs: Vec<_> = answered.into_iter().map(|one| one.within(LATE).wait().unwrap()).collect();
    for (n, one) in asking.into_iter().enumerate() {
        let ours = one.within(LATE).wait().unwrap();
        assert_eq!(usize::from(ours.negotiated().unwrap().private_data[0]), n);
        assert!(ours.probe().within(LATE).wait().unwrap().is_ok());
    }
    assert_eq!(theirs.len(), 100);
}

#[test]
fn an_endpoint_can_connect_to_itself() {
    let (_client, server, listener) = two();
    let (ours, theirs) = meet(&server, &listener, &server);
    assert!(ours.probe().within(LATE).wait().unwrap().is_ok());
    let end = theirs.ended();
    ours.disconnect(b"me").within(LATE).wait().unwrap();
    assert!(matches!(end.within(LATE).wait().unwrap(), End::Peer { .. }));
}

#[test]
fn unreliable_connections_are_made_the_same_way() {
    let (client, server, listener) = two();
    let terms = Terms { service: Service::Unreliable, ..Terms::default() };
    let asking = client.connect_with(server.address().ip(), PORT, terms);
    let request = listener.next().within(LATE).wait().unwrap();
    assert_eq!(request.service(), Service::Unreliable);
    let theirs = request.accept(b"").within(LATE).wait().unwrap();
    let ours = asking.within(LATE).wait().unwrap();
    let room = server.register(vec![0; 4], Access::ALL).wait().unwrap();
    let text = client.register(b"text".to_vec(), Access::ALL).wait().unwrap();
    let coming = theirs.receive(room.all());
    // Nothing can tell the receiver's program that it may start; so the receive is there for certain.
    server.with(|_| ()).wait().unwrap();
    assert!(ours.send(text.all()).within(LATE).wait().unwrap().is_ok());
    assert!(coming.within(LATE).wait().unwrap().is_ok());
    // A queue pair of another kind cannot answer.
    let asking = client.connect(server.address().ip(), PORT, b"");
    let request = listener.next().within(LATE).wait().unwrap();
    let kind = server.connection_with(Service::Unreliable, |_| {}).wait().unwrap();
    let wrong = request.accept_on(&kind, Terms::default()).wait();
    assert_eq!(wrong.err(), Some(Error::WrongService));
    assert!(matches!(asking.within(LATE).wait(), Err(Error::Rejected(_))));
}

#[test]
fn whoever_drops_a_connection_hears_that_it_was_them() {
    let (client, server, listener) = two();
    let (ours, _theirs) = meet(&client, &listener, &server);
    let end = ours.ended();
    drop(ours);
    assert_eq!(end.within(LATE).wait().unwrap(), End::Local);
}

/// Callers and servers that lose patience, change their minds and vanish, at random: whatever they do,
/// nothing is left behind and the next connection works.
#[test]
fn nothing_is_left_of_a_thousand_changes_of_mind() {
    const PAIRS: usize = 40;
    let open = || {
        let mut settings = DeviceSettings::new(loopback(NET));
        settings.limits.pairs = PAIRS + 1;
        Endpoint::open(settings).unwrap()
    };
    let (client, server) = (open(), open());
    let listener = server.listen(PORT).wait().unwrap();
    let mut state = 7u32;
    let mut dice = move |sides: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % sides
    };
    let (mut asking, mut answering, mut standing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..1000 {
        let wait = Duration::from_micros(dice(300).into());
        match dice(8) {
            0..=2 => asking.push(client.connect(server.address().ip(), PORT, b"")),
            3 => drop(asking.pop()),
            4 => {
                if let Ok(request) = listener.next().wait_for(wait) {
                    match dice(4) {
                        0 => drop(request),
                        1 => request.reject(RejectReason::CONSUMER, b"no").wait().unwrap_or(()),
                        _ => answering.push(request.accept(b"")),
                    }
                }
            }
            5 => drop(answering.pop()),
            6 => standing.extend(asking.pop().and_then(|mut one| one.wait_for(wait).ok())),
            _ => drop(standing.pop()),
        }
    }
    drop((asking, answering, standing));
    let start = Instant::now();
    for endpoint in [&client, &server] {
        // All queue pairs but that of the manager can be made again.
        loop {
            let made: Vec<_> = (0..PAIRS).map(|_| endpoint.connection().wait()).collect();
            if made.iter().all(Result::is_ok) {
                break;
            }
            assert!(start.elapsed() < LATE, "queue pairs are left");
            thread::sleep(Duration::from_millis(5));
        }
    }
    // Requests that were given up may still be in line.
    let asking = client.connect(server.address().ip(), PORT, b"last");
    let theirs = loop {
        let request = listener.next().within(LATE).wait().unwrap();
        if request.private_data().starts_with(b"last") {
            break request.accept(b"");
        }
    };
    assert!(asking.within(LATE).wait().unwrap().probe().wait().unwrap().is_ok());
    assert!(theirs.within(LATE).wait().is_ok());
}

#[test]
fn an_acceptance_that_was_given_up_is_a_connection_that_ends() {
    let (client, server, listener) = two();
    let asking = client.connect(server.address().ip(), PORT, b"");
    let request = listener.next().within(LATE).wait().unwrap();
    let (frozen, begun) = mpsc::channel();
    let freeze = client.with(move |_| {
        frozen.send(()).unwrap();
        thread::sleep(4 * SHORT);
    });
    begun.recv().unwrap();
    freeze.cancel();
    let what = Awaited::Confirmation { from: client.address().ip() };
    let mut accepting = request.accept(b"");
    let late = accepting.wait_for(SHORT).err();
    assert_eq!(late, Some(Error::TimedOut { what, after: SHORT }));
    drop(accepting);
    // The client finds both messages when it goes on: yes, and then no.
    let ours = asking.within(LATE).wait().unwrap();
    assert!(matches!(ours.ended().within(LATE).wait().unwrap(), End::Peer { .. }));
}
