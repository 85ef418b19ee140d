//! The five-bit code for how long to wait when the receiver is not ready (IBTA 9.7.5.2.8).

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

#[cfg(test)]
mod tests {
    use super::*;

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
