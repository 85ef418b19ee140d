//! A count with the packets that show it.

use serde::Serialize;

/// Packet numbers that are kept; the rest is only counted.
const KEPT: usize = 16;

/// How often something was seen, and in which packets first. Packets count from one, as in
/// Wireshark.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// How often.
    pub count: u64,
    /// The first packets that show it, at most sixteen.
    pub packets: Vec<u64>,
}

impl Evidence {
    /// Seen in packet `number`.
    pub(super) fn add(&mut self, number: u64) {
        self.count += 1;
        if self.packets.len() < KEPT {
            self.packets.push(number);
        }
    }

    /// Not seen in packet `number` after all, which was the latest.
    pub(super) fn take_back(&mut self, number: u64) {
        self.count = self.count.saturating_sub(1);
        if self.packets.last() == Some(&number) {
            self.packets.pop();
        }
    }

    /// Whether it was never seen.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What two have seen together, in the order of the packets.
    pub(super) fn with(&self, other: &Self) -> Self {
        let mut packets: Vec<u64> = [&self.packets[..], &other.packets].concat();
        packets.sort_unstable();
        packets.truncate(KEPT);
        Self { count: self.count + other.count, packets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_kept() {
        let mut evidence = Evidence::default();
        for number in 1..=100 {
            evidence.add(number);
        }
        assert_eq!((evidence.count, evidence.packets.len()), (100, KEPT));
        evidence.take_back(100);
        assert_eq!((evidence.count, evidence.packets[0]), (99, 1));
        let other = Evidence { count: 1, packets: vec![5] };
        assert_eq!(evidence.with(&other).packets[4..6], [5, 5]);
    }
}
