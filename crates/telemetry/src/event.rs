//! Events: the rows of `events.parquet` and the limit on their number.

use crate::column::{Cells, Column, Kind, Row};
use crate::{ClassNumber, FlowNumber, Name, RunError, Sink, Table};
use std::fs::File;
use std::path::Path;
use std::sync::LazyLock;
use xoff_units::{Bytes, Instant};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// A port sent its peer a pause for a class.
    Xoff,
    /// A port sent its peer a resume for a class.
    Xon,
    /// A port stopped a class because its peer paused it.
    PauseStart,
    /// A port goes on with a class.
    PauseEnd,
    /// A packet found no buffer.
    Drop,
    /// A packet was lost on a cable.
    Loss,
    /// A sender waited too long for an acknowledgement.
    Timeout,
    /// A watchdog found a queue stuck.
    WatchdogDetect,
    /// A watchdog made a queue lossless again.
    WatchdogRestore,
    /// Paused queues wait for each other in a cycle.
    Deadlock,
    /// A queue pair gave up.
    QpError,
    /// A fault of the scenario began.
    Fault,
    /// It works again.
    FaultEnd,
}

impl EventKind {
    /// Every kind, in the order of the enum.
    pub const ALL: [Self; 13] = [
        Self::Xoff,
        Self::Xon,
        Self::PauseStart,
        Self::PauseEnd,
        Self::Drop,
        Self::Loss,
        Self::Timeout,
        Self::WatchdogDetect,
        Self::WatchdogRestore,
        Self::Deadlock,
        Self::QpError,
        Self::Fault,
        Self::FaultEnd,
    ];

    /// The word in the `kind` column.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xoff => "xoff",
            Self::Xon => "xon",
            Self::PauseStart => "pause_start",
            Self::PauseEnd => "pause_end",
            Self::Drop => "drop",
            Self::Loss => "loss",
            Self::Timeout => "timeout",
            Self::WatchdogDetect => "watchdog_detect",
            Self::WatchdogRestore => "watchdog_restore",
            Self::Deadlock => "deadlock",
            Self::QpError => "qp_error",
            Self::Fault => "fault",
            Self::FaultEnd => "fault_end",
        }
    }

    /// Whether it happens a few times per run at most, and explains much.
    const fn is_rare(self) -> bool {
        matches!(
            self,
            Self::WatchdogDetect
                | Self::WatchdogRestore
                | Self::Deadlock
                | Self::QpError
                | Self::Fault
                | Self::FaultEnd
        )
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// When.
    pub time: Instant,
    /// What.
    pub kind: EventKind,
    /// At which node.
    pub node: Name,
    /// At which of its ports, as node and peer.
    pub port: Option<Name>,
    /// To which class.
    pub class: Option<ClassNumber>,
    /// To which flow.
    pub flow: Option<FlowNumber>,
    /// How many bytes it is about: those of the packet for a drop or a loss, those in the buffer
    /// for XOFF and XON.
    pub size: Option<Bytes>,
    /// The reason of a drop, the cycle of a deadlock, …
    pub detail: Option<Name>,
}

/// The words of [`EventKind::name`], made once.
static KINDS: LazyLock<[Name; 13]> = LazyLock::new(|| EventKind::ALL.map(|k| k.name().into()));

impl Row for EventRow {
    const TABLE: &'static str = "events";
    const COLUMNS: &'static [Column] = &[
        Column::new("time_ps", Kind::Growing),
        Column::new("kind", Kind::Text),
        Column::new("node", Kind::Text),
        Column::nullable("port", Kind::Text),
        Column::nullable("class", Kind::Small),
        Column::nullable("flow", Kind::Integer),
        Column::nullable("bytes", Kind::Integer),
        Column::nullable("detail", Kind::Text),
    ];

    fn fill(&self, cells: &mut Cells) {
        cells.integer(self.time.as_ps());
        cells.text(&KINDS[self.kind as usize]);
        cells.text(&self.node);
        cells.text(self.port.as_ref());
        cells.small(self.class.map(|class| u32::from(class.0)));
        cells.integer(self.flow.map(|flow| flow.0));
        cells.integer(self.size.map(Bytes::get));
        cells.text(self.detail.as_ref());
    }
}

/// Rare events kept whatever the limit on the others.
const RARE_LIMIT: u64 = 100_000;

/// `events.parquet` with a limit, so that a storm of pauses does not fill the disk. Beyond the
/// limit events are only counted; rare kinds (watchdog, deadlock, faults) do not count against it
/// and so are there even when a storm came first.
pub struct EventLog<S: Sink = File> {
    table: Table<EventRow, S>,
    limit: u64,
    common: u64,
    rare: u64,
    left_out: u64,
}

impl<S: Sink> EventLog<S> {
    /// Keeps at most `limit` events of the common kinds in `table`.
    pub fn new(table: Table<EventRow, S>, limit: u64) -> Self {
        Self { table, limit, common: 0, rare: 0, left_out: 0 }
    }

    /// Records an event, or counts it when there are too many.
    pub fn push(&mut self, event: &EventRow) -> Result<(), RunError> {
        let (seen, limit) = if event.kind.is_rare() {
            (&mut self.rare, RARE_LIMIT)
        } else {
            (&mut self.common, self.limit)
        };
        if *seen >= limit {
            self.left_out += 1;
            return Ok(());
        }
        *seen += 1;
        self.table.push(event)
    }

    /// Events that were counted and not kept.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.table.path()
    }

    /// Completes the file. Returns the number of events in it.
    pub fn finish(self) -> Result<u64, RunError> {
        self.table.finish()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use xoff_units::Span;

    pub(crate) fn event(kind: EventKind, us: u64) -> EventRow {
        EventRow {
            time: Instant::ZERO + Span::from_us(us),
            kind,
            node: "leaf0".into(),
            port: None,
            class: None,
            flow: None,
            size: None,
            detail: None,
        }
    }

    #[test]
    fn kinds_are_numbered_as_listed() {
        for (index, kind) in EventKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            assert_eq!(KINDS[index].as_str(), kind.name());
        }
    }

    #[test]
    fn a_storm_does_not_hide_the_deadlock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.parquet");
        let mut log = EventLog::new(Table::create(&path).unwrap(), 3);
        for us in 0..10 {
            log.push(&event(EventKind::Xoff, us)).unwrap();
        }
        log.push(&event(EventKind::Deadlock, 10)).unwrap();
        assert_eq!(log.left_out(), 7);
        assert_eq!(log.finish().unwrap(), 4);
    }
}
