//! Draws of the ECN ramp, and notifications that switches sent lately.

use crate::id::{EndpointId, FlowId, Table};
use std::collections::BTreeMap;
use xoff_fabric::model::{PortId, SwitchId};
use xoff_units::{Instant, Span};
use xoff_workload::stream::Stream;

/// What marking remembers.
#[derive(Clone)]
pub(crate) struct Marking {
    streams: Table<PortId, Stream>,
    /// The flow that a switch last sent a notification about, by switch and receiving endpoint, and when.
    notified: BTreeMap<(SwitchId, EndpointId), (FlowId, Instant)>,
}

impl Marking {
    pub(crate) fn new(ports: usize, seed: u64) -> Self {
        let streams = (0..ports as u64).map(|port| Stream::new(seed, port, "ecn")).collect();
        Self { streams, notified: BTreeMap::new() }
    }

    /// Goes on with the draws of a port where another thread ended.
    pub(crate) fn copy_port(&mut self, from: &Self, port: PortId) {
        self.streams[port].clone_from(&from.streams[port]);
    }

    /// The draws of a port.
    pub(crate) fn stream(&mut self, port: PortId) -> &mut Stream {
        &mut self.streams[port]
    }

    /// Whether a switch sent a notification about a flow within the last `interval`.
    pub(super) fn was_notified(
        &self,
        key: (SwitchId, EndpointId),
        flow: FlowId,
        (now, interval): (Instant, Span),
    ) -> bool {
        self.notified.get(&key).is_some_and(|&(of, at)| of == flow && at + interval > now)
    }

    /// A switch sends a notification about a flow.
    pub(super) fn note(&mut self, key: (SwitchId, EndpointId), flow: FlowId, now: Instant) {
        self.notified.insert(key, (flow, now));
    }
}
