//! Why a capture cannot be read.

use std::fmt;
use std::io;

/// Why a capture cannot be read, or not further.
#[derive(Debug)]
pub enum CaptureError {
    /// The file could not be read.
    Read(io::Error),
    /// There is nothing in it.
    Empty,
    /// It is neither pcap nor pcapng; its first four bytes.
    NotACapture([u8; 4]),
    /// The file ends inside a packet or block; bytes into the file where that begins.
    Cut {
        /// Where the unfinished part begins.
        at: u64,
    },
    /// A length in the file is impossible.
    Damaged {
        /// Where the part begins that says so.
        at: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "cannot read: {error}"),
            Self::Empty => f.write_str("the file is empty"),
            Self::NotACapture([a, b, c, d]) => {
                write!(f, "neither pcap nor pcapng: it begins with {a:02x} {b:02x} {c:02x} {d:02x}")
            }
            Self::Cut { at } => {
                write!(f, "the file ends inside the packet or block at byte {at}")
            }
            Self::Damaged { at, what } => write!(f, "damaged at byte {at}: {what}"),
        }
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}
