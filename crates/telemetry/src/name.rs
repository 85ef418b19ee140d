//! [`Name`]: text that many rows share, and names made unique.

use parquet::data_type::ByteArray;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// A name or a word in a table. Cloning shares the text, so a name made once per port costs no
/// allocation per row.
#[derive(Clone, PartialEq)]
pub struct Name(ByteArray);

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        // Names are made from text only, so this never falls back.
        self.0.as_utf8().unwrap_or_default()
    }

    pub(crate) fn bytes(&self) -> ByteArray {
        self.0.clone()
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(ByteArray::from(text.as_bytes().to_vec()))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(ByteArray::from(text.into_bytes()))
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Names for a list of things of which some are called alike, such as the ports of parallel cables:
/// the second of a name ends in `#2`, the third in `#3`.
pub fn distinct_names<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Vec<Name> {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let distinct = |text: T| {
        let count = seen.entry(text.as_ref().to_owned()).or_default();
        *count += 1;
        if *count == 1 { text.as_ref().into() } else { format!("{}#{count}", text.as_ref()).into() }
    };
    names.into_iter().map(distinct).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_cables_are_told_apart() {
        let names = distinct_names(["a→b", "a→c", "a→b", "a→b"]);
        let text: Vec<&str> = names.iter().map(Name::as_str).collect();
        assert_eq!(text, ["a→b", "a→c", "a→b#2", "a→b#3"]);
    }
}
