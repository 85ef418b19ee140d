//! [`RunError`]: why a run folder could not be made or written, and what helps.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Why a run folder could not be made or written. The text ends with what would help.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The folder cannot be created or read.
    #[error("cannot use `{}` as run folder: {source}; {}", path.display(), cure(source))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There are files in the folder that no run wrote.
    #[error(
        "`{}` is not empty and holds no run; choose another folder with --out, or empty it first",
        path.display()
    )]
    NotARunFolder {
        /// The folder.
        path: PathBuf,
    },
    /// An input file cannot be copied into the folder.
    #[error("cannot keep a copy of `{}` in the run folder: {source}; {}", path.display(), cure(source))]
    Input {
        /// The file that was to be copied.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table cannot be written further.
    #[error(
        "cannot write `{}`: {source}; {rows_kept} rows are safe in it, {rows_lost} are lost; {}",
        path.display(), cure(source)
    )]
    Table {
        /// The file.
        path: PathBuf,
        /// Rows that a reader will find.
        rows_kept: u64,
        /// Rows that were handed over and are not in the file.
        rows_lost: u64,
        /// What the system said.
        source: io::Error,
    },
    /// A table failed before and takes no more rows.
    #[error("`{}` could not be written earlier and takes no more rows", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// The report cannot be written.
    #[error("cannot write `{}`: {source}; {}", path.display(), cure(source))]
    Report {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The summary cannot be written.
    #[error("cannot write `{}`: {source}; {}", path.display(), cure(source))]
    Summary {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What the user can do about a file that cannot be written.
pub fn cure(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space or choose a folder on another disk with --out"
        }
        ErrorKind::FileTooLarge => {
            "raise the file size limit, or record less (a longer `period`, fewer `max-events`)"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "choose a folder you may write to with --out"
        }
        ErrorKind::NotFound => "check the path",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists | ErrorKind::IsADirectory => {
            "a file or folder of that name is in the way; choose another folder with --out"
        }
        _ => "choose another folder with --out, or try again",
    }
}
