//! [`Problem`]: what is wrong with a sweep file, and where.

use std::ops::Range;

/// Something wrong with a sweep file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Bytes of the file's text.
    pub span: Range<usize>,
    /// The rule that is broken, as other files name it.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

impl Problem {
    /// A value that cannot be used.
    pub fn value(span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        let (message, help) = (message.into(), Some(help.into()));
        Self { span, code: "xoff::wrong-value", message, help }
    }

    /// Text that is no TOML.
    pub fn syntax(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, code: "xoff::syntax", message: message.into(), help: None }
    }

    /// A key that is not known.
    pub fn unknown(
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { code: "xoff::unknown-key", ..Self::value(span, message, help) }
    }

    /// A key that must be there.
    pub fn missing(
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { code: "xoff::missing-key", ..Self::value(span, message, help) }
    }

    /// More than a sweep may have.
    pub fn limit(span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { code: "xoff::limit", ..Self::value(span, message, help) }
    }
}
