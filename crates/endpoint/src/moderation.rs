//! The poll interval while bytes go one way in a stream.
//!
//! Polling a socket slows down the other side, because the two share its queue, and finds so few
//! packets that almost every message is acknowledged by itself. A pause between two polls finds more
//! at a time, like the interrupt moderation of NICs, and leaves the core to others meanwhile: to a
//! receiver until the next packets are there, to a sender until there is room in its windows again.
//! It costs latency, so there is one only while many bytes go one way and hardly any the other.

use xoff_units::{Instant, Span};

/// Bytes are counted over this time.
const WINDOW: Span = Span::from_us(200);
/// This many bytes in that time are a stream: 10 Gbit/s. Short messages never are, because too few
/// bytes of them are in flight to last for a pause.
const STREAM: u64 = 250_000;
/// Of a stream, the part that goes the other way at most: answers and requests, and not messages.
const ONE_WAY: u64 = 16;

/// What came and went lately, and the poll interval that follows from it.
#[derive(Debug)]
pub(crate) struct Moderation {
    /// The interval between two polls of a stream; zero for none.
    pause: Span,
    since: Instant,
    received: u64,
    sent: u64,
    streams: bool,
}

impl Moderation {
    /// Without pauses.
    pub(crate) fn new() -> Self {
        let (pause, since) = (Span::ZERO, Instant::ZERO);
        Self { pause, since, received: 0, sent: 0, streams: false }
    }

    /// Sets the interval between two polls while there is a stream.
    pub(crate) fn set(&mut self, pause: Span) {
        self.pause = pause;
    }

    /// A poll found `received` bytes, and `sent` bytes were made since the one before.
    #[inline]
    pub(crate) fn polled(&mut self, now: Instant, received: u64, sent: u64) {
        self.received += received;
        self.sent += sent;
        if now.since(self.since) >= WINDOW {
            let (less, more) = (self.received.min(self.sent), self.received.max(self.sent));
            self.streams = more >= STREAM && less <= more / ONE_WAY;
            (self.since, self.received, self.sent) = (now, 0, 0);
        }
    }

    /// How long to wait before the next poll.
    #[inline]
    pub(crate) fn pause(&self) -> Span {
        if self.streams { self.pause } else { Span::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Span = Span::from_us(40);

    /// Polls every microsecond for a while, finds and sends as many bytes every time, and returns the
    /// interval that follows.
    fn after(moderation: &mut Moderation, from: u64, received: u64, sent: u64) -> Span {
        for us in from..from + 450 {
            moderation.polled(Instant::ZERO + Span::from_us(us), received, sent);
        }
        moderation.pause()
    }

    #[test]
    fn only_streams_are_paused_for() {
        let mut moderation = Moderation::new();
        assert_eq!(after(&mut moderation, 0, 2500, 0), Span::ZERO, "no interval was set");
        moderation.set(PAUSE);
        for (from, more) in [(1000, 2500), (5000, 5000)] {
            assert_eq!(after(&mut moderation, from, more, 0), PAUSE);
            assert_eq!(after(&mut moderation, from + 1000, 0, 0), Span::ZERO, "it has ended");
            assert_eq!(after(&mut moderation, from + 2000, more, 100), PAUSE, "answers");
            assert_eq!(after(&mut moderation, from + 3000, 100, more), PAUSE, "a sender");
        }
        assert_eq!(after(&mut moderation, 10_000, 2500, 2500), Span::ZERO, "both ways");
        assert_eq!(after(&mut moderation, 11_000, 2500, 400), Span::ZERO, "a conversation");
        assert_eq!(after(&mut moderation, 12_000, 1000, 0), Span::ZERO, "it is too slow");
        assert_eq!(after(&mut moderation, 13_000, 0, 1000), Span::ZERO, "it is too slow");
    }

    #[test]
    fn a_message_now_and_then_is_no_stream() {
        let mut moderation = Moderation::new();
        moderation.set(PAUSE);
        for poll in 0..100 {
            let now = Instant::ZERO + Span::from_us(poll * 100);
            let (received, sent) = if poll % 2 == 0 { (65_536, 0) } else { (0, 65_536) };
            moderation.polled(now, received, sent);
            assert_eq!(moderation.pause(), Span::ZERO);
        }
    }
}
