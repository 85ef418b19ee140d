//! Files of sysfs, of which nothing is believed: small ones, of text, with a number or a word in them.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// A file of sysfs is at most a page.
const LONGEST: u64 = 4_096;
/// Most entries of a folder that are looked at.
const MOST: usize = 4_096;

/// The text of a file, without white space around it.
pub(super) fn text(path: &Path) -> io::Result<String> {
    // Opening a pipe would wait for its writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "larger than a file of sysfs"));
    }
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    Ok(text.trim().to_owned())
}

/// The counter in a file.
pub(super) fn counter(path: &Path) -> io::Result<u64> {
    let text = text(path)?;
    // `+1` is a number to Rust and none to the kernel.
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no number"));
    }
    text.parse().map_err(io::Error::other)
}

/// The number in a file, which may be negative.
pub(super) fn number(path: &Path) -> io::Result<i64> {
    text(path)?.parse().map_err(io::Error::other)
}

/// A file that need not be there.
pub(super) fn optional<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The names in a folder, sorted; none where there is no folder. Names that are no text are left out.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names =
        entries.flatten().take(MOST).filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
