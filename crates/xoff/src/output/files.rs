//! Several files in a folder, each whole or not there at all.

use crate::exit::Failure;
use std::path::Path;
use std::{fs, io};
use xoff_telemetry::file;

/// Writes files into a folder. One that is there with other content is a user's work and
/// stays, unless `force` is given; then nothing is written at all.
pub(crate) fn write(folder: &Path, files: &[(&str, &str)], force: bool) -> Result<(), Failure> {
    let failed = |path: &Path, error: io::Error| {
        Failure::write(format!(
            "cannot write `{}`: {error}; {}",
            path.display(),
            xoff_telemetry::cure(&error)
        ))
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let differs = |(name, text): &&(&str, &str)| match fs::read(folder.join(name)) {
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
        file::put(&path, text.as_bytes()).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}
