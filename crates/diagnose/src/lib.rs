//! What recordings of a fabric reveal about it.
//!
//! So far that is [`capture`]: queue pairs, their operations and their troubles from the packets of
//! a capture file. Detectors that work from telemetry are to follow.
//!
//! Pure analysis: it reads no files, prints nothing and reads no clock. What it is not: a judgement
//! on one packet, which is [`xoff_wire`]'s. Read [`capture::Analysis`] first.

pub mod capture;
