//! Where thresholds may be that a controller moves: steps from the static ones, and bounds.
//!
//! The switch model moves by these, and the table of an agent on a real switch has the same values.

use crate::model::{Adaptive, Ecn};
use xoff_units::{Bytes, Ratio};

/// Thresholds in steps from the static ones: of half an octave for Kmin and Kmax, of an octave for Pmax.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Level {
    /// Steps of Kmin and Kmax.
    pub thresholds: i8,
    /// Steps of Pmax.
    pub pmax: i8,
}

/// Steps that are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    lowest: i8,
    highest: i8,
}

/// Pmax goes from a quarter to eight times its static value, and never beyond 1.
const PMAX: (i8, i8) = (-2, 3);

/// 2^(level / 2), times 2^16.
fn factor(level: i8) -> u64 {
    const ROOT: u64 = 92_682;
    let octaves = u32::from(level.div_euclid(2).unsigned_abs());
    let base = if level.rem_euclid(2) == 0 { 1 << 16 } else { ROOT };
    if level >= 0 { base << octaves } else { base >> octaves }
}

impl Bounds {
    /// Of a controller.
    pub fn new(adaptive: &Adaptive) -> Self {
        // Shares lie between 1/256 and 256: sixteen half octaves.
        let steps = 1..=16;
        let above = |share: Ratio| share.of(1 << 16);
        let up = steps.clone().take_while(|&level| factor(level) <= above(adaptive.highest));
        let down = steps.take_while(|&level| factor(-level) >= above(adaptive.lowest));
        Self { lowest: -down.last().unwrap_or(0), highest: up.last().unwrap_or(0) }
    }

    /// A level moved by so many steps, as far as they are allowed.
    #[must_use]
    pub fn moved(self, level: Level, thresholds: i8, pmax: i8) -> Level {
        if self.lowest == self.highest {
            return level;
        }
        Level {
            thresholds: (level.thresholds + thresholds).clamp(self.lowest, self.highest),
            pmax: (level.pmax + pmax).clamp(PMAX.0, PMAX.1),
        }
    }

    /// Every level of Kmin and Kmax, the lowest first.
    pub fn thresholds(self) -> impl Iterator<Item = Level> {
        (self.lowest..=self.highest).map(|thresholds| Level { thresholds, pmax: 0 })
    }

    /// Every level of Pmax, the lowest first: none but the static one where nothing may move.
    pub fn pmax(self) -> impl Iterator<Item = Level> {
        let (low, high) = if self.lowest == self.highest { (0, 0) } else { PMAX };
        (low..=high).map(|pmax| Level { thresholds: 0, pmax })
    }
}

impl Level {
    /// The static thresholds, moved.
    #[must_use]
    pub fn applied(self, ecn: Ecn) -> Ecn {
        let scaled = |bytes: Bytes| {
            let wide = (u128::from(bytes.get()) * u128::from(factor(self.thresholds))) >> 16;
            Bytes::new(wide.min(u128::from(u64::MAX >> 16)) as u64)
        };
        let pmax = match self.pmax {
            up @ 0.. => Ratio::new(ecn.pmax.numerator() << up, ecn.pmax.denominator()),
            down => Ratio::new(ecn.pmax.numerator(), ecn.pmax.denominator() << -down),
        };
        Ecn { kmin: scaled(ecn.kmin), kmax: scaled(ecn.kmax), pmax: pmax.min(Ratio::ONE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Policy;
    use xoff_units::Span;

    const ECN: Ecn =
        Ecn { kmin: Bytes::new(100_000), kmax: Bytes::new(400_000), pmax: Ratio::new(1, 5) };

    fn bounds(lowest: Ratio, highest: Ratio) -> Bounds {
        let (us, policy) = (Span::from_us, Policy::default());
        let (interval, delay, cost) = (us(500), us(50), us(1));
        Bounds::new(&Adaptive { interval, delay, cost, lowest, highest, policy })
    }

    #[test]
    fn steps_are_half_octaves_within_bounds() {
        let own = bounds(Ratio::new(1, 8), Ratio::new(3, 1));
        assert_eq!((own.lowest, own.highest), (-6, 3), "1/8 and 2.83");
        let kmin: Vec<u64> = own.thresholds().map(|level| level.applied(ECN).kmin.get()).collect();
        assert_eq!(kmin[..3], [12_500, 17_677, 25_000]);
        assert_eq!(kmin[5..], [70_710, 100_000, 141_421, 200_000, 282_843]);
        let pmax: Vec<Ratio> = own.pmax().map(|level| level.applied(ECN).pmax).collect();
        let expected = [(1, 20), (1, 10), (1, 5), (2, 5), (4, 5), (1, 1)];
        let expected = expected.map(|(part, whole)| Ratio::new(part, whole));
        assert_eq!(pmax, expected, "a probability is never above 1");
        let alone = bounds(Ratio::ONE, Ratio::ONE);
        assert_eq!((alone.lowest, alone.highest), (0, 0));
        assert_eq!((alone.thresholds().count(), alone.pmax().count()), (1, 1));
        let home = Level::default();
        assert_eq!(alone.moved(home, 3, 1), home);
        assert_eq!(own.moved(home, 9, -9), Level { thresholds: 3, pmax: -2 });
    }
}
