//! All verbs of all services between two devices on loopback, data verified.

mod common;

use common::*;
use std::time::Duration;
use xoff_endpoint::*;
use xoff_transport::{Access, Atomic, PostError, ReceivedKind, Status};
use xoff_wire::{Immediate, Rkey, Service};

const NET: u8 = 1;

#[test]
fn writes_of_every_length() {
    let mut two = Two::v4(NET);
    let (a, _) = two.connect(Service::Reliable, 1024);
    for (n, length) in [1, 2, 3, 1023, 1024, 1025, 4096, 70_001, 500_000].into_iter().enumerate() {
        two.a.fill(0, length, n as u64);
        let (local, remote) = (two.a.slice(0, length as u64), two.b.remote(64));
        let id = WorkId(n as u64);
        two.a.device.post(a, Work::write(local, remote).named(id)).unwrap();
        let done = two.run_a();
        assert_eq!((done.id, done.pair, done.status), (id, a, Status::Ok));
        assert_eq!(two.b.bytes(64, length), two.a.bytes(0, length));
        assert_eq!(two.b.bytes(0, 64), [0; 64]);
    }
    assert_eq!(two.a.device.discards().total() + two.b.device.discards().total(), 0);
}

#[test]
fn an_empty_write_moves_nothing() {
    let mut two = Two::v4(NET);
    let (a, _) = two.connect(Service::Reliable, 1024);
    let work = Work::write(two.a.slice(0, 0), RemoteSlice { address: 0, key: Rkey(0) });
    two.a.device.post(a, work).unwrap();
    assert!(two.run_a().is_ok());
}

#[test]
fn reads_of_every_length() {
    let mut two = Two::v4(NET);
    let (a, _) = two.connect(Service::Reliable, 1024);
    for (n, length) in [1, 1024, 1025, 70_001, 500_000].into_iter().enumerate() {
        two.b.fill(3, length, n as u64);
        let work = Work::read(two.a.slice(5, length as u64), two.b.remote(3));
        two.a.device.post(a, work).unwrap();
        assert!(two.run_a().is_ok());
        assert_eq!(two.a.bytes(5, length), two.b.bytes(3, length));
    }
}

#[test]
fn sends_meet_their_receives() {
    let mut two = Two::v4(NET);
    let (a, b) = two.connect(Service::Reliable, 1024);
    let local = two.b.slice(1000, 50_000);
    two.b.device.post_receive(b, WorkId(5), local).unwrap();
    two.b.device.post_receive(b, WorkId(6), two.b.slice(0, 0)).unwrap();
    two.a.fill(0, 30_000, 9);
    two.a.device.post(a, Work::send(two.a.slice(0, 30_000))).unwrap();
    let immediate = Immediate(*b"four");
    let write = Work::write_immediate(two.a.slice(0, 77), two.b.remote(500_000), immediate);
    two.a.device.post(a, write).unwrap();
    let first = two.run_b();
    let arrival = *first.arrival().unwrap();
    assert_eq!((first.id, arrival.length.get(), arrival.immediate), (WorkId(5), 30_000, None));
    assert_eq!(two.b.bytes(1000, 30_000), two.a.bytes(0, 30_000));
    let second = two.run_b();
    let arrival = *second.arrival().unwrap();
    assert_eq!((second.id, arrival.kind), (WorkId(6), ReceivedKind::Write));
    assert_eq!((arrival.length.get(), arrival.immediate), (77, Some(immediate)));
    assert_eq!(two.b.bytes(500_000, 77), two.a.bytes(0, 77));
    assert!(two.run_a().is_ok() && two.run_a().is_ok());
}

#[test]
fn a_receiver_that_is_not_ready_is_waited_for() {
    let mut two = Two::v4(NET);
    let (a, b) = two.connect(Service::Reliable, 1024);
    two.a.fill(0, 3000, 4);
    two.a.device.post(a, Work::send(two.a.slice(0, 3000))).unwrap();
    two.run_for(Duration::from_millis(5));
    assert_eq!(two.a.poll(), None);
    assert!(two.b.device.counters(b).unwrap().rnr_sent > 0);
    let local = two.b.slice(0, 3000);
    two.b.device.post_receive(b, WorkId(1), local).unwrap();
    assert!(two.run_b().is_ok() && two.run_a().is_ok());
    assert_eq!(two.b.bytes(0, 3000), two.a.bytes(0, 3000));
}

#[test]
fn atomics_change_memory_and_fetch_what_was_there() {
    let mut two = Two::v4(NET);
    let (a, _) = two.connect(Service::Reliable, 4096);
    let word = |side: &Side| u64::from_ne_bytes(side.bytes(64, 8).try_into().unwrap());
    two.b.bytes_mut(64, 8).copy_from_slice(&40u64.to_ne_bytes());
    let mut apply = |operation, before, after| {
        let work = Work::atomic(operation, two.a.slice(64, 8), two.b.remote(64));
        two.a.device.post(a, work).unwrap();
        let done = two.run_a();
        assert_eq!((done.status, done.outcome), (Status::Ok, Outcome::Done { before }));
        assert_eq!((word(&two.a), word(&two.b)), (before, after));
    };
    apply(Atomic::FetchAdd { add: 2 }, 40, 42);
    apply(Atomic::CompareSwap { compare: 41, swap: 7 }, 42, 42);
    apply(Atomic::CompareSwap { compare: 42, swap: 7 }, 42, 7);
    let odd = Work::atomic(Atomic::FetchAdd { add: 1 }, two.a.slice(0, 8), two.b.remote(1));
    assert_eq!(two.a.device.post(a, odd), Err(Error::Post(PostError::Misaligned)));
}

#[test]
fn unreliable_connections_write_and_send() {
    let mut two = Two::v4(NET);
    let (a, b) = two.connect(Service::Unreliable, 1024);
    two.a.fill(0, 30_000, 3);
    let local = two.b.slice(0, 40_000);
    two.b.device.post_receive(b, WorkId(8), local).unwrap();
    two.a.device.post(a, Work::write(two.a.slice(0, 30_000), two.b.remote(50_000))).unwrap();
    two.a.device.post(a, Work::send(two.a.slice(0, 30_000))).unwrap();
    let done = two.run_b();
    assert_eq!((done.id, done.arrival().unwrap().length.get()), (WorkId(8), 30_000));
    assert_eq!(two.b.bytes(0, 30_000), two.a.bytes(0, 30_000));
    assert_eq!(two.b.bytes(50_000, 30_000), two.a.bytes(0, 30_000));
    assert!(two.run_a().is_ok() && two.run_a().is_ok());
    let read = Work::read(two.a.slice(0, 1), two.b.remote(0));
    assert_eq!(two.a.device.post(a, read), Err(Error::Post(PostError::Unsupported)));
}

#[test]
fn datagrams_tell_who_sent_them() {
    let mut two = Two::v4(NET);
    let (settings_a, settings_b) =
        (two.a.settings(Service::Datagram), two.b.settings(Service::Datagram));
    let qkey = settings_b.qkey;
    let a = two.a.device.create_pair(settings_a).unwrap();
    let b = two.b.device.create_pair(settings_b).unwrap();
    let local = two.b.slice(0, 4096);
    two.b.device.post_receive(b, WorkId(2), local).unwrap();
    two.a.fill(0, 4096, 8);
    let mut work = DatagramWork {
        id: WorkId(1),
        local: two.a.slice(0, 4096),
        to: two.b.device.address(),
        qpn: b.qpn(),
        qkey,
        immediate: Some(Immediate(*b"hi!!")),
        signaled: true,
    };
    two.a.device.post_datagram(a, work).unwrap();
    let done = two.run_b();
    let arrival = *done.arrival().unwrap();
    assert_eq!(arrival.from, Some((two.a.device.address(), a.qpn())));
    assert_eq!((arrival.length.get(), arrival.immediate), (4096, work.immediate));
    assert_eq!(two.b.bytes(0, 4096), two.a.bytes(0, 4096));
    assert!(two.run_a().is_ok());
    work.local = two.a.slice(0, 4097);
    assert_eq!(two.a.device.post_datagram(a, work), Err(Error::Post(PostError::TooLong)));
}

#[test]
fn the_management_pair_has_number_one() {
    let mut two = Two::v4(NET);
    let (settings_a, settings_b) =
        (two.a.settings(Service::Datagram), two.b.settings(Service::Datagram));
    let a = two.a.device.open_management_pair(settings_a.clone()).unwrap();
    let b = two.b.device.open_management_pair(settings_b).unwrap();
    assert_eq!((a.qpn().get(), b.qpn().get()), (1, 1));
    assert!(two.a.device.open_management_pair(settings_a).is_err());
    two.b.device.post_receive(b, WorkId(2), two.b.slice(0, 256)).unwrap();
    let work = DatagramWork {
        id: WorkId(1),
        local: two.a.slice(0, 256),
        to: two.b.device.address(),
        qpn: b.qpn(),
        qkey: xoff_transport::Qkey(0x8001_0000),
        immediate: None,
        signaled: false,
    };
    two.a.device.post_datagram(a, work).unwrap();
    assert_eq!(two.run_b().arrival().unwrap().from, Some((two.a.device.address(), a.qpn())));
    assert_eq!(two.a.poll(), None, "quiet work completes silently");
}

#[test]
fn many_queue_pairs_share_receives_and_both_directions() {
    let mut two = Two::v4(NET);
    let shared = two.b.device.create_shared_receives().unwrap();
    let mut pairs = Vec::new();
    for _ in 0..20 {
        let settings_b = PairSettings { shared: Some(shared), ..two.b.settings(Service::Reliable) };
        pairs.push(two.connect_with(two.a.settings(Service::Reliable), settings_b, 2048));
    }
    for n in 0..20 {
        let local = two.b.slice(n * 10_000, 10_000);
        two.b.device.post_shared_receive(shared, WorkId(n), local).unwrap();
    }
    two.a.fill(0, 10_000, 1);
    two.b.fill(900_000, 10_000, 2);
    for &(a, b) in &pairs {
        two.a.device.post(a, Work::send(two.a.slice(0, 10_000))).unwrap();
        let write = Work::write(two.b.slice(900_000, 10_000), two.a.remote(500_000));
        two.b.device.post(b, write.quiet()).unwrap();
    }
    let mut used: Vec<u64> = (0..20).map(|_| two.run_b().id.0).collect();
    used.sort_unstable();
    assert_eq!(used, (0..20).collect::<Vec<_>>());
    (0..20).for_each(|_| assert!(two.run_a().is_ok()));
    two.run_for(Duration::from_millis(20));
    assert_eq!(two.b.bytes(190_000, 10_000), two.a.bytes(0, 10_000));
    assert_eq!(two.a.bytes(500_000, 10_000), two.b.bytes(900_000, 10_000));
    assert_eq!(two.b.device.shared_receives(shared), Ok(0));
}

#[test]
fn rows_of_short_messages_arrive_each_at_its_place() {
    for segmentation in [true, false] {
        let settings = DeviceSettings { segmentation, ..DeviceSettings::new(loopback(NET)) };
        let mut two = Two::with(settings, loopback(NET).into(), loopback(NET).into());
        let (a, b) = two.connect(Service::Reliable, 1024);
        for (n, length) in [0, 1, 3, 64, 100, 511, 512, 1024].into_iter().enumerate() {
            two.a.fill(0, SIZE, n as u64);
            two.b.bytes_mut(0, SIZE).fill(0);
            // Writes from scattered places to others, with a send and a longer write among them.
            let from = |at: u64| at * 7 % 200 * 1100;
            let to = |at: u64| 300_000 + at * 13 % 200 * 1100;
            two.b.device.post_receive(b, WorkId(1000), two.b.slice(900_000, 1024)).unwrap();
            for at in 0..200 {
                let longer = u64::from(at == 150);
                let local = two.a.slice(from(at), length + longer);
                let id = WorkId(at);
                two.a.device.post(a, Work::write(local, two.b.remote(to(at))).named(id)).unwrap();
                if at == 77 {
                    let work = Work::send(two.a.slice(777, length)).named(WorkId(999));
                    two.a.device.post(a, work).unwrap();
                }
            }
            for at in 0..200 {
                let done = two.run_a();
                assert_eq!((done.id, done.status), (WorkId(at), Status::Ok));
                if at == 77 {
                    assert_eq!(two.run_a().id, WorkId(999));
                }
            }
            assert_eq!(two.run_b().arrival().unwrap().length.get(), length);
            let length = length as usize;
            for at in 0..200 {
                let (from, to) = (from(at) as usize, to(at) as usize);
                let longer = usize::from(at == 150);
                assert_eq!(two.b.bytes(to, length + longer), two.a.bytes(from, length + longer));
                assert_eq!(two.b.bytes(to + length + longer, 1), [0], "nothing beyond it");
            }
            assert_eq!(two.b.bytes(900_000, length), two.a.bytes(777, length));
        }
        assert_eq!(two.b.device.discards().total(), 0);
        assert_eq!(two.a.device.counters(a).unwrap().retransmitted, 0);
    }
}

#[test]
fn memory_given_back_ends_a_row_where_it_is_needed() {
    let mut two = Two::v4(NET);
    let (a, _) = two.connect(Service::Reliable, 1024);
    let domain = two.a.domain;
    let other = two.a.device.register(domain, vec![5; 64], Access::LOCAL_WRITE, None).unwrap();
    for at in 0..12 {
        let local = if at == 7 { Slice::new(other, 0, 64) } else { two.a.slice(at * 64, 64) };
        let work = Work::write(local, two.b.remote(at * 64)).named(WorkId(at));
        two.a.device.post(a, work).unwrap();
    }
    two.a.fill(0, 12 * 64, 3);
    two.a.device.deregister(other).unwrap();
    let ends: Vec<_> = (0..12).map(|_| two.run_a()).map(|done| (done.id.0, done.status)).collect();
    // None was acknowledged when the memory was found missing.
    let mut expected: Vec<_> = (0..12).map(|id| (id, Status::Flushed)).collect();
    expected[0].1 = Status::LocalProtection;
    assert_eq!(ends, expected);
    two.run_for(Duration::from_millis(20));
    assert_eq!(two.b.bytes(0, 7 * 64), two.a.bytes(0, 7 * 64));
    assert_eq!(two.b.bytes(7 * 64, 5 * 64), [0; 5 * 64]);
}
