//! Pause time and the time a peer may take to obey.

use xoff_units::{Bytes, Rate, Span};

/// Bytes in one pause quantum: 512 bit times.
pub const QUANTUM: Bytes = Bytes::new(64);

/// The pause response of IEEE 802.3 31B.3.7: the most quanta a port may go on sending after a pause
/// frame has arrived, by rate in Gb/s.
const RESPONSE: [(u64, u16); 8] =
    [(10, 67), (25, 80), (40, 118), (50, 147), (100, 394), (200, 453), (400, 905), (800, 905)];

/// Quanta that a port of this rate may take to stop. A rate between two listed ones takes the
/// higher one's figure; above 800G the last figure is kept, for want of a published one.
pub(crate) fn response_quanta(rate: Rate) -> u16 {
    let listed = RESPONSE.iter().find(|(gbps, _)| rate <= Rate::from_gbps(*gbps));
    listed.map_or(RESPONSE[RESPONSE.len() - 1].1, |(_, quanta)| *quanta)
}

/// The time `quanta` take at `rate`.
pub fn quanta_time(quanta: u16, rate: Rate) -> Span {
    rate.time_for(QUANTUM * u64::from(quanta))
}

/// The time a port of this rate may take to stop.
pub fn response_time(rate: Rate) -> Span {
    quanta_time(response_quanta(rate), rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_what_lies_between() {
        assert_eq!(response_quanta(Rate::from_gbps(400)), 905);
        assert_eq!(response_quanta(Rate::from_gbps(56)), 394);
        assert_eq!(response_quanta(Rate::from_gbps(1)), 67);
        assert_eq!(response_quanta(Rate::from_gbps(1600)), 905);
    }

    #[test]
    fn a_full_pause_at_100g_lasts_335_us() {
        assert_eq!(quanta_time(65_535, Rate::from_gbps(100)), Span::from_ps(335_539_200));
        assert_eq!(response_time(Rate::from_gbps(400)), Span::from_ps(905 * 64 * 20));
    }
}
