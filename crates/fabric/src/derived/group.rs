//! Rows that are equal become one, in the order of their first appearance.

use std::collections::BTreeMap;

/// Who is behind a row.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) count: u64,
    /// How many names they have: ports of one switch have one.
    pub(super) names: u64,
    first: String,
    last: String,
}

impl Members {
    /// `leaf0`, or `leaf0 … leaf7`.
    pub(super) fn span(&self) -> String {
        match self.names {
            0 | 1 => self.first.clone(),
            2 => format!("{}, {}", self.first, self.last),
            _ => format!("{} … {}", self.first, self.last),
        }
    }
}

/// Rows in the order of their first appearance.
#[derive(Debug)]
pub(super) struct Grouped<R> {
    index: BTreeMap<R, usize>,
    members: Vec<Members>,
}

impl<R: Ord> Default for Grouped<R> {
    fn default() -> Self {
        Self { index: BTreeMap::new(), members: Vec::new() }
    }
}

impl<R: Ord> Grouped<R> {
    pub(super) fn add(&mut self, row: R, name: &str) {
        let next = self.members.len();
        let at = *self.index.entry(row).or_insert(next);
        if at == next {
            self.members.push(Members { first: name.to_owned(), ..Members::default() });
        }
        let members = &mut self.members[at];
        members.count += 1;
        // Members come in the order of their names.
        members.names += u64::from(members.names == 0 || members.last != name);
        name.clone_into(&mut members.last);
    }

    /// The rows, each completed with what is known of its members.
    pub(super) fn into_rows(self, complete: impl Fn(R, &Members) -> R) -> Vec<R> {
        let mut rows: Vec<(usize, R)> = self.index.into_iter().map(|(row, at)| (at, row)).collect();
        rows.sort_by_key(|(at, _)| *at);
        rows.into_iter().map(|(at, row)| complete(row, &self.members[at])).collect()
    }
}
