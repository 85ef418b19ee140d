//! The fabric file against the rules of the trade; no simulation.

use super::tiers::unprotected;
use super::words::{count, size, some};
use super::{Evidence, advice, cabling};
use crate::advice::Advice;
use crate::check::{Aspect, Check};
use crate::phase::Phase;
use std::collections::BTreeSet;
use xoff_fabric::FabricSetup;
use xoff_fabric::derived::Derived;
use xoff_fabric::model::{Balancing, CLASSES, ClassId, Scheduling, Switch, Tier};
use xoff_report::{Number, Verdict};
use xoff_transport::config::Congestion;

fn check(name: &str, title: &str) -> Check {
    Check::new(Phase::Laboratory, name, title)
}

pub(super) fn checks(evidence: &Evidence<'_>, derived: &Derived) -> Vec<Check> {
    let setup = evidence.setup;
    let mut checks = match evidence.pauses() {
        true => vec![
            pfc(evidence),
            lossless_classes(setup),
            cnp_class(setup),
            ack_class(evidence),
            ecn(evidence, derived),
            headroom(derived),
            watchdog(evidence),
        ],
        false => vec![network(setup)],
    };
    checks.extend(cabling::checks(evidence));
    checks.extend([oversubscription(setup, derived), hash_seeds(setup)]);
    checks
}

/// Another network than RoCE: rules of pauses and notifications do not hold for it.
fn network(setup: &FabricSetup) -> Check {
    let fabric = &setup.fabric;
    let seen = match fabric.credits {
        true => "links have credits: nothing is sent that has no room".to_owned(),
        false => "packets may be lost or trimmed, and the transport sends them again".to_owned(),
    };
    check("network", "The network has what its transport needs")
        .about(Aspect::Lossless)
        .done("looked at the kind of the transport; PFC, ECN and headroom are rules of RoCE")
        .seen(seen, "credits, or a transport that does with loss")
}

fn pfc(evidence: &Evidence<'_>) -> Check {
    let setup = evidence.setup;
    let fabric = &setup.fabric;
    let data = &fabric.classes[fabric.data_class.0 as usize];
    let (on, lossless) = (fabric.pause.enabled, data.lossless);
    let bare = if on && lossless { unprotected(fabric, fabric.data_class) } else { Vec::new() };
    let measured = match (on, lossless) {
        (true, true) if !bare.is_empty() => format!(
            "class {} ({}) is not protected at {} of {} switches: {}",
            fabric.data_class.0,
            data.name,
            bare.len(),
            fabric.switches.len(),
            some(&bare)
        ),
        (true, true) => {
            format!("PFC is on, and class {} ({}) is lossless", fabric.data_class.0, data.name)
        }
        (false, _) => "PFC is off: `pfc.enabled = false`".to_owned(),
        (true, false) => format!("class {} ({}) is lossy", fabric.data_class.0, data.name),
    };
    let tenants = fabric
        .tenants
        .iter()
        .filter(|tenant| on && lossless && !fabric.classes[tenant.class.0 as usize].lossless);
    let tenants: Vec<String> = tenants
        .map(|tenant| format!("class {} of tenant {} is lossy", tenant.class.0, tenant.name))
        .collect();
    let measured = match tenants.is_empty() {
        true => measured,
        false => format!("{measured}; {}", some(&tenants)),
    };
    let good = on && lossless && bare.is_empty() && tenants.is_empty();
    let candidates = match (on, lossless) {
        (true, true) if bare.is_empty() => vec![Advice::words(
            "make the class of a tenant with RDMA lossless, or let it use that of the other data",
        )],
        (true, true) => advice::as_the_others(evidence, &["pfc", "class"]).into_iter().collect(),
        (true, false) => {
            let usual = advice::into_lossless_class(setup);
            usual.into_iter().chain([advice::one_lossless_class(setup)]).collect()
        }
        (false, _) => vec![advice::pfc_on()],
    };
    let places = if bare.is_empty() { vec!["pfc.enabled".to_owned()] } else { bare };
    check("pfc", "RDMA data is protected by PFC")
        .about(Aspect::Lossless)
        .headline()
        .done("checked the class that RDMA data uses, at every port of every switch")
        .seen(measured, "PFC on, and the RDMA class lossless everywhere")
        .verdict(if good { Verdict::Pass } else { Verdict::Fail })
        .places(if good { Vec::new() } else { places })
        .consider(candidates)
}

fn lossless_classes(setup: &FabricSetup) -> Check {
    let classes = &setup.fabric.classes;
    let lossless: Vec<String> =
        (0..CLASSES).filter(|&id| classes[id].lossless).map(|id| id.to_string()).collect();
    // A tenant with RDMA of its own has a class of its own.
    let fabric = &setup.fabric;
    let used = |id: usize| {
        let own = fabric.tenants.iter().any(|tenant| usize::from(tenant.class.0) == id);
        own || usize::from(fabric.data_class.0) == id
    };
    let idle = (0..CLASSES).filter(|&id| classes[id].lossless && !used(id)).count();
    let verdict = match (lossless.len(), idle) {
        (0 | 1, _) | (2, 0) => Verdict::Pass,
        (2, _) | (3, 0) => Verdict::Warn,
        _ => Verdict::Fail,
    };
    let measured = match lossless.len() {
        0 => "no class is lossless".to_owned(),
        1 => format!("class {} is lossless", lossless[0]),
        _ => format!("classes {} are lossless", lossless.join(", ")),
    };
    check("one-lossless-class", "One priority is lossless, the others are not")
        .about(Aspect::Lossless)
        .done("counted lossless classes")
        .seen(
            measured,
            "one, or two if a tenant has the second; each takes headroom and can pause and deadlock",
        )
        .verdict(verdict)
        .places((verdict != Verdict::Pass).then_some("class.lossless"))
        .advise(Some(advice::one_lossless_class(setup)))
}

fn cnp_class(setup: &FabricSetup) -> Check {
    let fabric = &setup.fabric;
    let notified = fabric.nics.iter().any(|nic| matches!(nic.qp.congestion, Congestion::Dcqcn(_)));
    let own = fabric.cnp_class.filter(|&class| class != fabric.data_class);
    let strict = own.is_some_and(|class| {
        let mut ports = fabric.switches.iter().flat_map(|switch| switch.ports.clone());
        ports.all(|port| {
            let class = &fabric.ports[port as usize].classes[usize::from(class.0)];
            class.scheduling == Scheduling::Strict
        })
    });
    let (verdict, measured) = match (own, strict) {
        _ if !notified => (Verdict::Pass, "senders do not depend on notifications".to_owned()),
        (Some(class), true) => (Verdict::Pass, format!("class {}, strict priority", class.0)),
        (Some(class), false) => (
            Verdict::Warn,
            format!("class {} shares a weighted scheduler with the others", class.0),
        ),
        (None, _) => {
            (Verdict::Fail, "notifications wait in the congested queue that they report".to_owned())
        }
    };
    check("cnp-class", "Congestion notifications have a strict class of their own")
        .done("followed a notification through the classes of every switch port")
        .seen(measured, "their own class, before all weighted ones")
        .verdict(verdict)
        .places((verdict != Verdict::Pass).then_some("traffic.cnp"))
        .advise(Some(advice::cnp_class(setup)))
}

/// A lost acknowledgement is a lost packet to the sender: it waits for its timeout, or sends again what arrived.
fn ack_class(evidence: &Evidence<'_>) -> Check {
    let fabric = &evidence.setup.fabric;
    let own = fabric.ack_class.filter(|&class| class != fabric.data_class);
    let ports = || fabric.switches.iter().flat_map(|switch| switch.ports.clone());
    // Nothing is before a strict class that only has control traffic: its queue stays empty.
    let safe = |id: &ClassId| {
        let mut ports = ports().map(|port| &fabric.ports[port as usize].classes[usize::from(id.0)]);
        ports.all(|class| class.lossless || class.scheduling == Scheduling::Strict)
    };
    let exposed = own.filter(|class| !safe(class));
    let measured = match (own, exposed) {
        (None, _) => "acknowledgements are in the class of the data they answer".to_owned(),
        (Some(class), None) => format!("class {}, lossless or strict at every port", class.0),
        (Some(_), Some(class)) => format!(
            "class {} is lossy and shares its queue and weight with other traffic: what fills it drops \
             acknowledgements",
            class.0
        ),
    };
    let remove = Advice::words("leave acknowledgements in the class of their data")
        .without(vec!["traffic.ack".to_owned()]);
    check("ack-class", "Acknowledgements are as safe as the data")
        .about(Aspect::Lossless)
        .done("followed an acknowledgement through the classes of every switch port")
        .seen(measured, "the class of the data, or one that is lossless or strict")
        .verdict(if exposed.is_some() { Verdict::Warn } else { Verdict::Pass })
        .places(exposed.map(|_| "traffic.ack"))
        .consider([remove])
}

/// Places without marking: switches by name where only some are without it, so that nobody looks at all of them.
fn unmarked(evidence: &Evidence<'_>, derived: &Derived) -> Vec<String> {
    let fabric = &evidence.setup.fabric;
    let data = usize::from(fabric.data_class.0);
    let bare = |switch: &&Switch| {
        let mut ports = switch.ports.clone();
        ports.any(|port| fabric.ports[port as usize].classes[data].ecn.is_none())
    };
    let names: Vec<String> =
        fabric.switches.iter().filter(bare).map(|switch| switch.name.clone()).collect();
    match names.len() == fabric.switches.len() {
        true => {
            let rows = derived.thresholds.iter().filter(|row| row.kmin.is_none());
            rows.map(|row| row.at.clone()).collect()
        }
        false => names,
    }
}

fn ecn(evidence: &Evidence<'_>, derived: &Derived) -> Check {
    let rows: Vec<_> = derived.thresholds.iter().collect();
    let switches = evidence.setup.fabric.switches.len();
    let off = unmarked(evidence, derived);
    let some_off = !off.is_empty() && rows.iter().any(|row| row.kmin.is_some());
    let marking = || rows.iter().filter_map(|row| Some((row, row.kmin?)));
    let never: Vec<String> = marking()
        .filter(|(row, _)| row.ingresses_to_mark.is_none())
        .map(|(row, kmin)| {
            format!("{} (marks from {}, more than all ingresses hold)", row.at, size(kmin))
        })
        .collect();
    let late: Vec<String> = marking()
        .filter_map(|(row, kmin)| Some((row, kmin, row.ingresses_to_mark.filter(|&n| n > 2)?)))
        .map(|(row, kmin, n)| {
            let (at, xoff, kmin) = (&row.at, size(row.xoff), size(kmin));
            format!(
                "{at} (marks from {kmin}, which takes {n} ingresses; one alone pauses at {xoff})"
            )
        })
        .collect();
    // From Kmax on every packet is marked. Two ingresses that are paused before they fill a queue to it are slowed down
    // by pauses more than by marks.
    let shallow: Vec<String> = marking()
        .filter_map(|(row, _)| {
            Some((row, row.kmax.filter(|kmax| row.xoff.get() * 2 < kmax.get())?))
        })
        .map(|(row, kmax)| {
            let (kmax, xoff) = (size(kmax), size(row.xoff));
            format!("{} (Kmax is {kmax}, an ingress pauses at {xoff})", row.at)
        })
        .collect();
    let (verdict, measured, places) = if !off.is_empty() {
        let words = match some_off {
            true => format!("no marking at {} of {switches} switches: {}", off.len(), some(&off)),
            false => format!("no marking at {}", some(&off)),
        };
        (Verdict::Fail, words, off)
    } else if !never.is_empty() {
        (Verdict::Fail, some(&never), never)
    } else if !late.is_empty() {
        (Verdict::Warn, some(&late), late)
    } else if !shallow.is_empty() {
        (Verdict::Warn, some(&shallow), shallow)
    } else {
        let most = marking().filter_map(|(row, _)| row.ingresses_to_mark).max().unwrap_or(1);
        let feed = if most > 1 { "two ingresses feed" } else { "any ingress feeds" };
        (Verdict::Pass, format!("a queue that {feed} is marked before PFC pauses"), Vec::new())
    };
    let candidates = [
        // What one switch or tier says of itself stands above what the file says of all.
        advice::as_the_others(evidence, &["ecn"]),
        rows.iter().any(|row| row.kmin.is_none()).then(advice::ecn_on),
        advice::usual_pause(evidence),
        advice::thresholds(evidence),
        advice::ecn_below_xoff(evidence.setup),
    ];
    check("ecn-before-pfc", "ECN marks before PFC pauses, at every port")
        .done("counted the ingresses that fill an egress queue to Kmin before PFC pauses them")
        .seen(
            measured,
            "every port marks, and a queue that two ingresses feed does so before they are paused",
        )
        .verdict(verdict)
        .places(places)
        .consider(candidates.into_iter().flatten())
}

fn headroom(derived: &Derived) -> Check {
    let short: Vec<String> = derived
        .thresholds
        .iter()
        .filter(|row| row.headroom < row.headroom_needed)
        .map(|row| format!("{} ({} of {} needed)", row.at, row.headroom, row.headroom_needed))
        .collect();
    let ports: u64 = derived.thresholds.iter().map(|row| row.ports).sum();
    let measured = if short.is_empty() {
        format!("enough at all {} ports", Number::count(ports))
    } else {
        format!("too little at {}", some(&short))
    };
    check("headroom", "Headroom covers what arrives after a pause, for every cable")
        .about(Aspect::Lossless)
        .headline()
        .done("computed what rate, length, MTU and silicon require")
        .seen(measured, "the worst case or more")
        .verdict(if short.is_empty() { Verdict::Pass } else { Verdict::Fail })
        .places(short)
        .advise(Some(advice::headroom()))
}

fn watchdog(evidence: &Evidence<'_>) -> Check {
    let setup = evidence.setup;
    let switches = &setup.fabric.switches;
    let without: Vec<String> =
        switches.iter().filter(|s| s.watchdog.is_none()).map(|s| s.name.clone()).collect();
    let good = without.is_empty() || !setup.fabric.pause.enabled;
    let measured = match without.len() {
        0 => "every switch has one".to_owned(),
        number => format!("none on {} of {} switches", number, switches.len()),
    };
    check("watchdog", "A PFC watchdog ends pause storms")
        .about(Aspect::Resilience)
        .done("checked every switch")
        .seen(measured, "a watchdog on every switch")
        .verdict(if good { Verdict::Pass } else { Verdict::Warn })
        .places(if good { Vec::new() } else { without })
        .consider(
            advice::as_the_others(evidence, &["watchdog"]).into_iter().chain([advice::watchdog()]),
        )
}

/// Cables between the same tiers should be alike, and lose nothing.
fn oversubscription(setup: &FabricSetup, derived: &Derived) -> Check {
    let tiers = derived.tiers.iter().filter_map(|row| Some((row.tier, row.oversubscription?)));
    let worst = tiers.max_by_key(|(_, ratio)| *ratio);
    let factor = worst.map_or(1.0, |(_, ratio)| ratio.as_f64());
    let meant = setup.goals.oversubscription.as_f64();
    let verdict = match factor / meant {
        beyond if beyond <= 1.001 => Verdict::Pass,
        beyond if beyond < 3.999 => Verdict::Warn,
        _ => Verdict::Fail,
    };
    let measured = match worst {
        Some((tier, _)) => format!("{factor:.2}:1 at the {tier}"),
        None => "one switch".to_owned(),
    };
    let uplinks = match worst {
        Some((tier, _)) => format!(
            "give every {tier} {:.2} times its bandwidth up: more uplinks, or faster ones; or say in `[goals]` that \
             it is meant",
            factor / meant
        ),
        None => String::new(),
    };
    check("oversubscription", "Switches have as much bandwidth up as down")
        .done("added up the rates of every switch, tier by tier")
        .seen(
            measured,
            match meant > 1.0 {
                true => format!("{meant:.2}:1 or less, as `[goals]` has it"),
                false => "1:1; a training fabric is built for all-to-all traffic".to_owned(),
            },
        )
        .verdict(verdict)
        .places((verdict != Verdict::Pass).then_some("fabric.oversubscription"))
        .consider([advice::non_blocking(setup), Advice::words(uplinks)])
}

fn hash_seeds(setup: &FabricSetup) -> Check {
    let fabric = &setup.fabric;
    // Switches with several uplinks choose. Two tiers of them polarise if they hash alike.
    let chooses = |tier: Tier| {
        fabric.switches.iter().any(|switch| {
            let up = switch.ports.clone().filter(|&port| {
                let peer = fabric.ports[fabric.ports[port as usize].peer.index()].node;
                fabric
                    .node_switch(peer)
                    .is_some_and(|peer| fabric.switches[peer.index()].tier > tier)
            });
            switch.tier == tier && up.count() > 1
        })
    };
    let stages = [Tier::Leaf, Tier::Spine].into_iter().filter(|&tier| chooses(tier)).count();
    let hashed = || fabric.switches.iter().filter(|switch| switch.balancing == Balancing::Hash);
    let of_tier = |tier: Tier| -> BTreeSet<u32> {
        let own = hashed().filter(|switch| switch.tier == tier);
        own.map(|switch| switch.hash.seed).collect()
    };
    let seeds: BTreeSet<u32> = hashed().map(|switch| switch.hash.seed).collect();
    let switches = hashed().count();
    // A seed that is found in both stages makes the second choose as the first did.
    let (first, second) = (of_tier(Tier::Leaf), of_tier(Tier::Spine));
    let shared = first.intersection(&second).next().filter(|_| stages > 1);
    let polarised = shared.is_some();
    let measured = match (switches, shared) {
        (0, _) => "no switch hashes".to_owned(),
        (_, Some(seed)) => format!("leaves and spines have the seed {seed}, one after the other"),
        (_, None) => format!(
            "{} seeds on {switches} switches, {}",
            seeds.len(),
            count(stages as u64, "stage", "stages")
        ),
    };
    check("hash-seeds", "Stages of ECMP hash differently")
        .done("compared the hash seeds of all switches")
        .seen(measured, "different seeds where one hash follows another")
        .verdict(if polarised { Verdict::Fail } else { Verdict::Pass })
        .places(polarised.then_some("switch.hash.seed"))
        .advise(Some(advice::hash_seeds()))
}
