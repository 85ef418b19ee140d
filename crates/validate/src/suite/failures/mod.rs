//! One thing broken at a time, for as long as such things last, while a job is under way.
//!
//! Links are lost for half a minute, switches reset for two, storms and slow hosts never end by themselves. Routes
//! follow as `[convergence]` of the fabric file says. The [`job`] is a ring in and out of the leaf where things
//! break, so that it crosses all of them; [`Victims`] says what breaks.

mod job;
mod victims;

use crate::experiment::Experiment;
use crate::phase::Phase;
use job::Cast;
use xoff_fabric::model::{Fabric, PortId};
use xoff_fabric::scenario::{
    Degraded, Fault, LinkChoice, LinkDegraded, LinkDown, LinkFlap, NodeRef, Reaction, RouteChange,
    ServerDown, SwitchDown, Workload,
};
use xoff_units::{Rate, Ratio, Span};

pub(crate) use job::ACROSS;
#[cfg(test)]
pub(crate) use job::JOB;
pub use victims::Victims;
pub(crate) use victims::{hosts, is_dual_homed, leaf_of, peer, uplinks};

/// The experiment without a fault, the reference for the others.
pub const UNDISTURBED: &str = "failure-none";
/// Traffic across the leaf's links up with a spine that is down from the start.
pub const DEAD_SPINE: &str = "dead-spine";
/// The same with all spines.
pub const ALL_SPINES: &str = "all-spines";

/// A link that was lost is back after this time: the module was seated anew.
const LINK_OUTAGE: Span = Span::from_ms(30_000);
/// A switch that resets or loads new software is back after this time.
const RESET: Span = Span::from_ms(120_000);
/// Before planned work traffic is moved away for this time.
const DRAIN: Span = Span::from_ms(2_000);
/// A flapping link goes down this often, for half of each period.
const FLAPS: u32 = 3;
const FLAP_PERIOD: Span = Span::from_ms(4_000);
/// A bad optic loses one packet in so many; one that gets worse, a second after the other.
const DIRTY: u64 = 1_000;
const WORSE: [u64; 3] = [10_000, 1_000, 500];
const WORSE_AFTER: Span = Span::from_ms(1_000);
/// A storm has filled the buffers behind it after this time.
const SPREADS: Span = Span::from_ms(50);

/// The experiments, with the victims that a validation has.
pub(super) fn experiments(fabric: &Fabric, quick: bool) -> Vec<Experiment> {
    Victims::of(fabric).map_or(Vec::new(), |victims| failures(fabric, victims, quick))
}

/// The experiments with these victims.
pub fn failures(fabric: &Fabric, victims: Victims, quick: bool) -> Vec<Experiment> {
    let Some(cast) = Cast::new(fabric, victims, quick) else { return Vec::new() };
    let stage = Stage { fabric, cast: &cast };
    let words = cast.words(fabric);
    let none = stage.experiment(UNDISTURBED, &format!("{words}, undisturbed"), Vec::new());
    let mut all = vec![none.running(cast.at(&[cast.begin()]))];
    all.extend(stage.at_the_host());
    all.push(stage.switch("failure-leaf", cast.victims.leaf.index(), Outage::FOREVER));
    if let (Some(uplink), Some(spine)) = (cast.victims.uplink, cast.victims.spine) {
        all.extend(stage.on_the_link(uplink));
        let spine = spine.index();
        all.push(stage.switch("failure-spine", spine, Outage::FOREVER));
        all.push(stage.switch("failure-reset", spine, Outage { back: true, drained: false }));
        all.push(stage.switch("failure-upgrade", spine, Outage { back: true, drained: true }));
        all.push(stage.step(spine));
        all.extend(stage.route(uplink));
        all.extend(stage.spines(spine, quick));
    }
    all
}

/// How a switch goes down.
#[derive(Clone, Copy)]
struct Outage {
    /// It comes back.
    back: bool,
    /// Traffic is moved away first.
    drained: bool,
}

impl Outage {
    const FOREVER: Self = Self { back: false, drained: false };
}

impl Experiment {
    /// With all of this traffic, too.
    fn running(mut self, workloads: Vec<Workload>) -> Self {
        self.scenario.workloads.extend(workloads);
        self
    }
}

/// What all experiments share.
struct Stage<'a> {
    fabric: &'a Fabric,
    cast: &'a Cast,
}

impl Stage<'_> {
    /// An experiment that lasts until the last fault has come and every queue pair that hears nothing more has
    /// given up.
    fn experiment(&self, id: &str, title: &str, faults: Vec<Fault>) -> Experiment {
        let silences = self.fabric.nics.iter().filter_map(|nic| nic.qp.silence_limit());
        let silence = silences.max().unwrap_or(Span::from_ms(10_000));
        let last = faults.iter().map(|fault| fault.window().1.unwrap_or(fault.window().0)).max();
        // Until routes have followed and senders that wait longer and longer have tried again.
        let times = self.fabric.convergence;
        let known = (times.carrier.max(times.silent) + times.withdraw) * 3;
        let end = last.unwrap_or(Span::ZERO) + known + Span::from_ps(silence.as_ps() / 2 * 3);
        let experiment = Experiment::new(id, Phase::Failures, title);
        let experiment = experiment.within(end + Span::from_ms(1_000));
        faults.into_iter().fold(experiment, Experiment::breaking)
    }

    fn begin(&self) -> Span {
        self.cast.begin()
    }

    /// Where the carrier is lost.
    fn reaction(&self) -> Reaction {
        let times = self.fabric.convergence;
        Reaction::after(times.carrier, times.carrier + times.withdraw)
    }

    /// What happens to a switch.
    fn switch(&self, id: &str, switch: usize, outage: Outage) -> Experiment {
        let name = &self.fabric.switches[switch].name;
        let title = match outage {
            Outage { drained: true, .. } => {
                format!(
                    "{name} is drained for {DRAIN}, loads new software for {RESET}, and returns"
                )
            }
            Outage { back: true, .. } => format!("{name} resets and is back after {RESET}"),
            _ => format!("{name} dies"),
        };
        let drain = outage.drained.then_some(DRAIN);
        let at = self.begin() + drain.unwrap_or(Span::ZERO);
        let fault = Fault::SwitchDown(SwitchDown {
            switch: Some(name.clone()),
            count: None,
            tier: None,
            at,
            restore_after: outage.back.then_some(RESET),
            drain,
            reaction: self.reaction(),
        });
        // Switches use what came back one convergence later.
        let known = self.fabric.convergence.carrier + self.fabric.convergence.withdraw;
        let mut times = vec![self.begin()];
        times.extend(drain.map(|_| at));
        times.extend(outage.back.then_some(at + RESET));
        times.extend(outage.back.then_some(at + RESET + known + self.cast.period() * 2));
        self.experiment(id, &title, vec![fault])
            .running(self.cast.at(&times))
            .hurting([name.as_str()])
    }

    /// What happens to the victim's NIC and server.
    fn at_the_host(&self) -> Vec<Experiment> {
        let fabric = self.fabric;
        let nic = &fabric.nics[self.cast.victims.nic.index()];
        let server = &fabric.servers[nic.server.index()].name;
        let at = self.begin();
        let link = fabric.port_name(PortId(nic.ports.start));
        let port = Fault::LinkDown(LinkDown {
            links: chosen(&link),
            at,
            restore_after: None,
            silent: false,
            reaction: self.reaction(),
        });
        let gone = Fault::ServerDown(ServerDown {
            server: Some(server.clone()),
            count: None,
            at,
            restore_after: None,
            reaction: self.reaction(),
        });
        let by_name = || NodeRef::Name(nic.name.clone());
        let rate = victims::rate(fabric, self.cast.victims.nic);
        let rate = Rate::from_bps(rate.bps() / 4);
        let slow = Fault::SlowReceiver { nic: by_name(), at, rate, duration: None };
        let storm = Fault::PauseStorm { nic: by_name(), at, duration: None };
        let job = |id: &str, title: String, fault| {
            self.experiment(id, &title, vec![fault]).running(self.cast.at(&[at]))
        };
        // Jobs that are under way when it begins, while it spreads, and when a watchdog has acted.
        let spreads = [at, at + SPREADS, at + SPREADS * 20];
        let beside = |id: &str, title: String, fault: Fault, times: &[Span]| {
            let title = format!("{title}, while servers send to it and others run a job");
            let bystanders = self.cast.bystanders(fabric, times)?;
            let storm = matches!(fault, Fault::PauseStorm { .. });
            let experiment = self
                .experiment(id, &title, vec![fault])
                .running(bystanders)
                .with(self.cast.fill(fabric, storm))
                .hurting([nic.name.as_str()]);
            Some(experiment)
        };
        let all = [
            Some(job("failure-nic", format!("{link} dies"), port).hurting([link.as_str()])),
            Some(job("failure-server", format!("{server} dies"), gone).hurting([server.as_str()])),
            beside("failure-receiver", format!("{} takes only {rate}", nic.name), slow, &[at]),
            // Networks with credits have no pauses, and what ends a jam there, the lifetime at the head of a queue, is
            // not modelled.
            (!fabric.credits)
                .then(|| format!("{} pauses without end", nic.name))
                .and_then(|title| beside("failure-storm", title, storm, &spreads)),
        ];
        all.into_iter().flatten().collect()
    }

    /// What happens to a link between the leaf and a spine.
    fn on_the_link(&self, uplink: PortId) -> Vec<Experiment> {
        let link = self.fabric.port_name(uplink);
        let (links, at, reaction) = (chosen(&link), self.begin(), self.reaction());
        let down = |restore_after, silent, reaction| {
            let links = links.clone();
            Fault::LinkDown(LinkDown { links, at, restore_after, silent, reaction })
        };
        let flap = Fault::LinkFlap(LinkFlap {
            links: links.clone(),
            at,
            period: FLAP_PERIOD,
            duty: Ratio::new(1, 2),
            times: FLAPS,
            reaction,
        });
        let lossy = |one_in: u64, at: Span| {
            let degraded = Degraded { loss: Ratio::new(1, one_in), ..Degraded::default() };
            let links = links.clone();
            Fault::LinkDegraded(LinkDegraded { links, at, duration: None, degraded })
        };
        let flaps: Vec<Span> = (0..u64::from(FLAPS)).map(|time| at + FLAP_PERIOD * time).collect();
        let worse: Vec<Span> =
            (0..WORSE.len() as u64).map(|step| at + WORSE_AFTER * step).collect();
        let ramp = WORSE.iter().zip(&worse).map(|(&one_in, &at)| lossy(one_in, at)).collect();
        let times = self.fabric.convergence;
        let unseen = Reaction::after(times.silent, times.silent + times.withdraw);
        let back = at + LINK_OUTAGE;
        let of = |id: &str, what: String, faults: Vec<Fault>, times: &[Span]| {
            let title = format!("{link} {what}");
            self.experiment(id, &title, faults)
                .running(self.cast.at(times))
                .hurting([link.as_str()])
        };
        vec![
            of(
                "failure-link",
                format!("is lost for {LINK_OUTAGE}"),
                vec![down(Some(LINK_OUTAGE), false, reaction)],
                &[at, back, back + times.carrier + times.withdraw + self.cast.period() * 2],
            ),
            of(
                "failure-silent",
                format!(
                    "swallows packets while its carrier stays up; found out in {}",
                    times.silent
                ),
                vec![down(None, true, unseen)],
                &[at],
            ),
            of(
                "failure-flap",
                format!("flaps {FLAPS} times in {FLAP_PERIOD} each"),
                vec![flap],
                &flaps,
            ),
            of(
                "failure-optic",
                format!("has a dirty optic: one packet in {DIRTY} is lost"),
                vec![lossy(DIRTY, Span::ZERO)],
                &[at],
            ),
            of(
                "failure-optic-worse",
                "gets worse: from one packet in 10,000 to one in 500".to_owned(),
                ramp,
                &worse,
            ),
        ]
    }

    /// A training step with a spine that dies under it.
    fn step(&self, spine: usize) -> Experiment {
        let mut experiment = self.switch("failure-step", spine, Outage::FOREVER);
        experiment.title = format!("{}, under training steps", experiment.title);
        experiment.scenario.workloads = vec![self.cast.step()];
        experiment
    }

    /// All routes of the leaf lead to one spine.
    fn route(&self, uplink: PortId) -> Option<Experiment> {
        let fabric = self.fabric;
        let leaf = &fabric.switches[self.cast.victims.leaf.index()].name;
        let via = fabric.node_name(peer(fabric, uplink)).to_owned();
        let others = uplinks(fabric, self.cast.victims.leaf);
        others.iter().find(|port| fabric.node_name(peer(fabric, **port)) != via)?;
        let fault = Fault::RouteChange(RouteChange {
            switch: leaf.clone(),
            to: None,
            via: via.clone(),
            at: self.begin(),
            duration: None,
        });
        let title = format!("All routes of {leaf} lead to {via}");
        let experiment = self.experiment("failure-route", &title, vec![fault]);
        Some(experiment.running(self.cast.at(&[self.begin()])).hurting([leaf.as_str()]))
    }

    /// What a leaf's links up carry, with all spines and without one.
    fn spines(&self, spine: usize, quick: bool) -> Vec<Experiment> {
        let Some(across) = self.cast.across(self.fabric, quick) else { return Vec::new() };
        let name = &self.fabric.switches[spine].name;
        let leaf = &self.fabric.switches[self.cast.victims.leaf.index()].name;
        let title = format!("Every NIC of {leaf} sends to four of another leaf, and those back");
        let at_once = Reaction::after(Span::ZERO, Span::ZERO);
        let dead = Fault::SwitchDown(SwitchDown {
            switch: Some(name.clone()),
            count: None,
            tier: None,
            at: Span::ZERO,
            restore_after: None,
            drain: None,
            reaction: at_once,
        });
        let without = format!("{title}, without {name}");
        // What links carry, and not how senders share it: congestion control leaves links that stay short of room
        // half empty.
        let unslowed = |experiment: Experiment| {
            experiment.but("[transport]\ncongestion = { kind = \"none\" }").with(across.clone())
        };
        let whole = self.experiment(ALL_SPINES, &title, Vec::new());
        let dead = self.experiment(DEAD_SPINE, &without, vec![dead]);
        vec![unslowed(whole), unslowed(dead)]
    }
}

/// A link by the name that tables give it.
fn chosen(port: &str) -> LinkChoice {
    LinkChoice { link: Some(port.replace('→', " ")), ..LinkChoice::default() }
}
