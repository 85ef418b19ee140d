//! What must hold at the end of every run, in every build.

use crate::engine::Engine;
use crate::event::{EventQueue, Key, Kind};
use crate::id::{Slot, Table};

impl<Q: EventQueue> Engine<'_, Q> {
    /// Every packet and every byte of buffer is accounted for.
    pub(crate) fn assert_conserved(&self) {
        let dropped = self.accounts.dropped();
        let alive = self.net.packets.live();
        assert_eq!(
            self.net.headers.written,
            self.accounts.totals.delivered + dropped + alive,
            "packets made, and packets delivered, dropped and alive"
        );
        let mut queued = 0;
        let mut queued_bytes = 0;
        let mut charged: Table<Slot, u64> = vec![0; self.net.ports.len() * 8].into();
        for queue in self.net.ports.iter().flat_map(|port| &port.lanes).map(|lane| &lane.queue) {
            let mut bytes = 0;
            for packet in queue.iter(&self.net.packets) {
                queued += 1;
                bytes += u32::from(packet.size);
                queued_bytes += u64::from(packet.size);
                if let Some(slot) = charged.get_mut(packet.ingress) {
                    *slot += u64::from(packet.charged);
                }
            }
            assert_eq!(bytes, queue.bytes, "a queue's length and its packets");
        }
        for packet in
            self.net.voqs.iter().flatten().flat_map(|voqs| voqs.packets(&self.net.packets))
        {
            queued += 1;
            queued_bytes += u64::from(packet.size);
            charged[packet.ingress] += u64::from(packet.charged);
        }
        let arrives = |(key, _): &(Key, u32)| key.is(Kind::Arrive) || key.is(Kind::Deliver);
        let under_way = self.events.pending().filter(arrives).count() as u64;
        let under_way = under_way + self.in_fabrics().count() as u64;
        assert_eq!(alive, queued + under_way, "packets queued and under way");
        let lanes = self.net.ports.iter().flat_map(|port| &port.lanes);
        for (lane, charged) in lanes.zip(&charged) {
            assert_eq!(lane.ingress.held(), *charged, "buffer in use and the packets in it");
        }
        let accounted = self.accounts.totals.delivered_bytes
            + self.accounts.totals.dropped_bytes
            + queued_bytes;
        assert!(accounted <= self.net.headers.written_bytes, "more bytes came out than went in");
        self.assert_credits();
        self.assert_voqs();
        for switch in &self.net.switches {
            assert!(switch.shared.free <= switch.shared_total, "buffer out of nowhere");
        }
    }
}
