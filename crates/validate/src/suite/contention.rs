//! Traffic that meets: many to one, bursts, classes side by side, and who suffers without being part of it.

use super::load::{endless, named};
use super::{Scale, nic};
use crate::experiment::Experiment;
use crate::phase::Phase;
use std::collections::BTreeSet;
use xoff_fabric::model::{CLASSES, Fabric, NodeId};
use xoff_fabric::scenario::{Common, FlowEntry, Flows, Incast, Workload};
use xoff_units::{Bytes, Span};

/// Senders of the incasts, as far as the fabric has that many.
pub(crate) const INCASTS: [u32; 6] = [2, 4, 8, 16, 32, 64];
/// Those of them whose neighbours show the same.
pub(crate) const CROWDED: [&str; 3] = ["incast-2", "incast-8", "incast-32"];

/// Senders whose other traffic is watched.
pub(crate) const CROWD: u32 = 8;
/// Flows from the crowd to NICs that nobody else sends to.
pub(crate) const VICTIMS: &str = "victims";
/// The RDMA class against another one at the same port.
pub(crate) const CLASS_SHARES: &str = "classes";

pub(super) fn experiments(fabric: &Fabric, scale: Scale, quick: bool) -> Vec<Experiment> {
    let widest = fabric.nics.len() as u32 - 1;
    let incasts = INCASTS.into_iter().filter(|&senders| senders <= widest);
    let incasts = incasts.filter(|&senders| !quick || [4, 16, 64].contains(&senders));
    let mut all: Vec<Experiment> = incasts.map(|senders| incast(fabric, senders, scale)).collect();
    all.push(flood(fabric, widest.min(32)));
    all.push(bursts(fabric, widest.min(16)));
    all.extend(victims(fabric, scale));
    all.extend(classes(fabric, scale));
    all
}

fn incast(fabric: &Fabric, senders: u32, scale: Scale) -> Experiment {
    let size = endless(fabric, scale.settled);
    let title = format!("{senders} NICs send to one for {}", scale.settled);
    // A hash chooses the port of each queue pair: to fill several takes several.
    let ports = fabric.nics.iter().map(|nic| nic.ports.len()).max().unwrap_or(1);
    let traffic = if ports > 1 {
        let list = spread(fabric, senders).flat_map(|from| connection(fabric, from, 0, size));
        Workload::Flows(Flows { file: None, list: list.collect(), common: named("incast") })
    } else {
        let common = named("incast");
        Workload::Incast(Incast { size, senders: Some(senders), target: None, common })
    };
    Experiment::new(format!("incast-{senders}"), Phase::Synthetic, title)
        .with(traffic)
        .sampled(Span::from_us(5))
        .within(scale.settled)
}

/// Senders without congestion control: PFC alone prevents loss. They send twice what the receiver's
/// switch can hold.
fn flood(fabric: &Fabric, senders: u32) -> Experiment {
    let title =
        format!("{senders} NICs without congestion control send to one: PFC alone must hold");
    let buffer = fabric.switches.iter().map(|switch| switch.buffer.get()).max().unwrap_or(0);
    let each = (2 * buffer / u64::from(senders.max(1))).clamp(1_000_000, 32_000_000);
    let size = Bytes::new(each);
    let slowest = fabric.cables.iter().map(|cable| cable.rate).min().unwrap_or_default();
    let bound = slowest.time_for(Bytes::new(each * u64::from(senders)));
    let traffic = Incast { size, senders: Some(senders), target: None, common: named("flood") };
    // No sender times out while a pause lasts.
    Experiment::new("flood", Phase::Synthetic, title)
        .with(Workload::Incast(traffic))
        .but("[transport]\ntimeout = \"1000ms\"\ncongestion = { kind = \"none\" }")
        .sampled(Span::from_us(20))
        .within(Span::from_ps(bound.as_ps().saturating_mul(4)))
}

/// Ten bursts of 16:1 that are over before congestion control can act.
fn bursts(fabric: &Fabric, senders: u32) -> Experiment {
    let mut list = Vec::new();
    for burst in 0..10 {
        for sender in spread(fabric, senders) {
            let start = Span::from_us(100 * burst);
            list.push(flow(fabric, sender, 0, Bytes::new(65_536), None, start));
        }
    }
    let flows = Workload::Flows(Flows { file: None, list, common: named("burst") });
    let title = format!("Ten bursts of {senders}:1, 64 KiB each, 100 us apart");
    Experiment::new("microbursts", Phase::Synthetic, title).with(flows).sampled(Span::from_us(2))
}

/// So many NICs, evenly spread over all but the first; each a step further, so that they are on different rails. None is
/// there twice unless there are too few.
fn spread(fabric: &Fabric, number: u32) -> impl Iterator<Item = usize> {
    let others = fabric.nics.len() - 1;
    let even = others > 2 * number as usize;
    let mut taken = BTreeSet::new();
    (0..number as usize).map(move |sender| {
        let step = if even { sender } else { 0 };
        let place = sender * others / number.max(1) as usize + step;
        let mut places = (0..others).map(|further| 1 + (place + further) % others);
        let free = places.find(|nic| !taken.contains(nic)).unwrap_or(1 + place % others);
        taken.insert(free);
        free
    })
}

/// Flows by a queue pair for each port of a NIC.
fn connection(fabric: &Fabric, from: usize, to: usize, size: Bytes) -> Vec<FlowEntry> {
    let number = fabric.nics[from].ports.len().max(1) as u32;
    let each = Bytes::new(size.get() / u64::from(number) + 1);
    (0..number).map(|_| flow(fabric, from, to, each, None, Span::ZERO)).collect()
}

/// The switch that a NIC's first port is at.
fn leaf(fabric: &Fabric, nic: usize) -> Option<NodeId> {
    let port = fabric.ports.get(fabric.nics[nic].ports.start as usize)?;
    Some(fabric.ports[port.peer.index()].node)
}

fn flow(
    fabric: &Fabric,
    from: usize,
    to: usize,
    size: Bytes,
    class: Option<u8>,
    start: Span,
) -> FlowEntry {
    let (source, destination) = (nic(fabric, from), nic(fabric, to));
    FlowEntry { start, source, destination, size, class, path: Vec::new(), ack_path: Vec::new() }
}

/// Each NIC of a crowd that sends to one receiver also sends to a NIC that nobody else sends to. Without congestion
/// control pauses stop both flows alike; with it the second has the line almost for itself.
fn victims(fabric: &Fabric, scale: Scale) -> Option<Experiment> {
    let senders: Vec<usize> = spread(fabric, CROWD).collect();
    if fabric.nics.len() <= 2 * CROWD as usize {
        return None;
    }
    // The crowd's first cuts hit the other flows as well: at the end of an incast's time they are still recovering.
    let time = scale.settled * 2;
    let size = endless(fabric, time);
    // The next NIC after each sender's place half way around, that neither sends nor is taken: at the sender's own
    // switch if there is one, so that nothing but the sender is shared.
    let mut taken: Vec<usize> = senders.iter().copied().chain([0]).collect();
    let mut aside = Vec::new();
    for &sender in &senders {
        let half = sender + fabric.nics.len() / 2;
        let others = (0..fabric.nics.len()).map(|step| (half + step) % fabric.nics.len());
        let free: Vec<usize> = others.filter(|to| !taken.contains(to)).collect();
        let near = |to: &&usize| leaf(fabric, **to) == leaf(fabric, sender);
        let to = *free.iter().find(near).or(free.first())?;
        taken.push(to);
        aside.push(flow(fabric, sender, to, size, None, Span::ZERO));
    }
    let crowd = senders.iter().map(|&sender| flow(fabric, sender, 0, size, None, Span::ZERO));
    let list = |list, name: &str| Workload::Flows(Flows { file: None, list, common: named(name) });
    let title = format!("{CROWD} NICs send to one, and each to another one beside it");
    let experiment = Experiment::new(VICTIMS, Phase::Synthetic, title)
        .with(list(crowd.collect(), "crowd"))
        .with(list(aside, VICTIMS))
        .sampled(Span::from_us(5))
        .within(time);
    Some(experiment)
}

/// RDMA and another class meet at one port, each with more than fits.
fn classes(fabric: &Fabric, scale: Scale) -> Option<Experiment> {
    let data = fabric.data_class.0;
    let other = (0..CLASSES as u8).find(|&class| {
        class != data
            && Some(class) != fabric.cnp_class.map(|class| class.0)
            && !fabric.classes[usize::from(class)].lossless
    })?;
    let senders: Vec<usize> = spread(fabric, 2).collect();
    let &[first, second] = senders.as_slice() else { return None };
    if first == second {
        return None;
    }
    let size = endless(fabric, scale.settled);
    let rdma = flow(fabric, first, 0, size, None, Span::ZERO);
    let bulk = flow(fabric, second, 0, size, Some(other), Span::ZERO);
    let list =
        |entry, common: Common| Workload::Flows(Flows { file: None, list: vec![entry], common });
    let title = format!("RDMA and class {other} meet at one port, each with more than fits");
    // Nobody is slowed down: what the scheduler alone gives, whatever congestion control there is.
    let experiment = Experiment::new(CLASS_SHARES, Phase::Synthetic, title)
        .with(list(rdma, named("rdma")))
        .with(list(bulk, Common { class: Some(other), ..named("bulk") }))
        .but("[transport]\ncongestion = { kind = \"none\" }")
        .within(scale.settled);
    Some(experiment)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A NIC that is there twice shares its port with itself: with 24 NICs the eighth came around to the first.
    #[test]
    fn nobody_is_in_a_crowd_twice() {
        for hosts in 17..80 {
            let text = format!("[cluster]\nhosts = {hosts}\n[fabric]\nkind = 'single'\n");
            let fabric = Fabric::from_toml(&text).unwrap();
            for number in INCASTS.into_iter().filter(|number| *number < hosts) {
                let senders: BTreeSet<usize> = spread(&fabric, number).collect();
                assert_eq!(senders.len(), number as usize, "{number} of {hosts}");
                assert!(senders.iter().all(|nic| (1..hosts as usize).contains(nic)), "{senders:?}");
            }
        }
    }
}
