//! What comes of a test.

use std::net::IpAddr;
use std::time::Duration;

/// A line of the result table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Bytes of a message.
    pub size: u64,
    /// Messages, of all queue pairs together.
    pub iterations: u64,
    /// What was measured.
    pub figures: Figures,
    /// All of it was: a test that broke off has a last line of what came before.
    pub complete: bool,
}

impl Row {
    /// A line of a side that measures nothing.
    pub(super) fn passive(size: u64) -> Self {
        Self { size, iterations: 0, figures: Figures::Passive, complete: true }
    }
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figures {
    /// Bytes per second.
    Bandwidth {
        /// In the best moment; zero if that was not measured.
        peak: f64,
        /// From the first message to the last.
        average: f64,
        /// Messages per second.
        messages: f64,
    },
    /// The time of one message, one way if it was answered by another.
    Latency(Latency),
    /// Nothing: the peer measured.
    Passive,
}

/// Times of single messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Latency {
    /// The shortest.
    pub shortest: Duration,
    /// The longest.
    pub longest: Duration,
    /// The one in the middle.
    pub typical: Duration,
    /// The average.
    pub average: Duration,
    /// How far they stray from it.
    pub deviation: Duration,
    /// All but one in a hundred are shorter.
    pub percentile_99: Duration,
    /// All but one in a thousand are shorter.
    pub percentile_999: Duration,
}

impl Latency {
    /// From single times, which end up sorted.
    pub(super) fn of(times: &mut [Duration]) -> Self {
        times.sort_unstable();
        let (Some(&shortest), Some(&longest)) = (times.first(), times.last()) else {
            return Self::default();
        };
        let count = times.len();
        let sum: Duration = times.iter().sum();
        let average = sum / u32::try_from(count).unwrap_or(u32::MAX);
        let mean = average.as_secs_f64();
        let square = |time: &Duration| (time.as_secs_f64() - mean).powi(2);
        let variance = times.iter().map(square).sum::<f64>() / count as f64;
        let percentile = |thousandths: usize| times[(count * thousandths / 1000).min(count - 1)];
        Self {
            shortest,
            longest,
            typical: times[count / 2],
            average,
            deviation: Duration::from_secs_f64(variance.sqrt()),
            percentile_99: percentile(990),
            percentile_999: percentile(999),
        }
    }
}

/// How far what arrived was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Messages that had to arrive, as far as that is known here.
    pub messages: u64,
    /// Messages that did not arrive, of a service that may lose them; `None` if nobody said how
    /// many were sent.
    pub lost: Option<u64>,
    /// Bytes whose contents were compared with what they had to be.
    pub compared: u64,
    /// Bytes (or messages, or values of atomics) that were something else.
    pub wrong: u64,
    /// Bytes of messages that never were written: the memory is as it was before.
    pub untouched: u64,
    /// How contents were checked.
    pub how: Contents,
}

/// How contents were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contents {
    /// Not at all: they are too short, or there is nothing to compare with.
    #[default]
    Counted,
    /// Each message had its own, known to both sides.
    Stamped,
    /// By the sequence that the stock tool fills its memory with.
    Sequence,
    /// Values before and after atomics.
    Values,
}

impl Verified {
    /// Whether nothing wrong was found.
    pub fn is_ok(&self) -> bool {
        self.wrong == 0 && self.untouched == 0
    }
}

impl Default for Verified {
    fn default() -> Self {
        let (messages, compared, wrong, untouched) = (0, 0, 0, 0);
        Self { messages, lost: Some(0), compared, wrong, untouched, how: Contents::default() }
    }
}

/// What became of messages that may be lost, as the peer counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// Messages sent.
    pub sent: u64,
    /// Messages that arrived.
    pub arrived: u64,
}

/// Where packets or messages were lost at a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overflow {
    /// Datagrams that the system dropped because the receive buffer of the socket was full: packets that
    /// receive offload put together count as one.
    pub packets: u64,
    /// Messages that came while no receive was posted, of a service that does not repeat them.
    pub unready: u64,
}

/// What comes of messages that go back and forth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    /// Bytes of a message.
    pub size: u64,
    /// Rounds: there and back.
    pub count: u64,
    /// From the first to the last.
    pub elapsed: Duration,
    /// The time of single rounds.
    pub each: Latency,
    /// Messages that were not what they had to be.
    pub wrong: u64,
    /// The size is the MTU, because a datagram cannot be longer.
    pub clamped: bool,
    /// Packets sent again.
    pub retransmitted: u64,
}

/// A connection to a waiting server that was not a client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ignored {
    /// Where it came from.
    pub from: IpAddr,
    /// Why it was not served.
    pub why: &'static str,
}

/// What the two sides agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// The peer's version of perftest.
    pub version: String,
    /// The peer is `xoff`, too.
    pub ours: bool,
    /// Most payload of a packet.
    pub mtu: u16,
    /// Bytes of a message, if what was asked for does not fit a datagram.
    pub clamped: Option<u64>,
    /// Connections that came before the client's and were not served.
    pub ignored: Vec<Ignored>,
    /// Our side and the peer's of each queue pair, as perftest prints them.
    pub ends: Vec<(End, End)>,
}

/// One end of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The queue pair.
    pub qpn: u32,
    /// Its first packet number.
    pub psn: u32,
    /// The key of its memory.
    pub rkey: u32,
    /// Where its memory begins.
    pub address: u64,
    /// Where it is.
    pub gid: std::net::Ipv6Addr,
}

/// What comes of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// One line for every size.
    pub rows: Vec<Row>,
    /// What was found in the data, if any came to us.
    pub verified: Option<Verified>,
    /// Packets sent again.
    pub retransmitted: u64,
    /// What became of what we sent, of a service that may lose it; only from another xoff.
    pub delivery: Option<Delivery>,
    /// What was lost at us because it came too fast.
    pub overflow: Overflow,
    /// The same at the peer, if it is another xoff.
    pub peer_overflow: Option<Overflow>,
    /// With several queue pairs that send: fewest and most messages of one of them.
    pub shares: Option<(u64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_times() {
        let mut times: Vec<Duration> = (1..=1000).rev().map(Duration::from_micros).collect();
        let latency = Latency::of(&mut times);
        let us = Duration::from_micros;
        assert_eq!((latency.shortest, latency.longest), (us(1), us(1000)));
        assert_eq!((latency.typical, latency.percentile_99), (us(501), us(991)));
        assert_eq!(latency.percentile_999, us(1000));
        assert_eq!(latency.average, Duration::from_nanos(500_500));
        assert!((latency.deviation.as_secs_f64() * 1e6 - 288.67).abs() < 0.01);
        assert_eq!(Latency::of(&mut []), Latency::default());
        assert_eq!(Latency::of(&mut [us(7)]).percentile_999, us(7));
    }
}
