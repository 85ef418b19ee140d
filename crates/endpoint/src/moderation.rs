//! How often to look for packets while they come in a stream.
//!
//! Every look at a socket costs whoever fills it, because the two share its queue, and finds so
//! little that almost every message is acknowledged by itself. Who waits a moment between two looks
//! finds more at a time, as network cards do that hold their interrupts back. What that costs is
//! latency, so it is done only while many bytes come and nothing is sent but answers.

use xoff_units::{Instant, Span};

/// Bytes are counted for so long.
const WINDOW: Span = Span::from_us(200);
/// So many bytes in that time are a stream: 10 Gbit/s. Short messages are none, because of them there
/// are never enough in flight to last for a pause.
const STREAM: u64 = 250_000;

/// What has come lately, and what follows from it.
#[derive(Debug)]
pub(crate) struct Moderation {
    /// The pause between two looks; none if zero.
    pause: Span,
    since: Instant,
    received: u64,
    /// Something was sent that is no answer.
    talks: bool,
    streams: bool,
}

impl Moderation {
    /// Without pauses.
    pub(crate) fn new() -> Self {
        let (pause, since) = (Span::ZERO, Instant::ZERO);
        Self { pause, since, received: 0, talks: false, streams: false }
    }

    /// Pauses for so long while packets come in a stream.
    pub(crate) fn set(&mut self, pause: Span) {
        self.pause = pause;
    }

    /// A look found so many bytes, and packets of our own were sent if `talks`.
    #[inline]
    pub(crate) fn looked(&mut self, now: Instant, received: u64, talks: bool) {
        self.received += received;
        self.talks |= talks;
        if now.since(self.since) >= WINDOW {
            self.streams = self.received >= STREAM && !self.talks;
            (self.since, self.received, self.talks) = (now, 0, false);
        }
    }

    /// How long to wait before the next look.
    #[inline]
    pub(crate) fn pause(&self) -> Span {
        if self.streams { self.pause } else { Span::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Span = Span::from_us(40);

    /// Looks every microsecond for a while, finds `each` bytes every time, and says how long the pauses
    /// are then.
    fn after(moderation: &mut Moderation, from: u64, each: u64, talks: bool) -> Span {
        for us in from..from + 450 {
            moderation.looked(Instant::ZERO + Span::from_us(us), each, talks);
        }
        moderation.pause()
    }

    #[test]
    fn only_streams_are_paused_for() {
        let mut moderation = Moderation::new();
        assert_eq!(after(&mut moderation, 0, 2500, false), Span::ZERO, "nobody asked for pauses");
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
        for look in 0..100 {
            let now = Instant::ZERO + Span::from_us(look * 100);
            moderation.looked(now, 65_536, false);
            assert_eq!(moderation.pause(), Span::ZERO);
        }
    }
}
