//! Reads and atomics of the peer that the receiving half is answering.

use crate::host::Source;
use crate::message::packets;
use crate::sequence;
use std::collections::VecDeque;
use xoff_wire::{
    Aeth, Extension, Header, Opcode, Operation, Position, Qpn, Reth, Rkey, Service, Syndrome,
};

/// Most reads and atomics being answered at a time; the peer has to repeat what exceeds it.
const MAX_JOBS: usize = 64;

/// Most data packets of one request: more would not fit the number space.
const MAX_PACKETS: u64 = 1 << 22;

/// Results of atomics that are kept for repeated requests (IBTA 9.4.5): at least as many as the
/// peer can have outstanding.
const MAX_RESULTS: usize = MAX_JOBS;

/// One read or atomic being answered.
#[derive(Debug, Clone)]
struct Job {
    /// The number of its first packet.
    first: u64,
    /// The number of the packet to be sent next.
    next: u64,
    /// One beyond the number of its last packet.
    end: u64,
    answer: Answer,
}

/// What a job sends.
#[derive(Debug, Clone, Copy)]
enum Answer {
    /// Bytes still to send, and where they are.
    Data { left: u32, key: Rkey, address: u64 },
    /// What an atomic found.
    Found(u64),
}

/// What became of a read request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is being answered, and takes this many numbers.
    Yes(u64),
    /// There is no room for it now.
    Full,
    /// It is longer than any request may be.
    TooLong,
}

/// The reads being answered, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reads {
    jobs: VecDeque<Job>,
    /// Where the payload of the packet sent last came from.
    source: Option<Source>,
    /// The latest atomics by number, and what they found.
    results: VecDeque<(u64, u64)>,
}

impl Reads {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// How many numbers a read of `length` bytes takes.
    pub(crate) fn numbers(length: u32, mtu: u32) -> u64 {
        packets(length, mtu)
    }

    /// Answers the read at `number`. A repeated request starts anew, from where the peer wants it
    /// now.
    pub(crate) fn answer(&mut self, number: u64, reth: Reth, mtu: u32) -> Taken {
        let count = packets(reth.length, mtu);
        if count > MAX_PACKETS {
            return Taken::TooLong;
        }
        let answer = Answer::Data { left: reth.length, key: reth.rkey, address: reth.address };
        if self.add(number, count, answer) { Taken::Yes(count) } else { Taken::Full }
    }

    /// Whether another job could be taken.
    pub(crate) fn has_room(&self) -> bool {
        self.jobs.len() < MAX_JOBS
    }

    /// Answers the atomic at `number`, and keeps what it found.
    pub(crate) fn found(&mut self, number: u64, before: u64) {
        if self.results.len() >= MAX_RESULTS {
            self.results.pop_front();
        }
        self.results.push_back((number, before));
        let added = self.add(number, 1, Answer::Found(before));
        assert!(added, "an atomic was carried out that there is no room to answer");
    }

    /// Answers the atomic at `number` once more. Says whether its result is still known.
    pub(crate) fn found_before(&mut self, number: u64) -> bool {
        let Some(&(_, before)) = self.results.iter().find(|result| result.0 == number) else {
            return false;
        };
        self.add(number, 1, Answer::Found(before))
    }

    /// Adds a job in the order of numbers, in place of any it overlaps.
    fn add(&mut self, number: u64, count: u64, answer: Answer) -> bool {
        // A repeated request means that its answer was lost: the rest of the old one is of no use.
        let end = number + count;
        self.jobs.retain(|job| job.end <= number || job.next >= end);
        if !self.has_room() {
            return false;
        }
        let at = self.jobs.partition_point(|job| job.next < number);
        self.jobs.insert(at, Job { first: number, next: number, end, answer });
        self.check_order();
        true
    }

    /// Answers nothing more from `number` on.
    pub(crate) fn cancel_from(&mut self, number: u64) {
        self.jobs.retain(|job| job.next < number);
    }

    /// Where the payload of the packet sent last came from.
    pub(crate) fn source(&self) -> Source {
        self.source.unwrap_or(Source::Nothing)
    }

    /// The next packet of data.
    pub(crate) fn transmit(&mut self, mtu: u32, msn: u32, peer: Qpn) -> Option<Header> {
        let job = self.jobs.front_mut()?;
        let aeth = Aeth { syndrome: Syndrome::Ack { credits: 0x1f }, msn };
        let mut header = Header {
            service: Service::Reliable,
            opcode: Opcode::AtomicAcknowledge,
            ack_request: false,
            becn: false,
            dest_qp: peer,
            psn: sequence::psn(job.next),
            extension: Extension::None,
            payload: 0,
        };
        self.source = None;
        match &mut job.answer {
            Answer::Found(before) => header.extension = Extension::AtomicAck(aeth, *before),
            Answer::Data { left, key, address } => {
                let position = Position::of(job.next == job.first, job.next + 1 == job.end);
                header.opcode = Opcode::new(Operation::ReadResponse, position);
                if header.opcode.has_aeth() {
                    header.extension = Extension::Aeth(aeth);
                }
                header.payload = mtu.min(*left);
                if header.payload > 0 {
                    self.source = Some(Source::Region { key: *key, address: *address });
                }
                *left -= header.payload;
                *address = address.wrapping_add(header.payload.into());
            }
        }
        job.next += 1;
        if job.next == job.end {
            let left = if let Answer::Data { left, .. } = job.answer { left } else { 0 };
            debug_assert!(left == 0, "{left} bytes of a read are left and no number for them");
            self.jobs.pop_front();
        }
        Some(header)
    }

    /// Answers leave in the order of their numbers, and each number once.
    fn check_order(&self) {
        debug_assert!(self.jobs.len() <= MAX_JOBS, "more reads are answered than allowed");
        debug_assert!(self.jobs.iter().all(|job| job.first <= job.next && job.next < job.end));
        debug_assert!(
            self.jobs.iter().zip(self.jobs.iter().skip(1)).all(|(one, two)| one.end <= two.next),
            "two answers overlap, or are out of order"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(length: u32) -> Reth {
        Reth { address: 0x5000, rkey: Rkey(1), length }
    }

    fn drain(reads: &mut Reads) -> Vec<(u32, Opcode, u32)> {
        std::iter::from_fn(|| reads.transmit(1000, 1, Qpn::new(9)))
            .map(|header| (header.psn.get(), header.opcode, header.payload))
            .collect()
    }

    #[test]
    fn data_is_cut_and_numbered() {
        let mut reads = Reads::default();
        assert_eq!(reads.answer(100, of(2500), 1000), Taken::Yes(3));
        assert_eq!(reads.answer(103, of(0), 1000), Taken::Yes(1));
        let expected = [
            (100, Opcode::ReadResponseFirst, 1000),
            (101, Opcode::ReadResponseMiddle, 1000),
            (102, Opcode::ReadResponseLast, 500),
            (103, Opcode::ReadResponseOnly, 0),
        ];
        assert_eq!(drain(&mut reads), expected);
    }

    #[test]
    fn a_repeated_request_starts_where_the_peer_wants_it() {
        let mut reads = Reads::default();
        reads.answer(100, of(3000), 1000);
        reads.answer(103, of(1000), 1000);
        reads.transmit(1000, 1, Qpn::new(9));
        assert_eq!(reads.answer(101, of(2000), 1000), Taken::Yes(2));
        let psns: Vec<u32> = drain(&mut reads).into_iter().map(|packet| packet.0).collect();
        assert_eq!(psns, [101, 102, 103]);
    }

    #[test]
    fn there_is_a_limit() {
        let mut reads = Reads::default();
        for n in 0..MAX_JOBS as u64 {
            assert_eq!(reads.answer(n, of(1), 1000), Taken::Yes(1));
        }
        assert_eq!(reads.answer(1000, of(1), 1000), Taken::Full);
        assert_eq!(reads.answer(5, of(u32::MAX), 256), Taken::TooLong);
    }

    #[test]
    fn every_packet_knows_where_its_bytes_are() {
        let mut reads = Reads::default();
        reads.answer(100, of(2500), 1000);
        reads.found(103, 77);
        let sources: Vec<Source> = std::iter::from_fn(|| {
            reads.transmit(1000, 1, Qpn::new(9))?;
            Some(reads.source())
        })
        .collect();
        let at = |address| Source::Region { key: Rkey(1), address };
        assert_eq!(sources, [at(0x5000), at(0x5000 + 1000), at(0x5000 + 2000), Source::Nothing]);
    }

    #[test]
    fn an_atomic_is_answered_in_turn_and_again_if_asked() {
        let mut reads = Reads::default();
        reads.answer(100, of(1000), 1000);
        reads.found(101, 77);
        let expected = [(100, Opcode::ReadResponseOnly, 1000), (101, Opcode::AtomicAcknowledge, 0)];
        assert_eq!(drain(&mut reads), expected);
        assert!(reads.found_before(101) && !reads.found_before(100));
        let again = reads.transmit(1000, 1, Qpn::new(9)).unwrap();
        assert!(matches!(again.extension, Extension::AtomicAck(_, 77)));
        for number in 102..102 + MAX_RESULTS as u64 {
            drain(&mut reads);
            reads.found(number, 0);
        }
        assert!(!reads.found_before(101), "the oldest is forgotten");
    }
}
