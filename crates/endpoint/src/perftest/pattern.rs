//! What is in the messages, and whether it arrived.
//!
//! Between two xoff ends every message differs from every other: a sequence that both sides compute
//! from the sender's first packet number, with the message's number folded into both ends. The
//! stock tools fill their memory once with the low bytes of the C library's `rand`. That generator
//! adds its values of 3 and 31 steps ago and drops the lowest bit, so each byte is the sum of those
//! two bytes or one more, whatever the seed: of corrupted bytes, 254 of 256 are noticed.

/// A short run of bytes at either end of a message that carries its number.
const STAMP: usize = 8;

/// Steps back in the C library's generator.
const LAGS: (usize, usize) = (3, 31);

/// The body that all messages of one sender share.
#[derive(Debug, Clone)]
pub(super) struct Body {
    bytes: Vec<u8>,
}

impl Body {
    /// The body of messages up to `size` bytes of the sender that starts with packet `seed`.
    pub(super) fn new(seed: u32, size: usize) -> Self {
        // Any sequence would do that repeats itself at no short distance (splitmix64's mixing).
        let mut state = u64::from(seed) | 1 << 40;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        };
        let words = size.div_ceil(8);
        let mut bytes: Vec<u8> = Vec::with_capacity(words * 8);
        for _ in 0..words {
            bytes.extend(next().to_le_bytes());
        }
        bytes.truncate(size);
        Self { bytes }
    }

    /// Makes `message`, which held the body or another message, message number `number`.
    pub(super) fn stamp(&self, message: &mut [u8], number: u64) {
        let size = message.len();
        if size >= 2 * STAMP
            && let Some(head) = message.first_chunk_mut()
        {
            *head = self.stamped(0, number);
            if let Some(tail) = message.last_chunk_mut() {
                *tail = self.stamped(size - STAMP, number);
            }
            return;
        }
        let head_len = size.min(STAMP);
        message[..head_len].copy_from_slice(&self.stamped(0, number)[..head_len]);
    }

    /// The whole body, for memory that is stamped later.
    pub(super) fn fill(&self, memory: &mut [u8]) {
        let len = memory.len().min(self.bytes.len());
        memory[..len].copy_from_slice(&self.bytes[..len]);
    }

    /// Whether `message` is message number `number`.
    pub(super) fn is(&self, message: &[u8], number: u64) -> bool {
        let size = message.len();
        if size > self.bytes.len() {
            return false;
        }
        let head = self.stamped(0, number);
        let head_len = size.min(STAMP);
        if message[..head_len] != head[..head_len] {
            return false;
        }
        if size < 2 * STAMP {
            return message[head_len..] == self.bytes[head_len..size];
        }
        message[size - STAMP..] == self.stamped(size - STAMP, number)
            && message[STAMP..size - STAMP] == self.bytes[STAMP..size - STAMP]
    }

    /// Whether these are the body's bytes from `offset` on.
    pub(super) fn holds(&self, offset: u64, bytes: &[u8]) -> bool {
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        self.bytes.get(at..).and_then(|rest| rest.get(..bytes.len())) == Some(bytes)
    }

    /// The number that a message carries, if it is long enough to carry one.
    pub(super) fn number(&self, message: &[u8]) -> Option<u64> {
        let head: [u8; STAMP] = message.first_chunk().copied()?;
        let body: [u8; STAMP] = self.bytes.first_chunk().copied()?;
        Some(u64::from_le_bytes(head) ^ u64::from_le_bytes(body))
    }

    /// The bytes from `at` on with a message's number folded in; where the body ends, the number alone.
    #[inline]
    fn stamped(&self, at: usize, number: u64) -> [u8; STAMP] {
        let rest = self.bytes.get(at..).unwrap_or_default();
        if let Some(body) = rest.first_chunk() {
            return (number ^ u64::from_le_bytes(*body)).to_le_bytes();
        }
        let mut bytes = number.to_le_bytes();
        bytes.iter_mut().zip(rest).for_each(|(byte, body)| *byte ^= body);
        bytes
    }
}

/// Fills memory with what no tool sends, so that bytes which never arrive show.
pub(super) fn blot(memory: &mut [u8]) {
    memory.iter_mut().zip(noise()).for_each(|(byte, noise)| *byte = noise);
}

/// Whether memory still holds what [`blot`] put there, or much of it. Of other bytes, one in 256 is
/// the same by chance.
pub(super) fn is_blotted(memory: &[u8]) -> bool {
    let same = memory.iter().zip(noise()).filter(|(byte, noise)| **byte == *noise).count();
    memory.len() >= 16 && same > memory.len() / 4
}

/// Bytes whose differences differ: no sum of two of them is a third for long.
fn noise() -> impl Iterator<Item = u8> {
    (0u32..).map(|at| (at.wrapping_mul(at).wrapping_mul(0x9e37_79b1) >> 13) as u8)
}

/// The result of checking bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sequence {
    /// Bytes that follow from those before them.
    pub(super) good: u64,
    /// Bytes that do not.
    pub(super) bad: u64,
}

impl Sequence {
    /// Checks bytes of a stock tool's memory.
    pub(super) fn check(&mut self, bytes: &[u8]) {
        let (near, far) = LAGS;
        let good = (far..bytes.len())
            .filter(|&at| {
                let sum = bytes[at - near].wrapping_add(bytes[at - far]);
                bytes[at].wrapping_sub(sum) <= 1
            })
            .count() as u64;
        self.good += good;
        self.bad += bytes.len().saturating_sub(far) as u64 - good;
    }

    /// Whether this is memory filled by `rand` at all: chance alone makes one byte in 128 fit.
    pub(super) fn is_recognised(self) -> bool {
        self.good > 2 * self.bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The C library's generator, as its manual describes it.
    fn rand(seed: u32, count: usize) -> Vec<u8> {
        let mut state = vec![i64::from(seed)];
        for n in 1..31 {
            let next = 16_807 * state[n - 1] % 2_147_483_647;
            state.push(if next < 0 { next + 2_147_483_647 } else { next });
        }
        let mut state: Vec<u32> = state.iter().map(|&word| word as u32).collect();
        for n in 31..34 {
            state.push(state[n - 31]);
        }
        for n in 34..344 + count {
            state.push(state[n - 31].wrapping_add(state[n - 3]));
        }
        state[344..].iter().map(|word| (word >> 1) as u8).collect()
    }

    #[test]
    fn memory_of_the_stock_tool_is_recognised() {
        // The first bytes of a message that perftest 4.5 sent at this second.
        let bytes = rand(1, 8);
        let first: Vec<u32> = vec![1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915];
        let low: Vec<u8> = first.iter().map(|word| *word as u8).collect();
        assert_eq!(bytes[..4], low[..], "the sequence everybody knows");
        let mut bytes = rand(1_794_721_611, 4096);
        let mut sequence = Sequence::default();
        sequence.check(&bytes);
        assert_eq!(sequence, Sequence { good: 4096 - 31, bad: 0 });
        bytes[2000] ^= 0x40;
        sequence.check(&bytes);
        assert!(sequence.is_recognised());
        assert!((1..=3).contains(&sequence.bad), "{sequence:?}");
    }

    #[test]
    fn what_never_arrived_shows() {
        let mut memory = vec![0; 4096];
        blot(&mut memory);
        let mut sequence = Sequence::default();
        sequence.check(&memory);
        assert!(!sequence.is_recognised(), "{sequence:?}");
        assert!(is_blotted(&memory));
        memory[..3500].copy_from_slice(&rand(5, 3500));
        assert!(!is_blotted(&memory), "the sequence shows what is wrong now");
        memory[..1500].copy_from_slice(&rand(5, 1500));
        blot(&mut memory[1500..]);
        blot(&mut memory);
        assert!(is_blotted(&memory[..20]) && !is_blotted(&rand(7, 64)));
    }

    #[test]
    fn other_memory_is_not() {
        let mut sequence = Sequence::default();
        sequence.check(&Body::new(7, 4096).bytes);
        assert!(!sequence.is_recognised());
        assert!(sequence.good < 100, "{sequence:?}");
        let mut none = Sequence::default();
        none.check(&[1; 20]);
        assert!(!none.is_recognised());
    }

    proptest! {
        #[test]
        fn a_message_is_itself_and_no_other(
            seed in 0u32..1 << 24,
            size in 1usize..200,
            number in 0u64..1 << 48,
            other in 0u64..1 << 48,
            place in any::<usize>(),
            flip in 1u8..,
        ) {
            let body = Body::new(seed, 200);
            let mut message = vec![0; 200];
            body.fill(&mut message);
            let mut message = message[..size].to_vec();
            body.stamp(&mut message, other);
            body.stamp(&mut message, number);
            prop_assert!(body.is(&message, number));
            prop_assert_eq!(body.number(&message), (size >= 8).then_some(number));
            let shown = 8 * size.min(8) as u32;
            let differs = (number ^ other) & u64::MAX >> (64 - shown) != 0;
            prop_assert_eq!(body.is(&message, other), !differs);
            message[place % size] ^= flip;
            prop_assert!(!body.is(&message, number));
        }
    }
}
