//! Several files in a folder, each whole or not there at all.

use crate::exit::Failure;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes files into a folder. One that is there and says something else is somebody's work and stays,
/// unless `force` is given; then nothing is written at all.
pub(crate) fn write(folder: &Path, files: &[(&str, String)], force: bool) -> Result<(), Failure> {
    let failed = |path: &Path, error: io::Error| {
        Failure::write(format!(
            "cannot write `{}`: {error}; free some space or choose another folder with --out",
            path.display()
        ))
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let differs = |(name, text): &&(&str, String)| match fs::read(folder.join(name)) {
        Ok(there) => there != text.as_bytes(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    if let Some((name, _)) = files.iter().filter(|_| !force).find(differs) {
        return Err(Failure::write(format!(
            "`{}` is already there and differs; use --force to replace it",
            folder.join(name).display()
        )));
    }
    for (name, text) in files {
        let path = folder.join(name);
        replace(&path, text.as_bytes()).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// Writes next to the file, then moves over it: half a file is never seen under its name, whether the
/// disk is full or somebody pulls the plug.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = partial(path);
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&beside, path));
    if moved.is_err() {
        let _ = fs::remove_file(&beside);
    }
    moved
}

fn partial(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}
