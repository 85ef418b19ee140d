//! Why something cannot be built, and what would make it possible.

use serde::Serialize;
use std::fmt;

/// A wish that cannot be fulfilled, with wishes near it that can.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Refusal {
    /// What is impossible.
    pub message: String,
    /// What would make it possible, each by itself.
    pub cures: Vec<String>,
}

impl Refusal {
    pub(super) fn new<T: Into<String>>(
        message: impl Into<String>,
        cures: impl IntoIterator<Item = T>,
    ) -> Self {
        Self { message: message.into(), cures: cures.into_iter().map(Into::into).collect() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for (at, cure) in self.cures.iter().enumerate() {
            f.write_str(if at == 0 { "\n  would do: " } else { "\n        or: " })?;
            f.write_str(cure)?;
        }
        Ok(())
    }
}
