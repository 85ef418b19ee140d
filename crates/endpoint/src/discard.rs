//! Why a device did not accept packets. A queue pair has reasons of its own
//! ([`xoff_transport::Discard`]).

use std::fmt;

/// Why a packet never reached a queue pair, or never left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Reason {
    /// It ends inside its headers, or its lengths contradict each other.
    Malformed,
    /// An opcode, header version or syndrome that we do not speak.
    NotSpoken,
    /// The ICRC is wrong.
    BadIcrc,
    /// There is no such queue pair, or it is not connected yet.
    UnknownPair,
    /// It comes from another address than the peer's.
    WrongSource,
    /// Of another partition than the default one.
    WrongPartition,
    /// It did not fit our buffer: nothing of RoCE is that long.
    TooLong,
    /// The socket had no room for an answer.
    NoRoomToSend,
    /// The system refused to send a packet; mostly it is longer than the path allows.
    SendRefused,
}

impl Reason {
    /// All reasons there are.
    pub const ALL: [Self; 9] = [
        Self::Malformed,
        Self::NotSpoken,
        Self::BadIcrc,
        Self::UnknownPair,
        Self::WrongSource,
        Self::WrongPartition,
        Self::TooLong,
        Self::NoRoomToSend,
        Self::SendRefused,
    ];

    /// A short name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::NotSpoken => "not-spoken",
            Self::BadIcrc => "bad-icrc",
            Self::UnknownPair => "unknown-pair",
            Self::WrongSource => "wrong-source",
            Self::WrongPartition => "wrong-partition",
            Self::TooLong => "too-long",
            Self::NoRoomToSend => "no-room-to-send",
            Self::SendRefused => "send-refused",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many packets were not accepted, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reasons([u64; Reason::ALL.len()]);

impl Reasons {
    /// How many there were for this reason.
    pub fn get(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    /// The reasons that occurred, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.into_iter().map(|reason| (reason, self.get(reason))).filter(|pair| pair.1 > 0)
    }

    /// Packets not accepted for any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    #[cold]
    pub(crate) fn count(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_place_and_name() {
        let mut reasons = Reasons::default();
        for (n, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, n);
            (0..=n).for_each(|_| reasons.count(reason));
        }
        assert!(reasons.iter().enumerate().all(|(n, (_, count))| count == n as u64 + 1));
        let mut names: Vec<_> = Reason::ALL.map(Reason::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Reason::ALL.len());
    }
}
