//! Powers and logarithms from additions, multiplications and divisions alone.
//!
//! Those are exact to the last bit on every machine; the C library's `exp` and `log` are not, and the
//! nodes of a cluster may have different ones. A point must have the same values wherever it runs.

/// The natural logarithm of a number above zero.
#[inline]
pub fn ln(value: f64) -> f64 {
    debug_assert!(value > 0.0 && value.is_finite());
    let (mut mantissa, mut doublings) = (value, 0i32);
    while mantissa > 1.5 {
        mantissa /= 2.0;
        doublings += 1;
    }
    while mantissa < 0.75 {
        mantissa *= 2.0;
        doublings -= 1;
    }
    // ln m = 2 atanh((m - 1) / (m + 1)), whose argument is at most 0.2: every term adds 1.4 digits.
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let (square, mut term, mut sum) = (ratio * ratio, ratio, 0.0);
    for odd in 0..14 {
        sum += term / f64::from(2 * odd + 1);
        term *= square;
    }
    2.0 * sum + f64::from(doublings) * std::f64::consts::LN_2
}

/// The exponential function.
#[inline]
pub fn exp(value: f64) -> f64 {
    let doublings = (value / std::f64::consts::LN_2).round().clamp(-1000.0, 1000.0);
    let rest = value - doublings * std::f64::consts::LN_2;
    let (mut term, mut sum) = (1.0, 1.0);
    for number in 1..20 {
        term *= rest / f64::from(number);
        sum += term;
    }
    let step = if doublings < 0.0 { 0.5 } else { 2.0 };
    (0..doublings.abs() as u32).fold(sum, |product, _| product * step)
}

/// The nearest number of so many significant digits: six are what a file can say, two what people write.
pub fn digits(value: f64, count: usize) -> f64 {
    // The text of a number always parses.
    let after = count.saturating_sub(1);
    format!("{value:.after$e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_are_what_the_library_says(value in 1e-12f64..1e18) {
            prop_assert!((ln(value) - value.ln()).abs() <= 1e-13 * value.ln().abs().max(1.0));
            prop_assert!((exp(ln(value)) / value - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn six_digits_are_kept() {
        assert_eq!(digits(0.1 + 0.2, 6), 0.3);
        assert_eq!(digits(158_489.319, 6), 158_489.0);
        assert_eq!(digits(-1.234_567_8e12, 6), -1.234_57e12);
        assert_eq!(digits(0.0, 6), 0.0);
    }
}
