//! Prometheus, and whatever speaks its two interfaces: [`query`] reads (`/api/v1/query_range`), [`write`] writes (remote write, version 1).

pub mod query;
pub mod write;

/// What a store is taken for, in errors.
const KIND: &str = "Prometheus";
