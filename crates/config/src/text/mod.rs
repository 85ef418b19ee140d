//! The shapes of configuration text: indented statements, `set` commands, braces, JSON.

pub(crate) mod access;
pub(crate) mod description;
pub(crate) mod fit;
pub(crate) mod interfaces;
pub(crate) mod json;
pub(crate) mod notes;
pub(crate) mod outline;
pub(crate) mod overlay;
pub(crate) mod paths;
pub(crate) mod ports;
pub(crate) mod profiles;
pub(crate) mod wred;
