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
mod plan;
mod session;
mod settings;
mod stage;
mod window;

pub use error::PerfError;
pub use message::Garbled;
pub use outcome::{Agreed, Contents, End, Figures, Latency, Outcome, Row, Verified};
pub use settings::{AtomicKind, Extent, Measure, Rendezvous, Role, Settings, Verb};

use check::Check;
use message::Report;
use session::Session;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// Runs a test to its end. `agreed` is called when both sides are ready, `row` for each line of the
/// result; setting `stop` ends it early.
pub fn run(
    settings: Settings,
    stop: &Arc<AtomicBool>,
    mut agreed: impl FnMut(&Agreed),
    mut row: impl FnMut(&Row),
) -> Result<Outcome, PerfError> {
    let mut session = Session::new(settings, stop)?;
    agreed(&session.agreed());
    let mut check = Check::default();
    let mut rows = Vec::new();
    for size in session.sizes.clone() {
        session.prepare(size)?;
        session.barriers(session.plan.before)?;
        let mut line = if session.is_latency() {
            session.latency(size, &mut check)?
        } else {
            session.bandwidth(size, &mut check)?
        };
        session.barriers(session.plan.after)?;
        if session.plan.report_each {
            line = session.report(line, &mut check)?;
        }
        session.barriers(plan::Plan::between(&session.settings))?;
        if line.figures != Figures::Passive {
            row(&line);
            rows.push(line);
        }
    }
    session.barriers(session.plan.finish)?;
    if session.plan.report {
        let last = rows.last().copied();
        let silent = Row { size: session.settings.size, iterations: 0, figures: Figures::Passive };
        let line = session.report(last.unwrap_or(silent), &mut check)?;
        if last.is_none() {
            row(&line);
            rows.push(line);
        }
    }
    session.close()?;
    let retransmitted = session.retransmitted();
    Ok(Outcome { rows, verified: check.verdict(), retransmitted })
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
        if self.role == Role::Server || self.settings.duplex {
            self.check_memory(&theirs, check)?;
        }
        let both = matches!(line.figures, Figures::Bandwidth { .. }) && self.settings.duplex;
        if !both && line.figures != Figures::Passive {
            return Ok(line);
        }
        let sum = |ours: f64, theirs: f64| if both { ours + theirs } else { theirs };
        Ok(Row {
            size: if both { line.size } else { theirs.size },
            iterations: if both { line.iterations } else { theirs.iterations },
            figures: Figures::Bandwidth {
                peak: sum(ours.peak, theirs.peak) * unit,
                average: sum(ours.average, theirs.average) * unit,
                messages: sum(ours.rate, theirs.rate) * 1e6,
            },
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
