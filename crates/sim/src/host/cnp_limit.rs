//! Congestion notifications of a NIC: which of its queue pairs share a limiter.
//!
//! A queue pair limits its own notifications. Where the limiter belongs to the port, or to the
//! destination of the notifications, it is kept here, beside the NIC.

use crate::id::PlaneId;
use std::collections::BTreeMap;
use xoff_transport::CnpLimiter;
use xoff_transport::config::{CnpScope, QpConfig};
use xoff_units::Instant;

/// The limiters that the queue pairs of one NIC port share.
#[derive(Debug)]
pub(crate) enum CnpLimits {
    /// Each queue pair has its own.
    QueuePair,
    /// One for the port.
    Port(CnpLimiter),
    /// One per destination, which is the port that the marked data came from.
    Destination(BTreeMap<PlaneId, CnpLimiter>),
}

impl CnpLimits {
    pub(crate) fn new(scope: CnpScope) -> Self {
        match scope {
            CnpScope::QueuePair => CnpLimits::QueuePair,
            CnpScope::Port => CnpLimits::Port(CnpLimiter::default()),
            CnpScope::Destination => CnpLimits::Destination(BTreeMap::new()),
        }
    }

    /// Whether a marked packet from `sender` makes no notification because the limiter is closed.
    #[cold]
    pub(crate) fn withholds(&mut self, now: Instant, sender: PlaneId, qp: &QpConfig) -> bool {
        let limiter = match self {
            CnpLimits::QueuePair => return false,
            CnpLimits::Port(limiter) => limiter,
            CnpLimits::Destination(limiters) => limiters.entry(sender).or_default(),
        };
        !limiter.admit(now, qp.cnp_interval)
    }
}
