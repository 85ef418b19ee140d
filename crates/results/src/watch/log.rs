//! [`Log`]: the events and queues of a run, written to its folder as they happen.

use super::Queue;
use xoff_fabric::model::{CLASSES, Fabric};
use xoff_fabric::scenario::{Degraded, Fault, Setting};
use xoff_report::Number;
use xoff_sim::{Drop, Sample, Trace, TraceKind};
use xoff_telemetry::{
    ClassNumber, EventKind, EventLog, EventRow, FlowNumber, Name, QueueRow, RunError, RunFolder,
    Table,
};
use xoff_units::Bytes;

/// Writes `events.parquet` and `queues.parquet`.
pub(super) struct Log<'a> {
    fabric: &'a Fabric,
    names: Names,
    events: EventLog,
    queues: Table<QueueRow>,
    /// The faults of the scenario.
    faults: Vec<FaultNote>,
    /// Bytes of packets sent at the last sample, by port and class.
    sent: Vec<u64>,
    /// The first error of writing.
    error: Option<RunError>,
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

impl<'a> Log<'a> {
    pub(super) fn new(
        fabric: &'a Fabric,
        folder: &RunFolder,
        faults: &[Fault],
        max_events: u64,
    ) -> Result<Self, RunError> {
        Ok(Self {
            fabric,
            names: Names::of(fabric),
            events: EventLog::new(folder.table()?, max_events),
            queues: folder.table()?,
            faults: faults.iter().map(FaultNote::of).collect(),
            sent: vec![0; fabric.ports.len() * CLASSES],
            error: None,
        })
    }

    /// Whether everything so far could be written.
    pub(super) fn is_writable(&self) -> bool {
        self.error.is_none()
    }

    /// Completes the tables: how many events were left out, and what could not be written.
    pub(super) fn finish(self) -> (u64, Vec<RunError>) {
        let left_out = self.events.left_out();
        let finished = [self.events.finish(), self.queues.finish()];
        // A table that failed during the run has reported why; that it is closed adds nothing.
        let late = finished.into_iter().filter_map(Result::err);
        let late = late.filter(|error| !matches!(error, RunError::Closed { .. }));
        (left_out, self.error.into_iter().chain(late).collect())
    }

    pub(super) fn trace(&mut self, trace: &Trace) {
        if let Some(row) = self.event(trace)
            && self.error.is_none()
        {
            self.error = self.events.push(&row).err();
        }
    }

    pub(super) fn sample(&mut self, sample: &Sample) {
        if self.error.is_some() {
            return;
        }
        let slot = Queue { port: sample.port, class: sample.class }.slot();
        let before = std::mem::replace(&mut self.sent[slot], sample.tx_bytes);
        let row = QueueRow {
            time: sample.at,
            port: self.names.ports[sample.port.index()].clone(),
            class: ClassNumber(sample.class),
            egress: Bytes::new(sample.queue.into()),
            ingress: Bytes::new(sample.ingress),
            paused: sample.paused,
            sent: Bytes::new(sample.tx_bytes.saturating_sub(before)),
        };
        self.error = self.queues.push(&row).err();
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
            Fault::SlowReceiver { rate, .. } => detail += &format!(" {}", Number::from(*rate)),
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
        text += &format!(" {}", Number::from(rate));
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
