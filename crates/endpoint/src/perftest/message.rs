//! The messages that perftest's two sides exchange beside the data.
//!
//! Over TCP, [`Keys`] are text of a fixed length; over an rdma_cm control connection they are
//! big-endian numbers. Everything else is the same bytes in both.

use std::fmt;
use std::net::Ipv6Addr;
use xoff_units::Bytes;
use xoff_wire::grh::Gid;
use xoff_wire::{Psn, Qpn, Rkey};

/// Bytes of keys as text, with the NUL at the end.
pub(super) const TEXT_LEN: usize = 108;
/// Bytes of keys as numbers.
pub(super) const BINARY_LEN: usize = 56;
/// What either side says when it has read the last keys.
pub(super) const DONE: [u8; 5] = *b"done\0";

/// The version spoken here: that of perftest 4.5.
const VERSION: &[u8] = b"6.06";
/// Behind the version's NUL, which the stock tools ignore: marks a peer that is xoff, and says how
/// it fills its messages.
const MARK: &[u8] = b"xoff1";
/// Where one of us says how much of what arrives is kept for it, in units of 4 KiB: two bytes.
const KEPT: usize = 13;
const KEPT_UNIT: u64 = 4096;
/// Where one of us says that it exchanges what is in `terms`: one byte, zero before there was that.
const EXTRAS: usize = 15;
/// The oldest version that peers of ours may have.
const OLDEST: f64 = 5.7;

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Garbled;

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the peer does not speak perftest's protocol")
    }
}

impl std::error::Error for Garbled {}

/// What one side sends of one of its queue pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Keys {
    /// The local identifier, which RoCE does not have.
    pub(super) lid: u16,
    /// Most outstanding reads and atomics that it answers.
    pub(super) reads: u16,
    /// The queue pair.
    pub(super) qpn: Qpn,
    /// The number of the first packet it sends.
    pub(super) psn: Psn,
    /// The key of its memory.
    pub(super) rkey: Rkey,
    /// Where its memory begins.
    pub(super) address: u64,
    /// Its address.
    pub(super) gid: Gid,
}

impl Keys {
    /// As text.
    pub(super) fn text(&self) -> [u8; TEXT_LEN] {
        let Self { lid, reads, rkey, address, .. } = *self;
        let (qpn, psn) = (self.qpn.get(), self.psn.get());
        let mut line =
            format!("{lid:04x}:{reads:04x}:{qpn:06x}:{psn:06x}:{:08x}:{address:016x}:", rkey.0);
        for byte in self.gid.0.octets() {
            line.push_str(&format!("{byte:02x}:"));
        }
        line.push_str("00000000:");
        let mut out = [0; TEXT_LEN];
        out[..line.len()].copy_from_slice(line.as_bytes());
        out
    }

    /// Reads text.
    pub(super) fn from_text(text: &[u8; TEXT_LEN]) -> Result<Self, Garbled> {
        let line = text.split(|&byte| byte == 0).next().unwrap_or_default();
        let line = std::str::from_utf8(line).map_err(|_| Garbled)?;
        let mut words = line.split(':');
        let mut word = |limit: u64| {
            let value = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            value.filter(|&value| value <= limit).ok_or(Garbled)
        };
        let (lid, reads) = (word(0xffff)? as u16, word(0xffff)? as u16);
        let (qpn, psn) = (word(0xff_ffff)? as u32, word(0xff_ffff)? as u32);
        let (rkey, address) = (word(u32::MAX.into())? as u32, word(u64::MAX)?);
        let mut gid = [0; 16];
        for byte in &mut gid {
            *byte = word(0xff)? as u8;
        }
        Ok(Self::of(lid, reads, qpn, psn, rkey, address, gid))
    }

    /// As numbers.
    pub(super) fn binary(&self) -> [u8; BINARY_LEN] {
        let mut out = [0; BINARY_LEN];
        let words =
            [self.lid.into(), self.reads.into(), self.qpn.get(), self.psn.get(), self.rkey.0];
        for (place, word) in out.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        out[24..32].copy_from_slice(&self.address.to_be_bytes());
        out[32..48].copy_from_slice(&self.gid.0.octets());
        out
    }

    /// Reads numbers.
    pub(super) fn from_binary(bytes: &[u8; BINARY_LEN]) -> Result<Self, Garbled> {
        let word = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&bytes[at..at + 4]);
            u32::from_be_bytes(word)
        };
        let small = |at| u16::try_from(word(at)).map_err(|_| Garbled);
        let number = |at| if word(at) < 1 << 24 { Ok(word(at)) } else { Err(Garbled) };
        let address = u64::from(word(24)) << 32 | u64::from(word(28));
        let mut gid = [0; 16];
        gid.copy_from_slice(&bytes[32..48]);
        Ok(Self::of(small(0)?, small(4)?, number(8)?, number(12)?, word(16), address, gid))
    }

    fn of(
        lid: u16,
        reads: u16,
        qpn: u32,
        psn: u32,
        rkey: u32,
        address: u64,
        gid: [u8; 16],
    ) -> Self {
        Self {
            lid,
            reads,
            qpn: Qpn::new(qpn),
            psn: Psn::new(psn),
            rkey: Rkey(rkey),
            address,
            gid: Gid(Ipv6Addr::from(gid)),
        }
    }
}

/// The first message of a side that can keep `kept` of what arrives, and exchanges terms or not.
pub(super) fn greeting(kept: Bytes, extras: bool) -> [u8; 16] {
    let mut out = [0; 16];
    out[..VERSION.len()].copy_from_slice(VERSION);
    out[8..8 + MARK.len()].copy_from_slice(MARK);
    let units = u16::try_from(kept.get() / KEPT_UNIT).unwrap_or(u16::MAX);
    out[KEPT..KEPT + 2].copy_from_slice(&units.to_be_bytes());
    out[EXTRAS] = extras.into();
    out
}

/// The peer, as its greeting shows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Greeting {
    /// Its version, in its words.
    pub(super) version: String,
    /// It is one of us.
    pub(super) ours: bool,
    /// How much of what arrives is kept for it; nothing if it does not say.
    pub(super) kept: Bytes,
    /// It exchanges terms and tallies.
    pub(super) extras: bool,
}

impl Greeting {
    /// Reads what the peer said first. Nothing if it is no version, or one too old.
    pub(super) fn parse(bytes: &[u8; 16]) -> Result<Self, Garbled> {
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        let version = std::str::from_utf8(text).map_err(|_| Garbled)?;
        let number: f64 = version.trim().parse().map_err(|_| Garbled)?;
        if !number.is_finite() || number < OLDEST {
            return Err(Garbled);
        }
        let ours = &bytes[8..8 + MARK.len()] == MARK;
        let units = u16::from_be_bytes([bytes[KEPT], bytes[KEPT + 1]]);
        let kept = Bytes::new(if ours { u64::from(units) * KEPT_UNIT } else { 0 });
        let extras = ours && bytes[EXTRAS] > 0;
        Ok(Self { version: version.trim().to_owned(), ours, kept, extras })
    }
}

/// The MTU as the two sides say it: the standard's code as a digit, and NUL.
pub(super) fn mtu_text(mtu: u16) -> [u8; 2] {
    let code = (1..=5u8).rev().find(|&code| 128u16 << code <= mtu).unwrap_or(1);
    [b'0' + code, 0]
}

/// Reads it.
pub(super) fn mtu_of(text: [u8; 2]) -> Result<u16, Garbled> {
    match text {
        [digit @ b'1'..=b'5', 0] => Ok(128 << (digit - b'0')),
        _ => Err(Garbled),
    }
}

/// The figures that are exchanged after the data, five numbers of eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Report {
    /// Bytes of a message.
    pub(super) size: u64,
    /// Messages of one queue pair.
    pub(super) iterations: u64,
    /// MiB or Gbit per second, in the best moment.
    pub(super) peak: f64,
    /// The same on average.
    pub(super) average: f64,
    /// Million messages per second.
    pub(super) rate: f64,
}

impl Report {
    /// One by one, as they are sent.
    pub(super) fn values(&self) -> [[u8; 8]; 5] {
        let real = |value: f64| value.to_bits().to_be_bytes();
        [
            self.size.to_be_bytes(),
            self.iterations.to_be_bytes(),
            real(self.peak),
            real(self.average),
            real(self.rate),
        ]
    }

    /// From what was received one by one. A side that measured nothing sends anything.
    pub(super) fn from_values(values: [[u8; 8]; 5]) -> Self {
        let [size, iterations, peak, average, rate] = values;
        let real = |bytes| f64::from_bits(u64::from_be_bytes(bytes));
        Self {
            size: u64::from_be_bytes(size),
            iterations: u64::from_be_bytes(iterations),
            peak: real(peak),
            average: real(average),
            rate: real(rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Keys as perftest 4.5 sent them.
    const RECORDED: &[u8; TEXT_LEN] = b"0000:0010:000011:f004ae:000002ee:00007f847b383000:\
        00:00:00:00:00:00:00:00:00:00:ff:ff:0a:63:00:03:00000000:\0";

    #[test]
    fn keys_as_the_stock_tool_says_them() {
        let keys = Keys::from_text(RECORDED).unwrap();
        assert_eq!(keys.qpn, Qpn::new(0x11));
        assert_eq!(keys.psn, Psn::new(0xf004ae));
        assert_eq!((keys.rkey, keys.address), (Rkey(0x2ee), 0x7f84_7b38_3000));
        assert_eq!(keys.gid.0.to_ipv4_mapped(), Some([10, 99, 0, 3].into()));
        assert_eq!(keys.text(), *RECORDED);
    }

    #[test]
    fn garbage_is_no_keys() {
        let mut text = *RECORDED;
        text[3] = b'x';
        assert_eq!(Keys::from_text(&text), Err(Garbled));
        assert_eq!(Keys::from_text(&[b':'; TEXT_LEN]), Err(Garbled));
        assert_eq!(Keys::from_text(&[0; TEXT_LEN]), Err(Garbled));
        assert_eq!(Keys::from_text(&[0xff; TEXT_LEN]), Err(Garbled));
        assert_eq!(Keys::from_binary(&[0xff; BINARY_LEN]), Err(Garbled));
    }

    #[test]
    fn versions() {
        for (kept, heard) in
            [(0, 0), (425_984, 425_984), (8 << 20, 8 << 20), (1 << 40, 0xffff << 12)]
        {
            let ours = Greeting::parse(&greeting(Bytes::new(kept), true)).unwrap();
            assert_eq!((ours.ours, ours.kept, ours.extras), (true, Bytes::new(heard), true));
        }
        // One of us from before there were terms.
        let older = Greeting::parse(&greeting(Bytes::new(8 << 20), false)).unwrap();
        assert_eq!((older.ours, older.kept, older.extras), (true, Bytes::new(8 << 20), false));
        let parse = |text: &[u8]| {
            let mut bytes = [0; 16];
            bytes[..text.len()].copy_from_slice(text);
            Greeting::parse(&bytes)
        };
        let (ours, kept, extras) = (false, Bytes::ZERO, false);
        let stock = Greeting { version: "6.29".into(), ours, kept, extras };
        assert_eq!(parse(b"6.29"), Ok(stock.clone()));
        assert_eq!(parse(b"6.29\0 whatever they have"[..16].as_ref()), Ok(stock));
        for bad in [&b"5.60"[..], b"", b"nan", b"inf", b"hello", b"\xff\xfe"] {
            assert_eq!(parse(bad), Err(Garbled));
        }
    }

    #[test]
    fn mtus() {
        for (mtu, code) in [(256, b'1'), (1024, b'3'), (1500, b'3'), (4096, b'5'), (9000, b'5')] {
            assert_eq!(mtu_text(mtu), [code, 0]);
        }
        assert_eq!(mtu_of(*b"3\0"), Ok(1024));
        for bad in [*b"0\0", *b"6\0", *b"33", [0xff; 2]] {
            assert_eq!(mtu_of(bad), Err(Garbled));
        }
    }

    proptest! {
        #[test]
        fn keys_survive_both_ways(
            lid in any::<u16>(),
            reads in any::<u16>(),
            qpn in 0u32..1 << 24,
            psn in 0u32..1 << 24,
            rkey in any::<u32>(),
            address in any::<u64>(),
            gid in any::<[u8; 16]>(),
        ) {
            let keys = Keys::of(lid, reads, qpn, psn, rkey, address, gid);
            prop_assert_eq!(Keys::from_text(&keys.text()), Ok(keys));
            prop_assert_eq!(Keys::from_binary(&keys.binary()), Ok(keys));
        }

        #[test]
        fn no_text_panics(text in any::<[u8; 27]>(), more in any::<[u8; 27]>()) {
            let mut bytes = *RECORDED;
            bytes[..27].copy_from_slice(&text);
            bytes[80..107].copy_from_slice(&more);
            let _ = Keys::from_text(&bytes);
        }

        #[test]
        fn reports_survive(size: u64, iterations: u64, peak in 0f64..1e9, rate in 0f64..1e9) {
            let report = Report { size, iterations, peak, average: peak, rate };
            prop_assert_eq!(Report::from_values(report.values()), report);
        }
    }
}
