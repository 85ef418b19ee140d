//! [`schedule`]: the messages of a lap of PAT, in their order, the same for every rank.
//!
//! The chunk of rank `c` goes from rank `c + o` to rank `c + o + d` where `d` is a power of two: `o` is its offset, and each
//! offset is reached once, by the lowest bit that is set in it (Bruck's algorithm with its distances reversed: the farthest
//! first). Trees of all chunks are the same, so that at every step a rank sends to one rank and receives from another.
//!
//! With an aggregation of `a` chunks (a power of two) and `n` ranks, rounded up to a power of two, offsets are cut into `a` rows of `n / a`.
//! The first offsets of the rows are reached in `log2 a` messages of 1, 2, 4 .. `a / 2` chunks; then all rows go through their own
//! trees at the same time, one message of `a` chunks for every other offset of a row. A gather goes down into a branch before it begins the next
//! one; a scatter goes through the offsets from the last to the first, and then through the distances of the first ones in reverse.

/// One message of every rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    /// The distance is two to the power of this.
    pub(super) dim: u32,
    /// Messages of the lap that have to be received before it can be sent.
    pub(super) need: u32,
    /// The nearer offset of its first chunk, the step to that of the next, and how many chunks there are.
    pub(super) first: u32,
    pub(super) stride: u32,
    pub(super) count: u32,
}

/// The most chunks of so many bytes that a buffer holds, as a power of two; never more than are sent at once.
pub(super) fn aggregation(ranks: u32, chunk: u64, buffer: u64) -> u32 {
    let most = ranks.next_power_of_two() / 2;
    let fits = (buffer / chunk.max(1)).clamp(1, u64::from(most.max(1)));
    1 << fits.ilog2()
}

/// The messages of a lap. `aggregation` is a power of two of at most half the ranks, rounded up.
pub(super) fn schedule(ranks: u32, aggregation: u32, gather: bool) -> Vec<Message> {
    let row = ranks.next_power_of_two() / aggregation;
    let message = |dim: u32, first: u32, stride: u32| {
        let reached = first + (1 << dim);
        let count = ranks.saturating_sub(reached).div_ceil(stride);
        Message { dim, need: 0, first, stride, count }
    };
    let near = |offset: u32| {
        let dim = offset.trailing_zeros();
        message(dim, offset - (1 << dim), row)
    };
    let rows = row.ilog2()..ranks.next_power_of_two().ilog2();
    let far = rows.map(|dim| message(dim, 0, 2 << dim));
    let mut all: Vec<Message> = match gather {
        true => far.rev().chain(branches(row).into_iter().map(near)).collect(),
        false => (1..row).rev().map(near).chain(far).collect(),
    };
    all.retain(|message| message.count > 0);
    let firsts = aggregation.ilog2();
    for at in 0..all.len() {
        all[at].need = match gather {
            true => need_of_gather(&all, at, firsts),
            false => need_of_scatter(&all, at, row),
        };
    }
    all
}

/// Offsets of a row in the order in which they are reached: after each those that it leads to, the farthest first.
fn branches(row: u32) -> Vec<u32> {
    let mut order = Vec::new();
    let mut open: Vec<u32> = vec![0];
    while let Some(offset) = open.pop() {
        if offset > 0 {
            order.push(offset);
        }
        let bits = if offset == 0 { row.ilog2() } else { offset.trailing_zeros() };
        open.extend((0..bits).map(|bit| offset + (1 << bit)));
    }
    order
}

/// What a rank passes on it has received before, but its own chunk.
fn need_of_gather(all: &[Message], at: usize, firsts: u32) -> u32 {
    let Message { first, .. } = all[at];
    if (at as u32) < firsts {
        return at as u32;
    }
    let reaches = |message: &Message| message.first + (1 << message.dim) == first;
    let before = all[firsts as usize..at].iter().position(reaches);
    before.map_or(firsts, |place| firsts + place as u32 + 1)
}

/// A sum is complete when all that lead to its offset have come; the last of them is the message before.
fn need_of_scatter(all: &[Message], at: usize, row: u32) -> u32 {
    let Message { dim, first, .. } = all[at];
    let own = first + (1 << dim);
    let is_far = 1 << dim >= row;
    let leads = |message: &Message| is_far || message.first == own;
    let before = all[..at].iter().rposition(leads);
    before.map_or(0, |place| place as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_ranks() {
        let shown = |aggregation, gather| -> Vec<(u32, u32, u32, u32)> {
            let all = schedule(8, aggregation, gather);
            all.iter().map(|m| (1 << m.dim, m.first, m.count, m.need)).collect()
        };
        assert_eq!(shown(4, true), [(4, 0, 1, 0), (2, 0, 2, 1), (1, 0, 4, 2)]);
        assert_eq!(shown(4, false), [(1, 0, 4, 0), (2, 0, 2, 1), (4, 0, 1, 2)]);
        // Two rows: 4 is the first of the second, then 2, 3 behind it, 1.
        assert_eq!(shown(2, true), [(4, 0, 1, 0), (2, 0, 2, 1), (1, 2, 2, 2), (1, 0, 2, 1)]);
        assert_eq!(shown(2, false), [(1, 2, 2, 0), (2, 0, 2, 1), (1, 0, 2, 0), (4, 0, 1, 3)]);
        let order: Vec<_> = shown(1, true).iter().map(|m| m.0 + m.1).collect();
        assert_eq!(order, [4, 6, 7, 5, 2, 3, 1]);
        let order: Vec<_> = shown(1, false).iter().map(|m| m.0 + m.1).collect();
        assert_eq!(order, [7, 6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn steps_go_from_the_logarithm_to_the_number_of_ranks() {
        for ranks in 2..200u32 {
            let power = ranks.next_power_of_two();
            for gather in [true, false] {
                assert_eq!(schedule(ranks, power / 2, gather).len() as u32, power.ilog2());
                assert_eq!(schedule(ranks, 1, gather).len() as u32, ranks - 1);
            }
        }
    }

    #[test]
    fn aggregation_is_what_a_buffer_holds() {
        assert_eq!(aggregation(33, 1, 4 << 20), 32);
        assert_eq!(aggregation(33, 1 << 20, 4 << 20), 4);
        assert_eq!(aggregation(33, (1 << 20) + 1, 4 << 20), 2);
        assert_eq!((aggregation(2, 0, 4), aggregation(1, 9, 4), aggregation(9, 9, 4)), (1, 1, 1));
    }
}
