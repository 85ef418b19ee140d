//! How many links carry what comes from below.

use xoff_units::{Rate, Ratio};

/// Uplinks that carry `links` downlinks at an oversubscription of `ratio`; rates are (down, up).
pub fn links_above(links: u64, ratio: Ratio, (down, up): (Rate, Rate)) -> u64 {
    let wanted = u128::from(links) * u128::from(down.bps()) * u128::from(ratio.denominator());
    let each = u128::from(up.bps()).saturating_mul(u128::from(ratio.numerator())).max(1);
    u64::try_from(wanted.div_ceil(each)).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversubscription_halves_the_uplinks() {
        let rates = (Rate::from_gbps(400), Rate::from_gbps(800));
        assert_eq!(links_above(64, Ratio::ONE, rates), 32);
        assert_eq!(links_above(64, Ratio::new(2, 1), rates), 16);
        assert_eq!(links_above(1, Ratio::new(100, 1), rates), 1);
    }
}
