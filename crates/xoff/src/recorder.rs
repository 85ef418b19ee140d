//! [`Recorder`]: watches a run, writes its events and queues as they happen, and stops it when
//! somebody asks or the disk takes no more.

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::number;
use crate::output::progress::Bar;
use crate::report::Gathered;
use xoff_fabric::model::{CLASSES, Fabric};
use xoff_fabric::scenario::{Degraded, Fault, Setting};
use xoff_sim::{Drop, Observer, Progress, Sample, Trace, TraceKind};
use xoff_telemetry::{
    ClassNumber, EventKind, EventLog, EventRow, FlowNumber, Name, QueueRow, RunError, RunFolder,
    Table,
};
use xoff_units::Bytes;

/// Watches a run.
pub(crate) struct Recorder<'a> {
    fabric: &'a Fabric,
    names: Names,
    events: EventLog,
    queues: Table<QueueRow>,
    /// The faults of the scenario.
    faults: Vec<FaultNote>,
    /// Bytes sent at the last sample, by port and class: those of packets, and those on the wire.
    sent: Vec<[u64; 2]>,
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
    /// The first drop in a lossless class, other than on the wire or by a fault.
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
            faults: faults.iter().map(FaultNote::of).collect(),
            sent: vec![[0; 2]; fabric.ports.len() * CLASSES],
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

    /// Completes the tables: what was seen, and what could not be written.
    pub(crate) fn finish(mut self) -> (Seen, Option<Gathered>, Vec<RunError>) {
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

    fn notice_drop(&mut self, trace: &Trace, reason: Drop) {
        let class = usize::from(trace.class) % CLASSES;
        self.seen.dropped[class][reason as usize] += u64::from(trace.bytes);
        let counts = self.fabric.classes[class].lossless && reason.breaks_lossless();
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
            TraceKind::Drop(Drop::LinkDown) => {
                (EventKind::Loss, Some(self.names.reasons[Drop::LinkDown as usize].clone()))
            }
            TraceKind::Fault(number) => return self.fault(trace, number, EventKind::Fault),
            TraceKind::FaultEnd(number) => return self.fault(trace, number, EventKind::FaultEnd),
            TraceKind::Drop(reason) => {
                (EventKind::Drop, Some(self.names.reasons[reason as usize].clone()))
            }
            TraceKind::WatchdogDetect => (EventKind::WatchdogDetect, None),
            TraceKind::WatchdogRestore => (EventKind::WatchdogRestore, None),
            TraceKind::Deadlock => (EventKind::Deadlock, None),
            TraceKind::Timeout => (EventKind::Timeout, None),
            TraceKind::QueuePairError => (EventKind::QpError, None),
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

impl Recorder<'_> {
    /// A fault of the scenario begins or ends.
    fn fault(&self, trace: &Trace, number: u32, kind: EventKind) -> Option<EventRow> {
        let note = self.faults.get(number as usize)?;
        let port = trace.port.index();
        Some(EventRow {
            time: trace.at,
            kind,
            node: self.names.nodes[self.fabric.ports[port].node.index()].clone(),
            port: note.at_port.then(|| self.names.ports[port].clone()),
            class: None,
            flow: None,
            size: None,
            detail: Some(note.detail.clone()),
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
        if let Some(row) = self.event(trace) {
            self.push_event(&row);
        }
    }

    fn sample(&mut self, sample: &Sample) {
        if self.error.is_some() {
            return;
        }
        let slot = sample.port.index() * CLASSES + usize::from(sample.class) % CLASSES;
        let total = [sample.tx_bytes, sample.wire_bytes];
        let before = std::mem::replace(&mut self.sent[slot], total);
        let sent = sample.tx_bytes.saturating_sub(before[0]);
        if let Some(gathered) = &mut self.gathered {
            gathered.sample(sample, sample.wire_bytes.saturating_sub(before[1]));
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

/// A fault as events show it.
struct FaultNote {
    detail: Name,
    /// It happens to a port, and not to all of a NIC or switch.
    at_port: bool,
}

impl FaultNote {
    fn of(fault: &Fault) -> Self {
        let mut detail = fault.name().to_owned();
        match fault {
            Fault::SlowReceiver { rate, .. } => detail += &format!(" {}", number::rate(*rate)),
            Fault::LinkDegraded(fault) => detail += &degraded(&fault.degraded),
            Fault::Setting(setting) => detail += &set(setting),
            _ => {}
        }
        let at_port = match fault {
            Fault::PauseStorm { .. } | Fault::SlowReceiver { .. } | Fault::SwitchDown(_) => false,
            Fault::Setting(setting) => setting.port.is_some(),
            _ => true,
        };
        Self { detail: detail.into(), at_port }
    }
}

fn degraded(fault: &Degraded) -> String {
    let mut text = String::new();
    if let Some(rate) = fault.rate {
        text += &format!(" {}", number::rate(rate));
    }
    for (name, share) in [("bit-error-rate", fault.bit_error_rate), ("loss", fault.loss)] {
        if !share.is_zero() {
            text += &format!(" {name} {share}");
        }
    }
    text
}

fn set(setting: &Setting) -> String {
    let sizes = [("kmin", setting.kmin), ("kmax", setting.kmax)];
    let sizes = sizes.into_iter().filter_map(|(key, size)| Some(format!(" {key} {}", size?)));
    let shares = [("pmax", setting.pmax), ("alpha", setting.alpha)];
    let shares = shares.into_iter().filter_map(|(key, share)| Some(format!(" {key} {}", share?)));
    let pfc = setting.pfc.map(|on| format!(" pfc {}", if on { "on" } else { "off" }));
    pfc.into_iter().chain(sizes).chain(shares).collect()
}
