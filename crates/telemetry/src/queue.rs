//! Queues over time: the rows of `queues.parquet`.

use crate::column::{Cells, Column, Kind, Row};
use crate::{ClassNumber, Name};
use xoff_units::{Bytes, Instant};

/// One class at one port at one moment. Left out where nothing is queued, paused or sent and
/// nothing was at the sample before.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueRow {
    /// The moment.
    pub time: Instant,
    /// The port, as node and peer.
    pub port: Name,
    /// The class.
    pub class: ClassNumber,
    /// Bytes waiting to leave by this port.
    pub egress: Bytes,
    /// Bytes that came in by this port and are still in the switch.
    pub ingress: Bytes,
    /// Whether the peer has paused the class.
    pub paused: bool,
    /// Bytes sent since the sample before.
    pub sent: Bytes,
}

impl Row for QueueRow {
    const TABLE: &'static str = "queues";
    const COLUMNS: &'static [Column] = &[
        Column::new("time_ps", Kind::Growing),
        Column::new("port", Kind::Text),
        Column::new("class", Kind::Small),
        Column::new("queue_bytes", Kind::Integer),
        Column::new("ingress_bytes", Kind::Integer),
        Column::new("paused", Kind::Flag),
        Column::new("tx_bytes", Kind::Integer),
    ];

    fn fill(&self, cells: &mut Cells) {
        cells.integer(self.time.as_ps());
        cells.text(&self.port);
        cells.small(u32::from(self.class.0));
        cells.integer(self.egress.get());
        cells.integer(self.ingress.get());
        cells.flag(self.paused);
        cells.integer(self.sent.get());
    }
}
