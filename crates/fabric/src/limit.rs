//! The largest fabric. A port with its eight classes takes close to a kilobyte, so these bounds keep any
//! file under about 700 MB.

/// Most NICs.
pub const NICS: u64 = 200_000;
/// Most switches.
pub const SWITCHES: u64 = 50_000;
/// Most cables.
pub const LINKS: u64 = 300_000;
