//! What can be told about a fabric from what was recorded of it.
//!
//! So far that is [`capture`]: queue pairs, their operations and their troubles from the packets of
//! a capture file. Detectors that work from telemetry are to follow.
//!
//! Pure analysis: it reads no files, prints nothing and asks no clock. What it is not: a judgement
//! on one packet, which is [`xoff_wire`]'s. Read [`capture::Analysis`] first.

pub mod capture;
