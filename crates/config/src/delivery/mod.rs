//! The ways in which rendered configurations reach devices: what a folder of files holds
//! ([`manifest`]), and the files of the tools that carry them.
//!
//! Everything here is a function from an intent to files; nothing is written and nothing is sent.
//! What is delivered is what [`Intent::files`](crate::Intent::files) makes: these modules refer to those
//! files, or say the same in the words of another tool, and name what that tool has no words for.

pub mod agent;
pub mod ansible;
pub mod avd;
pub mod gnmi;
pub mod manifest;
pub mod patches;
mod yaml;
pub mod ztp;

pub use crate::host::NOT_READ;
pub use manifest::Manifest;

/// Whether a name can stand in paths, in YAML and in commands as it is: letters, digits, `.`, `_` and
/// `-`, with a letter or digit first.
pub fn is_plain(name: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(inside)
}
