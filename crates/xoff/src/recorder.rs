//! [`Recorder`]: watches a run, writes its events and queues as they happen, and stops it when
//! somebody asks or the disk takes no more.

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::number;
use crate::output::progress::Bar;
use crate::report::Gathered;
use std::collections::VecDeque;
use xoff_fabric::model::{CLASSES, Fabric};
use xoff_fabric::scenario::{Fault, NodeRef};
use xoff_sim::{Drop, Observer, Progress, Sample, Trace, TraceKind};
use xoff_telemetry::{
    ClassNumber, EventKind, EventLog, EventRow, FlowNumber, Name, QueueRow, RunError, RunFolder,
    Table,
};
use xoff_units::{Bytes, Instant, Span};

/// Watches a run.
pub(crate) struct Recorder<'a> {
    fabric: &'a Fabric,
    names: Names,
    events: EventLog,
    queues: Table<QueueRow>,
    /// Faults that have not happened yet, in order.
    faults: VecDeque<EventRow>,
    /// Bytes sent at the last sample, by port and class.
    sent: Vec<u64>,
    bar: Option<Bar>,
    interrupt: Interrupt,
    /// The first thing that could not be written.
    error: Option<RunError>,
    seen: Seen,
    /// Series for the report, if one is wanted.
    gathered: Option<Gathered>,
}

/// What the recorder has noticed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// The first drop in a lossless class, other than on the wire.
    pub(crate) first_lossless_drop: Option<Trace>,
    /// Bytes dropped, by class and reason.
    pub(crate) dropped: [[u64; Drop::COUNT]; CLASSES],
    /// Events that were counted and not kept.
    pub(crate) events_left_out: u64,
}

/// Names that rows share, made once.
struct Names {
    ports: Vec<Name>,
    nodes: Vec<Name>,
    reasons: [Name; Drop::COUNT],
}

impl Names {
    fn of(fabric: &Fabric) -> Self {
        let nics = fabric.nics.iter().map(|nic| nic.name.as_str());
        let switches = fabric.switches.iter().map(|switch| switch.name.as_str());
        let ports = 0..fabric.ports.len() as u32;
        Self {
            ports: ports.map(|p| fabric.port_name(xoff_fabric::model::PortId(p)).into()).collect(),
            nodes: nics.chain(switches).map(Name::from).collect(),
            reasons: Drop::ALL.map(|reason| reason.name().into()),
        }
    }
}

impl<'a> Recorder<'a> {
    /// A recorder into a run folder, whose tables are opened now so that a folder that cannot be
    /// written is found before the run and not after it.
    pub(crate) fn new(
        fabric: &'a Fabric,
        faults: &[Fault],
        max_events: u64,
        folder: &RunFolder,
        interrupt: Interrupt,
        bar: Option<Bar>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            fabric,
            names: Names::of(fabric),
            events: EventLog::new(folder.table()?, max_events),
            queues: folder.table()?,
            faults: fault_events(fabric, faults),
            sent: vec![0; fabric.ports.len() * CLASSES],
            bar,
            interrupt,
            error: None,
            seen: Seen::default(),
            gathered: None,
        })
    }

    /// Gathers series for the report, too.
    pub(crate) fn gather(&mut self, gathered: Gathered) {
        self.gathered = Some(gathered);
    }

    /// Completes the tables of a run that ended at `end`: what was seen, and what could not be
    /// written.
    pub(crate) fn finish(mut self, end: Instant) -> (Seen, Option<Gathered>, Vec<RunError>) {
        self.record_faults(end);
        if let Some(bar) = &self.bar {
            bar.clear();
        }
        self.seen.events_left_out = self.events.left_out();
        let finished = [self.events.finish(), self.queues.finish()];
        // A table that failed during the run has said why; that it is closed is no news.
        let late = finished.into_iter().filter_map(Result::err);
        let late = late.filter(|error| !matches!(error, RunError::Closed { .. }));
        (self.seen, self.gathered, self.error.into_iter().chain(late).collect())
    }

    fn push_event(&mut self, row: &EventRow) {
        if self.error.is_none() {
            self.error = self.events.push(row).err();
        }
    }

    /// Records the faults that have begun or ended by `now`.
    fn record_faults(&mut self, now: Instant) {
        while self.faults.front().is_some_and(|fault| fault.time <= now) {
            if let Some(fault) = self.faults.pop_front() {
                self.push_event(&fault);
            }
        }
    }

    fn notice_drop(&mut self, trace: &Trace, reason: Drop) {
        let class = usize::from(trace.class) % CLASSES;
        self.seen.dropped[class][reason as usize] += u64::from(trace.bytes);
        let counts = self.fabric.classes[class].lossless && reason != Drop::Wire;
        if counts && self.seen.first_lossless_drop.is_none() {
            self.seen.first_lossless_drop = Some(*trace);
        }
    }

    fn event(&self, trace: &Trace) -> Option<EventRow> {
        let (kind, detail) = match trace.kind {
            TraceKind::Xoff => (EventKind::Xoff, None),
            TraceKind::Xon => (EventKind::Xon, None),
            TraceKind::PauseStart => (EventKind::PauseStart, None),
            TraceKind::PauseEnd => (EventKind::PauseEnd, None),
            // A loss is also reported as a drop on the wire, which knows its packet.
            TraceKind::Loss => return None,
            TraceKind::Drop(Drop::Wire) => (EventKind::Loss, None),
            TraceKind::Drop(reason) => {
                (EventKind::Drop, Some(self.names.reasons[reason as usize].clone()))
            }
            TraceKind::WatchdogDetect => (EventKind::WatchdogDetect, None),
            TraceKind::WatchdogRestore => (EventKind::WatchdogRestore, None),
            TraceKind::Deadlock => (EventKind::Deadlock, None),
            TraceKind::Timeout => (EventKind::Timeout, None),
        };
        let port = trace.port.index();
        Some(EventRow {
            time: trace.at,
            kind,
            node: self.names.nodes[self.fabric.ports[port].node.index()].clone(),
            port: Some(self.names.ports[port].clone()),
            class: Some(ClassNumber(trace.class)),
            flow: trace.flow.map(|flow| FlowNumber(flow.into())),
            size: (trace.bytes > 0).then_some(Bytes::new(trace.bytes.into())),
            detail,
        })
    }
}

impl Observer for Recorder<'_> {
    fn trace(&mut self, trace: &Trace) {
        if let TraceKind::Drop(reason) = trace.kind {
            self.notice_drop(trace, reason);
        }
        if let Some(gathered) = &mut self.gathered {
            gathered.trace(trace);
        }
        self.record_faults(trace.at);
        if let Some(row) = self.event(trace) {
            self.push_event(&row);
        }
    }

    fn sample(&mut self, sample: &Sample) {
        if self.error.is_some() {
            return;
        }
        let slot = sample.port.index() * CLASSES + usize::from(sample.class) % CLASSES;
        let before = std::mem::replace(&mut self.sent[slot], sample.tx_bytes);
        let sent = sample.tx_bytes.saturating_sub(before);
        if let Some(gathered) = &mut self.gathered {
            gathered.sample(sample, sent);
        }
        let row = QueueRow {
            time: sample.at,
            port: self.names.ports[sample.port.index()].clone(),
            class: ClassNumber(sample.class),
            egress: Bytes::new(sample.queue.into()),
            ingress: Bytes::new(sample.ingress),
            paused: sample.paused,
            sent: Bytes::new(sent),
        };
        self.error = self.queues.push(&row).err();
    }

    fn progress(&mut self, progress: &Progress) -> bool {
        if let Some(bar) = &mut self.bar {
            bar.update(progress);
        }
        !self.interrupt.requested() && self.error.is_none()
    }
}

/// The beginnings and ends of a scenario's faults as events, in order of time.
fn fault_events(fabric: &Fabric, faults: &[Fault]) -> VecDeque<EventRow> {
    let mut rows = Vec::new();
    let mut add = |at: Span, duration: Option<Span>, nic: &NodeRef, detail: String| {
        let node = match nic {
            NodeRef::Number(number) => fabric.nics.get(*number as usize).map(|nic| &nic.name),
            NodeRef::Name(name) => Some(name),
        };
        let node: Name = node.map_or("", String::as_str).into();
        let (detail, at): (Name, _) = (detail.into(), Instant::ZERO + at);
        let row = |time, kind| EventRow {
            time,
            kind,
            node: node.clone(),
            port: None,
            class: None,
            flow: None,
            size: None,
            detail: Some(detail.clone()),
        };
        rows.push(row(at, EventKind::Fault));
        rows.extend(duration.map(|span| row(at + span, EventKind::FaultEnd)));
    };
    for fault in faults {
        match fault {
            Fault::PauseStorm { nic, at, duration } => {
                add(*at, *duration, nic, "pause-storm".to_owned());
            }
            Fault::SlowReceiver { nic, at, rate, duration } => {
                add(*at, *duration, nic, format!("slow-receiver {}", number::rate(*rate)));
            }
        }
    }
    rows.sort_by_key(|row| row.time);
    rows.into()
}
