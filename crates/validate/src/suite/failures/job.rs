//! The job that is under way when something breaks.
//!
//! A failure takes seconds to minutes, and a job that sends all that time cannot be simulated packet by packet. What
//! a failure costs is decided where it begins and where it ends: so a job of a few collectives is under way at each
//! of these times, and between them nothing moves. What a job does long after the last change is what its last
//! collectives show.

use super::victims::{Rank, Victims, hosts, leaf_of, peer, rate, ring, uplinks};
use xoff_fabric::model::{Fabric, NicId, PortId};
use xoff_fabric::scenario::{
    AlgorithmSetting, Collective, Common, CostName, CostSetting, FlowEntry, Flows, ModelSetting,
    ModelShape, NodeRef, PlacementSetting, TrainingStep, Workload,
};
use xoff_units::{Bytes, Span};

/// Name of the job whose cost is judged; further ones have a number.
pub(crate) const JOB: &str = "AllReduce";
/// Name of the flows that fill the way to a NIC that does not take them.
pub(crate) const FILL: &str = "fill";
/// Name of the flows that show what a dead spine leaves.
pub(crate) const ACROSS: &str = "across";

/// Ranks at most.
const RANKS: usize = 32;
const QUICK_RANKS: usize = 16;
/// What a rank sends in one collective takes this long at line rate.
const PERIOD: Span = Span::from_us(400);
const QUICK_PERIOD: Span = Span::from_us(200);
/// Collectives of a job: the first is under way when the change comes, and the last two show what stays.
const REPEAT: u32 = 4;
/// Queue pairs of a connection at most, and how many should be on each link up on average.
const MOST_QPS: usize = 16;
const QPS_PER_LINK: usize = 4;
/// Who sends to a NIC that is slow or takes nothing, and how much to a slow one.
const FILL_SENDERS: usize = 16;
const FILL_SIZE: Bytes = Bytes::new(4_000_000);
/// No sender has more, however deep the buffers are.
const MOST_FILL: Bytes = Bytes::new(64_000_000);

/// The job of the failure experiments.
#[derive(Debug, Clone)]
pub(crate) struct Cast {
    /// What breaks.
    pub(crate) victims: Victims,
    ring: Vec<Rank>,
    queue_pairs: u32,
    size: Bytes,
    period: Span,
}

impl Cast {
    /// A ring in and out of the victim's leaf; none if there are not two servers.
    pub(crate) fn new(fabric: &Fabric, victims: Victims, quick: bool) -> Option<Self> {
        let most = if quick { QUICK_RANKS } else { RANKS };
        let period = if quick { QUICK_PERIOD } else { PERIOD };
        let ring = ring(fabric, &victims, most);
        let slowest = ring.iter().map(|rank| rate(fabric, rank.nic)).min()?;
        let inside = ring.iter().filter(|rank| leaf_of(fabric, rank.nic) == Some(victims.leaf));
        let wanted = QPS_PER_LINK * uplinks(fabric, victims.leaf).len();
        let queue_pairs = wanted.div_ceil(inside.count().max(1)).clamp(1, MOST_QPS) as u32;
        // A ring sends all data twice.
        let size = Bytes::new((slowest.bytes_in(period).get() / 2).max(1 << 16));
        (ring.len() > 1).then_some(Self { victims, ring, queue_pairs, size, period })
    }

    /// How long a collective takes at least.
    pub(crate) fn period(&self) -> Span {
        self.period
    }

    /// When the first thing breaks: after the first collective, and before the last.
    pub(crate) fn begin(&self) -> Span {
        Span::from_ps(self.period.as_ps() * 5 / 4)
    }

    /// The ranks in words.
    pub(crate) fn words(&self, fabric: &Fabric) -> String {
        let leaf = &fabric.switches[self.victims.leaf.index()].name;
        let first = self.ring.first().map_or("", |rank| &fabric.nics[rank.nic.index()].name);
        format!(
            "AllReduce of {} in a ring over {} servers, in and out of {leaf}, from {first}",
            self.size,
            self.ring.len()
        )
    }

    /// The job, under way when something happens at these times.
    pub(crate) fn at(&self, times: &[Span]) -> Vec<Workload> {
        self.jobs(&self.ring, times)
    }

    /// The same without the victim's server; none if there are not two others.
    pub(crate) fn bystanders(&self, fabric: &Fabric, times: &[Span]) -> Option<Vec<Workload>> {
        let others = self.beside(fabric);
        (others.len() > 1).then(|| self.jobs(&others, times))
    }

    /// The ranks of a job that has nothing to do with the victim's NIC. Where servers have no other NICs to send to
    /// that one, half of them are left out.
    fn beside(&self, fabric: &Fabric) -> Vec<Rank> {
        let own = fabric.nics[self.victims.nic.index()].server;
        let apart = |nic: usize| fabric.nics[nic].server != own;
        let others = self.ring.iter().filter(|rank| apart(rank.nic.index()));
        let others: Vec<Rank> = others.copied().collect();
        let free = (0..fabric.nics.len()).filter(|&nic| apart(nic)).count() - others.len();
        if free >= others.len().min(FILL_SENDERS) || others.len() < 4 {
            return others;
        }
        // Ranks at the leaf and elsewhere take turns: pairs of them stay.
        let kept = others.iter().enumerate().filter(|(at, _)| at % 4 < 2);
        kept.map(|(_, rank)| *rank).collect()
    }

    fn jobs(&self, ring: &[Rank], times: &[Span]) -> Vec<Workload> {
        let job = |(time, number): (&Span, usize)| {
            let name = if number == 0 { JOB.to_owned() } else { format!("{JOB} {}", number + 1) };
            let start = time.saturating_sub(self.begin());
            Workload::AllReduce(Collective {
                size: Some(self.size),
                repeat: Some(REPEAT),
                algorithm: AlgorithmSetting::Ring,
                channels: Some(1),
                qps: Some(self.queue_pairs),
                placement: PlacementSetting::Gpus(ring.iter().map(|rank| rank.gpu).collect()),
                cost: CostSetting::Named(CostName::None),
                common: Common { name: Some(name), start, ..Common::default() },
                ..Collective::default()
            })
        };
        times.iter().zip(0..).map(job).collect()
    }

    /// Flows to the victim's NIC from servers that are not its own: together more than its leaf can hold if it
    /// takes nothing.
    pub(crate) fn fill(&self, fabric: &Fabric, takes_nothing: bool) -> Workload {
        let buffer = fabric.switches[self.victims.leaf.index()].buffer.get();
        let size = if takes_nothing {
            Bytes::new((buffer / 8).clamp(FILL_SIZE.get(), MOST_FILL.get()))
        } else {
            FILL_SIZE
        };
        let own = fabric.nics[self.victims.nic.index()].server;
        // Who takes part in the job beside it has a line of its own.
        let job: Vec<usize> = self.beside(fabric).iter().map(|rank| rank.nic.index()).collect();
        let apart = (0..fabric.nics.len()).filter(|&nic| fabric.nics[nic].server != own);
        let (busy, free): (Vec<usize>, Vec<usize>) = apart.partition(|nic| job.contains(nic));
        let others = if free.is_empty() { busy } else { free };
        let count = others.len().min(FILL_SENDERS);
        let senders = (0..count).map(|at| others[at * others.len() / count]);
        let target = &fabric.nics[self.victims.nic.index()].name;
        let list = senders.map(|nic| flow(&fabric.nics[nic].name, target, size)).collect();
        flows(FILL, list)
    }

    /// A small dense model, trained by the ranks of the ring with data parallelism.
    pub(crate) fn step(&self) -> Workload {
        let shape = ModelShape {
            layers: 1,
            hidden: 1_024,
            heads: 8,
            kv_heads: None,
            ffn: 2_048,
            gated: None,
            vocabulary: 1_024,
            experts: None,
            active: None,
            shared_experts: None,
            dense_layers: None,
            dense_ffn: None,
        };
        let gpus = self.ring.iter().map(|rank| rank.gpu).collect();
        Workload::TrainingStep(TrainingStep {
            sequence: Some(1_024),
            dp: Some(self.ring.len() as u32),
            repeat: Some(REPEAT),
            placement: PlacementSetting::Gpus(gpus),
            common: Common { name: Some("training step".into()), ..Common::default() },
            ..TrainingStep::new(ModelSetting::Shape(shape))
        })
    }

    /// Every NIC of the victim's leaf sends to four of another leaf, and those back: all of it crosses the
    /// leaf's links up. None without another leaf under the same spine.
    pub(crate) fn across(&self, fabric: &Fabric, quick: bool) -> Option<Workload> {
        let here = hosts(fabric, self.victims.leaf);
        let spine = self.victims.spine?;
        let below = fabric.switches[spine.index()].ports.clone().map(PortId);
        let leaves = below.filter_map(|port| fabric.node_switch(peer(fabric, port)));
        let single = |nic: &NicId| !here.contains(nic);
        let there = leaves
            .filter(|leaf| *leaf != self.victims.leaf)
            .map(|leaf| hosts(fabric, leaf).into_iter().filter(single).collect::<Vec<_>>())
            .find(|hosts| !hosts.is_empty())?;
        let size = Bytes::new(if quick { 1_000_000 } else { 2_000_000 });
        let name = |nic: NicId| &fabric.nics[nic.index()].name;
        let pairs =
            (0..here.len().max(there.len())).flat_map(|at| (0..4).map(move |way| (at, way)));
        let both = pairs.flat_map(|(at, way)| {
            let (a, b) = (here[at % here.len()], there[(at + way * 5) % there.len()]);
            [flow(name(a), name(b), size), flow(name(b), name(a), size)]
        });
        Some(flows(ACROSS, both.collect()))
    }
}

fn flow(source: &str, destination: &str, size: Bytes) -> FlowEntry {
    FlowEntry {
        start: Span::ZERO,
        source: NodeRef::Name(source.to_owned()),
        destination: NodeRef::Name(destination.to_owned()),
        size,
        class: None,
        path: Vec::new(),
        ack_path: Vec::new(),
    }
}

fn flows(name: &str, list: Vec<FlowEntry>) -> Workload {
    let common = Common { name: Some(name.to_owned()), ..Common::default() };
    Workload::Flows(Flows { file: None, list, common })
}
