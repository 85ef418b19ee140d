//! Files that are whole or as they were: [`replace`], and [`put`] for many that can be made again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes next to the file, then moves over it: half a file is never seen under its name, even if
/// the disk is full or the machine loses power. The old file stays until then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    beside(path, bytes, File::sync_all)
}

/// The same without waiting for the disk, which takes milliseconds for each file: whole as long as
/// the machine stays up.
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    beside(path, bytes, |_| Ok(()))
}

/// [`replace`] where other processes, on other machines, too, may write the same file at the same time: `process` tells this
/// one from them, and the last to be ready decides.
pub fn replace_among(path: &Path, bytes: &[u8], process: &str) -> io::Result<()> {
    under(path, &format!(".{process}.partial"), bytes, File::sync_all)
}

fn beside(path: &Path, bytes: &[u8], settle: fn(&File) -> io::Result<()>) -> io::Result<()> {
    under(path, ".partial", bytes, settle)
}

fn under(
    path: &Path,
    ending: &str,
    bytes: &[u8],
    settle: fn(&File) -> io::Result<()>,
) -> io::Result<()> {
    let mut beside = path.to_owned();
    beside.as_mut_os_string().push(ending);
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        settle(&file)
    });
    let moved = written.and_then(|()| fs::rename(&beside, path));
    if moved.is_err() {
        let _ = fs::remove_file(&beside);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_or_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        put(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // A folder in the way: what cannot be moved over leaves nothing behind.
        let taken = folder.path().join("taken");
        fs::create_dir_all(taken.join("inside")).unwrap();
        assert!(replace(&taken, b"three").is_err());
        assert!(put(&taken, b"three").is_err());
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a.txt", "taken"]);
    }
}
