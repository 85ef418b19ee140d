//! [`expand`]: from the workloads of a scenario to flows on a fabric.

use crate::error::{Findings, Place, WorkloadError};
use crate::flow::{Flow, Pinned, source_port};
use crate::resolve::Resolver;
use crate::{arrivals, list, patterns, permutation, storage};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use xoff_fabric::model::{ClassId, Fabric, NicId};
use xoff_fabric::scenario::{Common, Operation, Workload};
use xoff_units::{Bytes, Instant, Span};

/// Most flows in a scenario: some two gigabytes of them.
pub const MOST_FLOWS: u64 = 50_000_000;

/// Opens a file that a scenario names, relative to the scenario.
pub type Open<'a> = &'a mut dyn FnMut(&str) -> io::Result<Box<dyn BufRead>>;

/// Opens files relative to a folder.
pub fn folder(base: &Path) -> impl FnMut(&str) -> io::Result<Box<dyn BufRead>> + use<'_> {
    |name| Ok(Box::new(BufReader::new(File::open(base.join(name))?)))
}

/// The files that workloads are read from, as the scenario names them. A trace may be a folder.
pub fn input_files(workloads: &[Workload]) -> Vec<String> {
    let table = |sizes: &str| {
        let sizes = sizes.trim();
        sizes.to_ascii_lowercase().ends_with(".csv").then(|| sizes.to_owned())
    };
    let file = |workload: &Workload| match workload {
        Workload::Flows(flows) => flows.file.clone(),
        Workload::Poisson(poisson) => table(&poisson.sizes),
        Workload::Background(background) => table(&background.sizes),
        Workload::Trace(trace) => Some(trace.path.clone()),
        _ => None,
    };
    let mut files: Vec<String> = workloads.iter().filter_map(file).collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// The name of a workload in tables: its own, or that of its kind.
pub fn label(workload: &Workload) -> &str {
    workload.common().name.as_deref().unwrap_or(workload.kind())
}

/// The flows of all workloads but those that are programs, sorted by start, then source, then their order in the scenario. All
/// that is wrong is said at once.
pub fn expand(
    workloads: &[Workload],
    fabric: &Fabric,
    seed: u64,
    open: Open<'_>,
) -> Result<Vec<Flow>, Vec<WorkloadError>> {
    let mut plan = Plan {
        fabric,
        names: Resolver::new(fabric),
        seed,
        workload: 0,
        most_flows: MOST_FLOWS,
        flows: Vec::new(),
        findings: Findings::default(),
    };
    for (index, workload) in workloads.iter().enumerate() {
        plan.workload = index as u32;
        plan.add(workload, open);
    }
    let Plan { mut flows, findings, .. } = plan;
    findings.into_result()?;
    flows.sort_by_key(|flow| (flow.start, flow.source));
    Ok(flows)
}

/// The list of flows as it grows.
pub(crate) struct Plan<'a> {
    pub(crate) fabric: &'a Fabric,
    pub(crate) names: Resolver<'a>,
    pub(crate) seed: u64,
    pub(crate) workload: u32,
    pub(crate) most_flows: u64,
    pub(crate) flows: Vec<Flow>,
    pub(crate) findings: Findings,
}

/// What all flows of a workload share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared {
    pub(crate) start: Instant,
    pub(crate) class: ClassId,
    pub(crate) operation: Operation,
    pub(crate) vxlan: bool,
}

/// What is a flow's own.
pub(crate) struct Own {
    /// Its place in the workload.
    pub(crate) order: u64,
    /// Start, after that of the workload.
    pub(crate) after: Span,
    pub(crate) source: NicId,
    pub(crate) destination: NicId,
    pub(crate) bytes: Bytes,
    pub(crate) path: Option<Box<Pinned>>,
}

impl Plan<'_> {
    fn add(&mut self, workload: &Workload, open: Open<'_>) {
        match workload {
            Workload::Permutation(permutation) => permutation::permutation(self, permutation),
            Workload::Incast(incast) => patterns::incast(self, incast),
            Workload::AllToAll(all_to_all) => patterns::all_to_all(self, all_to_all),
            Workload::Flows(flows) => list::flows(self, flows, open),
            Workload::Poisson(poisson) => arrivals::poisson(self, poisson, open),
            Workload::Background(background) => arrivals::background(self, background, open),
            Workload::Checkpoint(checkpoint) => storage::checkpoint(self, checkpoint),
            // Not flows but programs: see `crate::programs`.
            Workload::AllReduce(_)
            | Workload::AllGather(_)
            | Workload::ReduceScatter(_)
            | Workload::AllToAllCollective(_)
            | Workload::Broadcast(_)
            | Workload::Gather(_)
            | Workload::Reduce(_)
            | Workload::Scatter(_)
            | Workload::SendRecv(_)
            | Workload::TrainingStep(_)
            | Workload::Trace(_)
            | Workload::NvmeOf(_)
            | Workload::KvCache(_)
            | Workload::Inference(_)
            | Workload::ParameterServer(_)
            | Workload::Halo(_) => {}
        }
    }

    pub(crate) fn wrong(&mut self, place: Place, message: impl Into<String>) {
        self.findings.add(self.workload, place, message);
    }

    /// What the flows of a workload share, if that is sound.
    pub(crate) fn shared(&mut self, common: &Common) -> Option<Shared> {
        let start = Instant::ZERO + common.start;
        let guest =
            self.fabric.guest_of(self.workload).map(|guest| self.fabric.guests[guest].class.0);
        let class = self.names.class(common.class.or(guest));
        if start.is_never() {
            self.wrong(Place::Entry, "`start` is beyond simulated time (213 days)");
        }
        let class = class.map_err(|message| self.wrong(Place::Entry, message)).ok()?;
        let Common { operation, vxlan, .. } = *common;
        (!start.is_never()).then_some(Shared { start, class, operation, vxlan })
    }

    /// NICs of a pattern that needs at least two.
    pub(crate) fn nics(&mut self) -> Option<u32> {
        let count = self.fabric.hosts();
        if count < 2 {
            self.wrong(Place::Entry, format!("traffic needs two NICs, and the fabric has {count}"));
        }
        (count >= 2).then_some(count)
    }

    /// A size that every flow of a pattern has.
    pub(crate) fn size(&mut self, size: Bytes) -> Option<Bytes> {
        if size.is_zero() {
            self.wrong(Place::Entry, "`size` is zero; a flow needs at least one byte");
        }
        (!size.is_zero()).then_some(size)
    }

    /// Whether so many flows more can be held.
    pub(crate) fn has_room(&mut self, count: u128) -> bool {
        let total = self.flows.len() as u128 + count;
        let fits = total <= u128::from(self.most_flows);
        if !fits {
            let most = self.most_flows;
            let text = format!("these would make {total} flows, and at most {most} can be run");
            self.wrong(Place::Entry, text);
        }
        fits
    }

    /// Appends a flow.
    pub(crate) fn push(&mut self, shared: Shared, own: Own) {
        self.flows.push(Flow {
            start: shared.start + own.after,
            source: own.source,
            destination: own.destination,
            bytes: own.bytes,
            class: shared.class,
            operation: shared.operation,
            source_port: source_port(self.seed, self.workload, own.order),
            path: own.path,
            workload: self.workload,
            vxlan: shared.vxlan,
        });
    }
}

#[cfg(test)]
mod tests;
