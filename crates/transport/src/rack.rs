//! Loss recovery as TCP does it on Linux: by time instead of by counting.
//!
//! After RFC 8985 (RACK-TLP) and RFC 6298. Every packet in flight has the time it was last sent.
//! Acknowledgements bring back the time stamp of the packet they answer, so the sender knows the
//! newest packet that was delivered. One that was sent before it, and has not arrived a round trip
//! and a reordering window (a quarter of the smallest round trip) after it was sent, is lost; that
//! includes packets sent again. A tail that nothing follows is probed after about two round trips.
//! Only when the probe stays unanswered, too, the retransmission timeout runs: the smoothed round
//! trip and four deviations of it, where the deviations count as the configured minimum at least,
//! doubled for every timeout in a row.
//!
//! Differences from Linux: the reordering window is open from the start (Linux opens it when it has
//! seen reordering, and before that goes by three duplicates); the smallest round trip is never
//! forgotten; a spurious timeout is not undone.

use std::collections::VecDeque;
use xoff_units::{Instant, Span};

/// Retransmission timeout before the first round trip was measured (RFC 6298, 2.1).
const INITIAL_RTO: Span = Span::from_ms(1_000);

/// No timeout is longer (Linux: TCP_RTO_MAX).
const LONGEST_RTO: Span = Span::from_ms(120_000);

/// Recoveries after which a widened reordering window is given back (RFC 8985, 6.2 step 4).
const PERSISTENCE: u8 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    InFlight,
    Arrived,
    /// Lost, and not sent again yet.
    Lost,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Instant,
    state: State,
    again: bool,
}

/// What the timer of the sender is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Packets that may only be late.
    Reordering,
    /// Anything after the last packet: then it is probed.
    Probe,
    /// The retransmission timeout.
    Timeout,
}

/// The packets after the first unacknowledged one, and what is known of the path.
#[derive(Debug, Clone)]
pub(crate) struct Rack {
    /// From the first unacknowledged packet on, which has number `first`.
    packets: VecDeque<Sent>,
    first: u64,
    /// How many of `packets` have arrived.
    arrived: u64,
    /// How many of `packets` are lost and not sent again.
    lost: u64,
    /// No packet below this number is lost.
    lost_from: u64,
    /// When the newest packet known to be delivered was sent.
    newest: Instant,
    /// Its round-trip time.
    rtt: Span,
    min_rtt: Span,
    /// Smoothed round-trip time; zero before the first.
    srtt: Span,
    /// Smoothed deviation of the round-trip time; zero before the first.
    deviation: Span,
    /// Quarters of the smallest round trip that make the reordering window.
    steps: u8,
    /// Recoveries until a widened reordering window is given back.
    persists: u8,
    /// When the oldest of the packets that may be late is lost; never if none.
    reordering_until: Instant,
    /// The packet that probes the tail.
    probe: Option<u64>,
    /// When the retransmission timeout began.
    waits_from: Instant,
    /// Retransmission timeouts in a row.
    backoff: u32,
    /// The least that deviations count in a timeout.
    least: Span,
    /// What a probe waits beyond two round trips.
    floor: Span,
    /// Losses that were not yet reported to congestion control.
    news: bool,
    /// What the timer was last set for.
    waits: Wait,
}

impl Rack {
    /// Nothing sent yet. `least` is the least that deviations count in a timeout, `floor` what is
    /// added to the timeout of a probe because timers tick.
    pub(crate) fn new(least: Span, floor: Span) -> Self {
        Self {
            packets: VecDeque::new(),
            first: 0,
            arrived: 0,
            lost: 0,
            lost_from: 0,
            newest: Instant::ZERO,
            rtt: Span::ZERO,
            min_rtt: Span::MAX,
            srtt: Span::ZERO,
            deviation: Span::ZERO,
            steps: 1,
            persists: 0,
            reordering_until: Instant::MAX,
            probe: None,
            waits_from: Instant::ZERO,
            backoff: 0,
            least,
            floor,
            news: false,
            waits: Wait::Timeout,
        }
    }

    /// Forgets the packets, not the path.
    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        (self.arrived, self.lost, self.lost_from) = (0, 0, 0);
        (self.probe, self.reordering_until) = (None, Instant::MAX);
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    pub(crate) fn first_lost(&self) -> Option<u64> {
        if self.lost == 0 {
            return None;
        }
        let from = self.lost_from.max(self.first);
        let skip = usize::try_from(from - self.first).unwrap_or(usize::MAX);
        let ahead = self.packets.iter().skip(skip).position(|sent| sent.state == State::Lost)?;
        Some(from + ahead as u64)
    }

    pub(crate) fn early(&self) -> u64 {
        self.arrived
    }

    /// Packets that are not in flight: arrived, or lost and not sent again.
    pub(crate) fn gone(&self) -> u64 {
        self.arrived + self.lost
    }

    /// Whether a loss was found since the last call.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    fn get(&mut self, number: u64) -> Option<&mut Sent> {
        let ahead = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.packets.get_mut(ahead)
    }

    fn set(&mut self, number: u64, state: State) {
        let Some(sent) = self.get(number) else { return };
        let before = std::mem::replace(&mut sent.state, state);
        self.arrived -= u64::from(before == State::Arrived);
        self.lost -= u64::from(before == State::Lost);
        self.arrived += u64::from(state == State::Arrived);
        if state == State::Lost {
            self.lost += 1;
            self.lost_from = self.lost_from.min(number);
        }
    }

    /// Packet `number` is sent: for the first time, which follows the last one, or again.
    pub(crate) fn sent(&mut self, number: u64, now: Instant) {
        if self.packets.is_empty() {
            self.first = number;
            self.lost_from = number;
            self.waits_from = now;
        }
        let next = self.first + self.packets.len() as u64;
        if number >= next {
            let sent = Sent { at: now, state: State::InFlight, again: false };
            self.packets.extend((next..=number).map(|_| sent));
            return;
        }
        self.set(number, State::InFlight);
        if let Some(sent) = self.get(number) {
            (sent.at, sent.again) = (now, true);
        }
        if number == self.lost_from {
            self.lost_from += 1;
        }
        self.check_counts();
    }

    /// Everything before `acked` has arrived.
    pub(crate) fn acknowledge(&mut self, acked: u64, now: Instant) {
        while self.first < acked
            && let Some(sent) = self.packets.pop_front()
        {
            self.arrived -= u64::from(sent.state == State::Arrived);
            self.lost -= u64::from(sent.state == State::Lost);
            self.delivered(self.first, sent, now);
            self.first += 1;
        }
        self.first = self.first.max(acked);
        (self.backoff, self.waits_from) = (0, now);
        self.check_counts();
    }

    /// Packet `number` has arrived, with others missing before it.
    pub(crate) fn arrived(&mut self, number: u64, now: Instant) {
        if let Some(&mut sent) = self.get(number) {
            self.set(number, State::Arrived);
            self.delivered(number, sent, now);
        }
    }

    /// A packet is known to have arrived. If it was sent again less than a round trip ago, the
    /// first one was only late.
    fn delivered(&mut self, number: u64, sent: Sent, now: Instant) {
        let late = sent.again && now.since(sent.at) < self.min_rtt;
        if late && sent.state != State::Arrived {
            self.steps = self.steps.saturating_add(1);
            self.persists = PERSISTENCE;
        }
        if self.probe == Some(number) {
            // What the probe repeated was lost.
            self.news |= !late;
            self.probe = None;
        }
    }

    /// An answer to a packet that was sent at `sent_at`: measures the round trip, and detects
    /// losses.
    pub(crate) fn answered(&mut self, now: Instant, sent_at: Instant) {
        self.measure(now.since(sent_at));
        if sent_at >= self.newest {
            (self.newest, self.rtt) = (sent_at, now.since(sent_at));
        }
        self.detect(now);
    }

    fn measure(&mut self, rtt: Span) {
        let rtt = rtt.max(Span::from_ps(1));
        self.min_rtt = self.min_rtt.min(rtt);
        if self.srtt.is_zero() {
            (self.srtt, self.deviation) = (rtt, Span::from_ps(rtt.as_ps() / 2));
            return;
        }
        let error = Span::from_ps(rtt.as_ps().abs_diff(self.srtt.as_ps()));
        let weigh = |old: Span, new: Span, share: u64| {
            Span::from_ps(old.as_ps() - old.as_ps() / share + new.as_ps() / share)
        };
        self.deviation = weigh(self.deviation, error, 4);
        self.srtt = weigh(self.srtt, rtt, 8);
    }

    /// The reordering window: at most a round trip.
    fn reordering_window(&self) -> Span {
        let quarter = self.min_rtt.as_ps() / 4;
        Span::from_ps(quarter.saturating_mul(self.steps.into()).min(self.srtt.as_ps()))
    }

    /// Finds what is lost at `now`, and when the next packet would be.
    pub(crate) fn detect(&mut self, now: Instant) {
        self.reordering_until = Instant::MAX;
        if self.srtt.is_zero() {
            return;
        }
        let (patience, newest) = (self.rtt + self.reordering_window(), self.newest);
        let mut found = false;
        for ahead in 0..self.packets.len() {
            let sent = self.packets[ahead];
            if sent.at >= newest && !sent.again {
                // Sent in order: all that follow are newer, unless they were sent again.
                break;
            }
            if sent.state != State::InFlight || sent.at >= newest {
                continue;
            }
            let until = sent.at + patience;
            if until <= now {
                self.set(self.first + ahead as u64, State::Lost);
                found = true;
            } else {
                self.reordering_until = self.reordering_until.min(until);
            }
        }
        if found && !self.news {
            self.news = true;
            self.persists = self.persists.saturating_sub(1);
            if self.persists == 0 {
                self.steps = 1;
            }
        }
    }

    /// What to wait for, and until when. Remembered for [`Rack::waits_for`].
    pub(crate) fn deadline(&mut self, now: Instant) -> (Instant, Wait) {
        let (at, wait) = self.next_wait(now);
        self.waits = wait;
        (at, wait)
    }

    /// What the deadline that was set last is for.
    pub(crate) fn waits_for(&self) -> Wait {
        self.waits
    }

    fn next_wait(&self, now: Instant) -> (Instant, Wait) {
        if !self.reordering_until.is_never() {
            return (self.reordering_until, Wait::Reordering);
        }
        // A caller that is late must not be due again at the same instant, or it would spin.
        let timeout = (self.waits_from + self.timeout()).max(now + Span::from_ps(1));
        let may_probe =
            self.probe.is_none() && self.backoff == 0 && self.lost == 0 && !self.srtt.is_zero();
        let probe = now + self.srtt + self.srtt + self.floor;
        if may_probe && probe < timeout { (probe, Wait::Probe) } else { (timeout, Wait::Timeout) }
    }

    /// The retransmission timeout as it is now.
    fn timeout(&self) -> Span {
        let base = if self.srtt.is_zero() {
            INITIAL_RTO.max(self.least)
        } else {
            let spread = Span::from_ps(self.deviation.as_ps().saturating_mul(4));
            self.srtt + spread.max(self.least)
        };
        let doubled = base.as_ps().saturating_mul(1 << self.backoff.min(16));
        Span::from_ps(doubled.min(LONGEST_RTO.as_ps().max(base.as_ps())))
    }

    /// The tail stayed silent: its last packet is to be sent again, and what it answers decides.
    pub(crate) fn probe(&mut self) {
        let last = self.packets.iter().rposition(|sent| sent.state == State::InFlight);
        if let Some(ahead) = last {
            let number = self.first + ahead as u64;
            self.set(number, State::Lost);
            self.probe = Some(number);
        }
    }

    /// A timeout: all that has not arrived is lost. The first packet is sent again in any case: if
    /// it did arrive, its acknowledgement was lost.
    pub(crate) fn timed_out(&mut self, now: Instant) {
        self.probe = None;
        self.reordering_until = Instant::MAX;
        (self.backoff, self.waits_from) = (self.backoff.saturating_add(1), now);
        for ahead in 0..self.packets.len() {
            if ahead == 0 || self.packets[ahead].state == State::InFlight {
                self.set(self.first + ahead as u64, State::Lost);
            }
        }
        debug_assert_eq!(
            (self.arrived, self.lost),
            (self.count(State::Arrived), self.count(State::Lost)),
            "packets that count as arrived and lost, and that are"
        );
    }

    fn count(&self, state: State) -> u64 {
        self.packets.iter().filter(|sent| sent.state == state).count() as u64
    }

    /// The counts against what they count, as far as that costs no search.
    #[inline(always)]
    fn check_counts(&self) {
        debug_assert!(
            self.arrived + self.lost <= self.packets.len() as u64,
            "more packets arrived or are lost than are unacknowledged"
        );
        debug_assert!(self.steps > 0, "no time at all is left for reordering");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Span = Span::from_ms(200);

    fn us(us: u64) -> Instant {
        Instant::ZERO + Span::from_us(us)
    }

    /// Packets 100 to 109, sent one per microsecond from 0 on; the round trip takes 20 us.
    fn ten() -> Rack {
        let mut rack = Rack::new(LEAST, Span::ZERO);
        (0..10).for_each(|n| rack.sent(100 + n, us(n)));
        rack
    }

    fn lost(rack: &mut Rack, now: Instant) -> Vec<u64> {
        std::iter::from_fn(|| {
            let number = rack.first_lost()?;
            rack.sent(number, now);
            Some(number)
        })
        .collect()
    }

    #[test]
    fn what_is_late_by_less_than_a_quarter_of_a_round_trip_is_not_lost() {
        let mut rack = ten();
        rack.acknowledge(101, us(20));
        rack.answered(us(20), us(0));
        // 101 is overtaken by the eight that follow it.
        for n in 2..6 {
            rack.arrived(100 + n, us(20 + n));
            rack.answered(us(20 + n), us(n));
        }
        assert!(!rack.has_lost());
        assert_eq!(
            rack.deadline(us(25)),
            (us(26), Wait::Reordering),
            "sent at 1, and 20 + 5 later"
        );
        rack.detect(us(26));
        assert_eq!(lost(&mut rack, us(26)), [101]);
        assert!(rack.take_news() && !rack.take_news());
    }

    #[test]
    fn a_packet_lost_again_is_found_by_what_was_sent_after_it() {
        let mut rack = ten();
        rack.arrived(101, us(21));
        rack.answered(us(21), us(1));
        rack.detect(us(30));
        assert_eq!(lost(&mut rack, us(30)), [100]);
        rack.sent(110, us(31));
        rack.arrived(110, us(51));
        rack.answered(us(51), us(31));
        rack.detect(us(60));
        // 102 to 109 never arrived; 100 was sent again before 110 was.
        assert_eq!(lost(&mut rack, us(60)), [100, 102, 103, 104, 105, 106, 107, 108, 109]);
    }

    #[test]
    fn spurious_repeats_widen_the_window_for_a_while() {
        let mut rack = ten();
        rack.arrived(101, us(21));
        rack.answered(us(21), us(1));
        rack.detect(us(26));
        assert_eq!(lost(&mut rack, us(26)), [100]);
        rack.acknowledge(102, us(28));
        rack.answered(us(28), us(0));
        assert_eq!(rack.reordering_window(), Span::from_us(10));
    }

    #[test]
    fn a_silent_tail_is_probed_after_two_round_trips_and_timed_out_later() {
        let mut rack = ten();
        rack.acknowledge(109, us(28));
        rack.answered(us(28), us(8));
        let (at, wait) = rack.deadline(us(28));
        assert_eq!((at, wait), (us(68), Wait::Probe));
        rack.probe();
        assert_eq!(lost(&mut rack, at), [109]);
        assert!(!rack.take_news(), "a probe is no loss yet");
        let (timeout, wait) = rack.deadline(at);
        assert_eq!(wait, Wait::Timeout);
        assert_eq!(timeout, us(28) + Span::from_us(20) + LEAST);
        // The probe is answered: the packet it repeats was lost, and congestion control hears of
        // it.
        rack.acknowledge(110, us(88));
        rack.answered(us(88), us(68));
        assert!(rack.take_news());
    }

    #[test]
    fn timeouts_double_and_measured_round_trips_count() {
        let mut rack = ten();
        assert_eq!(rack.deadline(us(9)), (us(0) + INITIAL_RTO, Wait::Timeout), "nothing measured");
        rack.timed_out(us(1_000_000));
        assert_eq!(rack.first_lost(), Some(100));
        assert_eq!(rack.deadline(us(1_000_000)).0, us(1_000_000) + INITIAL_RTO + INITIAL_RTO);
        rack.acknowledge(101, us(1_000_020));
        rack.answered(us(1_000_020), us(1_000_000));
        assert_eq!(rack.timeout(), Span::from_us(20) + LEAST);
        assert_eq!((rack.srtt, rack.deviation), (Span::from_us(20), Span::from_us(10)));
        rack.measure(Span::from_us(60));
        assert_eq!((rack.srtt, rack.deviation), (Span::from_us(25), Span::from_ns(17_500)));
    }

    #[test]
    fn counts_stay_true_whatever_arrives_twice() {
        let mut rack = ten();
        rack.arrived(103, us(30));
        rack.arrived(103, us(30));
        assert_eq!((rack.early(), rack.gone()), (1, 1));
        rack.timed_out(us(500));
        assert_eq!((rack.early(), rack.gone()), (1, 10));
        rack.arrived(104, us(550));
        assert_eq!((rack.early(), rack.gone()), (2, 10));
        rack.acknowledge(110, us(600));
        assert_eq!((rack.early(), rack.gone()), (0, 0));
        rack.arrived(104, us(550));
        rack.sent(110, us(601));
        assert_eq!(rack.gone(), 0);
    }
}
