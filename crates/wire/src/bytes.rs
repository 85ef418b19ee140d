//! Fields of fixed-size headers, at offsets that the compiler checks.

/// The `M` bytes at offset `AT`. An offset outside the header does not compile.
#[inline]
pub(crate) fn field<const AT: usize, const M: usize, const N: usize>(bytes: &[u8; N]) -> [u8; M] {
    const { assert!(AT + M <= N, "the field lies outside its header") };
    let mut out = [0; M];
    out.copy_from_slice(&bytes[AT..AT + M]);
    out
}

/// Writes the bytes of a field at offset `AT`.
#[inline]
pub(crate) fn put<const AT: usize, const M: usize, const N: usize>(
    bytes: &mut [u8; N],
    value: [u8; M],
) {
    const { assert!(AT + M <= N, "the field lies outside its header") };
    bytes[AT..AT + M].copy_from_slice(&value);
}

/// Sixteen bits at `AT`.
#[inline]
pub(crate) fn u16_at<const AT: usize, const N: usize>(bytes: &[u8; N]) -> u16 {
    u16::from_be_bytes(field::<AT, 2, N>(bytes))
}

/// Twenty-four bits at `AT`.
#[inline]
pub(crate) fn u24_at<const AT: usize, const N: usize>(bytes: &[u8; N]) -> u32 {
    let [a, b, c] = field::<AT, 3, N>(bytes);
    u32::from_be_bytes([0, a, b, c])
}

/// Thirty-two bits at `AT`.
#[inline]
pub(crate) fn u32_at<const AT: usize, const N: usize>(bytes: &[u8; N]) -> u32 {
    u32::from_be_bytes(field::<AT, 4, N>(bytes))
}

/// Sixty-four bits at `AT`.
#[inline]
pub(crate) fn u64_at<const AT: usize, const N: usize>(bytes: &[u8; N]) -> u64 {
    u64::from_be_bytes(field::<AT, 8, N>(bytes))
}

/// Writes the low twenty-four bits of `value` at `AT`.
#[inline]
pub(crate) fn put_u24<const AT: usize, const N: usize>(bytes: &mut [u8; N], value: u32) {
    let [_, a, b, c] = value.to_be_bytes();
    put::<AT, 3, N>(bytes, [a, b, c]);
}

/// Fills a caller's buffer from the front and remembers when it was too small.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    out: &'a mut [u8],
    len: usize,
    full: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(out: &'a mut [u8]) -> Self {
        Self { out, len: 0, full: false }
    }

    /// Appends `bytes`, if there is room for all of them.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match self.out.get_mut(self.len..self.len + bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.len += bytes.len();
            }
            None => self.full = true,
        }
    }

    /// Bytes written so far.
    pub(crate) fn written(&self) -> &[u8] {
        self.out.get(..self.len).unwrap_or_default()
    }

    /// Bytes written, or `None` if something did not fit.
    pub(crate) fn finish(self) -> Option<usize> {
        (!self.full).then_some(self.len)
    }
}
