//! What a controller of thresholds decides: numbers of one queue in, moves out, in integers.
//!
//! This is the whole interface of an agent on a real switch as well; [`Reading`] is what such an agent can ask for.

use xoff_fabric::model::{Ecn, Policy};
use xoff_fabric::rules::adaptive::{Bounds, Level};

/// What is seen of a queue since the last reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    /// What it took of its wire, in thousandths of the time.
    pub(crate) utilisation: u32,
    /// Packets that got a mark, in thousandths of those sent.
    pub(crate) marked: u32,
    /// Its length now.
    pub(crate) queue: u64,
    /// Its class was paused by the peer for some of the time: what it sent says nothing of its thresholds.
    pub(crate) paused: bool,
}

/// The longest that a level which turned out as too low is not tried again, in readings.
const LONGEST: u32 = 64;

/// What the rule remembers of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Readings for which thresholds do not go down.
    hold: u8,
    /// Steps up since there were none but with marks.
    raised: u8,
    /// Readings without a mark.
    quiet: u8,
}

impl Default for Memory {
    fn default() -> Self {
        // As after a long time without marks.
        Self { hold: 0, raised: 0, quiet: u8::MAX }
    }
}

/// The level that follows a reading, `ecn` being in force.
///
/// It seeks the lowest thresholds with which a queue that marks still sends its share of the rate. A level that was too low
/// is not tried again for a while, which doubles each time: so a steady load settles on one level.
pub(crate) fn decide(
    policy: &Policy,
    bounds: Bounds,
    (level, ecn): (Level, Ecn),
    reading: Reading,
    memory: &mut Memory,
) -> Level {
    if reading.paused {
        return level;
    }
    if reading.marked == 0 && reading.queue <= ecn.kmin.get() {
        return return_home(policy, bounds, level, memory);
    }
    if memory.quiet > 0 {
        *memory = Memory { hold: policy.hold, quiet: 0, ..*memory };
    }
    let many = u64::from(reading.marked) >= policy.marks.of(1000);
    if many && reading.queue > ecn.kmax.get() {
        // Every packet gets a mark, and the queue is still long: many senders, who must hear of it sooner.
        return bounds.moved(level, -(policy.overload as i8), 1);
    }
    if u64::from(reading.utilisation) < policy.utilisation.of(1000) {
        if many {
            // They are on their way down, which says nothing of the thresholds.
            return level;
        }
        // Few marks already slow senders down more than the link asks for.
        let hold = u32::from(policy.hold) << memory.raised.min(8);
        memory.hold = hold.min(LONGEST) as u8;
        memory.raised = memory.raised.saturating_add(1);
        return bounds.moved(level, policy.up as i8, -level.pmax.signum());
    }
    if memory.hold > 0 {
        memory.hold -= 1;
        return level;
    }
    bounds.moved(level, -(policy.down as i8), 0)
}

/// Where nothing is marked nothing can be learned: what comes next meets the static thresholds.
fn return_home(policy: &Policy, bounds: Bounds, level: Level, memory: &mut Memory) -> Level {
    memory.quiet = memory.quiet.saturating_add(1);
    if memory.quiet < policy.quiet {
        return level;
    }
    *memory = Memory::default();
    bounds.moved(level, -level.thresholds.clamp(-2, 2), -level.pmax.signum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_fabric::model::Adaptive;
    use xoff_units::{Bytes, Ratio, Span};

    const ECN: Ecn =
        Ecn { kmin: Bytes::new(100_000), kmax: Bytes::new(400_000), pmax: Ratio::new(1, 5) };

    fn settings(lowest: Ratio, highest: Ratio) -> Adaptive {
        let (us, policy) = (Span::from_us, Policy::default());
        Adaptive { interval: us(500), delay: us(50), cost: us(1), lowest, highest, policy }
    }

    /// A queue that needs at least a level to be full, read again and again.
    fn settle(needs: i8, readings: usize) -> Vec<i8> {
        let adaptive = settings(Ratio::new(1, 16), Ratio::new(16, 1));
        let bounds = Bounds::new(&adaptive);
        let (mut level, mut memory) = (Level::default(), Memory::default());
        let mut course = Vec::new();
        for _ in 0..readings {
            let ecn = level.applied(ECN);
            let utilisation = if level.thresholds >= needs { 990 } else { 900 };
            let queue = (ecn.kmin.get() + ecn.kmax.get()) / 2;
            let reading = Reading { utilisation, marked: 20, queue, paused: false };
            level = decide(&adaptive.policy, bounds, (level, ecn), reading, &mut memory);
            course.push(level.thresholds);
        }
        course
    }

    #[test]
    fn a_steady_load_settles_on_the_lowest_level_that_fills_the_link() {
        for needs in -7..=7 {
            let course = settle(needs, 1000);
            let late = &course[200..];
            let off = late.iter().filter(|&&level| level != needs).count();
            assert!(off * 50 <= late.len(), "{needs}: {off} of {} elsewhere", late.len());
            assert!(late.iter().all(|level| (needs - 1..=needs).contains(level)), "{needs}");
        }
        assert_eq!(settle(30, 100).last(), Some(&8), "never beyond the bounds");
        assert_eq!(settle(-30, 100).last(), Some(&-8));
    }

    #[test]
    fn quiet_and_paused_queues_are_left_alone() {
        let adaptive = settings(Ratio::new(1, 16), Ratio::new(16, 1));
        let (bounds, mut memory) = (Bounds::new(&adaptive), Memory::default());
        let far = Level { thresholds: -5, pmax: 2 };
        let mut next = |level: Level, paused| {
            let reading = Reading { utilisation: 300, marked: 0, queue: 0, paused };
            decide(&adaptive.policy, bounds, (level, ECN), reading, &mut memory)
        };
        assert_eq!(next(far, true), far, "paused");
        let mut level = far;
        for _ in 0..100 {
            level = next(level, false);
        }
        assert_eq!(level, Level::default(), "without marks it ends with the static thresholds");
    }
}
