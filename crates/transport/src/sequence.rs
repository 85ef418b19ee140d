//! Packet numbers that never wrap.
//!
//! Inside, a packet's number has 64 bits, and its low 24 are the PSN on the wire. It starts one lap
//! above zero, so that a PSN half a lap back never leads below it.

use xoff_wire::Psn;

/// "None": larger than any number in use.
pub(crate) const NEVER: u64 = u64::MAX;

/// Half the number space: numbers further apart than this cannot be distinguished by their PSNs.
pub(crate) const HALF_LAP: u64 = 1 << 23;

/// The number a queue pair starts with.
pub(crate) const fn start(psn: Psn) -> u64 {
    (1 << 24) + psn.get() as u64
}

/// The PSN of a number.
#[inline]
pub(crate) const fn psn(number: u64) -> Psn {
    Psn::new(number as u32)
}

/// The number nearest to `reference` that has this PSN.
#[inline]
pub(crate) const fn near(reference: u64, psn: Psn) -> u64 {
    reference.wrapping_add_signed(psn.distance_from(Psn::new(reference as u32)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_psn_finds_its_number_again(base in (1u64 << 24)..1 << 60, step in -8_388_608i64..8_388_608) {
            let number = base.wrapping_add_signed(step);
            prop_assert_eq!(near(base, psn(number)), number);
        }
    }
}
