//! Writes captures in this format.

use super::super::{LinkType, MAX_PACKET, Packet};
use super::{BYTE_ORDER, ENHANCED_PACKET, INTERFACE, SECTION};
use std::io::{self, Write};

/// Writes a capture of one section, least significant bytes first. Each interface is described
/// when its first packet comes, with a nanosecond clock.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    interfaces: Vec<(LinkType, u32)>,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a capture.
    pub fn new(mut out: W) -> io::Result<Self> {
        write_block(
            &mut out,
            SECTION,
            &[
                &BYTE_ORDER.to_le_bytes(),
                // Version 1.0, length of the section not known.
                &[1, 0, 0, 0],
                &[0xff; 8],
            ],
        )?;
        Ok(Self { out, interfaces: Vec::new() })
    }

    /// Appends a packet.
    pub fn write(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        if packet.bytes.len() > MAX_PACKET {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "packet larger than 1 MiB"));
        }
        let number = self.interface(packet.link_type, packet.interface)?;
        let ns = packet.timestamp.as_ns();
        let words =
            [number, (ns >> 32) as u32, ns as u32, packet.bytes.len() as u32, packet.wire_len];
        let [a, b, c, d, e] = words.map(u32::to_le_bytes);
        let padding = [0; 3];
        let padding = &padding[..packet.bytes.len().wrapping_neg() & 3];
        write_block(&mut self.out, ENHANCED_PACKET, &[&a, &b, &c, &d, &e, packet.bytes, padding])
    }

    /// The number that an interface has here, described if it is new.
    fn interface(&mut self, link_type: LinkType, number: u32) -> io::Result<u32> {
        let wanted = (link_type, number);
        if let Some(at) = self.interfaces.iter().position(|known| *known == wanted) {
            return Ok(at as u32);
        }
        let bad = |_| io::Error::new(io::ErrorKind::InvalidInput, "link type of more than 16 bits");
        let short = u16::try_from(link_type.0).map_err(bad)?;
        write_block(
            &mut self.out,
            INTERFACE,
            &[
                &short.to_le_bytes(),
                &[0, 0],
                &(MAX_PACKET as u32).to_le_bytes(),
                // The clock's resolution: ten to the minus nine seconds. Then no more options.
                &[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0],
            ],
        )?;
        self.interfaces.push(wanted);
        Ok(self.interfaces.len() as u32 - 1)
    }

    /// Flushes and gives back what it wrote to.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

fn write_block(out: &mut impl Write, kind: u32, body: &[&[u8]]) -> io::Result<()> {
    let len = 12 + body.iter().map(|part| part.len()).sum::<usize>() as u32;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&len.to_le_bytes())?;
    for part in body {
        out.write_all(part)?;
    }
    out.write_all(&len.to_le_bytes())
}
