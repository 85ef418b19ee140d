//! [`Stage`]: the fabric, the traffic and the faults of a drill, and where its alert is to fire.

use super::cast::{Cast, far, ports, ports_to, rate};
use super::traffic::{Traffic, steps};
use super::{Drill, FAULT, JOB, PERIOD};
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::{
    CableId, ClassId, Fabric, NicId, NodeId, PortId, Threshold, Watchdog, WatchdogAction,
};
use xoff_fabric::scenario::{
    Degraded, Fault, LinkChoice, LinkDegraded, LinkDown, LinkFlap, NodeRef, Reaction, RouteChange,
    Setting, SwitchDown, Workload,
};
use xoff_transport::config::{Congestion, Notification};
use xoff_units::{Bytes, Rate, Ratio, Span};
use xoff_workload::Flow;

/// Names and values of labels, without that of the fabric.
pub(super) type Labels = BTreeMap<String, String>;

/// How much each NIC sends, in percent of its rate, when nothing else is asked.
const LOAD: u64 = 30;

/// When the port of a NIC pauses in drills that overflow it.
const SMALL: Bytes = Bytes::new(100_000);
/// The longest delay of a cable where timeouts are short.
const NEAR: Span = Span::from_us(1);

/// What is simulated, and what is to be seen of it.
pub(super) struct Stage {
    pub(super) fabric: Fabric,
    pub(super) flows: Vec<Flow>,
    pub(super) workloads: Vec<Workload>,
    pub(super) faults: Vec<Fault>,
    /// Devices that are not scraped any more once the fault has begun.
    pub(super) silent: BTreeSet<NodeId>,
    /// The ports whose series a test of the alert needs.
    pub(super) site: BTreeSet<PortId>,
    /// Where the alert fires.
    pub(super) fires: Vec<Labels>,
    pub(super) cast: Cast,
}

impl Stage {
    /// Nothing where the fabric has no place for the drill.
    pub(super) fn new(plan: &Fabric, drill: Drill) -> Option<Self> {
        let cast = match drill {
            Drill::Routes => crowd(plan)?,
            _ => Cast::few(plan)?,
        };
        let fabric = edited(plan, &cast, drill);
        let mut traffic = Traffic::new(plan, &cast);
        let mut workloads = Vec::new();
        match drill {
            Drill::Healthy => {
                traffic.rounds(LOAD);
                workloads = steps(plan, false);
            }
            Drill::Straggler => {
                workloads = steps(plan, true);
                if workloads.is_empty() {
                    return None;
                }
            }
            Drill::EcnTooEarly => traffic.small(LOAD),
            Drill::Routes => traffic.rounds(90),
            Drill::WrongClass => {
                let (victim, lossy) = (cast.victim(), lossy(plan)?);
                traffic.rounds_in(LOAD, |source, at| match source == victim && at >= FAULT {
                    true => lossy,
                    false => plan.data_class,
                });
            }
            drill if is_incast(drill) => {
                traffic.rounds(LOAD / 3);
                traffic.incast(cast.victim());
            }
            _ => traffic.rounds(LOAD),
        }
        let flows = traffic.flows;
        let faults = faults(plan, &cast, drill)?;
        let (site, fires) = seen(plan, &cast, drill)?;
        let silent = match drill {
            Drill::DeviceSilent => BTreeSet::from([cast.leaves[0]]),
            Drill::AllSilent => {
                let nodes = plan.nics.len() + plan.switches.len();
                (0..nodes as u32).map(NodeId).collect()
            }
            _ => BTreeSet::new(),
        };
        let site = site.into_iter().collect();
        Some(Self { fabric, flows, workloads, faults, silent, site, fires, cast })
    }
}

/// Whether all send to one NIC in a drill.
fn is_incast(drill: Drill) -> bool {
    matches!(
        drill,
        Drill::Incast
            | Drill::PfcOff
            | Drill::HeadroomTooSmall
            | Drill::EcnOff
            | Drill::CongestionControlOff
            | Drill::NotificationOff
    )
}

/// As many NICs below a leaf as fill one of its links up.
fn crowd(fabric: &Fabric) -> Option<Cast> {
    let few = Cast::few(fabric)?;
    let up = fabric.cable(few.uplink(fabric)?).rate.bps();
    // A NIC with ports to several leaves shares what it sends among them.
    let shares = ports(fabric, few.victim()).len().max(1) as u64;
    let own = (rate(fabric, few.victim()).bps() / shares).max(10);
    let needed = (up * 8 / 10).div_ceil(own * 9 / 10).max(2) as usize;
    let cast = Cast::of(fabric, needed)?;
    (cast.per_leaf >= needed && cast.leaves.len() == 2).then_some(cast)
}

/// A class that PFC does not protect, and that congestion notifications do not travel in.
fn lossy(fabric: &Fabric) -> Option<ClassId> {
    let classes = fabric.classes.iter().zip(0..).filter(|(class, _)| !class.lossless);
    classes.map(|(_, number)| ClassId(number)).find(|class| Some(*class) != fabric.cnp_class)
}

/// The fabric with what is wrong of its settings from the beginning on.
fn edited(plan: &Fabric, cast: &Cast, drill: Drill) -> Fabric {
    let mut overlay = plan.overlay();
    let mut each = |nics: &[NicId], edit: &dyn Fn(&mut xoff_fabric::model::Nic)| {
        nics.iter().for_each(|nic| overlay.nic(*nic, edit));
    };
    match drill {
        Drill::CongestionControlOff => {
            each(&[cast.neighbour()], &|nic| nic.qp.congestion = Congestion::None);
        }
        // Marks are echoed in acknowledgements, and no notification is sent: what counters show is that it is off.
        Drill::NotificationOff => {
            each(&[cast.victim()], &|nic| nic.qp.notification = Notification::EchoInAck);
        }
        Drill::PfcOff | Drill::HeadroomTooSmall => {
            each(&cast.nics, &|nic| nic.qp.congestion = Congestion::None);
        }
        Drill::Timeouts | Drill::QueuePairErrors => each(&cast.nics, &|nic| {
            nic.qp.adaptive_retransmission = false;
            (nic.qp.timeout, nic.qp.retry_limit) = match drill {
                Drill::Timeouts => (Span::from_ps(3 * PERIOD.as_ps()), 7),
                _ => (PERIOD, 1),
            };
        }),
        _ => {}
    }
    if matches!(drill, Drill::Timeouts | Drill::QueuePairErrors) {
        // These timeouts are shorter than the way to another site and back, and distance is not what is drilled.
        for cable in (0..plan.cables.len() as u32).map(CableId) {
            let edit = overlay.cable(cable, |cable| cable.delay = cable.delay.min(NEAR));
            debug_assert!(edit.is_ok(), "{edit:?}");
        }
    }
    if matches!(drill, Drill::PfcOff | Drill::HeadroomTooSmall) {
        for port in ports_to(plan, cast.neighbour()).into_iter().take(1) {
            // A share of a large buffer would take longer to fill than the drill lasts. Less than planned fits wherever the plan does.
            let edit = overlay.class(port, plan.data_class, |class| {
                class.threshold = Threshold::Static(SMALL);
                class.xon_offset = class.xon_offset.min(Bytes::new(SMALL.get() / 2));
                if drill == Drill::HeadroomTooSmall {
                    class.headroom = Bytes::ZERO;
                }
            });
            debug_assert!(edit.is_ok(), "{edit:?}");
        }
    }
    if drill == Drill::Watchdog {
        let leaf = plan.node_switch(cast.leaves[0]).expect("a leaf is a switch");
        let watchdog = Watchdog { detect: PERIOD, restore: PERIOD, action: WatchdogAction::Drop };
        let edit = overlay.switch(leaf, |switch| switch.watchdog = Some(watchdog));
        debug_assert!(edit.is_ok(), "{edit:?}");
    }
    overlay.finish()
}

/// A link as scenarios name it.
fn link(fabric: &Fabric, port: PortId) -> String {
    fabric.port_name(port).replacen('→', " ", 1)
}

/// What breaks.
fn faults(fabric: &Fabric, cast: &Cast, drill: Drill) -> Option<Vec<Fault>> {
    let (victim, at) = (cast.victim(), FAULT);
    let name = |node: NodeId| Some(fabric.node_name(node).to_owned());
    let nic = || NodeRef::Name(fabric.nics[victim.index()].name.clone());
    let host = PortId(fabric.nics[victim.index()].ports.start);
    let choice = |port: PortId| LinkChoice { link: Some(link(fabric, port)), ..Default::default() };
    let reaction = Reaction::default();
    let degraded = |degraded: Degraded| {
        Fault::LinkDegraded(LinkDegraded { links: choice(host), at, duration: None, degraded })
    };
    let down = |port: PortId, silent: bool| {
        Fault::LinkDown(LinkDown { links: choice(port), at, restore_after: None, silent, reaction })
    };
    let part = |of: u64| Rate::from_bps(rate(fabric, victim).bps() / of);
    let fault = match drill {
        Drill::SwitchDown => Fault::SwitchDown(SwitchDown {
            switch: name(dying(fabric, cast)),
            count: None,
            tier: None,
            at,
            restore_after: None,
            drain: None,
            reaction,
        }),
        Drill::LinkDown => down(cast.uplink(fabric).unwrap_or(host), false),
        Drill::LinkFlaps => Fault::LinkFlap(LinkFlap {
            links: choice(cast.uplink(fabric).unwrap_or(host)),
            at,
            period: Span::from_ps(3 * PERIOD.as_ps()),
            duty: Ratio::new(1, 2),
            times: 4,
            reaction,
        }),
        Drill::BadOptic => degraded(Degraded { loss: Ratio::new(1, 100), ..Default::default() }),
        Drill::SlowLink => degraded(Degraded { rate: Some(part(4)), ..Default::default() }),
        Drill::BlackHole | Drill::Timeouts | Drill::QueuePairErrors => down(host, true),
        Drill::PauseStorm | Drill::Watchdog => Fault::PauseStorm { nic: nic(), at, duration: None },
        Drill::SlowReceiver => {
            Fault::SlowReceiver { nic: nic(), at, rate: part(10), duration: None }
        }
        Drill::PfcOff => Fault::Setting(Setting {
            port: ports_to(fabric, cast.neighbour()).first().map(|port| link(fabric, *port)),
            pfc: Some(false),
            at,
            ..Default::default()
        }),
        Drill::EcnOff | Drill::EcnTooEarly => {
            let (kmin, kmax) = match drill {
                Drill::EcnOff => (1 << 30, 2 << 30),
                _ => (1_000, 2_000),
            };
            Fault::Setting(Setting {
                switch: name(cast.leaves[0]),
                kmin: Some(Bytes::new(kmin)),
                kmax: Some(Bytes::new(kmax)),
                at,
                ..Default::default()
            })
        }
        Drill::Routes => Fault::RouteChange(RouteChange {
            switch: name(cast.leaves[0])?,
            to: None,
            via: name(far(fabric, cast.uplink(fabric)?))?,
            at,
            duration: None,
        }),
        _ => return Some(Vec::new()),
    };
    Some(vec![fault])
}

/// The switch that dies: one above the leaf, or the leaf.
fn dying(fabric: &Fabric, cast: &Cast) -> NodeId {
    cast.uplink(fabric).map_or(cast.leaves[0], |port| far(fabric, port))
}

/// The ports whose series show it, and where its alert fires.
fn seen(fabric: &Fabric, cast: &Cast, drill: Drill) -> Option<(Vec<PortId>, Vec<Labels>)> {
    let victim = cast.victim();
    let all = || (0..fabric.ports.len() as u32).map(PortId);
    let kept = || all().filter(|port| cast.keeps(fabric, *port)).collect::<Vec<_>>();
    let (own, to) = (ports(fabric, victim), ports_to(fabric, victim));
    let at = |ports: &[PortId]| ports.iter().map(|port| of_port(fabric, *port)).collect();
    let both = |port: PortId| vec![port, fabric.ports[port.index()].peer];
    let everywhere = |ports: Vec<PortId>| {
        let labels = at(&ports);
        (ports, labels)
    };
    let device = |node: NodeId| labels(&[("device", fabric.node_name(node))]);
    Some(match drill {
        Drill::Healthy => (kept(), Vec::new()),
        Drill::SwitchDown => {
            let node = dying(fabric, cast);
            let name = fabric.node_name(node);
            let ports = all().filter(|port| far(fabric, *port) == node).collect();
            (ports, vec![labels(&[("device", name), ("peer", name)])])
        }
        Drill::LinkDown | Drill::LinkFlaps => {
            everywhere(both(cast.uplink(fabric).unwrap_or(own[0])))
        }
        Drill::BadOptic | Drill::SlowLink => everywhere(both(own[0])),
        Drill::BlackHole => {
            let ends = |port: &PortId| {
                let node = fabric.ports[port.index()].node;
                let peer = fabric.node_name(far(fabric, *port));
                labels(&[("device", fabric.node_name(node)), ("peer", peer)])
            };
            let ports = both(own[0]);
            let fires = ports.iter().map(ends).collect();
            (ports, fires)
        }
        Drill::PauseStorm => everywhere(to),
        // A NIC may have ports to other leaves, too, where nothing is wrong.
        Drill::Watchdog | Drill::EcnOff | Drill::EcnTooEarly => everywhere(vec![to[0]]),
        Drill::SlowReceiver | Drill::NotificationOff => everywhere(own),
        Drill::Timeouts | Drill::QueuePairErrors => everywhere(vec![own[0]]),
        Drill::PfcOff | Drill::HeadroomTooSmall => {
            everywhere(ports_to(fabric, cast.neighbour())[..1].to_vec())
        }
        Drill::CongestionControlOff => everywhere(ports(fabric, cast.neighbour())),
        // These compare with what other NICs have.
        Drill::WrongClass => {
            (cast.nics.iter().flat_map(|nic| ports(fabric, *nic)).collect(), at(&own))
        }
        Drill::Incast => {
            (cast.nics.iter().flat_map(|nic| ports_to(fabric, *nic)).collect(), at(&to))
        }
        Drill::Routes => {
            let leaf = cast.leaves[0];
            let is_up = |port: &PortId| fabric.node_switch(far(fabric, *port)).is_some();
            (fabric.node_ports(leaf).filter(is_up).collect(), vec![device(leaf)])
        }
        Drill::Straggler => (Vec::new(), vec![labels(&[("job_name", JOB)])]),
        Drill::DeviceSilent => {
            let leaf = cast.leaves[0];
            let own = |port: &PortId| fabric.ports[port.index()].node == leaf;
            (kept().into_iter().filter(own).collect(), vec![device(leaf)])
        }
        Drill::AllSilent => (kept(), vec![Labels::new()]),
    })
}

fn of_port(fabric: &Fabric, port: PortId) -> Labels {
    let device = fabric.node_name(fabric.ports[port.index()].node);
    let peer = fabric.node_name(far(fabric, port));
    labels(&[("device", device), ("port", &fabric.port_name(port)), ("peer", peer)])
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
