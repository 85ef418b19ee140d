//! Captures that are compressed: unpacked as a stream, in bounded memory.
//!
//! [`Unpacked`] recognises gzip and Zstandard by their first bytes and hands out what is inside; anything
//! else passes through. However much a file expands to, no more than a window of it is held: 32 KiB
//! of gzip, at most [`MAX_WINDOW`] of Zstandard.

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Read};

/// The largest window of a Zstandard file that is accepted: that of `zstd --long`.
pub const MAX_WINDOW: u64 = 1 << 27;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// Its name; nothing for what is not compressed.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
        }
    }

    fn of(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// What a source has read before its first byte is handed out, and the source.
type Source<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

/// A stream without its compression.
pub struct Unpacked<R: Read> {
    inner: Inner<R>,
}

enum Inner<R: Read> {
    Plain(Source<R>),
    Gzip(MultiGzDecoder<Source<R>>),
    Zstd(Box<Frames<R>>),
}

impl<R: Read> std::fmt::Debug for Unpacked<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacked").field("compression", &self.compression()).finish()
    }
}

impl<R: Read> Unpacked<R> {
    /// Looks at the first bytes of a source.
    pub fn new(mut source: R) -> io::Result<Self> {
        let mut start = Vec::with_capacity(4);
        source.by_ref().take(4).read_to_end(&mut start)?;
        let compression = Compression::of(&start);
        let source = io::Cursor::new(start).chain(source);
        let inner = match compression {
            Compression::None => Inner::Plain(source),
            Compression::Gzip => Inner::Gzip(MultiGzDecoder::new(source)),
            Compression::Zstd => Inner::Zstd(Box::new(Frames::new(source))),
        };
        Ok(Self { inner })
    }

    /// How it is compressed.
    pub const fn compression(&self) -> Compression {
        match self.inner {
            Inner::Plain(_) => Compression::None,
            Inner::Gzip(_) => Compression::Gzip,
            Inner::Zstd(_) => Compression::Zstd,
        }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match &mut self.inner {
            Inner::Plain(source) => source.read(out),
            Inner::Gzip(decoder) => decoder.read(out),
            Inner::Zstd(frames) => frames.read(out),
        }
    }
}

/// The frames of a Zstandard file, one after the other.
struct Frames<R> {
    source: BufReader<Source<R>>,
    decoder: FrameDecoder,
    /// A frame is being decoded.
    open: bool,
}

impl<R: Read> Frames<R> {
    fn new(source: Source<R>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self { source: BufReader::new(source), decoder, open: false }
    }

    /// Begins the next frame. Says whether there was one.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.open = true;
                    return Ok(true);
                }
                // Made for other programs.
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped =
                        io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(damaged(error)),
            }
        }
    }

    /// The frame is at its end: is it what was compressed?
    fn end(&mut self) -> io::Result<()> {
        self.open = false;
        let said = self.decoder.get_checksum_from_data();
        if said.is_some() && said != self.decoder.get_calculated_checksum() {
            return Err(damaged("its checksum does not match"));
        }
        Ok(())
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !out.is_empty() {
            if !self.open && !self.begin()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let step = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, step).map_err(damaged)?;
            }
            let read = self.decoder.read(out)?;
            if read > 0 {
                return Ok(read);
            }
            self.end()?;
        }
        Ok(0)
    }
}

fn damaged(reason: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the Zstandard data is damaged: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn unpack(bytes: &[u8]) -> (Compression, io::Result<Vec<u8>>) {
        let mut unpacked = Unpacked::new(bytes).unwrap();
        let mut out = Vec::new();
        let result = unpacked.read_to_end(&mut out);
        (unpacked.compression(), result.map(|_| out))
    }

    #[test]
    fn what_was_packed_comes_out() {
        for text in [&b""[..], b"abc", &[7; 300_000]] {
            assert_eq!(unpack(&gzip(text)).1.unwrap(), text);
            assert_eq!(unpack(&zstd(text)).1.unwrap(), text);
            let (compression, plain) = unpack(text);
            assert_eq!((compression, plain.unwrap()), (Compression::None, text.to_vec()));
        }
        assert_eq!(unpack(&gzip(b"x")).0.name(), Some("gzip"));
        assert_eq!(unpack(&zstd(b"x")).0.name(), Some("zstd"));
    }

    #[test]
    fn parts_follow_each_other() {
        assert_eq!(unpack(&[gzip(b"one "), gzip(b"two")].concat()).1.unwrap(), b"one two");
        let skipped = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
        let parts = [&skipped[..], &zstd(b"one "), &skipped, &zstd(b"two"), &skipped].concat();
        assert_eq!(unpack(&parts).1.unwrap(), b"one two");
    }

    #[test]
    fn what_is_cut_or_damaged_is_an_error() {
        for packed in [gzip(&[7; 5000]), zstd(&[7; 5000])] {
            assert!(unpack(&packed[..packed.len() - 5]).1.is_err());
            let mut changed = packed.clone();
            let at = packed.len() - 3;
            changed[at] ^= 1;
            assert!(unpack(&changed).1.is_err(), "the checksum");
        }
        assert!(unpack(&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9]).1.is_err());
    }

    #[test]
    fn a_window_without_end_is_refused() {
        // A frame that announces a window of 2^41 bytes.
        let (_, result) = unpack(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 1, 0, 0]);
        assert!(result.unwrap_err().to_string().contains("damaged"));
    }

    #[test]
    fn however_much_comes_out_little_is_held() {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
        let chunk = vec![0; 1 << 20];
        for _ in 0..64 {
            encoder.write_all(&chunk).unwrap();
        }
        let bomb = encoder.finish().unwrap();
        assert!(bomb.len() < 1 << 17);
        let mut unpacked = Unpacked::new(&bomb[..]).unwrap();
        assert_eq!(io::copy(&mut unpacked, &mut io::sink()).unwrap(), 64 << 20);
    }
}
