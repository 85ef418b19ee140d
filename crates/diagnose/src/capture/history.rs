//! The latest requests of a stream, until and after they are answered.

use super::evidence::Evidence;
use std::collections::VecDeque;
use xoff_wire::Psn;
use xoff_wire::capture::Timestamp;
use xoff_wire::icrc::Icrc;

/// More numbers than a request takes.
const FAR: i32 = 1 << 16;

/// A request packet as it was last seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    /// The packet that showed it first.
    pub(super) number: u64,
    pub(super) psn: Psn,
    /// Sequence numbers it takes: one, or as many as a read has answers.
    pub(super) span: u32,
    pub(super) timestamp: Timestamp,
    pub(super) icrc: Option<Icrc>,
    /// It was seen more than once.
    pub(super) repeated: bool,
    /// It wants an answer.
    pub(super) asks: bool,
    /// It is a read: its numbers are those of its data.
    pub(super) read: bool,
    /// It is a read whose length the capture cut off: all numbers up to the next request are its own.
    pub(super) open: bool,
}

impl Sent {
    /// The number after its last.
    fn end(&self) -> Psn {
        self.psn.plus(self.span.max(1))
    }
}

/// What an answer is to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answered {
    /// The request that it names.
    pub(super) named: Sent,
    /// The oldest request that it answers, if that is still remembered.
    pub(super) oldest: Option<Sent>,
}

/// Requests in the order of their sequence numbers, the oldest forgotten first.
#[derive(Debug, Default)]
pub(super) struct History {
    sent: VecDeque<Sent>,
    /// The first sequence number without an answer yet.
    unanswered: Option<Psn>,
}

impl History {
    /// Remembers a packet that comes after all others.
    pub(super) fn push(&mut self, sent: Sent, limit: usize) {
        if self.sent.len() >= limit {
            self.sent.pop_front();
        }
        if limit > 0 {
            self.sent.push_back(sent);
        }
    }

    /// Forgets everything: another connection begins.
    pub(super) fn clear(&mut self) {
        self.sent.clear();
        self.unanswered = None;
    }

    fn index(&self, psn: Psn) -> Option<usize> {
        let front = self.sent.front()?.psn;
        let after = self
            .sent
            .partition_point(|sent| sent.psn.distance_from(front) <= psn.distance_from(front));
        let at = after.checked_sub(1)?;
        let sent = self.sent.get(at)?;
        let offset = psn.distance_from(sent.psn);
        let span = if sent.open { FAR } else { sent.span.max(1) as i32 };
        (0..span).contains(&offset).then_some(at)
    }

    /// The request that this sequence number belongs to.
    pub(super) fn find(&self, psn: Psn) -> Option<&Sent> {
        self.sent.get(self.index(psn)?)
    }

    /// The latest request, a read, takes more numbers than was known.
    pub(super) fn widen(&mut self, psn: Psn, span: u32) {
        if let Some(sent) = self.sent.back_mut()
            && sent.psn == psn
        {
            sent.span = span;
        }
    }

    /// The latest request is a read whose numbers end before `psn`.
    pub(super) fn ends_before(&mut self, psn: Psn) {
        if let Some(sent) = self.sent.back_mut()
            && sent.read
            && sent.psn.is_before(psn)
        {
            sent.open = false;
            sent.span = sent.span.max(psn.distance_from(sent.psn) as u32);
        }
    }

    /// The numbers from `from` to before `to` that are data of reads: the first, and how many.
    pub(super) fn data_between(&self, from: Psn, to: Psn) -> Option<(Psn, u32)> {
        let front = self.sent.front()?.psn;
        let ahead = |psn: Psn| psn.distance_from(front);
        let after = self.sent.partition_point(|sent| ahead(sent.psn) <= ahead(from));
        let reads = self.sent.iter().skip(after.saturating_sub(1));
        let reads = reads.take_while(|sent| sent.psn.is_before(to)).filter(|sent| sent.read);
        let mut first = None;
        let mut count = 0;
        for read in reads {
            let start = if read.psn.is_before(from) { from } else { read.psn };
            let end = if to.is_before(read.end()) { to } else { read.end() };
            let numbers = end.distance_from(start);
            if numbers > 0 {
                first = first.or(Some(start));
                count += numbers as u32;
            }
        }
        first.map(|first| (first, count))
    }

    /// The request was sent again. Returns what it was before.
    pub(super) fn repeat(&mut self, psn: Psn, now: Timestamp, icrc: Option<Icrc>) -> Option<Sent> {
        let at = self.index(psn)?;
        let sent = self.sent.get_mut(at)?;
        let before = *sent;
        *sent = Sent { timestamp: now, icrc, repeated: true, ..before };
        Some(before)
    }

    /// Everything up to and with `psn` is answered. `None` if that says nothing new.
    pub(super) fn answer(&mut self, psn: Psn) -> Option<Answered> {
        let next = psn.plus(1);
        if self.unanswered.is_some_and(|first| !first.is_before(next)) {
            return None;
        }
        // An answer without a request says nothing.
        let named = *self.find(psn)?;
        let oldest = match self.unanswered {
            // Of a read that has some of its data already, the rest is no new answer.
            Some(first) => self.find(first).copied().filter(|sent| !sent.psn.is_before(first)),
            None => self.sent.front().copied(),
        };
        self.unanswered = Some(next);
        Some(Answered { named, oldest })
    }

    /// Requests that wanted an answer and got none.
    pub(super) fn waiting(&self) -> Evidence {
        self.evidence(|sent| self.unanswered.is_none_or(|first| !sent.psn.is_before(first)))
    }

    /// Reads that got data, and not all of it.
    pub(super) fn incomplete(&self) -> Evidence {
        self.evidence(|sent| {
            let inside = |first: Psn| sent.psn.is_before(first) && first.is_before(sent.end());
            sent.read && self.unanswered.is_some_and(inside)
        })
    }

    fn evidence(&self, test: impl Fn(&Sent) -> bool) -> Evidence {
        let mut evidence = Evidence::default();
        for sent in self.sent.iter().filter(|sent| sent.asks && test(sent)) {
            evidence.add(sent.number);
        }
        evidence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(psn: u32, span: u32) -> Sent {
        let timestamp = Timestamp::from_ns(u64::from(psn));
        Sent {
            number: 1,
            psn: Psn::new(psn),
            span,
            timestamp,
            icrc: None,
            repeated: false,
            asks: true,
            read: span > 1,
            open: false,
        }
    }

    #[test]
    fn data_is_told_from_other_answers() {
        let mut history = History::default();
        for (psn, span) in [(0xff_fffe, 4), (2, 1), (3, 1), (4, 8), (12, 1)] {
            history.push(sent(psn, span), 8);
        }
        let between = |from, to| {
            let found = history.data_between(Psn::new(from), Psn::new(to));
            found.map(|(first, count)| (first.get(), count))
        };
        assert_eq!(between(2, 4), None, "two writes");
        assert_eq!(between(2, 6), Some((4, 2)));
        assert_eq!(between(0, 4), Some((0, 2)), "the end of the first read");
        assert_eq!(between(0xff_ffff, 13), Some((0xff_ffff, 11)));
        assert_eq!(between(12, 40), None);
    }

    #[test]
    fn answers_find_their_requests_across_the_wrap() {
        let mut history = History::default();
        for psn in [0xff_fffe, 0xff_ffff, 0] {
            history.push(sent(psn, 1), 8);
        }
        history.push(sent(1, 4), 8);
        history.push(sent(5, 1), 8);
        assert_eq!(history.find(Psn::new(3)).unwrap().psn, Psn::new(1), "inside a read");
        assert!(history.find(Psn::new(6)).is_none());
        assert!(history.find(Psn::new(0xff_fffd)).is_none());
        assert_eq!(history.waiting().count, 5);
        assert_eq!(history.answer(Psn::new(0)).unwrap().oldest.unwrap().psn, Psn::new(0xff_fffe));
        assert!(history.answer(Psn::new(0)).is_none(), "answered already");
        assert!(history.answer(Psn::new(99)).is_none(), "never asked");
        assert_eq!(history.answer(Psn::new(5)).unwrap().oldest.unwrap().psn, Psn::new(1));
        assert_eq!(history.waiting().count, 0);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut history = History::default();
        for psn in 0..100 {
            history.push(sent(psn, 1), 10);
        }
        assert_eq!(history.sent.len(), 10);
        assert!(history.find(Psn::new(89)).is_none());
        assert!(history.repeat(Psn::new(95), Timestamp::from_ns(7), None).is_some());
        assert!(history.find(Psn::new(95)).unwrap().repeated);
        history.push(sent(100, 1), 0);
    }
}
