//! The classic format: a header of 24 bytes, then packets, each behind a header of 16.

use super::window::Window;
use super::{CaptureError, LinkType, MAX_PACKET, Packet, Timestamp};
use std::io::{self, Read, Write};

const HEADER_LEN: usize = 24;
const RECORD_LEN: usize = 16;
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// Whether a file that begins so is one of these.
pub(super) fn is_magic(bytes: [u8; 4]) -> bool {
    [u32::from_be_bytes(bytes), u32::from_le_bytes(bytes)]
        .iter()
        .any(|magic| matches!(*magic, MICROSECONDS | NANOSECONDS))
}

/// What the file's header says.
#[derive(Debug, Clone, Copy)]
pub(super) struct PcapHeader {
    big_endian: bool,
    /// Nanoseconds of a unit of the packets' fractions of seconds.
    unit: u64,
    pub(super) link_type: LinkType,
}

impl PcapHeader {
    /// Reads it; the magic number has been read.
    pub(super) fn read<R: Read>(window: &mut Window<R>) -> Result<Self, CaptureError> {
        let bytes = window.take(HEADER_LEN)?;
        let words: [u32; HEADER_LEN / 4] = words(bytes, true);
        let big_endian = matches!(words[0], MICROSECONDS | NANOSECONDS);
        let order = |word: u32| if big_endian { word } else { word.swap_bytes() };
        let unit = if order(words[0]) == NANOSECONDS { 1 } else { 1000 };
        // The high half says whether packets end with a frame check sequence. It would count as
        // bytes behind the IP datagram, which nothing here minds.
        let link_type = LinkType(order(words[5]) & 0xffff);
        Ok(Self { big_endian, unit, link_type })
    }

    /// Reads the next packet.
    pub(super) fn next_packet<'a, R: Read>(
        &self,
        window: &'a mut Window<R>,
    ) -> Result<Option<Packet<'a>>, CaptureError> {
        let at = window.position();
        if window.peek(1)?.is_empty() {
            return Ok(None);
        }
        let [seconds, fraction, len, wire_len] = words(window.take(RECORD_LEN)?, self.big_endian);
        if len as usize > MAX_PACKET {
            return Err(CaptureError::Damaged { at, what: "a packet of more than 1 MiB" });
        }
        let ns = u64::from(seconds) * NS_PER_SECOND + u64::from(fraction) * self.unit;
        let bytes = match window.take(len as usize) {
            Err(CaptureError::Cut { .. }) => return Err(CaptureError::Cut { at }),
            other => other?,
        };
        let (timestamp, link_type) = (Timestamp::from_ns(ns), self.link_type);
        Ok(Some(Packet { timestamp, link_type, interface: 0, wire_len, bytes }))
    }
}

/// The words of `bytes`, of which there are enough.
fn words<const N: usize>(bytes: &[u8], big_endian: bool) -> [u32; N] {
    let (chunks, _) = bytes.as_chunks::<4>();
    let mut words = [0; N];
    for (word, chunk) in words.iter_mut().zip(chunks) {
        *word = if big_endian { u32::from_be_bytes(*chunk) } else { u32::from_le_bytes(*chunk) };
    }
    words
}

/// Writes a capture in this format, with nanoseconds and least significant bytes first.
#[derive(Debug)]
pub struct PcapWriter<W> {
    out: W,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a capture whose packets all begin alike.
    pub fn new(mut out: W, link_type: LinkType) -> io::Result<Self> {
        let mut header = [0; HEADER_LEN];
        header[..4].copy_from_slice(&NANOSECONDS.to_le_bytes());
        header[4..8].copy_from_slice(&[2, 0, 4, 0]);
        header[16..20].copy_from_slice(&(MAX_PACKET as u32).to_le_bytes());
        header[20..].copy_from_slice(&link_type.0.to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out })
    }

    /// Appends a packet that had `wire_len` bytes on the wire. Its link type is the capture's.
    pub fn write(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        if packet.bytes.len() > MAX_PACKET {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "packet larger than 1 MiB"));
        }
        let ns = packet.timestamp.as_ns();
        // Seconds are 32 bits here: the format ends in 2106.
        let seconds = u32::try_from(ns / NS_PER_SECOND).unwrap_or(u32::MAX);
        let mut record = [0; RECORD_LEN];
        record[..4].copy_from_slice(&seconds.to_le_bytes());
        record[4..8].copy_from_slice(&((ns % NS_PER_SECOND) as u32).to_le_bytes());
        record[8..12].copy_from_slice(&(packet.bytes.len() as u32).to_le_bytes());
        record[12..].copy_from_slice(&packet.wire_len.to_le_bytes());
        self.out.write_all(&record)?;
        self.out.write_all(packet.bytes)
    }

    /// Flushes and gives back what it wrote to.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
