//! The same traffic with one thing broken at a time.

use super::{Choice, Scale, load};
use crate::experiment::{Experiment, LONGEST};
use crate::phase::Phase;
use xoff_fabric::model::{Fabric, NodeId, PortId, SwitchId};
use xoff_fabric::scenario::{
    Common, Degraded, Fault, LinkChoice, LinkDegraded, LinkDown, LinkFlap, NodeRef, Permutation,
    Reaction, RouteChange, SwitchDown, Workload,
};
use xoff_units::{Bytes, Rate, Ratio, Span};

/// The experiment without a fault, the reference for the others.
pub const UNDISTURBED: &str = "failure-none";
/// All-to-all with a spine that is down from the start.
pub const DEAD_SPINE: &str = "dead-spine";

/// When faults begin: traffic is under way.
pub(crate) const BEGIN: Span = Span::from_us(60);
/// How long temporary outages last.
pub(crate) const OUTAGE: Span = Span::from_us(300);

/// What breaks: the first leaf, and the first spine above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Victims {
    /// The leaf of the first NIC.
    pub leaf: SwitchId,
    /// A switch above it, if there is one.
    pub spine: Option<SwitchId>,
}

impl Victims {
    /// The victims in a fabric; none where the first NIC has no switch.
    pub fn of(fabric: &Fabric) -> Option<Self> {
        let first = fabric.ports.get(fabric.nics.first()?.ports.start as usize)?;
        let leaf = fabric.node_switch(fabric.ports[first.peer.index()].node)?;
        let tier = fabric.switches[leaf.index()].tier;
        let above = |port: PortId| {
            let switch = fabric.node_switch(peer(fabric, port))?;
            (fabric.switches[switch.index()].tier > tier).then_some(switch)
        };
        let ports = fabric.switches[leaf.index()].ports.clone();
        Some(Self { leaf, spine: ports.map(PortId).find_map(above) })
    }
}

fn peer(fabric: &Fabric, port: PortId) -> NodeId {
    fabric.ports[fabric.ports[port.index()].peer.index()].node
}

pub(super) fn experiments(fabric: &Fabric, quick: bool) -> Vec<Experiment> {
    let Some(victims) = Victims::of(fabric).filter(|_| fabric.nics.len() > 2) else {
        return Vec::new();
    };
    let leaf = fabric.switches[victims.leaf.index()].name.clone();
    let nic = fabric.nics[0].name.clone();
    let mut all = vec![
        disturbed(UNDISTURBED, "The traffic of the failure experiments, undisturbed", quick),
        slow_receiver(fabric, &nic, quick),
        storm(&nic, quick),
        switch_down("failure-leaf", "resets", &leaf, quick),
    ];
    if let Some(spine) = victims.spine {
        let spine = fabric.switches[spine.index()].name.clone();
        all.extend(between(&leaf, &spine, quick));
        let everybody = load::all_to_all(fabric, Scale::of(&Choice { quick, ..Choice::default() }));
        let mut dead = Experiment::new(
            DEAD_SPINE,
            Phase::Failures,
            format!("{}, with {spine} dead from the start", everybody.title),
        );
        dead.scenario.workloads = everybody.scenario.workloads;
        let at_once = Reaction { converge: Span::ZERO, late: Span::ZERO };
        all.push(dead.hurting([spine.as_str()]).breaking(Fault::SwitchDown(SwitchDown {
            switch: Some(spine.clone()),
            count: None,
            tier: None,
            at: Span::ZERO,
            restore_after: None,
            drain: None,
            reaction: at_once,
        })));
    }
    // A packet lost at the end of a message is retransmitted after a timeout, or the queue pair
    // fails.
    let patience = fabric.nics[0].qp.silence_limit().unwrap_or(Span::ZERO);
    all.into_iter().map(|experiment| experiment.within(LONGEST + patience)).collect()
}

/// Every NIC sends to four others at once: enough flows to cross whatever breaks.
fn disturbed(id: &str, title: &str, quick: bool) -> Experiment {
    let size = Bytes::new(if quick { 1_000_000 } else { 2_000_000 });
    let round = |round: u32| {
        let common = Common { name: Some(format!("permutation-{round}")), ..Common::default() };
        Workload::Permutation(Permutation { common, ..Permutation::new(size) })
    };
    (0..4).map(round).fold(Experiment::new(id, Phase::Failures, title), Experiment::with)
}

fn switch_down(id: &str, what: &str, switch: &str, quick: bool) -> Experiment {
    let title = format!("{switch} {what} for {OUTAGE}");
    disturbed(id, &title, quick).hurting([switch]).breaking(Fault::SwitchDown(SwitchDown {
        switch: Some(switch.to_owned()),
        count: None,
        tier: None,
        at: BEGIN,
        restore_after: Some(OUTAGE),
        drain: None,
        reaction: reaction(),
    }))
}

/// Switches at the ends see a dead link in 50 us, the others soon after.
fn reaction() -> Reaction {
    Reaction { converge: Span::from_us(50), late: Span::from_us(100) }
}

fn slow_receiver(fabric: &Fabric, nic: &str, quick: bool) -> Experiment {
    let port = fabric.nics[0].ports.start;
    let rate = Rate::from_bps(fabric.cable(PortId(port)).rate.bps() / 4);
    let title = format!("{nic} takes only {rate} for {OUTAGE}");
    disturbed("failure-receiver", &title, quick).hurting([nic]).breaking(Fault::SlowReceiver {
        nic: NodeRef::Name(nic.to_owned()),
        at: BEGIN,
        rate,
        duration: Some(OUTAGE),
    })
}

fn storm(nic: &str, quick: bool) -> Experiment {
    let title = format!("{nic} sends pause frames continuously for {OUTAGE}");
    disturbed("failure-storm", &title, quick).hurting([nic]).breaking(Fault::PauseStorm {
        nic: NodeRef::Name(nic.to_owned()),
        at: BEGIN,
        duration: Some(OUTAGE),
    })
}

/// What breaks between a leaf and a spine.
fn between(leaf: &str, spine: &str, quick: bool) -> Vec<Experiment> {
    let links = LinkChoice { link: Some(format!("{leaf} {spine}")), ..LinkChoice::default() };
    let link = |id: &str, what: &str, fault| {
        let title = format!("A link between {leaf} and {spine} {what}");
        disturbed(id, &title, quick).hurting([leaf, spine]).breaking(fault)
    };
    let down = Fault::LinkDown(LinkDown {
        links: links.clone(),
        at: BEGIN,
        restore_after: None,
        silent: false,
        reaction: reaction(),
    });
    let flap = Fault::LinkFlap(LinkFlap {
        links: links.clone(),
        at: BEGIN,
        period: Span::from_us(150),
        duty: Ratio::new(1, 2),
        times: 4,
        reaction: reaction(),
    });
    let dirty = Fault::LinkDegraded(LinkDegraded {
        links,
        at: Span::ZERO,
        duration: None,
        degraded: Degraded { loss: Ratio::new(1, 1000), ..Degraded::default() },
    });
    let route = Fault::RouteChange(RouteChange {
        switch: leaf.to_owned(),
        to: None,
        via: spine.to_owned(),
        at: BEGIN,
        duration: Some(OUTAGE),
    });
    let gone = Fault::SwitchDown(SwitchDown {
        switch: Some(spine.to_owned()),
        count: None,
        tier: None,
        at: BEGIN,
        restore_after: None,
        drain: None,
        reaction: reaction(),
    });
    vec![
        link("failure-link", "dies", down),
        link("failure-flap", "flaps four times", flap),
        link("failure-optic", "has a dirty optic: one packet in 1,000 is lost", dirty),
        disturbed("failure-spine", &format!("{spine} dies"), quick).hurting([spine]).breaking(gone),
        switch_down("failure-reset", "resets", spine, quick),
        disturbed(
            "failure-route",
            &format!("All routes of {leaf} lead to {spine} for {OUTAGE}"),
            quick,
        )
        .hurting([leaf])
        .breaking(route),
    ]
}
