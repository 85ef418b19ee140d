//! How much is in flight, and the poll interval of a receiver.
//!
//! The more may be in flight, the longer the receiver's poll interval may be, which is less work
//! for both sides; but what arrives must be kept until the next poll. So each side says how much it
//! can keep.

use crate::host_config;
use xoff_units::{Bytes, Span};

/// The most that a queue pair of a test has in flight.
const MOST: Bytes = Bytes::new(768 << 10);
/// How long a receiver pauses while packets come in a stream, and what has to be in flight then, so
/// that it lasts: twice the pause at 50 Gbit/s.
const PAUSE: Span = Span::from_us(40);
const LASTING: Bytes = Bytes::new(512 << 10);
/// Of what is kept for a receiver, the part that is used; the rest is for what the system adds.
const USED: u64 = 4;

/// The window of each of `pairs` queue pairs whose peer can keep `kept` of what they send together.
/// A peer that does not say gets the usual one.
pub(super) fn window(kept: Bytes, pairs: usize) -> Bytes {
    let usual = host_config().window;
    Bytes::new(kept.get() / USED / pairs.max(1) as u64).clamp(usual, MOST)
}

/// The poll interval of a receiver whose peer has `in_flight` in flight.
pub(super) fn pause(in_flight: Bytes) -> Span {
    if in_flight >= LASTING { PAUSE } else { Span::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_fit_what_is_kept() {
        let usual = host_config().window;
        assert_eq!(window(Bytes::ZERO, 1), usual);
        assert_eq!(window(Bytes::new(425_984), 1), usual, "without rights");
        assert_eq!(window(Bytes::new(8 << 20), 1), MOST);
        assert_eq!(window(Bytes::new(8 << 20), 4), Bytes::new(512 << 10));
        assert_eq!(window(Bytes::MAX, 0), MOST);
        assert_eq!((pause(usual), pause(LASTING)), (Span::ZERO, PAUSE));
    }
}
