//! What flows cannot show: a run that depends on it is refused, not approximated.

use crate::Settings;
use crate::job::state::Job;
use std::collections::BTreeSet;
use xoff_fabric::model::{ClassId, Fabric, Nic};
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
    /// Thresholds that depend on what was before.
    #[error("thresholds that adapt")]
    Adaptive,
    /// Where nothing repeats before something else begins.
    #[error("collectives that overlap in ever new ways")]
    Overlap,
    /// Queue pairs that were slowed down stay slow for a while.
    #[error("congestion control that cuts rates of queue pairs which then send on")]
    Rates,
    /// What is under way at the end is not known by halves.
    #[error("a run that ends before its traffic")]
    Duration,
    /// What is neither a collective nor a training step.
    #[error("anything but collectives and training steps")]
    Traffic,
}

impl Refusal {
    /// Why nothing that sends in these classes can be flows on a fabric, if that is so.
    pub fn of_fabric(
        fabric: &Fabric,
        classes: impl IntoIterator<Item = ClassId>,
    ) -> Option<Refusal> {
        let lossless = |class: ClassId| {
            let ports = fabric.ports.iter().filter(|port| fabric.node_switch(port.node).is_some());
            fabric.credits || ports.map(|port| &port.classes[class.index()]).all(|c| c.lossless)
        };
        let classes: BTreeSet<ClassId> = classes.into_iter().collect();
        let on_cores = |nic: &Nic| nic.cpu.is_some() && nic.aggregates.is_none();
        first([
            (fabric.nics.iter().any(on_cores), Refusal::Cores),
            (fabric.switches.iter().any(|switch| switch.trimming.is_some()), Refusal::Trimming),
            (!classes.into_iter().all(lossless), Refusal::Lossy),
            (!fabric.guests.is_empty(), Refusal::Guests),
            (fabric.cables.iter().any(|cable| !cable.loss.is_zero()), Refusal::Loss),
        ])
    }
}

/// The first that holds.
fn first<const N: usize>(refusals: [(bool, Refusal); N]) -> Option<Refusal> {
    refusals.into_iter().find(|(refuses, _)| *refuses).map(|(_, refusal)| refusal)
}

/// Whether a run can be one of flows.
pub(crate) fn check(
    fabric: &Fabric,
    flows: &[Flow],
    jobs: &[Job],
    faults: &[Fault],
    settings: &Settings,
) -> Result<(), Refusal> {
    let classes = flows.iter().map(|flow| flow.class).chain(jobs.iter().map(|job| job.class));
    let vxlan = flows.iter().any(|flow| flow.vxlan) || jobs.iter().any(|job| job.vxlan);
    let refused = Refusal::of_fabric(fabric, classes).or(first([
        (!faults.is_empty(), Refusal::Faults),
        (!settings.scrape_period.is_zero(), Refusal::Counters),
        (vxlan, Refusal::Vxlan),
    ]));
    refused.map_or(Ok(()), Err)
}
