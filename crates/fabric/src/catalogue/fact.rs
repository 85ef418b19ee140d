//! A default with its source: what a device does unless a file says otherwise, and how we know.

use std::fmt::Write;

/// How sure a default is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// Read in a vendor's documentation, a driver's or library's source, or a public register dump.
    Documented,
    /// Measured or stated by others.
    Reported,
    /// Our estimate: nothing better was found.
    Estimated,
}

impl Confidence {
    /// The word for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Confidence::Documented => "documented",
            Confidence::Reported => "reported",
            Confidence::Estimated => "estimated",
        }
    }
}

/// One default of `[transport]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// The key below `[transport]`, like `timeout` or `congestion.g`.
    pub key: &'static str,
    /// The value as a file would write it.
    pub value: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// How sure it is.
    pub confidence: Confidence,
}

impl Fact {
    /// Read in a primary text.
    pub(super) const fn documented(
        key: &'static str,
        value: &'static str,
        source: &'static str,
    ) -> Self {
        Self { key, value, source, confidence: Confidence::Documented }
    }

    /// Measured or stated by others.
    pub(super) const fn reported(
        key: &'static str,
        value: &'static str,
        source: &'static str,
    ) -> Self {
        Self { key, value, source, confidence: Confidence::Reported }
    }

    /// Our estimate.
    pub(super) const fn estimated(
        key: &'static str,
        value: &'static str,
        source: &'static str,
    ) -> Self {
        Self { key, value, source, confidence: Confidence::Estimated }
    }

    /// The key of a file that this is the default of, from its root.
    pub fn path(&self) -> Vec<&'static str> {
        std::iter::once("transport").chain(self.key.split('.')).collect()
    }
}

/// The defaults as the text of a fabric file.
pub(crate) fn text<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> String {
    facts.into_iter().fold(String::new(), |mut text, fact| {
        // Values are written as TOML, so this cannot produce anything that is not.
        let _ = writeln!(text, "{} = {}", fact.path().join("."), fact.value);
        text
    })
}
