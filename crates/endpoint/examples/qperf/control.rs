//! What the two sides of `qperf` say over TCP, in the words of version 0.4: all numbers have their least significant byte
//! first, and both sides know when which of them speaks.

use crate::shared::{Failure, PATIENCE};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// Major and minor version have to be the same on both sides; the third number does not matter.
const VERSION: [u16; 3] = [0, 4, 11];
/// Said by both before and by the client after the test.
pub(crate) const BEFORE: &str = "synchronization before test";
pub(crate) const AFTER: &str = "synchronization after test";
/// Bytes of messages: those of the tool end with what its compiler adds.
const REQUEST: usize = 200;
const NODE: usize = 40;
const RESULTS: usize = 256;
/// Readings of the processor's clocks: real time and eight others.
const CLOCKS: usize = 9;
/// Of these clocks in a second.
const TICKS: u32 = 1000;

/// A test that both sides know by its number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    SendBandwidth = 13,
    SendLatency = 16,
    ReadBandwidth = 17,
    WriteBandwidth = 19,
}

impl Test {
    const ALL: [(Self, &'static str); 4] = [
        (Self::SendBandwidth, "rc_bw"),
        (Self::SendLatency, "rc_lat"),
        (Self::ReadBandwidth, "rc_rdma_read_bw"),
        (Self::WriteBandwidth, "rc_rdma_write_bw"),
    ];

    pub(crate) fn by_name(name: &str) -> Result<Self, Failure> {
        let found = Self::ALL.iter().find(|(_, own)| *own == name);
        let names = Self::ALL.map(|(_, name)| name).join(", ");
        found.map(|(test, _)| *test).ok_or_else(|| format!("{name} is none of {names}").into())
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(test, _)| *test == self).map_or("", |(_, name)| name)
    }
}

/// What the client requests.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) test: Test,
    pub(crate) size: u32,
    pub(crate) seconds: u32,
}

impl Request {
    fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let [major, minor, third] = VERSION;
        for number in [major, minor, third, self.test as u16] {
            bytes.extend(number.to_le_bytes());
        }
        // In the tool's order; what it calls "access_recv", "affinity" and so on is zero.
        let (mut numbers, timeout, by_rdma_cm) = ([0; 16], PATIENCE.as_secs() as u32, 1);
        (numbers[4], numbers[13]) = (self.size, self.seconds);
        (numbers[14], numbers[15]) = (timeout, by_rdma_cm);
        numbers.iter().for_each(|number: &u32| bytes.extend(number.to_le_bytes()));
        bytes.resize(REQUEST, 0);
        bytes
    }

    fn parse(bytes: &[u8; REQUEST]) -> Result<Self, Failure> {
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let long = |number: usize| number_at(bytes, 8 + 4 * number, 4) as u32;
        if [short(0), short(2)] != VERSION[..2] {
            return Err(format!("the client is qperf {}.{}, if at all", short(0), short(2)).into());
        }
        let test = Test::ALL.iter().find(|(test, _)| *test as u16 == short(6));
        let (test, _) = test.ok_or_else(|| format!("test number {} is not spoken", short(6)))?;
        if long(15) == 0 {
            return Err("qperf without rdma_cm names no RoCE address: it needs -cm1".into());
        }
        if long(6) != 0 {
            return Err("counted messages are not spoken: no -n".into());
        }
        let (size, seconds) = (long(4), long(13));
        if !(1..=1 << 24).contains(&size) || !(1..=3600).contains(&seconds) {
            return Err(format!("{size} bytes for {seconds} s are not spoken").into());
        }
        Ok(Self { test: *test, size, seconds })
    }
}

/// Where a side's memory is.
#[derive(Clone, Copy)]
pub(crate) struct Node {
    pub(crate) address: u64,
    pub(crate) key: u32,
}

/// What a side has sent and received.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) bytes: u64,
    pub(crate) messages: u64,
}

/// What the server found.
#[derive(Clone, Copy, Default)]
pub(crate) struct Results {
    pub(crate) sent: Counts,
    pub(crate) received: Counts,
}

/// The connection.
pub(crate) struct Control(pub(crate) TcpStream);

impl Control {
    pub(crate) fn new(stream: TcpStream) -> Result<Self, Failure> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    fn read<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let mut bytes = [0; N];
        let what = |error| format!("the peer says nothing over TCP: {error}");
        self.0.read_exact(&mut bytes).map_err(what)?;
        Ok(bytes)
    }

    pub(crate) fn send_request(&mut self, request: Request) -> Result<(), Failure> {
        Ok(self.0.write_all(&request.bytes())?)
    }

    pub(crate) fn request(&mut self) -> Result<Request, Failure> {
        Request::parse(&self.read()?)
    }

    pub(crate) fn send_port(&mut self, port: u16) -> Result<(), Failure> {
        Ok(self.0.write_all(&u32::from(port).to_le_bytes())?)
    }

    pub(crate) fn port(&mut self) -> Result<u16, Failure> {
        Ok(u32::from_le_bytes(self.read()?).try_into()?)
    }

    /// Both say where their memory is.
    pub(crate) fn exchange(&mut self, own: Node) -> Result<Node, Failure> {
        let mut bytes = own.address.to_le_bytes().to_vec();
        // Local identifier, queue pair, first number, shared queue; the connection manager knows.
        bytes.extend([0; 16]);
        bytes.extend(own.key.to_le_bytes());
        bytes.resize(NODE, 0);
        self.0.write_all(&bytes)?;
        let theirs: [u8; NODE] = self.read()?;
        Ok(Node { address: number_at(&theirs, 0, 8), key: number_at(&theirs, 24, 4) as u32 })
    }

    pub(crate) fn say(&mut self, words: &str) -> Result<(), Failure> {
        Ok(self.0.write_all(words.as_bytes())?)
    }

    pub(crate) fn hear(&mut self, words: &str) -> Result<(), Failure> {
        let mut bytes = vec![0; words.len()];
        let what = |error| format!("the peer does not say {words:?}: {error}");
        self.0.read_exact(&mut bytes).map_err(what)?;
        if bytes != words.as_bytes() {
            return Err(format!("the peer does not say {words:?}").into());
        }
        Ok(())
    }

    /// What we found, of a test that began then.
    pub(crate) fn send_results(&mut self, found: Results, start: Instant) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        for number in [1, TICKS, 0] {
            bytes.extend(number.to_le_bytes());
        }
        let mut clocks = [0u64; 2 * CLOCKS];
        // Time begins at one: the tool takes zero for nothing measured.
        clocks[0] = 1;
        clocks[CLOCKS] = 1 + start.elapsed().as_millis() as u64;
        clocks.iter().for_each(|clock| bytes.extend(clock.to_le_bytes()));
        for Counts { bytes: count, messages } in [found.sent, found.received] {
            [count, messages, 0].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        }
        bytes.resize(RESULTS, 0);
        Ok(self.0.write_all(&bytes)?)
    }

    pub(crate) fn results(&mut self) -> Result<Results, Failure> {
        let bytes: [u8; RESULTS] = self.read()?;
        let at = |number: usize| number_at(&bytes, 12 + 8 * (2 * CLOCKS + number), 8);
        let counts = |from| Counts { bytes: at(from), messages: at(from + 1) };
        Ok(Results { sent: counts(0), received: counts(3) })
    }
}

fn number_at(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes[at..at + length].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
