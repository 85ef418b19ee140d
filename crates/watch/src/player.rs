//! [`Player`]: where a recording stands, and how it moves on.

use crate::time::span;
use std::time::Duration;
use xoff_telemetry::recording::{Steps, Timestamp};

/// Speeds, in steps per second.
const SLOWEST: f64 = 0.125;
const FASTEST: f64 = 1_024.0;

/// Where a recording stands. Time is given in.
#[derive(Debug, Clone, PartialEq)]
pub struct Player {
    steps: Steps,
    /// Steps that have passed: from 1, if there are any.
    at: usize,
    playing: bool,
    speed: f64,
    /// Parts of a step that have passed.
    rest: f64,
}

impl Player {
    /// Of these steps, at their end. It plays so many of them per second.
    pub fn new(steps: Steps, speed: f64) -> Self {
        let speed = if speed.is_finite() { speed.clamp(SLOWEST, FASTEST) } else { 1.0 };
        Self { steps, at: steps.count, playing: false, speed, rest: 0.0 }
    }

    /// The steps of the recording.
    pub fn steps(&self) -> Steps {
        self.steps
    }

    /// Steps that have passed.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The moment at which it stands.
    pub fn moment(&self) -> Timestamp {
        self.steps.begin(self.at)
    }

    /// Whether it plays.
    pub fn is_playing(&self) -> bool {
        self.playing
    }

    /// Stands after so many steps: at least one, if there is one.
    pub fn go_to(&mut self, step: usize) {
        self.at = step.clamp(self.steps.count.min(1), self.steps.count);
        self.rest = 0.0;
    }

    /// Plays from where it stands, or from the start if it stands at the end; or stands still.
    pub fn toggle(&mut self) {
        if !self.playing && self.at >= self.steps.count {
            self.go_to(1);
        }
        self.playing = !self.playing && self.at < self.steps.count;
    }

    /// Goes so many steps on or back, and stands still.
    pub fn step(&mut self, steps: isize) {
        self.playing = false;
        self.go_to(self.at.saturating_add_signed(steps));
    }

    /// Twice or half as fast.
    pub fn faster(&mut self, faster: bool) {
        let speed = if faster { self.speed * 2.0 } else { self.speed / 2.0 };
        self.speed = speed.clamp(SLOWEST, FASTEST);
    }

    /// Time passes.
    pub fn tick(&mut self, time: Duration) {
        if !self.playing {
            return;
        }
        self.rest += time.as_secs_f64() * self.speed;
        let whole = self.rest.floor().min(self.steps.count as f64);
        self.rest -= self.rest.floor();
        self.at = (self.at + whole as usize).min(self.steps.count);
        self.playing = self.at < self.steps.count;
    }

    /// Where it stands, in words.
    pub(crate) fn words(&self) -> String {
        let passed = |step| span(self.steps.begin(step).0 - self.steps.start.0);
        let state = match (self.playing, self.at == self.steps.count) {
            (true, _) => format!("playing, {} steps/s", self.speed),
            (false, true) => "at its end".to_owned(),
            (false, false) => "paused".to_owned(),
        };
        let (at, all) = (passed(self.at), passed(self.steps.count));
        format!("recording at {at} of {all} (step {} of {}), {state}", self.at, self.steps.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use xoff_units::Span;

    fn steps(count: usize) -> Steps {
        Steps { start: Timestamp(0), step: Span::from_us(20), count }
    }

    #[test]
    fn it_plays_to_its_end_and_starts_again() {
        let mut player = Player::new(steps(10), 4.0);
        assert_eq!((player.at(), player.is_playing()), (10, false));
        player.toggle();
        assert_eq!((player.at(), player.is_playing()), (1, true));
        player.tick(Duration::from_millis(1_300));
        assert_eq!(player.at(), 6);
        player.tick(Duration::from_millis(200));
        assert_eq!(player.at(), 7, "parts of a step are kept");
        player.tick(Duration::from_secs(100));
        assert_eq!((player.at(), player.is_playing()), (10, false));
        assert_eq!(player.words(), "recording at 200 us of 200 us (step 10 of 10), at its end");
    }

    #[test]
    fn steps_stand_still() {
        let mut player = Player::new(steps(3), 1.0);
        player.step(-1);
        assert_eq!((player.at(), player.moment()), (2, Timestamp(40_000)));
        player.step(-100);
        assert_eq!(player.at(), 1);
        player.step(100);
        assert_eq!(player.at(), 3);
    }

    proptest! {
        #[test]
        fn it_stays_within_the_recording(
            count in 0usize..50,
            speed in prop::num::f64::ANY,
            moves in prop::collection::vec((0u8..5, 0u64..10_000), 0..50),
        ) {
            let mut player = Player::new(steps(count), speed);
            for (what, amount) in moves {
                match what {
                    0 => player.toggle(),
                    1 => player.step(amount as isize - 5_000),
                    2 => player.faster(amount > 5_000),
                    3 => player.go_to(amount as usize),
                    _ => player.tick(Duration::from_millis(amount)),
                }
                prop_assert!(player.at() <= count);
                prop_assert!(count == 0 || player.at() > 0);
            }
        }
    }
}
