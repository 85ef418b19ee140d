//! To come.
pub mod model;
