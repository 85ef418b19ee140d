//! The five-bit code for how long to wait when the receiver is not ready (IBTA 9.7.5.2.8), and how
//! often a peer answered without letting anything through.

use xoff_units::Span;

/// Delays by code, in units of 10 us.
const DELAYS: [u64; 32] = [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

/// The delay a code stands for.
pub(crate) fn delay(code: u8) -> Span {
    Span::from_us(10) * DELAYS[usize::from(code & 0x1f)]
}

/// The shortest delay that is at least `span`, or the longest there is.
pub(crate) fn code(span: Span) -> u8 {
    (1..32).find(|&code| delay(code) >= span).unwrap_or(0)
}

/// How often, since the last progress, the peer was not ready (in the lower half) or requested what
/// it was sent before once more (in the upper half), each up to fifteen: in one byte, because a queue
/// pair has no room for two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TurnedAway(u8);

impl TurnedAway {
    const MOST: u8 = 15;
    const REPEAT: u8 = 16;

    pub(crate) fn count_wait(&mut self) {
        self.0 += u8::from(self.waits() < Self::MOST);
    }

    pub(crate) fn count_repeat(&mut self) {
        if self.0 / Self::REPEAT < Self::MOST {
            self.0 += Self::REPEAT;
        }
    }

    /// How often it was not ready.
    pub(crate) fn waits(self) -> u8 {
        self.0 & Self::MOST
    }

    /// Whether there was no more than one such answer.
    pub(crate) fn is_first(self) -> bool {
        self.waits() + self.0 / Self::REPEAT <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_counts_stay_apart() {
        let mut counts = TurnedAway::default();
        assert!(counts.is_first());
        counts.count_wait();
        assert!(counts.is_first() && counts.waits() == 1);
        for repeats in 1..100 {
            counts.count_repeat();
            assert_eq!((counts.waits(), counts.0 >> 4), (1, repeats.min(15)));
            assert!(!counts.is_first());
        }
        (0..100).for_each(|_| counts.count_wait());
        assert_eq!((counts.waits(), counts.0 >> 4), (15, 15));
        let mut counts = TurnedAway::default();
        counts.count_repeat();
        assert!(counts.is_first());
        counts.count_repeat();
        assert!(!counts.is_first() && counts.waits() == 0);
    }

    #[test]
    fn codes_round_up() {
        assert_eq!(delay(code(Span::from_us(10))), Span::from_us(10));
        assert_eq!(delay(code(Span::from_us(45))), Span::from_us(60));
        assert_eq!(delay(code(Span::ZERO)), Span::from_us(10));
        assert_eq!(delay(code(Span::from_ms(500))), Span::from_us(655_360));
        assert_eq!(delay(code(Span::MAX)), Span::from_us(655_360));
        assert_eq!(delay(0xff), Span::from_us(491_520));
    }
}
