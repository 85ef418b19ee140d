//! [`Digest`]: a short number that two equal runs share.

/// A hash over the numbers of a result, in the order they are handed over. Two runs with the same
/// digest gave the same result. It is no protection against forgery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    low: u64,
    high: u64,
}

impl Digest {
    /// The digest of nothing.
    pub const fn new() -> Self {
        // Digits of pi: any two different odd-looking numbers would do.
        Self { low: 0x243f_6a88_85a3_08d3, high: 0x1319_8a2e_0370_7344 }
    }

    /// Takes in one number. Order matters.
    pub const fn add(&mut self, value: u64) {
        self.low = mix(self.low ^ value);
        self.high =
            mix(self.high.rotate_left(23) ^ value.wrapping_mul(0x9e37_79b9_7f4a_7c15)) ^ self.low;
    }

    /// Takes in several numbers.
    pub fn extend(&mut self, values: impl IntoIterator<Item = u64>) {
        for value in values {
            self.add(value);
        }
    }

    /// Takes in text, with its length, so that `ab`, `c` differs from `a`, `bc`.
    pub fn add_text(&mut self, text: &str) {
        self.add(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    /// The digest as 32 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        format!("{:016x}{:016x}", self.high, self.low)
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

/// A bijection of 64 bits in which every input bit reaches every output bit: two rounds of
/// multiply and shift, after a step that keeps zero from being a fixed point.
const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> String {
        let mut digest = Digest::new();
        digest.extend(values.iter().copied());
        digest.to_hex()
    }

    #[test]
    fn stays_the_same_between_versions() {
        // Digests are compared across builds: a change here is a change of results.
        assert_eq!(of(&[]), "13198a2e03707344243f6a8885a308d3");
        assert_eq!(of(&[1, 2, 3]), "500a72f528f620f00ec67817a4a5dda8");
    }

    #[test]
    fn text_keeps_its_borders() {
        let of = |parts: &[&str]| {
            let mut digest = Digest::new();
            parts.iter().for_each(|part| digest.add_text(part));
            digest.to_hex()
        };
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a"]), of(&["a\0"]));
    }

    proptest! {
        #[test]
        fn any_change_shows(
            values in prop::collection::vec(any::<u64>(), 1..20), at in any::<prop::sample::Index>(), bit in 0u32..64,
        ) {
            let mut other = values.clone();
            let at = at.index(values.len());
            other[at] ^= 1 << bit;
            prop_assert_ne!(of(&values), of(&other));
            let mut longer = values.clone();
            longer.push(0);
            prop_assert_ne!(of(&values), of(&longer));
        }

        #[test]
        fn order_matters(a in any::<u64>(), b in any::<u64>()) {
            prop_assume!(a != b);
            prop_assert_ne!(of(&[a, b]), of(&[b, a]));
        }
    }
}
