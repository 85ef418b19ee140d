//! Transports that single workloads use beside the fabric's own: see [`xoff_fabric::model::Guest`].
//!
//! Their packets share NICs, links and switches with all others. What their hosts take beyond the NIC's latency
//! passes at the receiving end, before the packet is handed to its queue pair.

use std::sync::Arc;
use xoff_fabric::model::{Fabric, Guest};
use xoff_fabric::rules::packet;
use xoff_transport::config::QpConfig;
use xoff_units::{Rate, Span};

/// Hops of a packet that its host is working on: more than any way has.
pub(crate) const AT_HOST: u8 = u8::MAX;

/// A guest, ready to run.
pub(crate) struct GuestState {
    pub(crate) qp: Arc<QpConfig>,
    pub(crate) in_vxlan: Arc<QpConfig>,
    /// No flow is faster.
    pub(crate) flow_rate: Rate,
    pub(crate) latency: Span,
}

impl GuestState {
    fn new(guest: &Guest) -> Self {
        Self {
            qp: Arc::new(guest.qp.clone()),
            in_vxlan: Arc::new(packet::in_vxlan(&guest.qp)),
            flow_rate: guest.cpu.map_or(Rate::from_bps(u64::MAX), |cpu| cpu.flow_rate()),
            latency: guest.latency.unwrap_or(Span::ZERO),
        }
    }

    /// The guests of a fabric.
    pub(crate) fn all(fabric: &Fabric) -> Vec<Self> {
        fabric.guests.iter().map(Self::new).collect()
    }

    /// How its queue pairs behave.
    pub(crate) fn qp_of(&self, vxlan: bool) -> &Arc<QpConfig> {
        if vxlan { &self.in_vxlan } else { &self.qp }
    }
}

/// The mark of the guest that a workload uses; zero if it uses none.
pub(crate) fn mark(fabric: &Fabric, workload: u32) -> u8 {
    let place = fabric.guest_of(workload).and_then(|place| u8::try_from(place + 1).ok());
    place.unwrap_or(0)
}
