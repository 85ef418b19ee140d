//! Hashes of what results depend on: what was measured counts only for the very texts and files that it was made from.

use crate::exit::Failure;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// A hash over texts and files, in their order.
pub(crate) struct Digest(Sha256);

impl Digest {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    /// With its length, so that no two lists of texts are the same.
    pub(crate) fn text(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
    }

    pub(crate) fn file(&mut self, path: &Path) -> Result<(), Failure> {
        let failed =
            |error: io::Error| Failure::input(format!("cannot read `{}`: {error}", path.display()));
        let length = fs::metadata(path).map_err(failed)?.len();
        self.0.update(length.to_le_bytes());
        io::copy(&mut File::open(path).map_err(failed)?, self).map_err(failed)?;
        Ok(())
    }

    /// In hexadecimal.
    pub(crate) fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
