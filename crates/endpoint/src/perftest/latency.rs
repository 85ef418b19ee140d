//! One message at a time: how long each takes.

use super::area::part;
use super::check::Check;
use super::error::PerfError;
use super::outcome::{Figures, Latency, Row};
use super::session::Session;
use super::settings::{Extent, Measure, Role, Verb};
use std::time::Duration;
use xoff_units::Instant;

impl Session {
    /// Whether latency is measured.
    pub(super) fn is_latency(&self) -> bool {
        self.settings.measure == Measure::Latency
    }

    /// Moves messages of one size back and forth.
    pub(super) fn latency(&mut self, size: u64, check: &mut Check) -> Result<Row, PerfError> {
        let mut moments = Vec::new();
        let result = match self.settings.verb {
            Verb::Write | Verb::Send => self.ping_pong(size, check, &mut moments),
            Verb::Read | Verb::Atomic(_) if self.role == Role::Server => Ok(()),
            Verb::Read | Verb::Atomic(_) => self.one_by_one(size, check, &mut moments),
        };
        match result {
            Ok(()) if moments.is_empty() => Ok(Row::passive(size)),
            Ok(()) => Ok(self.times(size, &moments, true)),
            Err(error) => {
                if moments.len() > 1 {
                    self.partial = Some(self.times(size, &moments, false));
                }
                Err(error)
            }
        }
    }

    /// What the moments of our messages say.
    fn times(&self, size: u64, moments: &[Instant], complete: bool) -> Row {
        // What is answered by a message of the same kind went there and back.
        let ways = if matches!(self.settings.verb, Verb::Write | Verb::Send) { 2 } else { 1 };
        let mut times: Vec<Duration> = moments
            .windows(2)
            .map(|two| Duration::from_nanos(two[1].since(two[0]).as_ps() / 1000) / ways)
            .collect();
        let latency = Latency::of(&mut times);
        let iterations = self.lanes.iter().map(|lane| lane.done).sum();
        Row { size, iterations, figures: Figures::Latency(latency), complete }
    }

    /// Messages that each answer the one before. In perftest the server begins with writes, and the
    /// client with sends. Gives the moments of our own.
    fn ping_pong(
        &mut self,
        size: u64,
        check: &mut Check,
        moments: &mut Vec<Instant>,
    ) -> Result<(), PerfError> {
        let goal = self.goal();
        let first = match self.settings.verb {
            Verb::Write => self.role == Role::Server,
            _ => self.role == Role::Client,
        };
        let behind = u64::from(!first);
        let room = self.area.layout.out_steps(size).count;
        let mut last = self.stage.now();
        moments.reserve(goal.min(1 << 20) as usize);
        loop {
            let lane = &self.lanes[0];
            let (posted, arrived) = (lane.posted, lane.arrived);
            if posted < goal && arrived == posted + behind && lane.in_flight() < room {
                moments.push(self.stage.now());
                self.post_message(0, size)?;
            }
            let idle = self.stage.turn()?;
            let mut any = false;
            while let Some(completion) = self.stage.device.poll(self.sends) {
                self.sent(&completion, size, check)?;
                any = true;
            }
            any |= self.look(size, check)?;
            let lane = &self.lanes[0];
            if lane.done == goal && lane.arrived == goal {
                return Ok(());
            }
            if any {
                last = self.stage.now();
            } else if idle {
                if self.is_left_behind(last) {
                    return Err(self.fewer(goal));
                }
                self.stage.rest(None)?;
            }
        }
    }

    /// Whether the peer's next message has come.
    fn look(&mut self, size: u64, check: &mut Check) -> Result<bool, PerfError> {
        let goal = self.goal();
        if self.settings.verb == Verb::Send {
            let mut any = false;
            while let Some(completion) = self.stage.device.poll(self.receives) {
                self.received(&completion, size, check)?;
                any = true;
            }
            if any {
                self.post_receives(size, goal)?;
            }
            return Ok(any);
        }
        let last = part(&self.stage.device, self.area.target(0, 0, size))?.last().copied();
        let lane = &mut self.lanes[0];
        let came = lane.arrived < goal && last == Some((lane.arrived + 1) as u8);
        lane.arrived += u64::from(came);
        Ok(came)
    }

    /// Requests that the peer answers by itself.
    fn one_by_one(
        &mut self,
        size: u64,
        check: &mut Check,
        moments: &mut Vec<Instant>,
    ) -> Result<(), PerfError> {
        let goal = self.goal();
        let end = match self.settings.extent {
            Extent::Iterations(_) => Instant::MAX,
            Extent::For(time) => self.stage.now() + crate::settings::span(time),
        };
        while self.lanes[0].done < goal && self.stage.now() < end {
            moments.push(self.stage.now());
            self.post_message(0, size)?;
            let wanted = self.lanes[0].posted;
            while self.lanes[0].done < wanted {
                let idle = self.stage.turn()?;
                if let Some(completion) = self.stage.device.poll(self.sends) {
                    self.sent(&completion, size, check)?;
                } else if idle {
                    self.stage.rest(None)?;
                }
            }
        }
        moments.push(self.stage.now());
        Ok(())
    }
}
