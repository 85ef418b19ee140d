//! What flows cannot show: a run that depends on it is refused, not approximated.

use crate::Settings;
use crate::job::state::Job;
use std::collections::BTreeSet;
use xoff_fabric::model::{ClassId, Fabric};
use xoff_fabric::scenario::Fault;
use xoff_workload::Flow;

/// Why a run cannot be one of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Faults show in queues, losses and timeouts.
    #[error("faults")]
    Faults,
    /// Transports that hosts' cores run.
    #[error("a transport that runs on the hosts' cores")]
    Cores,
    /// Networks that lose packets by design.
    #[error("switches that trim packets")]
    Trimming,
    /// Classes that lose packets where they are congested.
    #[error("a data class that is not lossless")]
    Lossy,
    /// Workloads with a transport of their own.
    #[error("workloads with another transport than the fabric's")]
    Guests,
    /// Packets in tunnels have other headers.
    #[error("traffic in VXLAN")]
    Vxlan,
    /// Counters over time.
    #[error("counters that are read while it runs")]
    Counters,
    /// Cables that lose packets.
    #[error("cables that lose packets")]
    Loss,
}

/// Whether a run can be one of flows.
pub(crate) fn check(
    fabric: &Fabric,
    flows: &[Flow],
    jobs: &[Job],
    faults: &[Fault],
    settings: &Settings,
) -> Result<(), Refusal> {
    let lossless = |class: ClassId| {
        let ports = fabric.ports.iter().filter(|port| fabric.node_switch(port.node).is_some());
        fabric.credits || ports.map(|port| &port.classes[class.index()]).all(|c| c.lossless)
    };
    let classes = flows.iter().map(|flow| flow.class).chain(jobs.iter().map(|job| job.class));
    let classes: BTreeSet<ClassId> = classes.collect();
    let refused = [
        (
            fabric.nics.iter().any(|nic| nic.cpu.is_some() && nic.aggregates.is_none()),
            Refusal::Cores,
        ),
        (fabric.switches.iter().any(|switch| switch.trimming.is_some()), Refusal::Trimming),
        (!classes.into_iter().all(lossless), Refusal::Lossy),
        (!faults.is_empty(), Refusal::Faults),
        (!fabric.guests.is_empty(), Refusal::Guests),
        (!settings.scrape_period.is_zero(), Refusal::Counters),
        (fabric.cables.iter().any(|cable| !cable.loss.is_zero()), Refusal::Loss),
        (flows.iter().any(|flow| flow.vxlan) || jobs.iter().any(|job| job.vxlan), Refusal::Vxlan),
    ];
    match refused.into_iter().find(|(refuses, _)| *refuses) {
        Some((_, refusal)) => Err(refusal),
        None => Ok(()),
    }
}
