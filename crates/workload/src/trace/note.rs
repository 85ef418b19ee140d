//! [`Note`]: what of a trace was not understood, left out or assumed, counted by kind.
//!
//! Nothing is dropped silently: a reader that does not use something says so here. The number of
//! kinds is bounded, so that a file of random names cannot fill the memory.

use super::error::Place;
use super::model::Rank;
use std::collections::BTreeMap;

/// Most kinds of notes that are kept apart.
pub const MOST_NOTES: usize = 256;

/// Longest name of a kind, in characters.
const LONGEST: usize = 120;

/// Something worth knowing about how a trace was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How it was dealt with.
    pub kind: NoteKind,
    /// What it is.
    pub what: String,
    /// How often it occurs.
    pub count: u64,
    /// The file of the first.
    pub file: String,
    /// Its place there.
    pub place: Place,
    /// The rank it belongs to, if to one.
    pub rank: Option<Rank>,
}

/// How something was dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// Not understood: what the trace means may be lost.
    Unknown,
    /// The trace does not say something that is needed, and something was put in its place.
    Assumed,
    /// Known, and of no use here.
    Skipped,
}

/// Where a note belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) file: &'a str,
    pub(crate) place: Place,
    pub(crate) rank: Option<Rank>,
}

/// The notes of a trace, while it is read.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    kinds: [BTreeMap<String, Note>; 3],
    further: u64,
}

impl Notes {
    pub(super) fn unknown(&mut self, what: &str, at: At<'_>) {
        self.add(NoteKind::Unknown, what, at);
    }

    pub(super) fn assumed(&mut self, what: &str, at: At<'_>) {
        self.add(NoteKind::Assumed, what, at);
    }

    pub(super) fn skipped(&mut self, what: &str, at: At<'_>) {
        self.add(NoteKind::Skipped, what, at);
    }

    fn add(&mut self, kind: NoteKind, what: &str, at: At<'_>) {
        let what = match what.char_indices().nth(LONGEST) {
            Some((end, _)) => &what[..end],
            None => what,
        };
        let kinds: usize = self.kinds.iter().map(BTreeMap::len).sum();
        let notes = &mut self.kinds[kind as usize];
        if let Some(note) = notes.get_mut(what) {
            note.count += 1;
        } else if kinds >= MOST_NOTES {
            self.further += 1;
        } else {
            let (file, place, rank) = (at.file.to_owned(), at.place, at.rank);
            let note = Note { kind, what: what.to_owned(), count: 1, file, place, rank };
            notes.insert(what.to_owned(), note);
        }
    }

    /// The notes, what matters most first, and how many had no room.
    pub(super) fn into_parts(self) -> (Vec<Note>, u64) {
        let mut notes: Vec<Note> = self.kinds.into_iter().flat_map(BTreeMap::into_values).collect();
        notes.sort_by(|a, b| (a.kind, b.count, &a.what).cmp(&(b.kind, a.count, &b.what)));
        (notes, self.further)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_and_bounded() {
        let mut notes = Notes::default();
        let at = |line| At { file: "f", place: Place::Line(line), rank: None };
        for line in 1..=3 {
            notes.skipped("event", at(line));
        }
        for name in 0..1000 {
            notes.unknown(&format!("name {name} {}", "é".repeat(500)), at(9));
        }
        let (kept, further) = notes.into_parts();
        assert_eq!(kept.len(), MOST_NOTES);
        assert_eq!(further, 1000 - (MOST_NOTES as u64 - 1));
        let last = kept.last().unwrap();
        assert_eq!((last.count, last.place, last.kind), (3, Place::Line(1), NoteKind::Skipped));
        assert!(kept.iter().all(|note| note.what.chars().count() <= LONGEST));
    }
}
