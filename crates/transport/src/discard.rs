//! Why packets were not accepted.

use std::fmt;

/// Why a packet was dropped or refused. (Packets that came early or twice are not among these: they
/// are what recovery is for, and [`Counters`](crate::Counters) has them.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Discard {
    /// It names another queue pair.
    OtherQueuePair,
    /// The queue pair does not have this service or opcode.
    WrongOpcode,
    /// The extended header that its opcode requires is missing or invalid.
    Malformed,
    /// Its sequence number is far from everything in flight.
    OutsideWindow,
    /// It answers no request of ours.
    Unsolicited,
    /// A packet inside a message where one should begin, or the other way round.
    OutOfOrderOpcode,
    /// Its payload is not as long as the MTU or the message's length demand.
    BadLength,
    /// The key, the range or the rights do not allow it.
    AccessDenied,
    /// An atomic operation on an address that is not a multiple of eight.
    Misaligned,
    /// No receive was posted for it.
    NoReceive,
    /// The receive is shorter than the message.
    ReceiveTooShort,
    /// More reads and atomics at a time than we answer.
    TooManyReads,
    /// A repeated read or atomic that can no longer be answered.
    Forgotten,
    /// Packets of its message are missing, and the service does not repeat them.
    Incomplete,
    /// The queue key is not ours.
    WrongQkey,
    /// The queue pair has failed.
    Failed,
}

impl Discard {
    /// All reasons there are.
    pub const ALL: [Self; 16] = [
        Self::OtherQueuePair,
        Self::WrongOpcode,
        Self::Malformed,
        Self::OutsideWindow,
        Self::Unsolicited,
        Self::OutOfOrderOpcode,
        Self::BadLength,
        Self::AccessDenied,
        Self::Misaligned,
        Self::NoReceive,
        Self::ReceiveTooShort,
        Self::TooManyReads,
        Self::Forgotten,
        Self::Incomplete,
        Self::WrongQkey,
        Self::Failed,
    ];

    /// A short name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OtherQueuePair => "other-queue-pair",
            Self::WrongOpcode => "wrong-opcode",
            Self::Malformed => "malformed",
            Self::OutsideWindow => "outside-window",
            Self::Unsolicited => "unsolicited",
            Self::OutOfOrderOpcode => "out-of-order-opcode",
            Self::BadLength => "bad-length",
            Self::AccessDenied => "access-denied",
            Self::Misaligned => "misaligned",
            Self::NoReceive => "no-receive",
            Self::ReceiveTooShort => "receive-too-short",
            Self::TooManyReads => "too-many-reads",
            Self::Forgotten => "forgotten",
            Self::Incomplete => "incomplete",
            Self::WrongQkey => "wrong-qkey",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for Discard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many packets were not accepted, by reason.
///
/// Boxed once there are any, because a queue pair whose peer behaves never has one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Discards(Option<Box<[u64; Discard::ALL.len()]>>);

impl Discards {
    /// How many there were for this reason.
    pub fn get(&self, reason: Discard) -> u64 {
        self.0.as_ref().map_or(0, |counts| counts[reason as usize])
    }

    /// The reasons that occurred, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (Discard, u64)> {
        Discard::ALL.into_iter().map(|reason| (reason, self.get(reason))).filter(|pair| pair.1 > 0)
    }

    /// Packets not accepted for any reason.
    pub fn total(&self) -> u64 {
        self.0.as_ref().map_or(0, |counts| counts.iter().sum())
    }

    #[cold]
    pub(crate) fn count(&mut self, reason: Discard) {
        self.0.get_or_insert_default()[reason as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_place_and_name() {
        let mut discards = Discards::default();
        assert_eq!((discards.total(), discards.iter().count()), (0, 0));
        for (n, reason) in Discard::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, n);
            (0..=n).for_each(|_| discards.count(reason));
        }
        assert!(discards.iter().enumerate().all(|(n, (_, count))| count == n as u64 + 1));
        let mut names: Vec<_> = Discard::ALL.map(Discard::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Discard::ALL.len());
        assert_eq!(discards.total(), 136);
    }
}
