//! Rows: packets that differ in number, address and bytes, put in together.

use super::{GATHERED, Outbox, ROOM, RUNS, Route, packet_len};
use crate::head::Head;
use crate::memory::{Place, Store};
use crate::run::{Packet, Run};
use xoff_wire::icrc::{self, FRONT};
use xoff_wire::ip::TrafficClass;
use xoff_wire::{Extension, Header, MAX_HEADER_LEN};

/// Room for a packet whose payload is copied, with what is hashed before it and what stands behind it.
const MOST: usize = (FRONT + MAX_HEADER_LEN + GATHERED + 3 + icrc::LEN).next_multiple_of(16);

impl Outbox {
    /// Adds packets that follow the one with `header` and differ from it in their number alone, and if it has the address
    /// of memory, in that. Their addresses and payloads, as long as its, are `rest`. There is [room](Outbox::room) for them.
    #[inline]
    pub(crate) fn push_row(
        &mut self,
        (route, class): (&Route, TrafficClass),
        header: &Header,
        rest: impl Iterator<Item = (u64, Place)>,
        store: &Store,
        segmentation: bool,
    ) {
        let mut head = Head::of(header);
        let payload = header.payload as usize;
        if payload >= GATHERED {
            for (n, (address, place)) in (1..).zip(rest) {
                head.renumber(header.psn.plus(n));
                head.readdress(header, address);
                let payload = (place, store.at(place));
                let fits = self.append(route, class, &mut head, payload, segmentation);
                debug_assert!(fits, "the caller has asked for room");
                self.packets += u64::from(fits);
            }
            return;
        }
        let length = packet_len(head.length, payload);
        let (body, split) = (FRONT + length - icrc::LEN, head.length + payload);
        let sums = route.flow.equally_long(length - icrc::LEN);
        let mut packet = [0; MOST];
        let mut joins =
            segmentation && self.runs.last().is_some_and(|run| run.is_along(route, class));
        packet[FRONT..FRONT + MAX_HEADER_LEN].copy_from_slice(head.headers());
        let writes = matches!(header.extension, Extension::Reth(_));
        for (n, (address, place)) in (1..).zip(rest) {
            if let Some(head) = packet[FRONT..].first_chunk_mut() {
                Header::renumber(head, header.psn.plus(n));
                if writes {
                    Header::readdress(head, address);
                }
            }
            packet[FRONT + head.length..][..payload].copy_from_slice(store.at(place));
            let (start, all_begun) = (self.own.len(), self.runs.len() >= RUNS);
            let run = self.runs.last_mut().filter(|run| joins && run.takes(length));
            if self.filled + length > ROOM || (all_begun && run.is_none()) {
                debug_assert!(false, "the caller has asked for room");
                return;
            }
            let identification = run.as_ref().map_or(0, |run| run.count);
            let sum = sums.icrc(identification, &mut packet[..body]);
            packet[body..body + icrc::LEN].copy_from_slice(&sum.to_bytes());
            self.own.extend_from_slice(&packet[FRONT..FRONT + length]);
            match run {
                Some(run) => run.join(length),
                None => {
                    self.runs.push(Run::new(route, class, start, self.waiting.len(), length));
                    joins = segmentation;
                }
            }
            let (split, end) = (start + split, start + length);
            self.waiting.push(Packet { split, end, payload: Place::NOTHING });
            self.filled += length;
            self.bytes += length as u64;
            self.packets += 1;
        }
    }
}
