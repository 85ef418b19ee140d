//! What two xoff ends say to each other beyond perftest's protocol: before the data what their tests
//! are, so that a difference is reported instead of waited for; after it what was sent and arrived.
//!
//! Both are exchanged only if both greetings say so ([`Greeting::extras`]), so the stock tools, and
//! an xoff from before this, never see them.
//!
//! [`Greeting::extras`]: super::message::Greeting::extras

use super::error::PerfError;
use super::message::Garbled;
use super::settings::{AtomicKind, Extent, Measure, Settings, Verb};
use std::time::Duration;
use xoff_wire::Service;

/// Bytes of the terms; those not used are zero.
const TERMS_LEN: usize = 64;
/// Bytes of a tally.
const TALLY_LEN: usize = 32;

/// What a test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) verb: Verb,
    pub(super) measure: Measure,
    pub(super) service: Service,
    pub(super) duplex: bool,
    pub(super) all_sizes: bool,
    /// Figures are in Gbit/s.
    pub(super) gigabits: bool,
    pub(super) pairs: u32,
    pub(super) size: u64,
    pub(super) extent: Extent,
}

const DUPLEX: u8 = 1;
const ALL_SIZES: u8 = 2;
const GIGABITS: u8 = 4;

impl Terms {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            verb: settings.verb,
            measure: settings.measure,
            service: settings.service,
            duplex: settings.duplex,
            all_sizes: settings.all_sizes,
            gigabits: settings.gigabits,
            pairs: u32::try_from(settings.pairs).unwrap_or(u32::MAX),
            size: settings.size,
            extent: settings.extent,
        }
    }

    /// As it is sent.
    pub(super) fn bytes(&self) -> [u8; TERMS_LEN] {
        let mut out = [0; TERMS_LEN];
        out[0] = match self.verb {
            Verb::Write => 0,
            Verb::Read => 1,
            Verb::Send => 2,
            Verb::Atomic(AtomicKind::FetchAdd) => 3,
            Verb::Atomic(AtomicKind::CompareSwap) => 4,
        };
        out[1] = u8::from(self.measure == Measure::Latency);
        out[2] = match self.service {
            Service::Reliable => 0,
            Service::Unreliable => 1,
            Service::Datagram => 2,
        };
        for (flag, set) in
            [(DUPLEX, self.duplex), (ALL_SIZES, self.all_sizes), (GIGABITS, self.gigabits)]
        {
            out[3] |= if set { flag } else { 0 };
        }
        out[4..8].copy_from_slice(&self.pairs.to_be_bytes());
        out[8..16].copy_from_slice(&self.size.to_be_bytes());
        let (by_time, amount) = match self.extent {
            Extent::Iterations(count) => (0, count),
            Extent::For(time) => (1, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
        };
        out[16] = by_time;
        out[24..32].copy_from_slice(&amount.to_be_bytes());
        out
    }

    /// Reads what the peer sent.
    pub(super) fn parse(bytes: &[u8; TERMS_LEN]) -> Result<Self, Garbled> {
        let amount = long(bytes, 24);
        Ok(Self {
            verb: match bytes[0] {
                0 => Verb::Write,
                1 => Verb::Read,
                2 => Verb::Send,
                3 => Verb::Atomic(AtomicKind::FetchAdd),
                4 => Verb::Atomic(AtomicKind::CompareSwap),
                _ => return Err(Garbled),
            },
            measure: if bytes[1] == 0 { Measure::Bandwidth } else { Measure::Latency },
            service: match bytes[2] {
                0 => Service::Reliable,
                1 => Service::Unreliable,
                2 => Service::Datagram,
                _ => return Err(Garbled),
            },
            duplex: bytes[3] & DUPLEX != 0,
            all_sizes: bytes[3] & ALL_SIZES != 0,
            gigabits: bytes[3] & GIGABITS != 0,
            pairs: (long(bytes, 0) & u64::from(u32::MAX)) as u32,
            size: long(bytes, 8),
            extent: match bytes[16] {
                0 => Extent::Iterations(amount),
                _ => Extent::For(Duration::from_nanos(amount)),
            },
        })
    }

    /// Whether both sides have to know how long it runs: where messages end in receives, or answer
    /// each other. The target of anything else learns it from its client.
    pub(super) fn share_extent(&self) -> bool {
        self.duplex
            || self.verb == Verb::Send
            || (self.verb == Verb::Write && self.measure == Measure::Latency)
    }

    /// The first thing in which two tests differ that have to be the same.
    pub(super) fn agree_with(&self, theirs: &Self) -> Result<(), PerfError> {
        let yes = |set: bool| if set { "it set" } else { "it not set" };
        let all = |set: bool| if set { "all sizes" } else { "one size" };
        let differs = [
            ("test", self.test().to_owned(), theirs.test().to_owned()),
            (
                "-c",
                format!("-c {}", service(self.service)),
                format!("-c {}", service(theirs.service)),
            ),
            ("-b", yes(self.duplex).to_owned(), yes(theirs.duplex).to_owned()),
            ("-q", format!("-q {}", self.pairs), format!("-q {}", theirs.pairs)),
            ("-a", all(self.all_sizes).to_owned(), all(theirs.all_sizes).to_owned()),
            ("-s", format!("-s {}", self.size), format!("-s {}", theirs.size)),
            ("-n or -D", length(self.extent), length(theirs.extent)),
        ];
        let relevant = |what: &str| match what {
            "-s" => !self.all_sizes,
            "-n or -D" => self.share_extent(),
            _ => true,
        };
        let found =
            differs.into_iter().find(|(what, ours, theirs)| ours != theirs && relevant(what));
        match found {
            Some((what, ours, theirs)) => Err(PerfError::Differs { what, theirs, ours }),
            None => Ok(()),
        }
    }

    /// The name of the test, as it is given on the command line.
    fn test(&self) -> &'static str {
        match (self.verb, self.measure) {
            (Verb::Write, Measure::Bandwidth) => "write-bw",
            (Verb::Write, Measure::Latency) => "write-lat",
            (Verb::Read, Measure::Bandwidth) => "read-bw",
            (Verb::Read, Measure::Latency) => "read-lat",
            (Verb::Send, Measure::Bandwidth) => "send-bw",
            (Verb::Send, Measure::Latency) => "send-lat",
            (Verb::Atomic(AtomicKind::FetchAdd), Measure::Bandwidth) => {
                "atomic-bw -A FETCH_AND_ADD"
            }
            (Verb::Atomic(AtomicKind::FetchAdd), Measure::Latency) => "atomic-lat -A FETCH_AND_ADD",
            (Verb::Atomic(AtomicKind::CompareSwap), Measure::Bandwidth) => {
                "atomic-bw -A CMP_AND_SWAP"
            }
            (Verb::Atomic(AtomicKind::CompareSwap), Measure::Latency) => {
                "atomic-lat -A CMP_AND_SWAP"
            }
        }
    }
}

fn service(service: Service) -> &'static str {
    match service {
        Service::Reliable => "RC",
        Service::Unreliable => "UC",
        Service::Datagram => "UD",
    }
}

fn length(extent: Extent) -> String {
    match extent {
        Extent::Iterations(count) => format!("-n {count}"),
        Extent::For(time) => format!("-D {}", time.as_secs_f64()),
    }
}

/// What a side counted of a whole test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tally {
    /// Messages it sent.
    pub(super) sent: u64,
    /// Messages that arrived at it, of a service that may lose them.
    pub(super) arrived: u64,
    /// Packets that its system dropped because the receive buffer was full.
    pub(super) overflowed: u64,
    /// Messages that came while it had no receive posted.
    pub(super) unready: u64,
}

impl Tally {
    /// As it is sent.
    pub(super) fn bytes(&self) -> [u8; TALLY_LEN] {
        let mut out = [0; TALLY_LEN];
        let words = [self.sent, self.arrived, self.overflowed, self.unready];
        for (place, word) in out.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        out
    }

    /// Reads what the peer sent.
    pub(super) fn parse(bytes: &[u8; TALLY_LEN]) -> Self {
        let [sent, arrived, overflowed, unready] = [0, 8, 16, 24].map(|at| long(bytes, at));
        Self { sent, arrived, overflowed, unready }
    }
}

/// Eight bytes from `at` on, as a number.
fn long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn terms(verb: Verb, measure: Measure) -> Terms {
        Terms::of(&Settings::new(verb, measure))
    }

    #[track_caller]
    fn differ(ours: &Terms, theirs: &Terms, what: &str) {
        for (one, other) in [(ours, theirs), (theirs, ours)] {
            match one.agree_with(other) {
                Err(PerfError::Differs { what: found, .. }) => assert_eq!(found, what),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn differences_that_matter_are_named() {
        let write = terms(Verb::Write, Measure::Bandwidth);
        let send = terms(Verb::Send, Measure::Bandwidth);
        differ(&write, &terms(Verb::Read, Measure::Bandwidth), "test");
        differ(&write, &terms(Verb::Write, Measure::Latency), "test");
        let fetch = terms(Verb::Atomic(AtomicKind::FetchAdd), Measure::Bandwidth);
        differ(&fetch, &terms(Verb::Atomic(AtomicKind::CompareSwap), Measure::Bandwidth), "test");
        differ(&send, &Terms { service: Service::Datagram, ..send }, "-c");
        differ(&send, &Terms { pairs: 2, ..send }, "-q");
        differ(&send, &Terms { duplex: true, ..send }, "-b");
        differ(&send, &Terms { size: 5, ..send }, "-s");
        differ(&send, &Terms { all_sizes: true, ..send }, "-a");
        let n = |count| Extent::Iterations(count);
        differ(&Terms { extent: n(50), ..send }, &Terms { extent: n(100), ..send }, "-n or -D");
        let time = Extent::For(Duration::from_secs(2));
        differ(&Terms { extent: time, ..send }, &Terms { extent: n(100), ..send }, "-n or -D");
    }

    #[test]
    fn differences_that_do_not_matter_are_not() {
        let write = terms(Verb::Write, Measure::Bandwidth);
        let other = Terms { extent: Extent::For(Duration::from_secs(1)), gigabits: true, ..write };
        assert!(
            write.agree_with(&other).is_ok(),
            "the target of writes learns how many there were"
        );
        let all = Terms { all_sizes: true, size: 3, ..write };
        assert!(all.agree_with(&Terms { size: 4, ..all }).is_ok());
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_terms_survive(bytes in any::<[u8; 32]>(), more in any::<[u8; 32]>()) {
            let mut whole = [0; TERMS_LEN];
            whole[..32].copy_from_slice(&bytes);
            whole[32..].copy_from_slice(&more);
            whole[0] %= 6;
            whole[2] %= 4;
            if let Ok(terms) = Terms::parse(&whole) {
                prop_assert_eq!(Terms::parse(&terms.bytes()), Ok(terms));
            }
            let tally = Tally::parse(&bytes);
            prop_assert_eq!(tally.bytes(), bytes);
        }
    }
}
