//! Waits that end in time, and what becomes of the work that was given up.

mod common;

use common::{block_on, loopback, pattern};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use xoff_endpoint::*;

const NET: u8 = 21;
const SHORT: Duration = Duration::from_millis(40);
/// A wait that ends sooner is not late; this is for a loaded machine.
const LATE: Duration = Duration::from_secs(5);

fn connected() -> (Endpoint, Endpoint, Connection, Connection) {
    connected_for(host_config())
}

/// The near end gives a dead peer up after three timeouts of 67 ms.
fn connected_briefly() -> (Endpoint, Endpoint, Connection, Connection) {
    connected_for(QpConfig { retry_limit: 2, ..host_config() })
}

fn connected_for(config: QpConfig) -> (Endpoint, Endpoint, Connection, Connection) {
    let open = || Endpoint::open(DeviceSettings::new(loopback(NET))).unwrap();
    let (near, far) = (open(), open());
    let with = |pair: &mut PairSettings| pair.config = Arc::new(config);
    let ours = near.connection_with(Service::Reliable, with).wait().unwrap();
    let theirs = far.connection_with(Service::Reliable, |_| {}).wait().unwrap();
    ours.connect(theirs.introduction(), 4096).wait().unwrap();
    theirs.connect(ours.introduction(), 4096).wait().unwrap();
    (near, far, ours, theirs)
}

/// The peer's process is gone from one moment to the next.
fn kill(endpoint: &Endpoint) {
    // Without the message of a panic.
    let killed = endpoint.with(|_| std::panic::resume_unwind(Box::new(())));
    assert_eq!(killed.within(LATE).wait(), Err::<(), _>(Error::Gone));
}

/// The peer's process stands still for a while.
fn freeze(endpoint: &Endpoint, time: Duration) {
    endpoint.with(move |_| thread::sleep(time)).cancel();
}

#[test]
fn a_dead_peer() {
    let (near, far, ours, theirs) = connected_briefly();
    let source = near.register(pattern(100, 1), Access::ALL).wait().unwrap();
    let target = far.register(vec![0; 100], Access::ALL).wait().unwrap();
    let remote = target.remote(Bytes::ZERO);
    kill(&far);
    let start = Instant::now();
    let mut write = ours.write(source.all(), remote);
    let what = Awaited::Work { pair: ours.pair(), verb: Verb::Write };
    assert_eq!(write.wait_for(SHORT), Err(Error::TimedOut { what, after: SHORT }));
    // The deadline was the caller's; the queue pair has its own.
    assert_eq!(write.wait().unwrap().status, Status::RetryExceeded);
    assert!(start.elapsed() >= Duration::from_millis(190) && start.elapsed() < LATE);
    // Whoever uses an endpoint without a thread hears of it, instead of waiting.
    assert_eq!(target.bytes().within(LATE).wait(), Err(Error::Gone));
    assert_eq!(theirs.send(target.all()).within(LATE).wait(), Err(Error::Gone));
    assert_eq!(far.listen(1).within(LATE).wait().err(), Some(Error::Gone));
}

#[test]
fn a_frozen_peer_goes_on() {
    let (near, far, ours, _theirs) = connected();
    let source = near.register(pattern(100, 2), Access::ALL).wait().unwrap();
    let target = far.register(vec![0; 100], Access::ALL).wait().unwrap();
    freeze(&far, 3 * SHORT);
    let mut write = ours.write(source.all(), target.remote(Bytes::ZERO));
    let late = write.wait_for(SHORT);
    assert!(matches!(late, Err(Error::TimedOut { .. })), "{late:?}");
    assert!(write.wait_until(Instant::now() + LATE).unwrap().is_ok());
    assert_eq!(target.bytes().wait().unwrap(), pattern(100, 2));
}

#[test]
fn work_that_was_given_up_does_no_harm() {
    let (near, far, ours, _theirs) = connected();
    let data = pattern(200_000, 3);
    let source = near.register(data.clone(), Access::ALL).wait().unwrap();
    let room = near.register(vec![0; 200_000], Access::ALL).wait().unwrap();
    let target = far.register(vec![0; 200_000], Access::ALL).wait().unwrap();
    let remote = target.remote(Bytes::ZERO);
    freeze(&far, 3 * SHORT);
    let (memory, stale) = (source.memory(), source.all());
    assert!(ours.write(source.all(), remote).wait_for(SHORT).is_err());
    assert_eq!(ours.read(room.all(), remote).cancel(), None);
    // All handles of the memory are gone, and the work under way needs it.
    drop((source, room));
    assert!(near.with(move |device| device.bytes(memory).is_ok()).wait().unwrap());
    // For new work it is not there any more.
    assert_eq!(ours.write(stale, remote).wait(), Err(Error::NoSuchMemory));
    // The connection is as good as before, and the work was done in order.
    let other = near.register(vec![7; 8], Access::ALL).wait().unwrap();
    assert!(ours.write(other.all(), remote).wait().unwrap().is_ok());
    let bytes = target.bytes().wait().unwrap();
    assert_eq!((&bytes[..8], &bytes[8..]), (&[7; 8][..], &data[8..]));
    let back = near.with(move |device| device.bytes(memory).err()).wait().unwrap();
    assert_eq!(back, Some(Error::NoSuchMemory), "given back as soon as the work had ended");
}

#[test]
fn a_receive_that_was_given_up_takes_its_message() {
    let (near, far, ours, theirs) = connected();
    let room = far.register(vec![0; 10], Access::ALL).wait().unwrap();
    let next = far.register(vec![0; 10], Access::ALL).wait().unwrap();
    let text = near.register(b"firstsecond".to_vec(), Access::ALL).wait().unwrap();
    let what = Awaited::Message { pair: theirs.pair() };
    let start = Instant::now();
    let early = block_on(theirs.receive(room.all()).within(SHORT));
    assert!(matches!(early, Err(Error::TimedOut { what: for_what, .. }) if for_what == what));
    assert!(start.elapsed() >= SHORT && start.elapsed() < LATE, "{:?}", start.elapsed());
    let second = theirs.receive(next.all());
    let slice = |at, length| text.slice(Bytes::new(at), Bytes::new(length));
    assert!(ours.send(slice(0, 5)).wait().unwrap().is_ok());
    assert!(ours.send(slice(5, 6)).wait().unwrap().is_ok());
    let arrival = *second.within(LATE).wait().unwrap().arrival().unwrap();
    assert_eq!(arrival.length, Bytes::new(6));
    assert_eq!(&room.bytes().wait().unwrap()[..5], b"first");
    assert_eq!(&next.bytes().wait().unwrap()[..6], b"second");
}

#[test]
fn a_deadline_set_again_is_kept_too() {
    let (_near, far, _ours, theirs) = connected();
    let room = far.register(vec![0; 10], Access::ALL).wait().unwrap();
    let mut message = theirs.receive(room.all());
    for _ in 0..3 {
        message = message.within(SHORT);
        let start = Instant::now();
        let late = block_on(&mut message);
        assert!(matches!(late, Err(Error::TimedOut { after, .. }) if after >= SHORT), "{late:?}");
        assert!(start.elapsed() < LATE);
    }
}

#[test]
fn aborting_takes_everything_back() {
    let (near, far, ours, theirs) = connected_briefly();
    let room = far.register(vec![0; 10], Access::ALL).wait().unwrap();
    let memory = room.memory();
    let waiting = theirs.receive(room.all());
    let given_up = theirs.receive(room.all());
    assert_eq!(given_up.cancel(), None);
    drop(room);
    theirs.abort().wait().unwrap();
    assert_eq!(waiting.wait().unwrap().status, Status::Flushed);
    let back = far.with(move |device| device.bytes(memory).err()).wait().unwrap();
    assert_eq!(back, Some(Error::NoSuchMemory));
    // The peer finds out by itself.
    let source = near.register(vec![0; 10], Access::ALL).wait().unwrap();
    let sent = ours.send(source.all()).within(LATE).wait().unwrap();
    assert_eq!(sent.status, Status::RetryExceeded);
    // One that never had a peer gives its receives back, too.
    let alone = far.connection().wait().unwrap();
    let room = far.register(vec![0; 10], Access::ALL).wait().unwrap();
    let waiting = alone.receive(room.all());
    alone.abort().wait().unwrap();
    assert_eq!(waiting.within(LATE).wait().unwrap().status, Status::Flushed);
}

#[test]
fn an_address_is_free_as_soon_as_its_endpoint_is_dropped() {
    let address = loopback(NET);
    for _ in 0..20 {
        let endpoint = Endpoint::open(DeviceSettings::new(address)).unwrap();
        drop(endpoint.connection().wait().unwrap());
    }
}
