//! To come.
pub mod config;
