//! The poll interval while packets come in a stream.
//!
//! Polling a socket slows down the sender that fills it, because the two share its queue, and finds
//! so few packets that almost every message is acknowledged by itself. A pause between two polls
//! finds more at a time, like the interrupt moderation of NICs. It costs latency, so there is one
//! only while many bytes come in and nothing is sent but answers.

use xoff_units::{Instant, Span};

/// Bytes are counted over this time.
const WINDOW: Span = Span::from_us(200);
/// This many bytes in that time are a stream: 10 Gbit/s. Short messages never are, because too few
/// bytes of them are in flight to last for a pause.
const STREAM: u64 = 250_000;

/// What arrived lately, and the poll interval that follows from it.
#[derive(Debug)]
pub(crate) struct Moderation {
    /// The interval between two polls of a stream; zero for none.
    pause: Span,
    since: Instant,
    received: u64,
    /// Something was sent in this window that is no answer.
    talks: bool,
    streams: bool,
}

impl Moderation {
    /// Without pauses.
    pub(crate) fn new() -> Self {
        let (pause, since) = (Span::ZERO, Instant::ZERO);
        Self { pause, since, received: 0, talks: false, streams: false }
    }

    /// Sets the interval between two polls while packets come in a stream.
    pub(crate) fn set(&mut self, pause: Span) {
        self.pause = pause;
    }

    /// A poll found `received` bytes; `talks` if packets of our own were sent as well.
    #[inline]
    pub(crate) fn polled(&mut self, now: Instant, received: u64, talks: bool) {
        self.received += received;
        self.talks |= talks;
        if now.since(self.since) >= WINDOW {
            self.streams = self.received >= STREAM && !self.talks;
            (self.since, self.received, self.talks) = (now, 0, false);
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

    /// Polls every microsecond for a while, finds `each` bytes every time, and returns the interval
    /// that follows.
    fn after(moderation: &mut Moderation, from: u64, each: u64, talks: bool) -> Span {
        for us in from..from + 450 {
            moderation.polled(Instant::ZERO + Span::from_us(us), each, talks);
        }
        moderation.pause()
    }

    #[test]
    fn only_streams_are_paused_for() {
        let mut moderation = Moderation::new();
        assert_eq!(after(&mut moderation, 0, 2500, false), Span::ZERO, "no interval was set");
        moderation.set(PAUSE);
        assert_eq!(after(&mut moderation, 1000, 2500, false), PAUSE);
        assert_eq!(after(&mut moderation, 2000, 0, false), Span::ZERO, "it has ended");
        assert_eq!(after(&mut moderation, 3000, 2500, true), Span::ZERO, "there is a conversation");
        assert_eq!(after(&mut moderation, 4000, 2500, false), PAUSE);
        assert_eq!(after(&mut moderation, 5000, 1000, false), Span::ZERO, "it is too slow");
    }

    #[test]
    fn a_message_now_and_then_is_no_stream() {
        let mut moderation = Moderation::new();
        moderation.set(PAUSE);
        for poll in 0..100 {
            let now = Instant::ZERO + Span::from_us(poll * 100);
            moderation.polled(now, 65_536, false);
            assert_eq!(moderation.pause(), Span::ZERO);
        }
    }
}
