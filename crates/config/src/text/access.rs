//! Access lists as classes use them: the DSCPs of the packets that they let through.

use crate::number::Dscp;
use crate::text::outline::Statement;
use std::collections::BTreeMap;

/// The DSCPs that each access list names.
#[derive(Debug, Default)]
pub(crate) struct AccessLists(BTreeMap<String, Vec<Dscp>>);

impl AccessLists {
    /// Reads the entries of a list: `10 permit udp any any eq 4791 dscp 26`.
    pub(crate) fn read(&mut self, name: &str, statement: &Statement<'_>) {
        let entry = |child: &Statement<'_>| {
            let words = child.words();
            let permits = words.iter().take(2).any(|word| *word == "permit");
            let at = words.iter().position(|word| *word == "dscp").filter(|_| permits)?;
            let word = words.get(at + 1)?;
            Dscp::named(word).or_else(|| Dscp::read(word))
        };
        let found = self.0.entry(name.to_owned()).or_default();
        found.extend(statement.children.iter().filter_map(entry));
    }

    /// The DSCPs of a list; none where it names none, or is not there.
    pub(crate) fn dscps(&self, name: &str) -> &[Dscp] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }
}
