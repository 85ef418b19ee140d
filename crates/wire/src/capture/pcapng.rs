//! The newer format: blocks in sections, packets of several interfaces with clocks of their own.

mod interface;
mod writer;

pub use writer::PcapngWriter;

use super::window::Window;
use super::{CaptureError, MAX_PACKET, Packet};
use interface::Interface;
use std::io::Read;

/// The section header's type, the same in either byte order.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Type and length in front of a block's body, the length again behind it.
const HEAD: usize = 8;
const TAIL: usize = 4;
/// The most bytes of an interface's block that are believed.
const MAX_INTERFACE: usize = 1 << 16;
/// The most interfaces of a section.
const MAX_INTERFACES: usize = 1 << 12;
/// The most bytes of a packet's block: the packet, its header and options.
const MAX_PACKET_BLOCK: usize = MAX_PACKET + (1 << 17);

/// The section being read.
#[derive(Debug, Default)]
pub(super) struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

/// What the next block was.
#[derive(Debug)]
pub(super) enum Block {
    /// A packet, whose bytes are still to be taken.
    Packet(Found),
    /// One that says something about those that follow.
    Known,
    /// One of no interest.
    Skipped,
    /// There is none.
    End,
}

/// A packet's block: the header that was read and the bytes that follow.
#[derive(Debug)]
pub(super) struct Found {
    interface: Interface,
    /// The interface's number in the file.
    number: u32,
    ticks: u64,
    len: usize,
    wire_len: u32,
    /// Bytes of options, padding and trailer behind the packet.
    after: usize,
    at: u64,
}

impl Found {
    /// Takes the packet's bytes.
    pub(super) fn packet<R: Read>(
        self,
        window: &mut Window<R>,
    ) -> Result<Packet<'_>, CaptureError> {
        let at = self.at;
        let cut = |error| match error {
            CaptureError::Cut { .. } => CaptureError::Cut { at },
            other => other,
        };
        let bytes = window.take(self.len + self.after).map_err(cut)?;
        Ok(Packet {
            timestamp: self.interface.timestamp(self.ticks),
            link_type: self.interface.link_type,
            interface: self.number,
            wire_len: self.wire_len,
            bytes: bytes.get(..self.len).unwrap_or_default(),
        })
    }
}

impl Section {
    fn u32(&self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn word(&self, bytes: &[u8], at: usize) -> Option<u32> {
        Some(self.u32(*bytes.get(at..)?.first_chunk()?))
    }

    /// Reads a block up to where a packet's bytes begin, or all of it.
    pub(super) fn next_block<R: Read>(
        &mut self,
        window: &mut Window<R>,
    ) -> Result<Block, CaptureError> {
        let at = window.position();
        let head = match window.peek(HEAD + 4)? {
            [] => return Ok(Block::End),
            few if few.len() < HEAD + 4 => return Err(CaptureError::Cut { at }),
            bytes => *bytes.first_chunk::<{ HEAD + 4 }>().ok_or(CaptureError::Cut { at })?,
        };
        let [t0, t1, t2, t3, l0, l1, l2, l3, m0, m1, m2, m3] = head;
        let kind = self.u32([t0, t1, t2, t3]);
        if kind == SECTION {
            // The byte order holds for this block's own length already.
            *self = Self::begin([m0, m1, m2, m3], at)?;
        }
        let len = self.u32([l0, l1, l2, l3]) as usize;
        if len < HEAD + TAIL || !len.is_multiple_of(4) {
            return Err(CaptureError::Damaged { at, what: "a block of impossible length" });
        }
        self.read_body(kind, len, at, window).map_err(|error| match error {
            CaptureError::Cut { .. } => CaptureError::Cut { at },
            other => other,
        })
    }

    fn begin(order: [u8; 4], at: u64) -> Result<Self, CaptureError> {
        let big_endian = match (u32::from_be_bytes(order), u32::from_le_bytes(order)) {
            (BYTE_ORDER, _) => true,
            (_, BYTE_ORDER) => false,
            _ => return Err(CaptureError::Damaged { at, what: "a section without byte order" }),
        };
        Ok(Self { big_endian, interfaces: Vec::new() })
    }

    fn read_body<R: Read>(
        &mut self,
        kind: u32,
        len: usize,
        at: u64,
        window: &mut Window<R>,
    ) -> Result<Block, CaptureError> {
        match kind {
            INTERFACE => {
                if len > MAX_INTERFACE || self.interfaces.len() == MAX_INTERFACES {
                    let what = "interfaces without end";
                    return Err(CaptureError::Damaged { at, what });
                }
                let block = window.take(len)?;
                let body = block.get(HEAD..len - TAIL).unwrap_or_default();
                let interface = Interface::parse(body, self.big_endian);
                let what = "an interface without a description";
                self.interfaces.push(interface.ok_or(CaptureError::Damaged { at, what })?);
                Ok(Block::Known)
            }
            ENHANCED_PACKET | OLD_PACKET | SIMPLE_PACKET => {
                if len > MAX_PACKET_BLOCK {
                    let what = "a packet of more than 1 MiB";
                    return Err(CaptureError::Damaged { at, what });
                }
                self.packet_head(kind, len, at, window).map(Block::Packet)
            }
            SECTION => window.skip(len as u64).map(|()| Block::Known),
            _ => window.skip(len as u64).map(|()| Block::Skipped),
        }
    }

    /// Reads the fields in front of a packet's bytes.
    fn packet_head<R: Read>(
        &self,
        kind: u32,
        len: usize,
        at: u64,
        window: &mut Window<R>,
    ) -> Result<Found, CaptureError> {
        let damaged = |what| CaptureError::Damaged { at, what };
        let short = || damaged("a packet's block is too short for its packet");
        let fields = if kind == SIMPLE_PACKET { 4 } else { 20 };
        let room = len.checked_sub(HEAD + fields + TAIL).ok_or_else(short)?;
        let head = window.take(HEAD + fields)?;
        let word = |at| self.word(head, HEAD + at).ok_or_else(short);
        let (number, ticks, size, wire_len) = match kind {
            SIMPLE_PACKET => {
                let wire_len = word(0)?;
                let kept = self.interfaces.first().map_or(0, |interface| interface.snap_len);
                let kept = if kept == 0 { wire_len } else { kept.min(wire_len) };
                (0, 0, kept, wire_len)
            }
            _ => {
                let ticks = u64::from(word(4)?) << 32 | u64::from(word(8)?);
                let number = match (kind, self.big_endian) {
                    // The old block has a short number and a drop count in one word.
                    (OLD_PACKET, true) => word(0)? >> 16,
                    (OLD_PACKET, false) => word(0)? & 0xffff,
                    _ => word(0)?,
                };
                (number, ticks, word(12)?, word(16)?)
            }
        };
        let interface = self.interfaces.get(number as usize);
        let interface = *interface.ok_or_else(|| damaged("a packet of an unknown interface"))?;
        let len = size as usize;
        let after = room.checked_sub(len).ok_or_else(short)? + TAIL;
        Ok(Found { interface, number, ticks, len, wire_len, after, at })
    }
}
