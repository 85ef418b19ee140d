//! Either kind of capture, packet by packet.

use super::pcap::PcapHeader;
use super::pcapng::{Block, Section};
use super::window::Window;
use super::{CaptureError, LinkType, Packet, pcap, pcapng};
use std::io::Read;

/// The kind of a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The classic one.
    Pcap,
    /// The newer one, of blocks.
    Pcapng,
}

/// Reads a capture.
#[derive(Debug)]
pub struct Reader<R> {
    window: Window<R>,
    state: State,
    skipped: u64,
}

#[derive(Debug)]
enum State {
    Pcap(PcapHeader),
    Pcapng(Section),
}

impl<R: Read> Reader<R> {
    /// Begins to read: looks at the first bytes to see what it is.
    pub fn new(source: R) -> Result<Self, CaptureError> {
        let mut window = Window::new(source);
        let magic: [u8; 4] = match window.peek(4)? {
            [] => return Err(CaptureError::Empty),
            &[a, b, c, d] => [a, b, c, d],
            few => {
                let mut magic = [0; 4];
                magic[..few.len()].copy_from_slice(few);
                return Err(CaptureError::NotACapture(magic));
            }
        };
        let state = if magic == pcapng::SECTION.to_be_bytes() {
            State::Pcapng(Section::default())
        } else if pcap::is_magic(magic) {
            State::Pcap(PcapHeader::read(&mut window)?)
        } else {
            return Err(CaptureError::NotACapture(magic));
        };
        Ok(Self { window, state, skipped: 0 })
    }

    /// The next packet; `None` at the end of the file. After an error there is nothing more.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        match &mut self.state {
            State::Pcap(header) => header.next_packet(&mut self.window),
            State::Pcapng(section) => {
                let found = loop {
                    match section.next_block(&mut self.window)? {
                        Block::Packet(packet) => break packet,
                        Block::Skipped => self.skipped += 1,
                        Block::Known => {}
                        Block::End => return Ok(None),
                    }
                };
                found.packet(&mut self.window).map(Some)
            }
        }
    }

    /// The kind of the file.
    pub const fn format(&self) -> Format {
        match self.state {
            State::Pcap(_) => Format::Pcap,
            State::Pcapng(_) => Format::Pcapng,
        }
    }

    /// What the packets begin with, where the file says it once for all.
    pub const fn link_type(&self) -> Option<LinkType> {
        match &self.state {
            State::Pcap(header) => Some(header.link_type),
            State::Pcapng(_) => None,
        }
    }

    /// Bytes of the file consumed.
    pub const fn position(&self) -> u64 {
        self.window.position()
    }

    /// Blocks of kinds we do not know that were skipped: names, statistics, comments, keys.
    pub const fn skipped_blocks(&self) -> u64 {
        self.skipped
    }
}
