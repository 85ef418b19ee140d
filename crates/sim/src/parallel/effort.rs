//! How much of the work is the hosts', and whether several threads are worth it: by the time that they take.
//!
//! Time says who simulates which switch, and on how many threads. The result is the same, whoever does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Times of less than this say nothing.
const SHORTEST: Duration = Duration::from_millis(1);

/// What a packet takes at a host and at a switch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Effort {
    hosts: Work,
    switches: Work,
}

/// Packets, and the seconds that they took. Of what was seen before the last section, half counts.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    packets: f64,
    seconds: f64,
}

impl Work {
    fn add(&mut self, packets: u64, seconds: f64) {
        self.packets = self.packets / 2.0 + packets as f64;
        self.seconds = self.seconds / 2.0 + seconds;
    }

    fn per_packet(&self) -> f64 {
        self.seconds / self.packets
    }
}

impl Effort {
    /// So many packets of hosts, in packets of switches: as many, before anything was measured.
    pub(super) fn of_hosts(&self, packets: u64) -> u64 {
        let ratio = self.hosts.per_packet() / self.switches.per_packet();
        let ratio = if ratio.is_nan() { 1.0 } else { ratio.clamp(0.25, 16.0) };
        (packets as f64 * ratio) as u64
    }

    /// Learns from a section: what parts had to do, in packets, and for how long they were busy. The first has the hosts.
    pub(super) fn learn(&mut self, hosts: u64, switches: &[u64], busy: &[Duration]) {
        let [own, others @ ..] = switches else { return };
        let (first, rest) = (busy[0], busy[1..].iter().sum::<Duration>());
        let others: u64 = others.iter().sum();
        if first < SHORTEST || rest < SHORTEST || others == 0 || hosts == 0 {
            return;
        }
        self.switches.add(others, rest.as_secs_f64());
        // Of the first part's time, what its switches do not explain.
        let explained = self.switches.per_packet() * *own as f64;
        self.hosts.add(hosts, (first.as_secs_f64() - explained).max(0.0));
    }
}

/// For how long a thread was busy in a section, by its own clock.
#[derive(Debug, Default)]
pub(super) struct Busy(AtomicU64);

impl Busy {
    pub(super) fn set(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.store(nanoseconds, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// Adds up the time between its starts and stops.
#[derive(Debug)]
pub(super) struct Stopwatch {
    since: Instant,
    pub(super) total: Duration,
}

impl Stopwatch {
    pub(super) fn started() -> Self {
        Self { since: Self::now(), total: Duration::ZERO }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "time decides who does what, and not what is done"
    )]
    fn now() -> Instant {
        Instant::now()
    }

    pub(super) fn start(&mut self) {
        self.since = Self::now();
    }

    pub(super) fn stop(&mut self) {
        self.total += self.elapsed();
    }

    /// Since it was started last.
    pub(super) fn elapsed(&self) -> Duration {
        Self::now() - self.since
    }
}

/// How fast events are handled by one thread, which several have to beat.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tempo {
    /// Nanoseconds of an event.
    alone: f64,
    /// How often in a row several threads were slower.
    lost: u32,
}

impl Tempo {
    /// Retreats get no longer than this many times the first.
    const LONGEST: u32 = 6;

    /// One thread took so long.
    pub(super) fn alone(&mut self, events: u64, time: Duration) {
        self.alone = nanoseconds(events, time);
    }

    /// Several threads took so long: whether one would have been quicker.
    pub(super) fn is_slower_together(&mut self, events: u64, time: Duration) -> bool {
        let slower = nanoseconds(events, time) > self.alone;
        self.lost = if slower { self.lost + 1 } else { 0 };
        slower
    }

    /// How many events one thread handles before several try again: the more, the more often they have lost.
    pub(super) fn retreat(&self, patience: u64) -> u64 {
        patience << self.lost.min(Self::LONGEST)
    }
}

fn nanoseconds(events: u64, time: Duration) -> f64 {
    time.as_nanos() as f64 / events.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hosts_take_is_learned_from_sections() {
        let ms = Duration::from_millis;
        let mut effort = Effort::default();
        assert_eq!(effort.of_hosts(10), 10);
        // A packet takes 1 us at a switch, and 3 at a host.
        for _ in 0..10 {
            effort.learn(10_000, &[20_000, 50_000], &[ms(50), ms(50)]);
        }
        assert!((29..=30).contains(&effort.of_hosts(10)), "{effort:?}");
        // Several others: what they did together in the time of all.
        for _ in 0..10 {
            effort.learn(10_000, &[0, 50_000, 50_000], &[ms(20), ms(50), ms(50)]);
        }
        assert!((19..=20).contains(&effort.of_hosts(10)), "{effort:?}");
    }

    #[test]
    fn odd_sections_teach_little() {
        let ms = Duration::from_millis;
        let mut effort = Effort::default();
        effort.learn(0, &[1, 1], &[ms(9), ms(9)]);
        effort.learn(10, &[1, 0], &[ms(9), ms(9)]);
        effort.learn(10, &[1, 1], &[ms(9), Duration::ZERO]);
        effort.learn(10, &[1], &[ms(9)]);
        assert_eq!(effort.of_hosts(100), 100);
        effort.learn(10, &[1000, 1], &[ms(1), ms(9)]);
        assert_eq!(effort.of_hosts(100), 25);
        effort.learn(1, &[1, 1_000_000], &[ms(900_000), ms(1)]);
        assert_eq!(effort.of_hosts(100), 1600);
    }

    #[test]
    fn threads_that_lose_retreat_and_try_again() {
        let us = Duration::from_micros;
        let mut tempo = Tempo::default();
        tempo.alone(1000, us(200));
        assert!(!tempo.is_slower_together(1000, us(120)));
        let slower = |tempo: &mut Tempo| tempo.is_slower_together(1000, us(300));
        assert!(slower(&mut tempo));
        assert_eq!(tempo.retreat(1 << 18), 1 << 19);
        for _ in 0..20 {
            assert!(slower(&mut tempo));
        }
        assert_eq!(tempo.retreat(1 << 18), 1 << 24);
        // Everything takes longer now, with one thread, too.
        tempo.alone(1000, us(400));
        assert!(!slower(&mut tempo));
        tempo.alone(1000, us(200));
        assert!(slower(&mut tempo));
        assert_eq!(tempo.retreat(1 << 18), 1 << 19);
    }
}
