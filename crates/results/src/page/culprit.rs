//! What a reader must not miss: the ring of a deadlock, and the NIC behind a pause storm. Both are
//! found in what ports counted, not in the scenario's list of faults.

use super::Material;
use xoff_fabric::model::{NicId, PortId};
use xoff_report::{Number, counted};
use xoff_sim::Cycle;
use xoff_units::Span;

/// A NIC that kept its switch from sending for this share of the run or longer is named.
const NAMED: f64 = 0.1;

/// Queues of a ring that are named.
const RING: usize = 12;

/// Sentences for the top of the page, the gravest first.
pub(super) fn points(material: &Material<'_>) -> Vec<String> {
    let rings = material.results.report.deadlocks.iter().map(|cycle| ring(material, cycle));
    rings.chain(storm(material)).chain(slowest_wait(material)).collect()
}

/// The queues of a deadlock, each waiting for the next, and the last for the first.
fn ring(material: &Material<'_>, cycle: &Cycle) -> String {
    let fabric = material.results.case.fabric;
    let name =
        |(port, class): &(PortId, u8)| format!("`{} class {class}`", fabric.port_name(*port));
    let mut names: Vec<String> = cycle.queues.iter().take(RING).map(name).collect();
    let left = cycle.queues.len() - names.len();
    if left > 0 {
        names.push(counted(left as u64, "other queue", "other queues"));
    }
    let at = Number::from(cycle.at);
    format!("Deadlock after {at}: {} waits for the first again.", names.join(" waits for "))
}

/// A NIC that paused its switch, and for how long.
struct Source {
    nic: NicId,
    port: PortId,
    paused: Span,
}

/// The NIC that kept its switch from sending longest, if it did so for long, and what that cost
/// others.
fn storm(material: &Material<'_>) -> Option<String> {
    let (case, elapsed) = (&material.results.case, material.elapsed());
    let mut sources = sources(material);
    let long = |source: &Source| source.paused.as_ps() as f64 >= NAMED * elapsed.as_ps() as f64;
    sources.retain(|source| !elapsed.is_zero() && long(source));
    sources.sort_by_key(|source| (std::cmp::Reverse(source.paused), source.nic));
    let worst = sources.first()?;
    let name = &case.fabric.nics[worst.nic.index()].name;
    let share = Number::share(worst.paused.as_ps() as f64 / elapsed.as_ps() as f64);
    let mut text = format!(
        "Pause storm or slow receiver at `{name}`: it kept `{}` from sending for {}, {share} of the run",
        case.fabric.port_name(worst.port),
        Number::from(worst.paused)
    );
    let behind = (0..case.fabric.ports.len() as u32)
        .map(PortId)
        .filter(|port| *port != worst.port && !paused(material, *port).is_zero())
        .count();
    if behind > 0 {
        text += &format!(
            "; {} paused behind it",
            counted(behind as u64, "other port was", "other ports were")
        );
    }
    let flows = case.flows.iter().zip(&material.results.report.flows);
    let victims = flows
        .filter(|(flow, result)| result.end.is_none() && flow.destination != worst.nic)
        .count();
    if victims > 0 {
        let flows = counted(victims as u64, "flow that does", "flows that do");
        text += &format!("; {flows} not even go there did not finish");
    }
    if sources.len() > 1 {
        text += &format!(
            "; {} the same",
            counted(sources.len() as u64 - 1, "other NIC did", "other NICs did")
        );
    }
    Some(text + ".")
}

/// Every NIC with the longest pause that one of its switch's ports had from it.
fn sources(material: &Material<'_>) -> Vec<Source> {
    let fabric = material.results.case.fabric;
    let source = |port: PortId| {
        let peer = fabric.ports[port.index()].peer;
        let node = fabric.ports[peer.index()].node;
        let to_nic = fabric.node_switch(node).is_none()
            && fabric.node_switch(fabric.ports[port.index()].node).is_some();
        let paused = paused(material, port);
        (to_nic && !paused.is_zero()).then_some(Source { nic: NicId(node.0), port, paused })
    };
    (0..fabric.ports.len() as u32).map(PortId).filter_map(source).collect()
}

/// For how long the longest paused class of a port was paused.
fn paused(material: &Material<'_>, port: PortId) -> Span {
    let classes = &material.results.report.ports[port.index()];
    classes.iter().map(|class| class.paused).max().unwrap_or(Span::ZERO)
}

/// What held a training step back, if transfers did.
fn slowest_wait(material: &Material<'_>) -> Option<String> {
    let steps = material.summary.steps.iter().filter(|step| step.finished > 0);
    let step = steps.max_by(|a, b| a.exposed_us.total_cmp(&b.exposed_us))?;
    let longest = step.critical.as_ref()?.longest.as_ref()?;
    let time = |us: f64| Number::from(Span::from_ps((us * 1e6) as u64));
    let mut text = format!(
        "`{}`: the longest wait of a step is {} for {} transfers from rank {}",
        step.name,
        time(longest.wait_us),
        longest.dimension,
        longest.held_by
    );
    if let Some(link) = &longest.link {
        let busy = Number::share(longest.link_utilisation);
        text += &format!("; the busiest link on their way is `{link}`, used {busy} of the run");
    }
    Some(text + ".")
}
