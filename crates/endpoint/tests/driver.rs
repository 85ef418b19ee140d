//! Endpoints with threads of their own: blocking and awaited calls.

mod common;

use common::{block_on, loopback, pattern};
use std::thread;
use xoff_endpoint::*;
use xoff_transport::{Access, Atomic, Status};
use xoff_units::Bytes;
use xoff_wire::Immediate;

const NET: u8 = 2;

fn connected() -> (Endpoint, Endpoint, Connection, Connection) {
    let open = || Endpoint::open(DeviceSettings::new(loopback(NET))).unwrap();
    let (near, far) = (open(), open());
    let (ours, theirs) = (near.connection().wait().unwrap(), far.connection().wait().unwrap());
    ours.connect(theirs.introduction(), 4096).wait().unwrap();
    theirs.connect(ours.introduction(), 4096).wait().unwrap();
    (near, far, ours, theirs)
}

#[test]
fn the_passive_side_needs_no_calls() {
    let (near, far, ours, _theirs) = connected();
    let data = pattern(300_000, 5);
    let source = near.register(data.clone(), Access::ALL).wait().unwrap();
    let target = far.register(vec![0; 300_000], Access::ALL).wait().unwrap();
    let back = near.register(vec![0; 300_000], Access::ALL).wait().unwrap();
    let remote = target.remote(Bytes::ZERO);
    assert!(ours.write(source.all(), remote).wait().unwrap().is_ok());
    assert!(ours.read(back.all(), remote).wait().unwrap().is_ok());
    assert_eq!(back.bytes().wait().unwrap(), data);
    let add = Atomic::FetchAdd { add: 1 };
    let old = u64::from_ne_bytes(data[..8].try_into().unwrap());
    let done = ours.atomic(add, back.all(), remote).wait().unwrap();
    assert_eq!(done.outcome, Outcome::Done { before: old });
    assert_eq!(target.bytes().wait().unwrap()[..8], old.wrapping_add(1).to_ne_bytes());
}

#[test]
fn awaiting_works_in_any_executor() {
    let (near, far, ours, theirs) = connected();
    let received = block_on(async {
        let message = near.register(b"ping".to_vec(), Access::ALL).await?;
        let room = far.register(vec![0; 10], Access::ALL).await?;
        let coming = theirs.receive(room.all());
        let sent = ours.send_immediate(message.all(), Immediate([7; 4])).await?;
        assert!(sent.is_ok());
        let arrival = *coming.await?.arrival().unwrap();
        assert_eq!((arrival.length.get(), arrival.immediate), (4, Some(Immediate([7; 4]))));
        room.bytes().await
    });
    assert_eq!(&received.unwrap()[..4], b"ping");
}

#[test]
fn many_threads_share_an_endpoint() {
    let (near, far, ours, _theirs) = connected();
    let target = far.register(vec![0; 64 * 1000], Access::ALL).wait().unwrap();
    let threads: Vec<_> = (0..8)
        .map(|n| {
            let (near, ours, target) = (near.clone(), ours.clone(), target.clone());
            thread::spawn(move || {
                let source = near.register(vec![n + 1; 1000], Access::ALL).wait().unwrap();
                for round in 0..8 {
                    let offset = Bytes::new((u64::from(n) * 8 + round) * 1000);
                    let done = ours.write(source.all(), target.remote(offset)).wait().unwrap();
                    assert!(done.is_ok());
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let bytes = target.bytes().wait().unwrap();
    assert!(bytes.chunks(8000).enumerate().all(|(n, chunk)| chunk == [n as u8 + 1; 8000]));
}

#[test]
fn what_waits_is_told_when_its_connection_ends() {
    let (near, far, ours, theirs) = connected();
    let room = far.register(vec![0; 10], Access::ALL).wait().unwrap();
    let coming = theirs.receive(room.all());
    drop(theirs);
    assert_eq!(coming.wait().unwrap().status, Status::Flushed);
    let source = near.register(vec![0; 10], Access::ALL).wait().unwrap();
    // The peer does not answer any more; the work is under way until our own end goes, too.
    let sending = ours.send(source.all());
    drop(ours);
    assert_eq!(sending.wait().unwrap().status, Status::Flushed);
}

#[test]
fn mistakes_are_told() {
    let (near, _far, ours, _theirs) = connected();
    let source = near.register(vec![0; 10], Access::LOCAL_READ).wait().unwrap();
    let (remote, long) = (source.remote(Bytes::ZERO), source.slice(Bytes::ZERO, Bytes::new(11)));
    assert_eq!(ours.write(long, remote).wait(), Err(Error::OutOfRange));
    assert_eq!(ours.read(source.all(), remote).wait(), Err(Error::Forbidden));
    assert_eq!(source.fill(Bytes::new(9), vec![1; 2]).wait(), Err(Error::OutOfRange));
    let stale = source.all();
    drop(source);
    assert_eq!(ours.write(stale, remote).wait(), Err(Error::NoSuchMemory));
    let again = ours.connect(ours.introduction(), 4096).wait();
    assert_eq!(again, Err(Error::WrongState));
}
