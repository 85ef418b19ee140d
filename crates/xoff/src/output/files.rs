//! What `--out` names: a folder that a command may fill, and files that it may replace.
//!
//! A command replaces what it wrote itself and nothing else. [`claim`] is asked before anything is
//! run, so that hours of work do not end at a folder that is refused.

use crate::exit::Failure;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};
use std::{fs, io};
use xoff_telemetry::file;

/// What is done with the results of an earlier run that was to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// They must not be there.
    Refuse,
    /// They are kept, and gone on with.
    Resume,
    /// They are forgotten.
    Forget,
}

impl Earlier {
    /// As `--resume` and `--fresh` say.
    pub(crate) fn of(resume: bool, fresh: bool) -> Self {
        match (resume, fresh) {
            (true, _) => Self::Resume,
            (_, true) => Self::Forget,
            _ => Self::Refuse,
        }
    }
}

/// What a command keeps in a folder, and how it knows its own.
pub(crate) enum Contents<'a> {
    /// Results that replace those of an earlier time as a whole: whatever is there, the folder must
    /// be one of the same command.
    Results {
        /// What there is one of in the folder, like `run`.
        what: &'a str,
        /// Whether a folder is such a one.
        own: fn(&Path) -> bool,
    },
    /// Files of these names, beside any others.
    Files(&'a [(&'a str, &'a str)], Replace),
}

/// Which files that are there already may be replaced.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Replace {
    /// All of them: `--force` was given.
    Forced,
    /// Those that would stay the same; others with `--force`.
    Same,
    /// None.
    Nothing,
    /// Those that this function knows as written by the same command.
    Own(fn(&str) -> bool),
}

impl Replace {
    /// What `--force` allows.
    pub(crate) fn forced(force: bool) -> Self {
        if force { Self::Forced } else { Self::Same }
    }

    /// Why a file must stay, if it must.
    fn refusal(self, there: &io::Result<Vec<u8>>, text: &str) -> Option<&'static str> {
        let there = match there {
            // A file in the place of its folder is an error of making the folder.
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return None,
            Err(_) => None,
            Ok(there) => Some(there.as_slice()),
        };
        let known = |own: fn(&str) -> bool| {
            there.and_then(|there| std::str::from_utf8(there).ok()).is_some_and(own)
        };
        match self {
            Self::Forced => None,
            Self::Same if there == Some(text.as_bytes()) => None,
            Self::Same => Some(
                "is already there and differs; use --force to replace it, or choose another --out",
            ),
            Self::Nothing => Some("is already there; choose another folder with --out"),
            Self::Own(own) if known(own) => None,
            Self::Own(_) => {
                Some("is already there and is not of xoff; choose another place, or move it")
            }
        }
    }
}

/// Takes a folder: makes it if it is not there, and refuses one in which something of another origin
/// would be overwritten.
pub(crate) fn claim(folder: &Path, contents: &Contents<'_>) -> Result<(), Failure> {
    let shown = folder.display();
    if folder.is_file() {
        return Err(Failure::write(format!(
            "`{shown}` is a file, and --out names a folder; choose another --out"
        )));
    }
    match contents {
        Contents::Results { what, own } => {
            let filled = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
            if filled && !own(folder) {
                return Err(Failure::write(format!(
                    "`{shown}` is not empty and holds no earlier {what}; choose another folder with \
                     --out, or empty it first"
                )));
            }
        }
        Contents::Files(files, replace) => {
            let kept = files.iter().find_map(|(name, text)| {
                let path = folder.join(name);
                let why = replace.refusal(&fs::read(&path), text)?;
                Some(Failure::write(format!("`{}` {why}", path.display())))
            });
            if let Some(failure) = kept {
                return Err(failure);
            }
        }
    }
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))
}

/// Writes files into a folder, each whole or not at all, if all of them may be written.
pub(crate) fn write(
    folder: &Path,
    files: &[(&str, &str)],
    replace: Replace,
) -> Result<(), Failure> {
    claim(folder, &Contents::Files(files, replace))?;
    for (name, text) in files {
        let path = folder.join(name);
        file::put(&path, text.as_bytes()).map_err(|error| failed(&path, &error))?;
        if text.starts_with("#!") {
            make_executable(&path).map_err(|error| failed(&path, &error))?;
        }
    }
    Ok(())
}

/// Lets those run a script who may read it.
#[cfg(unix)]
pub(crate) fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = fs::metadata(path)?.permissions();
    let mode = permissions.mode();
    permissions.set_mode(mode | (mode & 0o444) >> 2);
    fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
pub(crate) fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Writes one file of any name, over one that `own` knows as written by the same command.
pub(crate) fn write_one(path: &Path, text: &str, own: fn(&str) -> bool) -> Result<(), Failure> {
    may_write_one(path, own)?;
    file::replace(path, text.as_bytes()).map_err(|error| failed(path, &error))
}

/// Refuses a file that is there and is not of the same command.
pub(crate) fn may_write_one(path: &Path, own: fn(&str) -> bool) -> Result<(), Failure> {
    // What is no file (a terminal, a pipe) is not overwritten.
    let there = if path.is_file() { fs::read(path) } else { Err(NotFound.into()) };
    match Replace::Own(own).refusal(&there, "") {
        Some(why) => Err(Failure::write(format!("`{}` {why}", path.display()))),
        None => Ok(()),
    }
}

/// A path from the root, as far as it can be known.
pub(crate) fn whole(path: &Path) -> PathBuf {
    let known = path.canonicalize().or_else(|_| std::path::absolute(path));
    known.unwrap_or_else(|_| path.to_owned())
}

/// A file or folder that could not be written, and what might help.
pub(crate) fn failed(path: &Path, error: &io::Error) -> Failure {
    let cure = xoff_telemetry::cure(error);
    Failure::write(format!("cannot write `{}`: {error}; {cure}", path.display()))
}
