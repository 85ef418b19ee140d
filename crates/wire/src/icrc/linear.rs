//! What a sixteen-bit field adds to a CRC, by table.

/// The polynomial of Ethernet's CRC-32, least significant bit first.
pub(super) const POLYNOMIAL: u32 = 0xedb8_8320;

/// The CRCs of a two-byte field followed by a fixed number of zeros, without initial value and
/// final complement: one table per nibble. Added to the CRC of the same bytes with zeros in the
/// field it gives that of the bytes with the field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contribution([[u32; 16]; 4]);

impl Contribution {
    /// That of a field with `after` bytes behind it.
    pub(super) const fn new(after: usize) -> Self {
        let mut tables = [[0; 16]; 4];
        let mut nibble = 0;
        while nibble < 4 {
            // Nibble 0 is the high one of the first byte.
            let shift = if nibble % 2 == 0 { 4 } else { 0 };
            let zeros = after + if nibble < 2 { 1 } else { 0 };
            let mut value = 0;
            while value < 16 {
                tables[nibble][value] = run((value as u32) << shift, zeros + 1);
                value += 1;
            }
            nibble += 1;
        }
        Self(tables)
    }

    /// What `value` adds.
    #[inline]
    pub(super) fn of(&self, value: u16) -> u32 {
        let [a, b, c, d] = &self.0;
        let nibble = |shift: u16| usize::from(value >> shift & 15);
        a[nibble(12)] ^ b[nibble(8)] ^ c[nibble(4)] ^ d[nibble(0)]
    }
}

/// The register after `bytes` bytes of shifting.
const fn run(mut register: u32, bytes: usize) -> u32 {
    let mut bit = 0;
    while bit < bytes * 8 {
        let low = register & 1;
        register = register >> 1 ^ if low == 1 { POLYNOMIAL } else { 0 };
        bit += 1;
    }
    register
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_crc_with_the_field_is_one_without_plus_its_contribution(
            before in proptest::collection::vec(any::<u8>(), 0..20),
            value in any::<u16>(),
            after in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let crc = |field: u16| {
                crc32fast::hash(&[&before[..], &field.to_be_bytes(), &after].concat())
            };
            prop_assert_eq!(crc(0) ^ Contribution::new(after.len()).of(value), crc(value));
        }
    }
}
