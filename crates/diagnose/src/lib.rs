//! What recordings of a fabric reveal about it.
//!
//! [`capture`]: queue pairs, their operations and their troubles from the packets of a capture file. [`fabric`]: the
//! cause and the place of what is wrong with a fabric, from its counters. [`alerts`]: what Prometheus is to watch for.
//!
//! Pure analysis: it reads no files, prints nothing and reads no clock. What it is not: a judgement
//! on one packet, which is [`xoff_wire`]'s. Read [`capture::Analysis`] or [`fabric::diagnose`] first.

pub mod alerts;
pub mod capture;
pub mod fabric;
