//! The ECMP hash: what a switch makes of a flow's headers, and which of its equal paths that means.
//!
//! The entropy depends on the flow alone, so a simulator computes it once per flow; the pick adds
//! the switch's seed. Two switches with the same seed and the same number of paths pick the same
//! index for every flow: that is polarisation, and it is meant to be reproducible.

use crate::model::HashFields;

/// Spreads every bit of the input over the output; a bijection, so nothing is lost.
#[inline(always)]
const fn mix(value: u32) -> u32 {
    let mut x = value;
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

const fn fold(state: u32, word: u32) -> u32 {
    mix(state.rotate_left(7) ^ word.wrapping_add(0x9e37_79b9))
}

/// The hash of a flow's header fields. Addresses stand for the NICs' numbers.
pub const fn flow_entropy(
    fields: HashFields,
    source: u32,
    destination: u32,
    source_port: u16,
    dest_qp: u32,
) -> u32 {
    let mut state = 0x5bd1_e995;
    if fields.addresses {
        state = fold(fold(state, source), destination);
    }
    if fields.source_port {
        state = fold(state, source_port as u32);
    }
    if fields.dest_qp {
        state = fold(state, dest_qp);
    }
    state
}

/// Which of `count` equal paths a switch with this seed takes; zero when there is no choice.
#[inline]
pub const fn pick(entropy: u32, seed: u32, count: usize) -> usize {
    pick_mixed(entropy, mixed(seed), count)
}

/// The part of [`pick`] that depends on the switch alone, for callers that pick often.
pub const fn mixed(seed: u32) -> u32 {
    mix(seed ^ 0x27d4_eb2f)
}

/// [`pick`] with a seed that went through [`mixed`].
#[inline(always)]
pub const fn pick_mixed(entropy: u32, mixed: u32, count: usize) -> usize {
    let spread = mix(entropy ^ mixed) as u64;
    ((spread * count as u64) >> 32) as usize
}

/// The seed a switch gets when the file asks for one per switch.
pub const fn seed_of(switch: u32) -> u32 {
    mix(switch.wrapping_add(0x1656_67b1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: HashFields = HashFields { addresses: true, source_port: true, dest_qp: true };

    fn flows() -> impl Iterator<Item = u32> {
        (0..8192u32).map(|i| flow_entropy(ALL, i % 64, i % 61 + 64, (i * 7) as u16 | 0xc000, i))
    }

    /// Share of the second tier's paths used by flows that took path 0 at the first tier.
    fn used_above(first_seed: u32, second_seed: u32) -> usize {
        let mut seen = [false; 8];
        for entropy in flows().filter(|&e| pick(e, first_seed, 8) == 0) {
            seen[pick(entropy, second_seed, 8)] = true;
        }
        seen.iter().filter(|&&s| s).count()
    }

    #[test]
    fn equal_seeds_polarise_and_different_ones_do_not() {
        assert_eq!(used_above(7, 7), 1);
        for switch in 0..64 {
            assert_eq!(used_above(seed_of(switch), seed_of(switch + 1)), 8, "switch {switch}");
        }
    }

    #[test]
    fn flows_spread_evenly() {
        for count in [2usize, 3, 8, 16, 63] {
            let mut load = vec![0u32; count];
            flows().for_each(|e| load[pick(e, seed_of(3), count)] += 1);
            let fair = 8192.0 / count as f64;
            for l in load {
                assert!((f64::from(l) - fair).abs() < 6.0 * fair.sqrt(), "{l} of {fair}");
            }
        }
    }

    #[test]
    fn only_the_chosen_fields_count() {
        let addresses = HashFields { addresses: true, source_port: false, dest_qp: false };
        assert_eq!(flow_entropy(addresses, 1, 2, 3, 4), flow_entropy(addresses, 1, 2, 30, 40));
        assert_ne!(flow_entropy(addresses, 1, 2, 3, 4), flow_entropy(addresses, 2, 1, 3, 4));
        let port = HashFields { addresses: false, source_port: true, dest_qp: false };
        assert_eq!(flow_entropy(port, 1, 2, 3, 4), flow_entropy(port, 5, 6, 3, 7));
        assert_ne!(flow_entropy(port, 1, 2, 3, 4), flow_entropy(port, 1, 2, 4, 4));
    }

    proptest! {
        #[test]
        fn a_pick_is_in_range(entropy: u32, seed: u32, count in 1usize..100_000) {
            prop_assert!(pick(entropy, seed, count) < count);
        }
    }
}
