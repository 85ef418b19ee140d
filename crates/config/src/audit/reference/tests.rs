//! Votes among devices.
