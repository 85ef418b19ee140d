//! perftest's tests: the stock tools (`ib_write_bw` and its family) can be the other side.
//!
//! [`run`] does a whole test as client or server: it meets the peer over TCP, as the stock tools
//! do, or by rdma_cm; agrees on an MTU; exchanges keys; moves data; verifies what arrived;
//! exchanges figures; says goodbye. The messages and their order are those of version 6.06 of the
//! protocol, which is perftest 4.5.
//!
//! Between two xoff ends, every message carries its number and a sequence that the receiver knows.
//! What a stock tool sends is recognised, too (`pattern`).
//!
//! Two xoff ends also compare what they were asked to do, and what they counted (`terms`).
//!
//! What it is not: the options of the stock tools that need hardware (inline data, huge pages, DC
//! and XRC transports, GPUs). Read [`Settings`] first, then `session`.

mod area;
mod bandwidth;
mod check;
mod error;
mod lane;
mod latency;
mod link;
mod lookup;
mod meeting;
mod message;
mod outcome;
mod pattern;
mod ping;
mod pingpong;
mod place;
mod plan;
mod reception;
mod session;
mod settings;
mod stage;
mod terms;
mod window;

pub use error::PerfError;
pub use message::Garbled;
pub use outcome::{
    Agreed, Contents, Delivery, End, Figures, Ignored, Latency, Outcome, Overflow, Rounds, Row,
    Verified,
};
pub use ping::ping;
pub use pingpong::pingpong;
pub use settings::{AtomicKind, Extent, Measure, Rendezvous, Role, Settings, Verb};

use check::Check;
use message::Report;
use session::Session;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use terms::Tally;
use xoff_wire::Service;

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// Runs a test to its end. `agreed` is called when both sides are ready, `row` for each line of the
/// result; if the test breaks off, for what was measured of its last line, too. Setting `stop` ends
/// it early.
pub fn run(
    settings: Settings,
    stop: &Arc<AtomicBool>,
    mut agreed: impl FnMut(&Agreed),
    mut row: impl FnMut(&Row),
) -> Result<Outcome, PerfError> {
    let mut session = Session::new(settings, stop)?;
    agreed(&session.agreed());
    session.run(&mut row).map_err(|error| {
        if let Some(partial) = &session.partial {
            row(partial);
        }
        session.fail(error)
    })
}

impl Session {
    fn run(&mut self, row: &mut impl FnMut(&Row)) -> Result<Outcome, PerfError> {
        let mut check = Check::default();
        let mut rows = Vec::new();
        for size in self.sizes.clone() {
            self.stage.set_patience(self.settings.silence_before_data());
            self.prepare(size)?;
            self.barriers(self.plan.before)?;
            self.stage.set_patience(self.silence_of_data());
            let mut line = if self.is_latency() {
                self.latency(size, &mut check)?
            } else {
                self.bandwidth(size, &mut check)?
            };
            self.partial = None;
            self.stage.set_patience(self.settings.silence());
            self.barriers(self.plan.after)?;
            if self.plan.report_each {
                line = self.report(line, &mut check)?;
            }
            self.barriers(plan::Plan::between(&self.settings))?;
            if line.figures != Figures::Passive {
                row(&line);
                rows.push(line);
            }
        }
        let theirs = self.exchange_tallies()?;
        self.barriers(self.plan.finish)?;
        if self.plan.report {
            let last = rows.last().copied();
            let silent = Row::passive(self.settings.size);
            let line = self.report(last.unwrap_or(silent), &mut check)?;
            if last.is_none() {
                row(&line);
                rows.push(line);
            }
        }
        self.close()?;
        Ok(self.outcome(rows, check, theirs))
    }

    /// How long the peer may be silent while data moves: without end if it has nothing to say, because
    /// nobody acknowledges what we send.
    fn silence_of_data(&self) -> Duration {
        let acknowledged = self.settings.service == Service::Reliable;
        let only_sends = self.role == Role::Client && !self.settings.duplex && !self.is_latency();
        if only_sends && !acknowledged { Duration::MAX } else { self.settings.silence() }
    }

    fn outcome(&mut self, rows: Vec<Row>, mut check: Check, theirs: Option<Tally>) -> Outcome {
        let ours = self.count_up();
        let lossy = self.settings.service != Service::Reliable && !self.is_latency();
        let by_time = matches!(self.settings.extent, Extent::For(_));
        if let (true, true, Some(theirs)) = (lossy, by_time, theirs)
            && self.settings.verb == Verb::Send
            && theirs.sent > 0
        {
            check.lost_in_all(theirs.sent.saturating_sub(ours.arrived));
        }
        let arrived = theirs.map(|theirs| theirs.arrived).filter(|_| lossy && ours.sent > 0);
        let done = self.lanes.iter().map(|lane| lane.done);
        let shares = done.clone().min().zip(done.max());
        let overflow =
            |tally: Tally| Overflow { packets: tally.overflowed, unready: tally.unready };
        Outcome {
            rows,
            verified: check.verdict(),
            retransmitted: self.retransmitted(),
            delivery: arrived.map(|arrived| Delivery { sent: ours.sent, arrived }),
            overflow: overflow(ours),
            peer_overflow: theirs.map(overflow),
            shares: shares.filter(|_| self.is_active() && self.lanes.len() > 1),
        }
    }
}

impl Session {
    /// Exchanges figures. A side that measured nothing takes those of the other; in both directions
    /// they add up.
    fn report(&mut self, line: Row, check: &mut Check) -> Result<Row, PerfError> {
        let unit = if self.settings.gigabits { 1e9 / 8.0 } else { MIB };
        let ours = match line.figures {
            Figures::Bandwidth { peak, average, messages } => Report {
                size: line.size,
                iterations: line.iterations,
                peak: peak / unit,
                average: average / unit,
                rate: messages / 1e6,
            },
            _ => Report { size: line.size, ..Report::default() },
        };
        let theirs = self.exchange_report(ours)?;
        let their_unit = if self.peer_gigabits { 1e9 / 8.0 } else { MIB };
        if self.role == Role::Server || self.settings.duplex {
            if self.settings.service == Service::Unreliable && self.settings.verb == Verb::Write {
                // The exchange may be faster than the last packets.
                self.settle()?;
            }
            self.check_memory(&theirs, check)?;
        }
        let both = matches!(line.figures, Figures::Bandwidth { .. }) && self.settings.duplex;
        if !both && line.figures != Figures::Passive {
            return Ok(line);
        }
        let sum = |ours: f64, theirs: f64| {
            if both { ours * unit + theirs * their_unit } else { theirs * their_unit }
        };
        Ok(Row {
            size: if both { line.size } else { theirs.size },
            iterations: if both { line.iterations } else { theirs.iterations },
            figures: Figures::Bandwidth {
                peak: sum(ours.peak, theirs.peak),
                average: sum(ours.average, theirs.average),
                messages: if both { ours.rate + theirs.rate } else { theirs.rate } * 1e6,
            },
            complete: true,
        })
    }

    /// The peer says what it wrote to our memory: it is there, or not.
    fn check_memory(&self, theirs: &Report, check: &mut Check) -> Result<(), PerfError> {
        let (size, total) = (theirs.size, theirs.iterations);
        if !self.sizes.contains(&size) {
            return Ok(());
        }
        match self.settings.verb {
            Verb::Write => self.check_written(check, size, total)?,
            Verb::Atomic(kind) => self.check_changed(check, kind, total)?,
            Verb::Read | Verb::Send => {}
        }
        Ok(())
    }
}
