//! Exponentially distributed numbers without floating point, whose `ln` differs between machines.

/// ln 2 in units of 1/2^64.
const LN_2: u128 = 0xb172_17f7_d1cf_79ab;

/// Fraction bits of the results.
pub(crate) const FRACTION_BITS: u32 = 32;

/// `-ln(u)` for `u = (uniform + 1) / 2^64`, in units of 1/2^32: exponentially distributed with mean 1
/// when `uniform` is uniform. At most 64 ln 2 = 44.4; within 2^-31 of the exact value.
pub(crate) fn exponential(uniform: u64) -> u64 {
    let Some(number) = uniform.checked_add(1) else {
        return 0;
    };
    let halvings = (64u64 << FRACTION_BITS) - log2(number);
    ((u128::from(halvings) * LN_2) >> 64) as u64
}

/// The logarithm to base 2 of a positive number in units of 1/2^32, rounded down.
///
/// The whole part is the place of the highest bit. Squaring what is left (between 1 and 2) doubles
/// its logarithm: the next bit of the fraction is whether the square reaches 2. The squares are cut
/// to 63 fraction bits; 32 of them together shift the result by less than 2^-56.
fn log2(number: u64) -> u64 {
    debug_assert!(number > 0);
    let whole = 63 - number.leading_zeros();
    let mut rest = number << number.leading_zeros();
    let mut fraction = 0;
    for _ in 0..FRACTION_BITS {
        let square = u128::from(rest) * u128::from(rest);
        fraction <<= 1;
        // `rest` has its point after the highest bit, so `square` has two bits before the point.
        if square >> 127 == 1 {
            fraction |= 1;
            rest = (square >> 64) as u64;
        } else {
            rest = (square >> 63) as u64;
        }
    }
    (u64::from(whole) << FRACTION_BITS) | fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;
    use proptest::prelude::*;

    const ONE: f64 = (1u64 << FRACTION_BITS) as f64;

    #[test]
    fn powers_of_two_are_exact() {
        for bit in 0..64u32 {
            assert_eq!(log2(1 << bit), u64::from(bit) << FRACTION_BITS);
        }
        assert_eq!(exponential(u64::MAX), 0);
        assert_eq!(exponential(0), (44.361_419_555_836_5 * ONE) as u64);
    }

    #[test]
    fn mean_and_spread_are_those_of_the_exponential() {
        let mut stream = Stream::new(1, 0, "test");
        let count = 200_000;
        let drawn: Vec<f64> =
            (0..count).map(|_| exponential(stream.next_u64()) as f64 / ONE).collect();
        let mean = drawn.iter().sum::<f64>() / f64::from(count);
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(count);
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((variance - 1.0).abs() < 0.04, "{variance}");
    }

    proptest! {
        #[test]
        fn agrees_with_floating_point(uniform in any::<u64>(), shift in 0u32..64) {
            let uniform = uniform >> shift;
            let exact = -((uniform as f64 + 1.0) / 2f64.powi(64)).ln();
            let ours = exponential(uniform) as f64 / ONE;
            prop_assert!((ours - exact).abs() < 2f64.powi(-31), "{} {}", ours, exact);
        }

        #[test]
        fn never_rises(a in any::<u64>(), b in any::<u64>()) {
            prop_assert!(exponential(a.min(b)) >= exponential(a.max(b)));
        }
    }
}
