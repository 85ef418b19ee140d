//! Where a value was said: [`Said`] values with their [`Place`] in [`Files`].

use std::fmt;

/// A file of an audit, by its position in [`Files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

impl FileId {
    /// No file: the value follows from the intent.
    pub const INTENT: Self = Self(u32::MAX);
}

/// Lines of a file, counted from 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file.
    pub file: FileId,
    /// Its first line.
    pub first: u32,
    /// Its last line.
    pub last: u32,
}

impl Place {
    /// The place of what no file says: the intent.
    pub const INTENT: Self = Self { file: FileId::INTENT, first: 0, last: 0 };

    /// One line.
    pub const fn line(file: FileId, line: u32) -> Self {
        Self { file, first: line, last: line }
    }
}

/// A setting: not there, left to the system, or said somewhere.
///
/// Absent is not the same as a default: a default is a value that the system is known to use, absent
/// means that the feature is off or that its value is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Said<T> {
    /// Not there.
    #[default]
    Absent,
    /// Not there, and the system then uses this.
    Default(T),
    /// Said at this place.
    At(T, Place),
}

impl<T> Said<T> {
    /// A value that follows from the intent.
    pub const fn meant(value: T) -> Self {
        Said::At(value, Place::INTENT)
    }

    /// The value in force, said or default.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Said::Absent => None,
            Said::Default(value) | Said::At(value, _) => Some(value),
        }
    }

    /// Where it was said.
    pub const fn place(&self) -> Option<Place> {
        match self {
            Said::At(_, place) => Some(*place),
            Said::Absent | Said::Default(_) => None,
        }
    }

    /// Whether it is configured.
    pub const fn is_said(&self) -> bool {
        matches!(self, Said::At(..))
    }

    /// The configured value, not a default.
    pub const fn said(&self) -> Option<&T> {
        match self {
            Said::At(value, _) => Some(value),
            Said::Absent | Said::Default(_) => None,
        }
    }

    /// The same setting with its value changed.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Said<U> {
        match self {
            Said::Absent => Said::Absent,
            Said::Default(value) => Said::Default(change(value)),
            Said::At(value, place) => Said::At(change(value), place),
        }
    }

    /// `value` as the system's default, unless something was said.
    pub fn or_default(self, value: T) -> Self {
        match self {
            Said::Absent => Said::Default(value),
            other => other,
        }
    }
}

impl<T: Copy> Said<T> {
    /// The value in force, said or default.
    pub fn get(&self) -> Option<T> {
        self.value().copied()
    }
}

/// The files of an audit: what places point into.
#[derive(Debug, Clone, Default)]
pub struct Files {
    entries: Vec<File>,
}

/// A file, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name as the user knows it.
    pub name: String,
    /// What is in it, or in a part of it.
    pub text: String,
    /// Where the lines of that part stand in the file.
    pub lines: Lines,
    /// The device that the file says the part is of, in so many words.
    pub owner: Option<String>,
}

/// Where the lines of a part stand in their file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lines {
    /// One behind the other, with so many before them.
    Behind(u32),
    /// Among others: each has this number.
    Among(Vec<u32>),
}

impl Lines {
    /// The number in the file of a line of the part, both counted from 1.
    pub fn number(&self, line: u32) -> u32 {
        match self {
            Lines::Behind(before) => line + before,
            Lines::Among(numbers) => {
                let at = (line as usize).clamp(1, numbers.len().max(1)) - 1;
                numbers.get(at).copied().unwrap_or(line)
            }
        }
    }
}

impl Files {
    /// Adds a file.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let lines = Lines::Behind(0);
        self.add_part(File { name: name.into(), text: text.into(), lines, owner: None })
    }

    /// Adds a part of a file.
    pub fn add_part(&mut self, part: File) -> FileId {
        let id = FileId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX - 1));
        self.entries.push(part);
        id
    }

    /// A file, unless the id is that of the intent.
    pub fn get(&self, id: FileId) -> Option<&File> {
        self.entries.get(id.0 as usize)
    }

    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &File)> {
        self.entries.iter().enumerate().map(|(i, file)| (FileId(i as u32), file))
    }

    /// The lines at a place with their numbers, at most `limit`.
    pub fn lines(&self, place: Place, limit: usize) -> Vec<(u32, &str)> {
        let Some(file) = self.get(place.file) else { return Vec::new() };
        let numbered = file.text.lines().zip(1u32..).map(|(line, number)| (number, line));
        let wanted = numbered.skip(place.first.saturating_sub(1) as usize);
        let wanted = wanted.take_while(|(number, _)| *number <= place.last).take(limit);
        wanted.map(|(number, line)| (file.lines.number(number), line)).collect()
    }

    /// `leaf0.cfg:12`, or `leaf0.cfg:12-14`.
    pub fn label(&self, place: Place) -> String {
        let name = self.get(place.file).map_or("intent", |file| file.name.as_str());
        match self.numbers(place) {
            (first, last) if first == last => format!("{name}:{first}"),
            (first, last) => format!("{name}:{first}-{last}"),
        }
    }

    /// The first and the last line of a place, counted in the whole file.
    pub fn numbers(&self, place: Place) -> (u32, u32) {
        match self.get(place.file) {
            Some(file) => (file.lines.number(place.first), file.lines.number(place.last)),
            None => (place.first, place.last),
        }
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_is_not_default() {
        let absent: Said<u8> = Said::Absent;
        assert_eq!(absent.value(), None);
        assert_eq!(absent.or_default(3), Said::Default(3));
        assert_eq!(Said::Default(3).said(), None);
        assert_eq!(Said::meant(3).or_default(4).get(), Some(3));
    }

    #[test]
    fn lines_of_a_place() {
        let mut files = Files::default();
        let id = files.add("a.cfg", "one\ntwo\nthree\n");
        let place = Place { file: id, first: 2, last: 3 };
        assert_eq!(files.lines(place, 9), [(2, "two"), (3, "three")]);
        assert_eq!(files.label(place), "a.cfg:2-3");
        let part = |text: &str, lines| File {
            name: "a.cfg".into(),
            text: text.into(),
            lines,
            owner: None,
        };
        let behind = files.add_part(part("four\nfive\n", Lines::Behind(3)));
        let place = Place::line(behind, 2);
        assert_eq!(files.lines(place, 9), [(5, "five")]);
        assert_eq!(files.label(place), "a.cfg:5");
        let among = files.add_part(part("two\nfour\n", Lines::Among(vec![2, 4])));
        let place = Place { file: among, first: 1, last: 2 };
        assert_eq!(files.lines(place, 9), [(2, "two"), (4, "four")]);
        assert_eq!(files.label(place), "a.cfg:2-4");
        assert!(files.lines(Place::INTENT, 9).is_empty());
        assert!(files.lines(Place { file: id, first: 9, last: 2 }, 9).is_empty());
    }
}
