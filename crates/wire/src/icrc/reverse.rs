//! From the difference that a field makes in a CRC back to the field.
//!
//! Shifting a CRC's register can be undone, because the polynomial has a constant term. So the
//! difference is taken back to where the field ends, and there the field can be read off: the
//! register of a sixteen-bit field alone is the field, shifted by a fixed distance.

use super::linear::POLYNOMIAL;
use super::{LAST, TAIL_V4};

/// The identification that makes `difference` in the CRC of an IPv4 packet with `covered` bytes from
/// its base header on, if one does.
pub(super) fn identification(difference: u32, covered: usize) -> Option<u16> {
    // Back before the bytes behind the field, then before its own two: what is left are the bits
    // that were fed in, and they are two bytes wide.
    let register = back(difference, covered + TAIL_V4 + LAST - 2 + 2);
    let field = u16::try_from(register).ok()?;
    // The register takes the first byte lowest.
    Some(field.swap_bytes())
}

/// The register before `bytes` bytes of zeros went through it: times x^(-8 bytes). The powers of two
/// that add up to the number are in a table.
fn back(mut register: u32, bytes: usize) -> u32 {
    for (bit, factor) in BACK.iter().enumerate() {
        if bytes >> bit & 1 == 1 {
            register = multiply(register, *factor);
        }
    }
    register
}

/// x^(-8 * 2^n) for n from 0: enough for any packet.
const BACK: [u32; 17] = {
    let mut table = [0; 17];
    // x to the 0 in the reflected order is the top bit; eight steps back from there.
    let mut factor = 1 << 31;
    let mut step = 0;
    while step < 8 {
        factor = divide_by_x(factor);
        step += 1;
    }
    let mut n = 0;
    while n < table.len() {
        table[n] = factor;
        factor = multiply(factor, factor);
        n += 1;
    }
    table
};

/// The polynomial before it was multiplied by x.
const fn divide_by_x(value: u32) -> u32 {
    // Reflected, multiplication by x shifts right and takes the polynomial away from what falls out.
    // The polynomial has its constant term in the top bit: so that bit shows whether it was.
    if value >> 31 == 1 { (value ^ POLYNOMIAL) << 1 | 1 } else { value << 1 }
}

/// The product of two polynomials modulo the CRC's, both reflected.
const fn multiply(mut a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    // From the coefficient of x^0, the top bit of `b`, on.
    while b != 0 {
        if b >> 31 == 1 {
            product ^= a;
        }
        b <<= 1;
        a = a >> 1 ^ if a & 1 == 1 { POLYNOMIAL } else { 0 };
    }
    product
}

#[cfg(test)]
mod tests {
    use super::super::linear::Contribution;
    use super::*;
    use crate::icrc::{Flow, Icrc};
    use crate::ipv4::Fragment;
    use crate::udp::Port;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    proptest! {
        #[test]
        fn the_field_is_found_again(value in any::<u16>(), covered in 12usize..5000) {
            let difference = Contribution::new(covered + TAIL_V4 + LAST - 2).of(value);
            prop_assert_eq!(identification(difference, covered), Some(value));
        }

        #[test]
        fn of_a_packet_whose_identification_is_not_seen(
            id in any::<u16>(),
            mut covered in proptest::collection::vec(any::<u8>(), 12..300),
            flip in 1u8..,
            at in any::<prop::sample::Index>(),
        ) {
            let source = (Ipv4Addr::new(10, 0, 0, 1), Port(49152));
            let flow = Flow::v4(source, Ipv4Addr::new(10, 0, 0, 2), Fragment::WHOLE);
            let icrc = flow.icrc(id, &covered, &[]);
            prop_assert_eq!(flow.identification(&covered, icrc), Some(id));
            // An error within four bytes is always found where the identification is known, and
            // otherwise but for one in 65,536: so few of these cases may pass that none does.
            let at = at.index(covered.len());
            covered[at] ^= flip;
            let other = flow.identification(&covered, icrc);
            prop_assert!(at == 4 || other != Some(id));
        }
    }

    #[test]
    fn few_corruptions_pass() {
        let source = (Ipv4Addr::new(10, 0, 0, 1), Port(49152));
        let flow = Flow::v4(source, Ipv4Addr::new(10, 0, 0, 2), Fragment::WHOLE);
        let covered = [7; 40];
        let passes =
            |n: u32| flow.identification(&covered, Icrc(n.wrapping_mul(0x9e37_79b9))).is_some();
        let passed = (0..1 << 18).filter(|&n| passes(n)).count();
        assert!(passed < 20, "{passed} of 262144, where 4 are expected");
    }

    #[test]
    fn elsewhere_there_is_nothing_to_find() {
        let flow = Flow::v6((Ipv6Addr::LOCALHOST, Port(1)), Ipv6Addr::LOCALHOST);
        let covered = [7; 40];
        let icrc = flow.icrc(0, &covered, &[]);
        assert_eq!(flow.identification(&covered, icrc), Some(0));
        assert_eq!(flow.identification(&covered, Icrc(icrc.0 ^ 1)), None);
    }
}
