//! Packet sequence numbers, queue pair numbers, keys.

use std::fmt;

const MASK: u32 = 0x00ff_ffff;

/// A packet sequence number: 24 bits, compared with wrap-around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Psn(u32);

impl Psn {
    /// The low 24 bits of `value`.
    pub const fn new(value: u32) -> Self {
        Self(value & MASK)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number `count` packets later.
    #[must_use]
    pub const fn plus(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count) & MASK)
    }

    /// How far `self` is ahead of `other`: positive if later, negative if earlier, within half the
    /// number space either way.
    pub const fn distance_from(self, other: Self) -> i32 {
        let difference = self.0.wrapping_sub(other.0) & MASK;
        // Bit 23 is the sign; move it to bit 31 and back.
        ((difference << 8) as i32) >> 8
    }

    /// Whether `self` comes before `other`.
    pub const fn is_before(self, other: Self) -> bool {
        self.distance_from(other) < 0
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A queue pair number: 24 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Qpn(u32);

impl Qpn {
    /// The low 24 bits of `value`.
    pub const fn new(value: u32) -> Self {
        Self(value & MASK)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Qpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:06x}", self.0)
    }
}

/// The key of a memory region, which a peer must know to reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rkey(pub u32);

impl fmt::Display for Rkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn order_wraps() {
        assert!(Psn::new(0xff_ffff).is_before(Psn::new(0)));
        assert!(!Psn::new(0).is_before(Psn::new(0xff_ffff)));
        assert_eq!(Psn::new(5).distance_from(Psn::new(0xff_fffe)), 7);
    }

    proptest! {
        #[test]
        fn plus_and_distance_agree(start in 0u32..1 << 24, step in 0u32..1 << 23) {
            let psn = Psn::new(start);
            prop_assert_eq!(psn.plus(step).distance_from(psn), step as i32);
        }
    }
}
