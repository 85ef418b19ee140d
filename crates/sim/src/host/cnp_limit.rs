//! Congestion notifications of a NIC: which of its queue pairs share a limiter.
//!
//! A queue pair limits its own notifications. Where the limiter belongs to the port, or to the
//! destination of the notifications, it is kept here, beside the NIC.
//!
//! The limiter of a port opens up to an eighth of its interval late, by a draw of the port's own. With an exact interval it
//! falls into step with senders that take turns at the switch: of four senders one then gets most notifications and
//! nearly stops while the others go on, and an incast of 4:1 takes four times as long as one of 3:1 or 5:1. Packets of
//! real senders do not arrive that evenly.

use crate::id::PlaneId;
use std::collections::BTreeMap;
use xoff_fabric::model::PortId;
use xoff_transport::CnpLimiter;
use xoff_transport::config::{CnpScope, QpConfig};
use xoff_units::{Instant, Span};
use xoff_workload::stream::Stream;

/// The limiter of a port opens late by less than its interval over this.
const LATE: u64 = 8;

/// The limiters that the queue pairs of one NIC port share.
#[derive(Debug)]
pub(crate) struct CnpLimits {
    limiters: Limiters,
    stream: Stream,
}

#[derive(Debug)]
enum Limiters {
    /// Each queue pair has its own.
    QueuePair,
    /// One for the port.
    Port(CnpLimiter),
    /// One per destination, which is the port that the marked data came from.
    Destination(BTreeMap<PlaneId, CnpLimiter>),
}

impl CnpLimits {
    /// Those of a port in the run with this seed.
    pub(crate) fn new(scope: CnpScope, port: PortId, seed: u64) -> Self {
        let limiters = match scope {
            CnpScope::QueuePair => Limiters::QueuePair,
            CnpScope::Port => Limiters::Port(CnpLimiter::default()),
            CnpScope::Destination => Limiters::Destination(BTreeMap::new()),
        };
        Self { limiters, stream: Stream::new(seed, port.index() as u64, "notifications") }
    }

    /// Whether a marked packet from `sender` makes no notification because the limiter is closed.
    #[cold]
    pub(crate) fn withholds(&mut self, now: Instant, sender: PlaneId, qp: &QpConfig) -> bool {
        let Self { limiters, stream } = self;
        let limiter = match limiters {
            Limiters::QueuePair => return false,
            Limiters::Port(limiter) => {
                let late = Span::from_ps(stream.below(qp.cnp_interval.as_ps() / LATE));
                return !limiter.admit(now, qp.cnp_interval + late);
            }
            Limiters::Destination(limiters) => limiters.entry(sender).or_default(),
        };
        !limiter.admit(now, qp.cnp_interval)
    }
}
