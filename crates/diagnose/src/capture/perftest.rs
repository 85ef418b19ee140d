//! Perftest's own exchange of queue pair numbers, over TCP, in the same capture.
//!
//! Each side sends a line of text per queue pair; the first of one side goes with the first of the
//! other, and so on. The same lines come again later as barriers.

use super::pairing::{Pair, Pairing};
use super::report::Matched;
use super::stream::Key;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use xoff_wire::Qpn;
use xoff_wire::frame::{Frame, Network};
use xoff_wire::ip::Protocol;

/// Characters of a line; a NUL may follow.
const LINE: usize = 107;
/// Conversations whose lines are waiting for the other side's.
const CONVERSATIONS: usize = 256;
/// Lines of one side that may wait.
const WAITING: usize = 256;

/// A queue pair as its host announces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Card {
    address: IpAddr,
    qpn: Qpn,
}

/// One end of a TCP conversation.
type Socket = (IpAddr, u16);

/// Lines that wait for the other side's.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    waiting: BTreeMap<(Socket, Socket), VecDeque<Card>>,
}

impl Exchange {
    /// Reads a packet that is not RoCE. Returns a connection if it completes one.
    pub(super) fn packet(
        &mut self,
        frame: &Frame,
        bytes: &[u8],
        known: &mut Pairing,
    ) -> Option<Pair> {
        let protocol = match &frame.network {
            Network::Ipv4(ip) => ip.protocol,
            Network::Ipv6(ip) => ip.next_header,
            _ => return None,
        };
        let segment = bytes.get(frame.payload())?;
        // No TCP header is shorter; most segments end the story here.
        if protocol != Protocol::TCP || segment.len() < 20 + LINE {
            return None;
        }
        let header = usize::from(segment.get(12)? >> 4) * 4;
        let card = Card::parse(segment.get(header..)?)?;
        let (source, destination) = frame.addresses()?;
        let port = |at: usize| Some(u16::from_be_bytes([*segment.get(at)?, *segment.get(at + 1)?]));
        self.learn(card, (source, port(0)?), (destination, port(2)?), known)
    }

    fn learn(&mut self, card: Card, from: Socket, to: Socket, known: &mut Pairing) -> Option<Pair> {
        // A barrier, or TCP sending again.
        if known.has(card.address, card.qpn) {
            return None;
        }
        let waiting = self.waiting.get_mut(&(to, from));
        if let Some(other) = waiting.and_then(VecDeque::pop_front) {
            let there =
                Key { source: other.address, destination: card.address, to: card.qpn, from: None };
            let back =
                Key { source: card.address, destination: other.address, to: other.qpn, from: None };
            known.remember(there, back, Matched::Perftest);
            return Some((there, back));
        }
        if self.waiting.len() >= CONVERSATIONS && !self.waiting.contains_key(&(from, to)) {
            self.waiting.pop_first();
        }
        let mine = self.waiting.entry((from, to)).or_default();
        if mine.len() < WAITING && !mine.contains(&card) {
            mine.push_back(card);
        }
        None
    }
}

impl Card {
    /// Reads a line: numbers in hexadecimal, each with a colon behind it. The third is the queue
    /// pair, sixteen bytes from the seventh on are the GID.
    fn parse(line: &[u8]) -> Option<Self> {
        if !(LINE..=LINE + 1).contains(&line.len()) {
            return None;
        }
        let widths = [4, 4, 6, 6, 8, 16].into_iter().chain([2; 16]).chain([8]);
        let mut rest = line;
        let mut gid = [0; 16];
        let mut qpn = 0;
        for (at, width) in widths.enumerate() {
            let (digits, after) = rest.split_at_checked(width)?;
            let number = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
            rest = after.strip_prefix(b":")?;
            match at {
                2 => qpn = number as u32,
                6..22 => gid[at - 6] = number as u8,
                _ => {}
            }
        }
        let address = Ipv6Addr::from(gid).to_canonical();
        Some(Self { address, qpn: Qpn::new(qpn) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(qpn: u32, host: u8) -> Vec<u8> {
        let mut text = format!("0000:0010:{qpn:06x}:abcdef:00001234:00007f0012345678:");
        for byte in [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, host] {
            text += &format!("{byte:02x}:");
        }
        text += "00000000:";
        text.into_bytes()
    }

    #[test]
    fn a_line_names_host_and_queue_pair() {
        let card = Card::parse(&line(0x12_3456, 7)).unwrap();
        assert_eq!(card.qpn, Qpn::new(0x12_3456));
        assert_eq!(card.address, IpAddr::from([10, 0, 0, 7]));
        let mut with_nul = line(1, 1);
        with_nul.push(0);
        assert!(Card::parse(&with_nul).is_some());
        assert_eq!(Card::parse(&line(1, 1)[..106]), None);
        let mut wrong = line(1, 1);
        wrong[4] = b';';
        assert_eq!(Card::parse(&wrong), None);
    }

    #[test]
    fn lines_go_together_in_their_order() {
        let mut exchange = Exchange::default();
        let mut known = Pairing::default();
        let (a, b) = ((IpAddr::from([1; 4]), 5), (IpAddr::from([2; 4]), 18515));
        let card = |qpn, host| Card::parse(&line(qpn, host)).unwrap();
        let mut learn = |card, from, to| exchange.learn(card, from, to, &mut known);
        assert_eq!(learn(card(10, 1), a, b), None);
        let (there, back) = learn(card(20, 2), b, a).unwrap();
        assert_eq!((there.to, back.to), (Qpn::new(20), Qpn::new(10)));
        assert_eq!(there.source, IpAddr::from([10, 0, 0, 1]));
        // Barriers say nothing new.
        assert_eq!(learn(card(10, 1), a, b), None);
        assert_eq!(learn(card(20, 2), b, a), None);
        assert_eq!(learn(card(11, 1), a, b), None);
        assert_eq!(learn(card(21, 2), b, a).unwrap().0.to, Qpn::new(21));
    }
}
