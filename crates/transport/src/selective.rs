//! Selective repeat: what the sender knows to have arrived, and what the receiver keeps.
//!
//! Without a reorder window every early packet is reported to the sender, which finds out what is lost (as in IRN). Where
//! packets may overtake each other, most do, and a report of each would double the traffic: the receiver keeps them
//! without a word and asks for the packets that are lost ([`QpConfig::reports_early`]).

use crate::config::QpConfig;
use crate::rack::Rack;
use std::collections::VecDeque;
use xoff_units::Instant;
use xoff_wire::{Header, Operation};

/// The sender's view of the packets after the first unacknowledged one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scoreboard {
    /// Which packets arrived, from the first unacknowledged on; empty when nothing is missing.
    arrived: VecDeque<bool>,
    /// The packet to be sent again next, if it is below `lost_below`.
    retry: u64,
    /// Packets before this that have not arrived are lost.
    lost_below: u64,
    /// A missing packet is lost once one that was sent this many packets after it has arrived.
    window: u64,
    /// Packets before this were in flight when silence was last answered, and may all be lost.
    doubtful_below: u64,
    /// The peer says nothing of packets that come early: see [`QpConfig::reports_early`].
    quiet: bool,
    /// The window that congestion control allows, where it counts what is in flight.
    pub(crate) allowed: u64,
    /// How many entries of `arrived` are true.
    early: u64,
    /// Single packets that the peer reported as trimmed, to be sent again before all others.
    asked: VecDeque<u64>,
    /// Where losses are detected by time, this keeps the state of all packets instead.
    pub(crate) rack: Option<Rack>,
}

impl Scoreboard {
    /// Packets beyond the first unacknowledged one that either side keeps track of.
    pub(crate) const SPAN: usize = 1 << 16;

    /// Nothing is known of any packet.
    pub(crate) fn new(config: &QpConfig) -> Self {
        let (window, quiet) = (config.reorder_window.into(), !config.reports_early());
        Self { window, quiet, ..Self::default() }
    }

    /// Forgets everything about the packets.
    pub(crate) fn clear(&mut self) {
        let Self { window, allowed, quiet, .. } = *self;
        let mut rack = self.rack.take();
        rack.iter_mut().for_each(Rack::clear);
        *self = Self { window, allowed, quiet, rack, ..Self::default() };
    }

    /// Whether a packet is to be sent again.
    #[inline]
    pub(crate) fn has_lost(&self) -> bool {
        if let Some(rack) = &self.rack {
            return rack.has_lost();
        }
        self.retry < self.lost_below || !self.asked.is_empty()
    }

    /// The packet to be sent again next.
    pub(crate) fn first_lost(&self) -> Option<u64> {
        if let Some(rack) = &self.rack {
            return rack.first_lost();
        }
        let asked = self.asked.front().copied();
        asked.or_else(|| (self.retry < self.lost_below).then_some(self.retry))
    }

    /// How many packets beyond the first unacknowledged one are known to have arrived.
    pub(crate) fn early(&self) -> u64 {
        self.rack.as_ref().map_or(self.early, Rack::early)
    }

    /// How many packets from `acked` on are not in flight: arrived, or lost and not sent again.
    pub(crate) fn gone(&self, acked: u64) -> u64 {
        if let Some(rack) = &self.rack {
            return rack.gone();
        }
        let from = self.retry.max(acked);
        let lost = (from..self.lost_below.max(from)).filter(|&number| !self.has(number, acked));
        self.early + lost.count() as u64 + self.asked.len() as u64
    }

    fn has(&self, number: u64, acked: u64) -> bool {
        let offset = usize::try_from(number - acked).unwrap_or(usize::MAX);
        self.arrived.get(offset).copied().unwrap_or(false)
    }

    /// The peer reports one packet of which only the header came.
    pub(crate) fn ask(&mut self, number: u64, acked: u64) {
        // What is in line to be sent again needs no second entry.
        let pending = number >= self.retry && number < self.lost_below;
        let known = number < acked || self.has(number, acked) || self.asked.contains(&number);
        if !known && !pending && self.asked.len() < Self::SPAN {
            self.asked.push_back(number);
        }
    }

    /// `count` more packets are acknowledged, now up to `acked`.
    #[inline]
    pub(crate) fn acknowledge(&mut self, count: u64, acked: u64, now: Instant) {
        if let Some(rack) = &mut self.rack {
            return rack.acknowledge(acked, now);
        }
        if !self.arrived.is_empty() {
            let count = usize::try_from(count).unwrap_or(usize::MAX).min(self.arrived.len());
            let gone = self.arrived.drain(..count).filter(|&arrived| arrived).count();
            self.early -= gone as u64;
        }
        if !self.asked.is_empty() {
            self.asked.retain(|&number| number >= acked);
        }
        if acked < self.doubtful_below {
            // No later packet arrived that could reveal the loss of these: without this each of
            // them would cost a timeout. Two for each that gets through doubles their number per
            // round trip, and a timeout that was only late repeats little.
            // Of a peer that does not report what came early, what was sent again counts: the rest
            // had arrived before.
            let again = self.retry.saturating_sub(acked - count).max(1);
            let through = if self.quiet { count.min(again) } else { count };
            let more = self.retry.max(acked).saturating_add(through.saturating_mul(2));
            self.lost_below = self.lost_below.max(more.min(self.doubtful_below));
        }
        if self.has_lost() {
            self.settle(acked);
        }
        self.check_bounds();
    }

    /// The peer has `number`, so what is missing well before it is lost.
    pub(crate) fn arrived(&mut self, number: u64, acked: u64, now: Instant) {
        if let Some(rack) = &mut self.rack {
            return rack.arrived(number, now);
        }
        let Ok(offset) = usize::try_from(number - acked) else { return };
        if offset >= Self::SPAN {
            return;
        }
        if self.arrived.len() <= offset {
            self.arrived.resize(offset + 1, false);
        }
        self.early += u64::from(!std::mem::replace(&mut self.arrived[offset], true));
        self.asked.retain(|&asked| asked != number);
        self.lost_below = self.lost_below.max(number.saturating_sub(self.window));
        self.settle(acked);
        self.check_bounds();
    }

    /// Everything missing is sent again, and the first unacknowledged packet in any case: if it did
    /// arrive, then its acknowledgement was lost and has to be provoked.
    pub(crate) fn retry(&mut self, acked: u64, high: u64) {
        debug_assert_eq!(
            self.early,
            self.arrived.iter().filter(|&&arrived| arrived).count() as u64,
            "packets that count as early, and that are"
        );
        if let Some(first) = self.arrived.front_mut() {
            self.early -= u64::from(std::mem::take(first));
        }
        self.retry = acked;
        self.lost_below = self.lost_below.max(acked + 1).min(high);
        self.doubtful_below = high;
        self.settle(acked);
    }

    /// The same for a sender whose window holds it back: everything that has not arrived is lost.
    pub(crate) fn retry_all(&mut self, acked: u64, high: u64) {
        self.asked.clear();
        self.retry(acked, high);
        self.lost_below = high;
        self.doubtful_below = 0;
    }

    /// The first lost packet has been sent again, and with it all before `end`.
    pub(crate) fn repaired(&mut self, end: u64, acked: u64, now: Instant) {
        if let Some(rack) = &mut self.rack {
            // A request for a read covers the numbers of all its data.
            let first = rack.first_lost().unwrap_or(end - 1).min(end - 1);
            return (first..end).for_each(|number| rack.sent(number, now));
        }
        if self.asked.pop_front().is_none() {
            debug_assert!(self.retry < end, "sending again up to {end} repeats nothing");
            self.retry = end;
            self.settle(acked);
        }
    }

    /// Whatever the peer reports, the board keeps within its span.
    #[inline(always)]
    fn check_bounds(&self) {
        debug_assert!(self.arrived.len() <= Self::SPAN, "packets beyond the span are kept");
        debug_assert!(self.asked.len() <= Self::SPAN, "requests beyond the span are kept");
        debug_assert!(self.early <= self.arrived.len() as u64, "more arrived than is kept");
    }

    /// Moves on to a packet that is really missing.
    fn settle(&mut self, acked: u64) {
        self.retry = self.retry.max(acked);
        while self.retry < self.lost_below {
            if !self.has(self.retry, acked) {
                return;
            }
            self.retry += 1;
        }
    }
}

/// A packet of a send or write, as far as accepting it goes: all that is kept of one that is early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) send: bool,
    pub(crate) begins: bool,
    pub(crate) ends: bool,
    /// It asks for an acknowledgement.
    pub(crate) asks: bool,
    pub(crate) payload: u32,
}

impl Piece {
    #[inline(always)]
    pub(crate) fn of(header: &Header) -> Self {
        let position = header.opcode.position();
        Self {
            send: header.opcode.operation() == Operation::Send,
            begins: position.begins(),
            ends: position.ends(),
            asks: header.ack_request,
            payload: header.payload,
        }
    }
}

/// The receiver's early packets, from the expected one on.
#[derive(Debug, Clone)]
pub(crate) struct Reorder {
    packets: VecDeque<Option<Piece>>,
    /// How many packets may overtake one, where what comes early is not reported.
    window: Option<u64>,
    /// Packets before this that are not here are lost.
    lost_below: u64,
    /// Packets before this that were lost have been asked for.
    asked_below: u64,
}

impl Reorder {
    /// Nothing has come early.
    pub(crate) fn new(config: &QpConfig) -> Self {
        let window = (!config.reports_early()).then_some(config.reorder_window.into());
        Self { packets: VecDeque::new(), window, lost_below: 0, asked_below: 0 }
    }

    /// Whether early packets are kept without a word.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.window.is_some()
    }

    /// `number` came early. Says whether packets are to be asked for that are lost now.
    pub(crate) fn overtaken_by(&mut self, number: u64, expected: u64) -> bool {
        if let Some(window) = self.window {
            self.lost_below = self.lost_below.max(number.saturating_sub(window));
        }
        self.asked_below = self.asked_below.max(expected);
        while self.has_lost(expected) && self.has(self.asked_below - expected) {
            self.asked_below += 1;
        }
        self.has_lost(expected)
    }

    /// Whether packets count as lost, as far as they are not here, that were not asked for.
    #[inline]
    pub(crate) fn has_lost(&self, expected: u64) -> bool {
        self.asked_below.max(expected) < self.lost_below
    }

    /// Whether the expected packet was asked for.
    #[inline]
    pub(crate) fn has_asked_for(&self, expected: u64) -> bool {
        expected < self.asked_below
    }

    /// All that is lost is asked for once more.
    pub(crate) fn ask_again(&mut self) {
        self.asked_below = 0;
    }

    /// The next lost packet to ask for; each is named once.
    pub(crate) fn next_lost(&mut self, expected: u64) -> Option<u64> {
        let lost = (self.asked_below.max(expected)..self.lost_below)
            .find(|&number| !self.has(number - expected));
        self.asked_below = lost.map_or(self.lost_below.max(self.asked_below), |number| number + 1);
        lost
    }

    /// Keeps a packet that is `ahead` of the expected one. Says whether it is kept (`None` if it is
    /// too far ahead), and whether it is new.
    pub(crate) fn keep(&mut self, ahead: u64, packet: Piece) -> Option<bool> {
        let ahead = usize::try_from(ahead).ok().filter(|&ahead| ahead < Scoreboard::SPAN)?;
        if self.packets.len() <= ahead {
            self.packets.resize(ahead + 1, None);
        }
        let new = self.packets[ahead].is_none();
        if new {
            self.packets[ahead] = Some(packet);
        }
        Some(new)
    }

    /// Whether the packet that is `ahead` of the expected one is kept.
    pub(crate) fn has(&self, ahead: u64) -> bool {
        let ahead = usize::try_from(ahead).unwrap_or(usize::MAX);
        self.packets.get(ahead).is_some_and(Option::is_some)
    }

    /// The expected packet moved on by `count`.
    #[inline]
    pub(crate) fn advance(&mut self, count: u64) {
        if !self.packets.is_empty() {
            let count = usize::try_from(count).unwrap_or(usize::MAX).min(self.packets.len());
            self.packets.drain(..count);
        }
    }

    /// The expected packet, if it is here already; it is taken out.
    #[inline]
    pub(crate) fn take_expected(&mut self) -> Option<Piece> {
        self.packets.front_mut()?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(board: &mut Scoreboard, acked: u64) -> Vec<u64> {
        std::iter::from_fn(|| {
            let number = board.first_lost()?;
            board.repaired(number + 1, acked, Instant::ZERO);
            Some(number)
        })
        .collect()
    }

    #[test]
    fn only_the_missing_are_sent_again_and_each_once() {
        let mut board = Scoreboard::default();
        for number in [102, 103, 106] {
            board.arrived(number, 100, Instant::ZERO);
        }
        assert_eq!(lost(&mut board, 100), [100, 101, 104, 105]);
        board.arrived(107, 100, Instant::ZERO);
        assert_eq!(lost(&mut board, 100), [0u64; 0]);
        board.arrived(109, 100, Instant::ZERO);
        assert_eq!(lost(&mut board, 100), [108]);
    }

    #[test]
    fn overtaken_packets_are_not_lost_yet() {
        let mut board = board(3);
        for number in [101, 102, 103] {
            board.arrived(number, 100, Instant::ZERO);
        }
        assert!(!board.has_lost());
        board.arrived(104, 100, Instant::ZERO);
        assert_eq!(lost(&mut board, 100), [100]);
        board.clear();
        board.arrived(108, 105, Instant::ZERO);
        assert!(!board.has_lost());
    }

    #[test]
    fn what_is_asked_for_goes_first_and_is_not_in_flight() {
        let mut board = board(3);
        for number in [101, 102, 103, 104] {
            board.arrived(number, 100, Instant::ZERO);
        }
        assert_eq!((board.early(), board.gone(100)), (4, 5), "one is lost");
        board.ask(107, 100);
        board.ask(107, 100);
        board.ask(104, 100);
        board.ask(100, 100);
        assert_eq!(board.gone(100), 6);
        assert_eq!(lost(&mut board, 100), [107, 100]);
        assert_eq!(board.gone(100), 4);
        board.acknowledge(5, 105, Instant::ZERO);
        assert_eq!((board.early(), board.gone(105)), (0, 0));
        board.ask(106, 105);
        board.arrived(106, 105, Instant::ZERO);
        assert!(!board.has_lost());
        board.retry_all(105, 110);
        assert_eq!(board.gone(105), 5);
        assert_eq!(lost(&mut board, 105), [105, 107, 108, 109]);
    }

    #[test]
    fn silence_repeats_everything_missing() {
        let mut board = Scoreboard::default();
        board.retry(100, 110);
        assert_eq!(lost(&mut board, 100), [100]);
        board.arrived(103, 100, Instant::ZERO);
        board.retry(100, 110);
        assert_eq!(lost(&mut board, 100), [100, 101, 102]);
        // Everything that was in flight arrives: nothing is left to repeat.
        board.acknowledge(10, 110, Instant::ZERO);
        assert!(!board.has_lost());
        let mut board = Scoreboard::default();
        // Also a packet known to have arrived, if nothing else can bring an acknowledgement.
        board.arrived(105, 104, Instant::ZERO);
        board.acknowledge(1, 105, Instant::ZERO);
        board.retry(105, 110);
        assert_eq!(lost(&mut board, 105), [105]);
    }

    #[test]
    fn a_lost_tail_comes_back_in_growing_steps() {
        let mut board = Scoreboard::default();
        board.retry(100, 110);
        assert_eq!(lost(&mut board, 100), [100]);
        board.acknowledge(1, 101, Instant::ZERO);
        assert_eq!(lost(&mut board, 101), [101, 102]);
        board.acknowledge(2, 103, Instant::ZERO);
        assert_eq!(lost(&mut board, 103), [103, 104, 105, 106]);
        // What was sent after the silence is not in doubt.
        board.acknowledge(4, 107, Instant::ZERO);
        assert_eq!(lost(&mut board, 107), [107, 108, 109]);
        board.acknowledge(3, 110, Instant::ZERO);
        assert!(!board.has_lost());
    }

    const PACKET: Piece = Piece { send: false, begins: false, ends: true, asks: false, payload: 7 };

    fn config(reorder_window: u32) -> QpConfig {
        let recovery = crate::config::Recovery::SelectiveRepeat;
        QpConfig { recovery, reorder_window, ..QpConfig::default() }
    }

    fn board(window: u32) -> Scoreboard {
        Scoreboard::new(&QpConfig { ack_every: 1, ..config(window) })
    }

    #[test]
    fn lost_packets_are_asked_for_once_and_overtaken_ones_are_not() {
        let mut reorder = Reorder::new(&config(3));
        let mut comes = |number, expected| {
            reorder.keep(number - expected, PACKET);
            let lost = reorder.overtaken_by(number, expected);
            let all: Vec<u64> = std::iter::from_fn(|| reorder.next_lost(expected)).collect();
            assert_eq!(lost, !all.is_empty());
            all
        };
        assert_eq!(comes(102, 100), [0; 0]);
        assert_eq!(comes(103, 100), [0; 0]);
        assert_eq!(comes(104, 100), [100]);
        assert_eq!(comes(107, 100), [101], "102 and 103 are here");
        assert_eq!(comes(120, 100), [105, 106, 108, 109, 110, 111, 112, 113, 114, 115, 116]);
        assert!(reorder.has_asked_for(100) && !reorder.has_asked_for(117));
        reorder.ask_again();
        assert_eq!(reorder.next_lost(100), Some(100));
        reorder.advance(19);
        assert_eq!(reorder.next_lost(119), None);
        assert!(!reorder.overtaken_by(122, 119));
    }

    #[test]
    fn after_silence_what_had_arrived_is_hardly_sent_again() {
        let mut board = Scoreboard::new(&config(3));
        board.retry(100, 200);
        assert_eq!(lost(&mut board, 100), [100]);
        // Only 100 and 150 were missing.
        board.acknowledge(50, 150, Instant::ZERO);
        assert_eq!(lost(&mut board, 150), [150, 151]);
        board.acknowledge(50, 200, Instant::ZERO);
        assert!(!board.has_lost());
    }

    #[test]
    fn an_early_packet_waits_its_turn() {
        let packet = PACKET;
        let mut reorder = Reorder::new(&QpConfig::default());
        assert_eq!(reorder.keep(2, packet), Some(true));
        assert_eq!(reorder.keep(2, packet), Some(false));
        assert_eq!(reorder.keep(Scoreboard::SPAN as u64, packet), None);
        reorder.advance(1);
        assert_eq!(reorder.take_expected(), None);
        reorder.advance(1);
        assert_eq!(reorder.take_expected(), Some(packet));
    }
}
