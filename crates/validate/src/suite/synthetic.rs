//! Sustained load, incast, bursts, classes side by side.

use super::nic;
use crate::experiment::Experiment;
use crate::phase::Phase;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{
    AllToAll, Common, FlowEntry, Flows, Incast, Permutation, Poisson, Workload,
};
use xoff_units::{Bytes, Ratio, Span};

/// Senders of the incasts, as far as the fabric has that many.
pub const INCASTS: [u32; 6] = [2, 4, 8, 16, 32, 64];

/// The most NICs for all-to-all; larger fabrics get permutations instead.
const EVERYBODY: usize = 256;

pub(super) fn experiments(fabric: &Fabric, quick: bool) -> Vec<Experiment> {
    if fabric.nics.len() < 2 {
        return Vec::new();
    }
    let mut all = vec![permutation(quick), everybody(fabric, quick)];
    let widest = fabric.nics.len() as u32 - 1;
    let incasts = INCASTS.into_iter().filter(|&senders| senders <= widest);
    let incasts = incasts.filter(|senders| !quick || [8, 64].contains(senders));
    all.extend(incasts.map(incast));
    all.push(flood(fabric, widest.min(32)));
    all.push(bursts(fabric, widest.min(16)));
    all.push(mixed(quick));
    all
}

fn named(name: &str) -> Common {
    Common { name: Some(name.into()), ..Common::default() }
}

fn permutation(quick: bool) -> Experiment {
    let size = Bytes::new(if quick { 2_000_000 } else { 8_000_000 });
    let title = "Every NIC sends to one other at line rate";
    let traffic = Workload::Permutation(Permutation { size, common: named("permutation") });
    Experiment::new("permutation", Phase::Synthetic, title).with(traffic).sampled(Span::from_us(10))
}

/// Load on every path at once, so that hash collisions average out.
pub(super) fn everybody(fabric: &Fabric, quick: bool) -> Experiment {
    let nics = fabric.nics.len();
    let experiment = |title| Experiment::new("all-to-all", Phase::Synthetic, title);
    if nics <= EVERYBODY {
        // About as much per NIC, however many there are.
        let per_nic = if quick { 4 << 20 } else { 16 << 20 };
        let size = Bytes::new((per_nic / nics as u64).next_power_of_two().max(4096));
        let traffic = Workload::AllToAll(AllToAll { size, common: named("all-to-all") });
        return experiment("Every NIC sends to every other at once").with(traffic);
    }
    let many = (0..16).map(|round| {
        let size = Bytes::new(if quick { 65_536 } else { 262_144 });
        Workload::Permutation(Permutation { size, common: named(&format!("permutation-{round}")) })
    });
    many.fold(experiment("Every NIC sends to 16 others at once"), Experiment::with)
}

fn incast(senders: u32) -> Experiment {
    let size = Bytes::new(1_000_000);
    let title = format!("{senders} NICs send 1 MB each to one at once");
    let traffic = Incast { size, senders: Some(senders), target: None, common: named("incast") };
    Experiment::new(format!("incast-{senders}"), Phase::Synthetic, title)
        .with(Workload::Incast(traffic))
        .sampled(Span::from_us(5))
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
    let target = nic(fabric, 0);
    let step = ((fabric.nics.len() - 1) / senders.max(1) as usize).max(1);
    let mut list = Vec::new();
    for burst in 0..10 {
        for sender in (1..fabric.nics.len()).step_by(step).take(senders as usize) {
            list.push(FlowEntry {
                start: Span::from_us(100 * burst),
                source: nic(fabric, sender),
                destination: target.clone(),
                size: Bytes::new(65_536),
                class: None,
                path: Vec::new(),
                ack_path: Vec::new(),
            });
        }
    }
    let flows = Workload::Flows(Flows { file: None, list, common: named("burst") });
    let title = format!("Ten bursts of {senders}:1, 64 KiB each, 100 us apart");
    Experiment::new("microbursts", Phase::Synthetic, title).with(flows).sampled(Span::from_us(2))
}

/// RDMA beside storage and best effort, each in its class.
fn mixed(quick: bool) -> Experiment {
    let time = Span::from_us(if quick { 200 } else { 600 });
    let poisson = |sizes: &str, load, class, name: &str| {
        let common = Common { class, ..named(name) };
        Workload::Poisson(Poisson { load, sizes: sizes.into(), duration: time, common })
    };
    let size = Bytes::new(2_000_000);
    Experiment::new(
        "mixed",
        Phase::Synthetic,
        "RDMA beside storage and best effort, each in its class",
    )
    .with(Workload::Permutation(Permutation { size, common: named("rdma") }))
    .with(poisson("storage", Ratio::new(1, 10), Some(1), "storage"))
    .with(poisson("websearch", Ratio::new(1, 10), Some(0), "best-effort"))
}
