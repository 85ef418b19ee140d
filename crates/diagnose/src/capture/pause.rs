//! Pause frames by priority, and by the station that sent them.

use super::evidence::Evidence;
use super::timeline::{PausedPort, Timeline};
use serde::Serialize;
use xoff_units::{Rate, Span};
use xoff_wire::capture::Timestamp;
use xoff_wire::ethernet::MacAddr;
use xoff_wire::pause::{Pause, Quanta};

/// Stations that are told apart; frames of more are counted with all.
const STATIONS: usize = 1024;
/// Bits in a quantum.
const QUANTUM: u128 = 512;
/// Eight priorities and the whole link.
const KINDS: usize = 9;
/// The last of those.
const LINK: usize = 8;

/// Pauses of one priority, or of the whole link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PauseCount {
    /// Frames that stop it.
    pub pauses: Evidence,
    /// Frames that let it go on.
    pub resumes: u64,
    /// The pause time of all frames together, in quanta of 512 bit times.
    pub quanta: u64,
    /// The longest pause time of one frame, in quanta.
    pub longest: u16,
}

impl PauseCount {
    fn count(&mut self, quanta: Quanta, number: u64) {
        if quanta.0 == 0 {
            self.resumes += 1;
            return;
        }
        self.pauses.add(number);
        self.quanta += u64::from(quanta.0);
        self.longest = self.longest.max(quanta.0);
    }

    /// Whether there was nothing.
    pub const fn is_empty(&self) -> bool {
        self.pauses.is_empty() && self.resumes == 0
    }
}

/// All pause frames.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Pauses {
    /// Of the whole link (802.3x).
    pub link: PauseCount,
    /// By priority (802.1Qbb).
    pub priorities: [PauseCount; 8],
    /// The speed at which pause times are computed, in bits per second.
    pub link_rate_bps: u64,
    /// By the station that sent them, in the order of their first frames.
    pub ports: Vec<Port>,
    /// Frames of stations beyond the limit, which are only counted above.
    pub ports_left_out: u64,
}

/// What one station paused.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Port {
    /// Its address.
    pub station: String,
    /// Its frames.
    pub frames: u64,
    /// What it paused.
    pub paused: Vec<Paused>,
}

/// One priority of a port.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Paused {
    /// Which; none for the whole link.
    pub priority: Option<u8>,
    /// The frames.
    #[serde(flatten)]
    pub count: PauseCount,
    /// How long it was paused.
    pub paused_ns: u64,
    /// How long without a break, at most.
    pub longest_ns: u64,
    /// The share of the capture's time.
    pub share: f64,
}

/// A priority of a port while the capture runs.
#[derive(Debug, Clone, Default)]
struct Meter {
    count: PauseCount,
    /// Since when it has been paused, and until when if nothing more comes.
    now: Option<(Timestamp, Timestamp)>,
    paused: u64,
    longest: u64,
}

impl Meter {
    /// A frame. Returns a pause that has ended.
    fn frame(
        &mut self,
        quanta: Quanta,
        rate: Rate,
        now: Timestamp,
    ) -> Option<(Timestamp, Timestamp)> {
        // A frame sets the time anew, whatever is left of the one before.
        let until = now.plus(duration(quanta, rate));
        let ended = match self.now {
            Some((since, end)) if now > end => {
                self.now = None;
                Some((since, end))
            }
            Some((since, _)) if quanta.0 == 0 => {
                self.now = None;
                Some((since, now.max(since)))
            }
            _ => None,
        };
        if quanta.0 > 0 {
            let since = self.now.map_or(now, |(since, _)| since);
            self.now = Some((since, until));
        }
        self.add(ended);
        ended
    }

    fn add(&mut self, ended: Option<(Timestamp, Timestamp)>) {
        if let Some((since, end)) = ended {
            let ns = end.since(since).as_ps() / 1000;
            self.paused = self.paused.saturating_add(ns);
            self.longest = self.longest.max(ns);
        }
    }

    /// The capture ends.
    fn finish(&mut self, end: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let ended = self.now.take().map(|(since, until)| (since, until.min(end).max(since)));
        self.add(ended);
        ended
    }
}

fn duration(quanta: Quanta, rate: Rate) -> Span {
    let bits = u128::from(quanta.0) * QUANTUM;
    let ps = (bits * 1_000_000_000_000).checked_div(u128::from(rate.bps())).unwrap_or(0);
    Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}

/// Pause frames while the capture runs.
#[derive(Debug)]
pub(super) struct Meters {
    rate: Rate,
    total: Pauses,
    ports: Vec<(MacAddr, u64, [Meter; KINDS])>,
}

impl Meters {
    /// Pause times are computed at the link's speed.
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, total: Pauses::default(), ports: Vec::new() }
    }

    /// A frame from a station, which is packet `number`.
    pub(super) fn count(
        &mut self,
        (pause, station): (&Pause, MacAddr),
        number: u64,
        now: Timestamp,
        timeline: &mut Timeline,
    ) {
        let set = |kind: usize| match pause {
            Pause::Link(quanta) => (kind == LINK).then_some(*quanta),
            Pause::Priorities { .. } if kind < LINK => pause.quanta(kind as u8),
            Pause::Priorities { .. } => None,
        };
        for kind in 0..KINDS {
            let Some(quanta) = set(kind) else { continue };
            match self.total.priorities.get_mut(kind) {
                Some(priority) => priority.count(quanta, number),
                None => self.total.link.count(quanta, number),
            }
        }
        let known = self.ports.iter().position(|(known, ..)| *known == station);
        let Some(at) = known.or_else(|| self.add(station)) else {
            self.total.ports_left_out += 1;
            return;
        };
        let Some((_, frames, meters)) = self.ports.get_mut(at) else { return };
        *frames += 1;
        for (kind, meter) in meters.iter_mut().enumerate() {
            let Some(quanta) = set(kind) else { continue };
            meter.count.count(quanta, number);
            if let Some((since, end)) = meter.frame(quanta, self.rate, now) {
                timeline.pause(at * KINDS + kind, since, end);
            }
        }
    }

    fn add(&mut self, station: MacAddr) -> Option<usize> {
        if self.ports.len() >= STATIONS {
            return None;
        }
        self.ports.push((station, 0, Default::default()));
        Some(self.ports.len() - 1)
    }

    /// The capture, which lasted so long, has ended.
    pub(super) fn finish(
        mut self,
        end: Timestamp,
        lasted_ns: u64,
        timeline: &mut Timeline,
    ) -> (Pauses, Vec<PausedPort>) {
        let mut pauses = self.total;
        pauses.link_rate_bps = self.rate.bps();
        let mut course = Vec::new();
        for (at, (station, frames, meters)) in self.ports.iter_mut().enumerate() {
            let mut paused = Vec::new();
            for (kind, meter) in meters.iter_mut().enumerate() {
                if meter.count.is_empty() {
                    continue;
                }
                let what = at * KINDS + kind;
                if let Some((since, end)) = meter.finish(end) {
                    timeline.pause(what, since, end);
                }
                let priority = (kind < LINK).then_some(kind as u8);
                paused.push(Paused {
                    priority,
                    count: meter.count.clone(),
                    paused_ns: meter.paused,
                    longest_ns: meter.longest,
                    share: share(meter.paused, lasted_ns),
                });
                course.push((
                    what,
                    PausedPort { station: station.to_string(), priority, paused_ns: Vec::new() },
                ));
            }
            pauses.ports.push(Port { station: station.to_string(), frames: *frames, paused });
        }
        let filled = |(what, port): (usize, PausedPort)| {
            let paused_ns = timeline.paused(what).to_vec();
            PausedPort { paused_ns, ..port }
        };
        let course = course.into_iter().map(filled);
        (pauses, course.filter(|port| !port.paused_ns.is_empty()).collect())
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_with_a_resume_or_by_itself() {
        let at = |us: u64| Timestamp::from_ns(us * 1000);
        // 1000 quanta at 100 Gb/s are 5.12 us.
        let rate = Rate::from_gbps(100);
        let mut meter = Meter::default();
        assert_eq!(meter.frame(Quanta(1000), rate, at(0)), None);
        assert_eq!(meter.frame(Quanta(1000), rate, at(4)), None, "refreshed in time");
        assert_eq!(meter.frame(Quanta(0), rate, at(6)), Some((at(0), at(6))));
        assert_eq!(meter.frame(Quanta(0), rate, at(7)), None);
        meter.frame(Quanta(1000), rate, at(100));
        let by_itself = Timestamp::from_ns(105_120);
        assert_eq!(meter.frame(Quanta(1000), rate, at(200)), Some((at(100), by_itself)));
        assert_eq!(meter.finish(at(201)), Some((at(200), at(201))));
        assert_eq!((meter.paused, meter.longest), (6000 + 5120 + 1000, 6000));
    }
}
