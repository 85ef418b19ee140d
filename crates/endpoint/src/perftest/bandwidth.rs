//! Many messages in flight: how much goes through.

use super::area::part_mut;
use super::check::Check;
use super::error::PerfError;
use super::link::failed;
use super::outcome::{Figures, Row};
use super::pattern::blot;
use super::session::Session;
use super::settings::{AtomicKind, Extent, Measure, Role, Verb};
use super::window::{Budget, enough, pause, together, window};
use crate::{Completion, DatagramWork, Error, Outcome, Work, WorkId};
use xoff_transport::Atomic;
use xoff_units::{Bytes, Instant, Span};
use xoff_wire::Service;

/// Bits of a work's name that say its number; those above say its queue pair.
const NUMBER_BITS: u32 = 48;
/// Messages of an unreliable service that have not come so long after the peer's last word are
/// lost.
const LOST_AFTER: Span = Span::from_ms(300);
/// Bytes that our introduction leaves in a stock server's memory: a global route header, and four.
const INTRODUCTION: Bytes = Bytes::new(40 + 4);
/// Moments kept to find the best one.
const MOMENTS: usize = 1 << 20;
/// Messages that the best moment is made of, unless there are few.
const BEST_OF: usize = 128;

/// One size under way.
#[derive(Debug)]
struct Run {
    size: u64,
    /// Messages of each queue pair; as many as it takes if time counts.
    goal: u64,
    /// No message is posted after this.
    end: Instant,
    sends: bool,
    receives: bool,
    start: Instant,
    last: Instant,
    moments: Vec<Instant>,
}

impl Session {
    /// Whether we send (write, read, change) in this test.
    pub(super) fn is_active(&self) -> bool {
        self.role == Role::Client || self.settings.duplex
    }

    /// Whether messages come to receives of ours.
    fn is_receiving(&self) -> bool {
        let aimed_at = self.role == Role::Server || self.settings.duplex;
        self.settings.verb == Verb::Send && aimed_at
    }

    /// Gets ready for messages of a size: what is sent, and receives.
    pub(super) fn prepare(&mut self, size: u64) -> Result<(), PerfError> {
        self.stage.expect_no_more(None);
        self.area.set_size(size);
        (self.budget, self.next_turn) = (self.budget_for(size), 0);
        self.stage.device.bound_in_flight(self.bound());
        self.enough = enough(self.bound(), size, self.settings.pairs);
        self.written_before = self.written();
        if self.settings.measure == Measure::Bandwidth {
            self.stage.device.moderate(pause(self.lasts(size)));
        }
        let (area, device) = (&self.area, &mut self.stage.device);
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            lane.restart();
            let places = area.layout.target_steps(size).count as usize;
            if self.settings.verb == Verb::Write && self.settings.measure == Measure::Bandwidth {
                for number in 0..places as u64 {
                    blot(part_mut(device, area.target(index, number, size))?);
                }
            }
            match self.settings.verb {
                Verb::Write | Verb::Send => area.fill_out(device, index, size, &lane.ours)?,
                Verb::Read => lane.ours.fill(part_mut(device, area.whole_target(index))?),
                Verb::Atomic(_) => lane.values.resize(places, None),
            }
        }
        if self.is_receiving() || (self.settings.verb == Verb::Send && self.is_latency()) {
            self.post_receives(size, self.goal())?;
        }
        Ok(())
    }

    /// How much of messages of this size is in flight at a time, one way.
    fn lasts(&self, size: u64) -> Bytes {
        let (depth, pairs) = (self.settings.depth as u64, self.settings.pairs);
        let answered = self.lanes.iter().map(|lane| u64::from(lane.remote.reads.max(1))).min();
        let posted = match self.settings.verb {
            Verb::Read | Verb::Atomic(_) => depth.min(answered.unwrap_or(depth)),
            Verb::Write | Verb::Send => depth,
        };
        let each = self.peer_window.min(Bytes::new(size.saturating_mul(posted)));
        (each * pairs as u64).min(together(self.kept, self.peer_window, pairs))
    }

    /// What all queue pairs together may have in flight to a peer that says how much it keeps. Of one that does not
    /// nothing is known but that each has its window.
    fn bound(&self) -> Bytes {
        let (kept, pairs) = (self.peer.kept, self.settings.pairs);
        match kept {
            Bytes::ZERO => Bytes::MAX,
            _ => together(kept, window(kept, pairs), pairs),
        }
    }

    /// How much data may be on its way to ourselves because all queue pairs together read it.
    fn budget_for(&self, size: u64) -> Budget {
        let pairs = self.settings.pairs;
        match self.settings.verb {
            // Alone it has as many outstanding as the peer answers.
            Verb::Read if pairs > 1 => {
                Budget::new(self.kept, size, self.area.layout.posted(), pairs)
            }
            _ => Budget::default(),
        }
    }

    /// Messages of each queue pair.
    pub(super) fn goal(&self) -> u64 {
        match self.settings.extent {
            Extent::Iterations(count) => count,
            Extent::For(_) => u64::MAX,
        }
    }

    pub(super) fn post_receives(&mut self, size: u64, goal: u64) -> Result<(), Error> {
        let most = self.area.layout.inbox_steps(size).count;
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            while lane.awaited < goal && lane.awaited - lane.arrived < most {
                let slice = self.area.inbox(index, lane.awaited, size);
                let id = work_id(index, lane.awaited);
                if !self.peer.ours {
                    blot(part_mut(&mut self.stage.device, slice)?);
                }
                self.stage.device.post_receive(lane.pair, id, slice)?;
                lane.awaited += 1;
            }
        }
        Ok(())
    }

    /// Moves messages of one size and returns what was measured. The target of one-sided operations
    /// measures nothing.
    pub(super) fn bandwidth(&mut self, size: u64, check: &mut Check) -> Result<Row, PerfError> {
        let (sends, receives) = (self.is_active(), self.is_receiving());
        if !sends && !receives {
            return Ok(Row::passive(size));
        }
        let start = self.stage.now();
        let end = match self.settings.extent {
            Extent::Iterations(_) => Instant::MAX,
            Extent::For(time) => start + crate::settings::span(time),
        };
        let goal = self.goal();
        let mut run =
            Run { size, goal, end, sends, receives, start, last: start, moments: Vec::new() };
        let result = self.move_messages(&mut run, check);
        let row = self.row(&run, result.is_ok());
        self.tally.sent += self.lanes.iter().map(|lane| lane.done).sum::<u64>();
        self.tally.arrived += self.lanes.iter().map(|lane| lane.arrived).sum::<u64>();
        if let Err(error) = result {
            self.partial = (row.iterations > 0).then_some(row);
            return Err(error);
        }
        let lossy = self.settings.service != Service::Reliable;
        if receives && goal != u64::MAX {
            check.lost(self.lanes.iter().map(|lane| goal - lane.arrived).sum());
            let pairs = self.lanes.iter().map(|lane| lane.pair).collect();
            self.stage.expect_no_more((!lossy).then_some((pairs, goal)));
        } else if receives && lossy {
            check.lost_unknown();
        }
        Ok(row)
    }

    /// Moves messages until all are there.
    fn move_messages(&mut self, run: &mut Run, check: &mut Check) -> Result<(), PerfError> {
        loop {
            if run.sends {
                self.post_messages(run)?;
            }
            let idle = self.stage.turn()?;
            let reaped = self.reap(run, check)?;
            if self.is_finished(run)? {
                return Ok(());
            }
            if idle && !reaped {
                self.stage.rest(None)?;
            }
        }
    }

    /// Posts as many messages as may be in flight: one of each queue pair in turn, so that all get
    /// the same of what is there.
    fn post_messages(&mut self, run: &Run) -> Result<(), PerfError> {
        if self.stage.now() >= run.end {
            return Ok(());
        }
        let room = self.area.layout.out_steps(run.size).count.min(self.settings.depth as u64);
        // None gets ahead of the slowest by more than it may post.
        let least = self.lanes.iter().map(|lane| lane.posted).min().unwrap_or(0);
        let ahead = least.saturating_add(self.enough);
        let mut full = 0;
        while full < self.lanes.len() {
            let index = self.next_turn;
            let lane = &self.lanes[index];
            let answered = u64::from(lane.remote.reads.max(1));
            let room = match self.settings.verb {
                // No more than the peer answers at a time, and none at a place of one before it.
                Verb::Read => room.min(answered),
                Verb::Atomic(_) => room.min(answered).min(lane.values.len() as u64),
                Verb::Write | Verb::Send if lane.posted >= ahead => 0,
                Verb::Write | Verb::Send => room.min(self.enough),
            };
            if lane.in_flight() >= room || lane.posted >= run.goal {
                full += 1;
            } else if self.budget.take(lane.in_flight()) {
                full = 0;
                self.post_message(index, run.size)?;
            } else {
                // It is the first when there is room again.
                return Ok(());
            }
            self.next_turn = if index + 1 < self.lanes.len() { index + 1 } else { 0 };
        }
        Ok(())
    }

    /// Posts the next message of a queue pair.
    pub(super) fn post_message(&mut self, index: usize, size: u64) -> Result<(), PerfError> {
        let lane = &mut self.lanes[index];
        let number = lane.posted;
        lane.posted += 1;
        let device = &mut self.stage.device;
        let local = self.area.out(index, number, size);
        let remote = self.area.remote(&lane.remote, number, size);
        let id = work_id(index, number);
        let work = match self.settings.verb {
            Verb::Write | Verb::Send => {
                let message = part_mut(device, local)?;
                lane.ours.stamp(message, number);
                if self.settings.measure == Measure::Latency
                    && self.settings.verb == Verb::Write
                    && let Some(last) = message.last_mut()
                {
                    // The byte that the other side waits for.
                    *last = (number + 1) as u8;
                }
                if self.settings.verb == Verb::Write {
                    Work::write(local, remote)
                } else {
                    Work::send(local)
                }
            }
            Verb::Read => {
                if !self.peer.ours {
                    blot(part_mut(device, local)?);
                }
                Work::read(local, remote)
            }
            Verb::Atomic(kind) => {
                let known = lane.values[(number % lane.values.len() as u64) as usize];
                Work::atomic(operation(kind, known, number), local, remote)
            }
        };
        if self.settings.service == Service::Datagram {
            let (to, qpn, qkey) = (lane.address, lane.remote.qpn, lane.qkey);
            let (immediate, signaled) = (None, true);
            let work = DatagramWork { id, local, to, qpn, qkey, immediate, signaled };
            return Ok(device.post_datagram(lane.pair, work)?);
        }
        Ok(device.post(lane.pair, work.named(id))?)
    }

    /// Takes what is done, and says whether anything was.
    fn reap(&mut self, run: &mut Run, check: &mut Check) -> Result<bool, PerfError> {
        let (mut any, now) = (false, self.stage.now());
        while let Some(completion) = self.stage.device.poll(self.sends) {
            self.sent(&completion, run.size, check)?;
            (any, run.last) = (true, now);
            if run.moments.len() < MOMENTS {
                run.moments.push(run.last);
            }
        }
        while let Some(completion) = self.stage.device.poll(self.receives) {
            self.received(&completion, run.size, check)?;
            any = true;
            if !run.sends {
                // A receiver measures from the first message on.
                if run.moments.is_empty() {
                    run.start = now;
                }
                if run.moments.len() < MOMENTS {
                    run.moments.push(now);
                }
            }
            run.last = now;
        }
        if any && run.receives {
            self.post_receives(run.size, run.goal)?;
        }
        Ok(any)
    }

    /// Work of ours is done.
    pub(super) fn sent(
        &mut self,
        completion: &Completion,
        size: u64,
        check: &mut Check,
    ) -> Result<(), PerfError> {
        let (index, number) = named(completion.id);
        let lane = &mut self.lanes[index];
        if !completion.is_ok() {
            return Err(failed(lane.pair, number, completion.status));
        }
        self.budget.give_back(lane.in_flight());
        lane.done += 1;
        match (self.settings.verb, completion.outcome) {
            (Verb::Read, _) => {
                let slice = self.area.out(index, number, size);
                let offset = self.area.layout.target_steps(size).offset(number);
                let lane = &self.lanes[index];
                check.read(&self.stage.device, self.peer.ours, lane, slice, offset)?;
            }
            (Verb::Atomic(kind), Outcome::Done { before }) => {
                let place = (number % lane.values.len() as u64) as usize;
                let expected = lane.values[place];
                check.value(before, expected);
                lane.values[place] = Some(operation(kind, expected, number).apply(before));
            }
            _ => {}
        }
        Ok(())
    }

    /// A message came.
    pub(super) fn received(
        &mut self,
        completion: &Completion,
        size: u64,
        check: &mut Check,
    ) -> Result<(), PerfError> {
        let (index, number) = named(completion.id);
        let Some(arrival) = completion.arrival() else {
            return Err(failed(self.lanes[index].pair, number, completion.status));
        };
        let mut slice = self.area.inbox(index, number, size);
        slice.length = slice.length.min(arrival.length);
        if self.introduced && !self.peer.ours {
            // The stock server sends from the memory that our introduction arrived in.
            let left = slice.length.min(INTRODUCTION);
            (slice.offset, slice.length) = (slice.offset + left, slice.length - left);
        }
        let exact = self.settings.service == Service::Reliable;
        let lane = &self.lanes[index];
        let ours = self.peer.ours;
        check.message(&self.stage.device, ours, lane, slice, lane.arrived, exact)?;
        self.lanes[index].arrived += 1;
        Ok(())
    }

    fn is_finished(&self, run: &Run) -> Result<bool, PerfError> {
        let now = self.stage.now();
        let timed = run.goal == u64::MAX;
        let sent = !run.sends
            || self.lanes.iter().all(|lane| {
                lane.in_flight() == 0 && (lane.posted == run.goal || (timed && now >= run.end))
            });
        if !run.receives || self.lanes.iter().all(|lane| lane.arrived == run.goal) {
            return Ok(sent);
        }
        if now.since(run.last) <= LOST_AFTER {
            return Ok(false);
        }
        let moved_on = self.link.is_pending(&self.stage);
        if !timed && self.settings.service == Service::Reliable {
            return if moved_on { Err(self.fewer(run.goal)) } else { Ok(false) };
        }
        Ok(sent && (moved_on || (run.sends && now >= run.end)))
    }

    /// The peer has gone on without sending all that was agreed.
    pub(super) fn fewer(&self, goal: u64) -> PerfError {
        let arrived = self.lanes.iter().map(|lane| lane.arrived).sum();
        PerfError::Fewer { arrived, expected: goal.saturating_mul(self.lanes.len() as u64) }
    }

    /// Whether the peer has gone on, and nothing has come since long before.
    pub(super) fn is_left_behind(&self, last: Instant) -> bool {
        self.stage.now().since(last) > LOST_AFTER && self.link.is_pending(&self.stage)
    }

    fn row(&self, run: &Run, complete: bool) -> Row {
        let messages: u64 =
            self.lanes.iter().map(|lane| if run.sends { lane.done } else { lane.arrived }).sum();
        let time = run.last.since(run.start).as_s_f64().max(1e-9);
        // A receiver counts from its first message, which is part of no interval.
        let counted = if run.sends { messages } else { messages.saturating_sub(1) };
        let rate = counted as f64 / time;
        let best = if self.goal() == u64::MAX { 0.0 } else { best_moment(&run.moments) };
        let figures = Figures::Bandwidth {
            peak: if best > 0.0 { best.max(rate) * run.size as f64 } else { 0.0 },
            average: rate * run.size as f64,
            messages: rate,
        };
        Row { size: run.size, iterations: messages, figures, complete }
    }
}

/// Messages per second where they came fastest.
fn best_moment(moments: &[Instant]) -> f64 {
    let step = BEST_OF.min(moments.len() / 4).max(1);
    let shortest = moments
        .windows(step + 1)
        .map(|window| window[step].since(window[0]))
        .filter(|span| !span.is_zero())
        .min();
    shortest.map_or(0.0, |span| step as f64 / span.as_s_f64())
}

/// The operation of a message on a place where `known` is, as far as we know.
fn operation(kind: AtomicKind, known: Option<u64>, number: u64) -> Atomic {
    match (kind, known) {
        (AtomicKind::FetchAdd, _) => Atomic::FetchAdd { add: 1 },
        // The first only reads: swapping zero for zero changes nothing.
        (AtomicKind::CompareSwap, None) => Atomic::CompareSwap { compare: 0, swap: 0 },
        (AtomicKind::CompareSwap, Some(known)) => {
            Atomic::CompareSwap { compare: known, swap: number }
        }
    }
}

fn work_id(index: usize, number: u64) -> WorkId {
    WorkId((index as u64) << NUMBER_BITS | number)
}

/// Queue pair and number of a message.
fn named(id: WorkId) -> (usize, u64) {
    ((id.0 >> NUMBER_BITS) as usize, id.0 & ((1 << NUMBER_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_moment() {
        let at = |us: u64| Instant::ZERO + Span::from_us(us);
        assert_eq!(best_moment(&[]), 0.0);
        assert_eq!(best_moment(&[at(1)]), 0.0);
        assert_eq!(best_moment(&[at(1), at(11), at(13)]), 500_000.0);
        assert_eq!(best_moment(&[at(1), at(1)]), 0.0, "no time at all says nothing");
    }

    #[test]
    fn names_say_queue_pair_and_number() {
        assert_eq!(named(work_id(1023, 1 << 40)), (1023, 1 << 40));
    }
}
