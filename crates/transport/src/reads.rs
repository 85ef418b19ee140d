//! The data the peer asked for: reads that the receiving half is answering.

use crate::message::packets;
use crate::sequence;
use std::collections::VecDeque;
use xoff_wire::{Aeth, Extension, Header, Opcode, Operation, Position, Qpn, Service, Syndrome};

/// Reads being answered at a time; a peer that asks for more has to ask again.
const MAX_JOBS: usize = 64;

/// Data packets one request may ask for: more would not fit the numbers.
const MAX_PACKETS: u64 = 1 << 22;

/// One read being answered.
#[derive(Debug, Clone)]
struct Job {
    /// The packet it started with, the next one, and one beyond the last.
    first: u64,
    next: u64,
    end: u64,
    /// Bytes still to send.
    left: u32,
}

/// What became of a read request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is being answered and takes so many numbers.
    Yes(u64),
    /// There is no room for it now.
    Full,
    /// It asks for too much.
    TooLong,
}

/// The reads being answered, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reads {
    jobs: VecDeque<Job>,
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

    /// Answers the read at `number`. One that is asked for again starts anew, from where the peer
    /// now wants it.
    pub(crate) fn answer(&mut self, number: u64, length: u32, mtu: u32) -> Taken {
        let count = packets(length, mtu);
        if count > MAX_PACKETS {
            return Taken::TooLong;
        }
        let end = number + count;
        self.jobs.retain(|job| job.end <= number || job.next >= end);
        if self.jobs.len() >= MAX_JOBS {
            return Taken::Full;
        }
        let at = self.jobs.partition_point(|job| job.next < number);
        self.jobs.insert(at, Job { first: number, next: number, end, left: length });
        Taken::Yes(count)
    }

    /// The next packet of data.
    pub(crate) fn transmit(&mut self, mtu: u32, msn: u32, peer: Qpn) -> Option<Header> {
        let job = self.jobs.front_mut()?;
        let payload = mtu.min(job.left);
        let position = Position::of(job.next == job.first, job.next + 1 == job.end);
        let opcode = Opcode::new(Operation::ReadResponse, position);
        let aeth = Aeth { syndrome: Syndrome::Ack { credits: 0x1f }, msn };
        let header = Header {
            service: Service::Reliable,
            opcode,
            ack_request: false,
            becn: false,
            dest_qp: peer,
            psn: sequence::psn(job.next),
            extension: if opcode.has_aeth() { Extension::Aeth(aeth) } else { Extension::None },
            payload,
        };
        job.left -= payload;
        job.next += 1;
        if position.ends() {
            self.jobs.pop_front();
        }
        Some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(reads: &mut Reads) -> Vec<(u32, Opcode, u32)> {
        std::iter::from_fn(|| reads.transmit(1000, 1, Qpn::new(9)))
            .map(|header| (header.psn.get(), header.opcode, header.payload))
            .collect()
    }

    #[test]
    fn data_is_cut_and_numbered() {
        let mut reads = Reads::default();
        assert_eq!(reads.answer(100, 2500, 1000), Taken::Yes(3));
        assert_eq!(reads.answer(103, 0, 1000), Taken::Yes(1));
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
        reads.answer(100, 3000, 1000);
        reads.answer(103, 1000, 1000);
        reads.transmit(1000, 1, Qpn::new(9));
        assert_eq!(reads.answer(101, 2000, 1000), Taken::Yes(2));
        let psns: Vec<u32> = drain(&mut reads).into_iter().map(|packet| packet.0).collect();
        assert_eq!(psns, [101, 102, 103]);
    }

    #[test]
    fn there_is_a_limit() {
        let mut reads = Reads::default();
        for n in 0..MAX_JOBS as u64 {
            assert_eq!(reads.answer(n, 1, 1000), Taken::Yes(1));
        }
        assert_eq!(reads.answer(1000, 1, 1000), Taken::Full);
        assert_eq!(reads.answer(5, u32::MAX, 256), Taken::TooLong);
    }
}
