//! A reused buffer over a stream: contiguous bytes on demand.

use super::CaptureError;
use std::io::{ErrorKind, Read};

/// How much is read at a time.
const CHUNK: usize = 1 << 18;

/// The bytes of a stream from `start` on that have been read but not consumed.
#[derive(Debug)]
pub(super) struct Window<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where in the file `start` is.
    position: u64,
}

impl<R: Read> Window<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; CHUNK], start: 0, end: 0, position: 0 }
    }

    /// Bytes of the file consumed so far.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Consumes `len` bytes and returns them. The caller has limited `len`.
    pub(super) fn take(&mut self, len: usize) -> Result<&[u8], CaptureError> {
        if self.fill(len)? < len {
            return Err(CaptureError::Cut { at: self.position });
        }
        let start = self.start;
        self.start += len;
        self.position += len as u64;
        Ok(self.buffer.get(start..start + len).unwrap_or_default())
    }

    /// Looks at the next `len` bytes, or fewer at the end of the file.
    pub(super) fn peek(&mut self, len: usize) -> Result<&[u8], CaptureError> {
        let there = self.fill(len)?.min(len);
        Ok(self.buffer.get(self.start..self.start + there).unwrap_or_default())
    }

    /// Skips `len` bytes, however many.
    pub(super) fn skip(&mut self, mut len: u64) -> Result<(), CaptureError> {
        while len > 0 {
            let step = len.min(CHUNK as u64) as usize;
            self.take(step)?;
            len -= step as u64;
        }
        Ok(())
    }

    /// Reads until `len` bytes are there or the file ends, and says how many are.
    fn fill(&mut self, len: usize) -> Result<usize, CaptureError> {
        while self.end - self.start < len {
            if self.buffer.len() - self.start < len {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
                if self.buffer.len() < len {
                    self.buffer.resize(len.next_multiple_of(CHUNK), 0);
                }
            }
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.source.read(room) {
                Ok(0) => break,
                Ok(read) => self.end += read.min(room.len()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.end - self.start)
    }
}
