//! [`Stream`]: random numbers that depend on nothing but seed, entity and purpose.
//!
//! Everything random in a run draws from a stream of its own (this port's marks, that NIC's
//! arrivals), so that one draw more in one place moves no draw in another.

/// A stream of random numbers: a counter with a stride of its own, scrambled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    counter: u64,
    /// Odd, so that the counter visits every value. Different strides keep streams from being
    /// shifted copies of each other.
    stride: u64,
}

impl Stream {
    /// The stream of `entity` (a port, a NIC, …) for `purpose` in the run with this `seed`.
    pub fn new(seed: u64, entity: u64, purpose: &'static str) -> Self {
        let purpose = purpose.bytes().fold(purpose.len() as u64, |h, b| hash(h, u64::from(b)));
        let counter = hash(hash(hash(0, seed), purpose), entity);
        Self { counter, stride: hash(counter, 1) | 1 }
    }

    /// The next number, every one equally likely.
    pub const fn next_u64(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(self.stride);
        scramble(self.counter)
    }

    /// A number below `bound`, every one equally likely; 0 where there is none.
    pub const fn below(&mut self, bound: u64) -> u64 {
        // The high half of number x bound is nearly uniform. It is exactly so once the draws are
        // left out whose low half falls into the remainder of 2^64 / bound.
        if bound == 0 {
            return 0;
        }
        let remainder = bound.wrapping_neg() % bound;
        loop {
            let product = self.next_u64() as u128 * bound as u128;
            if product as u64 >= remainder {
                return (product >> 64) as u64;
            }
        }
    }

    /// True with probability `threshold` / 2^64; always where `threshold` is the largest.
    pub const fn chance(&mut self, threshold: u64) -> bool {
        self.next_u64() < threshold || threshold == u64::MAX
    }

    /// Puts `items` into an order, every one equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

/// A number that depends on every bit of both, and on their order.
pub(crate) const fn hash(a: u64, b: u64) -> u64 {
    scramble(
        scramble(a.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ b.wrapping_mul(0xd1b5_4a32_d192_ed03),
    )
}

/// A bijection of 64 bits in which every input bit flips each output bit half of the time: the
/// finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), in its "mix 13" constants.
const fn scramble(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn stays_the_same_between_versions() {
        // Results depend on these numbers: a change here is a change of every result.
        let mut stream = Stream::new(1, 2, "test");
        let drawn: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(drawn, [1973355219309276409, 14526611203842635606, 16708991897070991532]);
    }

    #[test]
    fn seed_entity_and_purpose_each_matter() {
        let streams =
            [(1, 2, "a"), (2, 1, "a"), (1, 2, "b"), (1, 3, "a"), (1, 2, "aa"), (0, 0, "")];
        let first: BTreeSet<u64> =
            streams.iter().map(|&(s, e, p)| Stream::new(s, e, p).next_u64()).collect();
        assert_eq!(first.len(), streams.len());
    }

    #[test]
    fn bits_are_fair_within_and_across_streams() {
        let mut ones = [[0u32; 64]; 2];
        let mut one = Stream::new(1, 0, "test");
        for entity in 0..10_000 {
            for (count, number) in
                ones.iter_mut().zip([one.next_u64(), Stream::new(1, entity, "other").next_u64()])
            {
                (0..64).for_each(|bit| count[bit] += (number >> bit & 1) as u32);
            }
        }
        // 5,000 expected, standard deviation 50: six of them.
        for (bit, &count) in ones.as_flattened().iter().enumerate() {
            assert!((4_700..=5_300).contains(&count), "bit {bit}: {count}");
        }
    }

    #[test]
    fn draws_below_are_even() {
        let mut stream = Stream::new(7, 0, "test");
        let mut seen = [0u32; 6];
        (0..60_000).for_each(|_| seen[stream.below(6) as usize] += 1);
        assert!(seen.iter().all(|&count| (9_400..=10_600).contains(&count)), "{seen:?}");
        assert_eq!((stream.below(0), stream.below(1)), (0, 0));
        // Where almost half of all draws must be left out.
        let bound = (1 << 63) + 1;
        assert!((0..100).all(|_| stream.below(bound) < bound));
    }

    #[test]
    fn chances_at_the_ends() {
        let mut stream = Stream::new(7, 0, "test");
        assert!((0..1000).all(|_| !stream.chance(0)));
        assert!((0..1000).all(|_| stream.chance(u64::MAX)));
        let quarter = (0..40_000).filter(|_| stream.chance(1 << 62)).count();
        assert!((9_400..=10_600).contains(&quarter), "{quarter}");
    }

    proptest! {
        #[test]
        fn a_shuffle_loses_nothing(seed in any::<u64>(), count in 0usize..50) {
            let mut items: Vec<usize> = (0..count).collect();
            Stream::new(seed, 0, "test").shuffle(&mut items);
            items.sort_unstable();
            prop_assert_eq!(items, (0..count).collect::<Vec<_>>());
        }
    }
}
