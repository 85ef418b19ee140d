//! Settings that a file may have and no expert would sign, whatever they do in the experiments at hand.

use super::words::{percent, some, time};
use super::{Evidence, advice};
use crate::advice::Advice;
use crate::check::{Aspect, Check};
use crate::phase::Phase;
use xoff_fabric::derived::{Derived, ThresholdRow};
use xoff_fabric::model::{Balancing, Fabric, Nic, Scheduling, Switch};
use xoff_report::Verdict;
use xoff_transport::config::{Congestion, Recovery};
use xoff_units::Span;

pub(super) fn checks(evidence: &Evidence<'_>, derived: &Derived) -> Vec<Check> {
    let roce = |check: Option<Check>| check.filter(|_| evidence.pauses());
    let all = [
        roce(congestion_control(evidence)),
        roce(marking(evidence, derived)),
        notifications(evidence),
        hash_fields(evidence),
        reordering(evidence),
        weights(evidence),
        roce(timeouts(evidence, derived)),
        roce(watchdog_times(evidence)),
        hosts(evidence),
    ];
    all.into_iter().flatten().collect()
}

fn check(name: &str, title: &str) -> Check {
    Check::new(Phase::Laboratory, name, title)
}

/// PFC alone stops flows that have nothing to do with a jam.
fn congestion_control(evidence: &Evidence<'_>) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    let without = |nic: &&Nic| matches!(nic.qp.congestion, Congestion::None);
    let number = fabric.nics.iter().filter(without).count();
    let seen = match number {
        0 => "every NIC slows down where the network is congested".to_owned(),
        _ => format!("{number} of {} NICs send at line rate whatever happens", fabric.nics.len()),
    };
    let check = check("congestion-control", "Senders slow down when the network is congested")
        .done("looked at the congestion control of every NIC")
        .seen(seen, "congestion control at every NIC; PFC is the last resort, not the first")
        .places((number > 0).then_some("transport.congestion"))
        .verdict(if number > 0 { Verdict::Warn } else { Verdict::Pass });
    let usual = Advice::change(
        "turn the NICs' congestion control on",
        "[transport.congestion]\nkind = \"dcqcn\"",
    );
    Some(check.consider(advice::usual_congestion_control(evidence).into_iter().chain([usual])))
}

/// Kmin and Kmax against the delay that they stand for and the round trip of the fabric, and Pmax.
fn marking(evidence: &Evidence<'_>, derived: &Derived) -> Option<Check> {
    let rtts = || derived.paths.iter().map(|path| path.base_rtt.as_us_f64());
    let (shortest, rtt) = (rtts().fold(f64::INFINITY, f64::min), rtts().fold(0.0, f64::max));
    let obeyed = evidence.setup.fabric.nics.iter().any(|nic| nic.qp.congestion.obeys_marks());
    let rows: Vec<&ThresholdRow> =
        derived.thresholds.iter().filter(|row| row.kmin.is_some()).collect();
    if rows.is_empty() || rtt <= 0.0 {
        return None;
    }
    let delay = |row: &ThresholdRow, bytes: Option<xoff_units::Bytes>| {
        bytes.map_or(0.0, |bytes| row.rate.time_for(bytes).as_us_f64())
    };
    let (mut wrong, mut always) = (Vec::new(), false);
    for row in &rows {
        let (kmin, kmax) = (delay(row, row.kmin), delay(row, row.kmax));
        // From Kmax on every packet is marked: senders of every path slow down although nothing is full.
        always |= obeyed && kmax < shortest / LOW;
        let pmax = row.pmax.map_or(0.0, |pmax| pmax.as_f64());
        if kmin > HIGH * rtt {
            wrong.push(format!(
                "{}: a queue of {} ({:.0} round trips) is not marked yet",
                row.at,
                time(kmin),
                kmin / rtt
            ));
        } else if kmax > 4.0 * HIGH * rtt {
            wrong.push(format!(
                "{}: Kmax is a queue of {} ({:.0} round trips)",
                row.at,
                time(kmax),
                kmax / rtt
            ));
        } else if kmin < rtt / LOW {
            wrong.push(format!(
                "{}: a queue of {} is marked, a {:.0}th of a round trip",
                row.at,
                time(kmin),
                rtt / kmin.max(f64::MIN_POSITIVE)
            ));
        }
        if pmax < 0.01 {
            wrong.push(format!(
                "{}: at most {} of packets are marked before Kmax",
                row.at,
                percent(pmax)
            ));
        }
    }
    let seen = match wrong.is_empty() {
        true => {
            let first = rows[0];
            format!(
                "marking begins at {} of queue, the round trip is {}",
                time(delay(first, first.kmin)),
                time(rtt)
            )
        }
        false => some(&wrong),
    };
    let check = check("ecn-thresholds", "ECN thresholds fit the rate and the round trip")
        .done("compared Kmin, Kmax and Pmax of every port with the longest round trip")
        .seen(
            seen,
            format!("Kmin between a {LOW:.0}th of a round trip and {HIGH:.0} of them, Pmax of 1 % or more"),
        )
        .verdict(match (wrong.is_empty(), always) {
            (true, _) => Verdict::Pass,
            (false, false) => Verdict::Warn,
            (false, true) => Verdict::Fail,
        })
        .places(wrong);
    Some(check.consider(advice::thresholds(evidence)))
}

/// Kmin beyond so many round trips marks too late, below a part of one too early.
const HIGH: f64 = 6.0;
const LOW: f64 = 7.0;

/// Notifications that come too seldom, or to nobody.
fn notifications(evidence: &Evidence<'_>) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    let nic = fabric.nics.iter().find(|nic| matches!(nic.qp.congestion, Congestion::Dcqcn(_)))?;
    let slowest = fabric.nics.iter().map(|nic| nic.qp.cnp_interval).max().unwrap_or(Span::ZERO);
    let Congestion::Dcqcn(dcqcn) = &nic.qp.congestion else { return None };
    let seldom = slowest > Span::from_us(55);
    let sluggish = dcqcn.increase_timer > Span::from_us(3_000);
    let check = check("notifications", "Notifications come often enough to act on")
        .done("compared the interval of notifications and the timers of DCQCN with what NICs ship")
        .seen(
            format!(
                "a notification every {slowest} at most, rates rise every {}",
                dcqcn.increase_timer
            ),
            "an interval of 55 us or less, and an increase timer of 3 ms or less",
        )
        .places((seldom).then_some("transport.cnp-interval"))
        .verdict(if seldom || sluggish { Verdict::Warn } else { Verdict::Pass });
    Some(check.consider(advice::usual_congestion_control(evidence)))
}

/// Several queue pairs of a connection take one path if the hash does not see what tells them apart.
fn hash_fields(evidence: &Evidence<'_>) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    let chooses: Vec<&Switch> = fabric.switches.iter().filter(|s| s.balancing.hashes()).collect();
    if chooses.is_empty() || fabric.switches.len() < 2 {
        return None;
    }
    let blind = |switch: &&&Switch| {
        let fields = switch.hash.fields;
        !fields.source_port && !fields.dest_qp
    };
    let blind: Vec<String> = chooses.iter().filter(blind).map(|s| s.name.clone()).collect();
    let seen = match blind.len() {
        0 => format!("all {} switches hash the source port or the queue pair", chooses.len()),
        number => format!("{number} of {} switches hash addresses only", chooses.len()),
    };
    let check = check("hash-fields", "The hash tells queue pairs apart")
        .done("looked at the hash of every switch")
        .seen(seen, "UDP source port or destination queue pair in the hash, beside addresses")
        .verdict(if blind.is_empty() { Verdict::Pass } else { Verdict::Fail })
        .places(blind);
    Some(check.consider(advice::usual_hash(evidence)))
}

/// Packets that overtake each other at NICs that take that for loss.
fn reordering(evidence: &Evidence<'_>) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    let reorders = |switch: &Switch| match switch.balancing {
        Balancing::Adaptive { gap, .. } => gap < Span::from_us(5),
        Balancing::Recycled | Balancing::Paths => true,
        _ => false,
    };
    if !fabric.switches.iter().any(reorders) {
        return None;
    }
    let strict = |nic: &&Nic| nic.qp.reorder_window == 0 || nic.qp.recovery == Recovery::GoBackN;
    let number = fabric.nics.iter().filter(strict).count();
    // How far a packet may fall behind, as time at line rate.
    let room = |nic: &Nic| {
        let packets = u64::from(nic.qp.reorder_window) * nic.qp.mtu.get();
        fabric.nic_rate(nic).time_for(xoff_units::Bytes::new(packets))
    };
    let least = fabric.nics.iter().map(room).min().unwrap_or(Span::ZERO);
    let narrow = number == 0 && least < OVERTAKING;
    let seen = match number {
        0 if narrow => {
            format!("switches reorder packets, and a packet that is {least} late counts as lost")
        }
        0 => "switches reorder packets, and every NIC puts them in order".to_owned(),
        _ => format!("switches reorder packets, and {number} NICs take that for loss"),
    };
    let check = check("reordering", "NICs put packets in order that switches reorder")
        .done("compared how switches choose links with what NICs do with packets out of order")
        .seen(
            seen,
            format!("receivers that reorder, over {OVERTAKING} or more, where packets of a flow take different links"),
        )
        .verdict(match (number, narrow) {
            (0, false) => Verdict::Pass,
            (0, true) => Verdict::Warn,
            _ => Verdict::Fail,
        })
        .places((number > 0 || narrow).then_some("transport.reorder-window"));
    Some(check.consider(advice::keep_order(evidence)))
}

/// Queues of links that a flow is spread over differ by a few microseconds while nothing is marked.
const OVERTAKING: Span = Span::from_us(4);

/// RDMA's share of a port where every class wants all of it.
fn weights(evidence: &Evidence<'_>) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    let data = usize::from(fabric.data_class.0);
    let share = |switch: &Switch| {
        let port = fabric.ports.get(switch.ports.start as usize)?;
        let Scheduling::Weighted(own) = port.classes[data].scheduling else { return Some(1.0) };
        let other = |class: &xoff_fabric::model::PortClass| match class.scheduling {
            Scheduling::Weighted(weight) => f64::from(weight),
            Scheduling::Strict => 0.0,
        };
        // One other class that wants all there is: the heaviest.
        let others = port.classes.iter().enumerate().filter(|(id, _)| *id != data);
        let heaviest = others.map(|(_, class)| other(class)).fold(0.0, f64::max);
        Some(f64::from(own) / (f64::from(own) + heaviest))
    };
    let rows: Vec<(f64, String)> =
        fabric.switches.iter().filter_map(|s| Some((share(s)?, s.name.clone()))).collect();
    let least = rows.iter().map(|row| row.0).fold(1.0, f64::min);
    let low: Vec<String> =
        rows.into_iter().filter(|row| row.0 < WEIGHT.0).map(|row| row.1).collect();
    let strict = strict_classes(fabric);
    let check = check("weights", "The RDMA class has the weight that it needs")
        .done("compared the weight of the RDMA class with the heaviest other one, at every switch")
        .seen(
            match low.is_empty() {
                true if !strict.is_empty() => some(&strict),
                true => format!("{} of a port beside another class, or more", percent(least)),
                false => {
                    format!("{} of a port beside another class at {}", percent(least), some(&low))
                }
            },
            format!("{} or more", percent(WEIGHT.0)),
        )
        .graded(least, WEIGHT.0, WEIGHT.1)
        .at_best(if strict.is_empty() { Verdict::Pass } else { Verdict::Warn })
        .places(low.into_iter().chain(strict));
    Some(check.consider(advice::usual_schedule(evidence)))
}

/// Classes that are served before all others and carry more than control traffic: they starve those that have weights.
/// Notifications and network control (classes 6 and 7) are meant to be.
fn strict_classes(fabric: &Fabric) -> Vec<String> {
    let trimmed = |class: u8| {
        let into = |switch: &Switch| switch.trimming.is_some_and(|to| to.class.0 == class);
        fabric.switches.iter().any(into)
    };
    let control = |class: u8| {
        class >= 6 || Some(class) == fabric.cnp_class.map(|class| class.0) || trimmed(class)
    };
    let at = |class: u8| -> Vec<String> {
        let strict = |switch: &&Switch| {
            let ports = switch.ports.clone();
            let rules =
                |port: u32| &fabric.ports[port as usize].classes[usize::from(class)].scheduling;
            ports.map(rules).any(|scheduling| *scheduling == Scheduling::Strict)
        };
        fabric.switches.iter().filter(strict).map(|switch| switch.name.clone()).collect()
    };
    let own = fabric.data_class.0;
    let words = (0..8).filter(|class| !control(*class)).filter_map(|class| {
        let at = at(class);
        let starves = if class == own { "every other class" } else { "RDMA" };
        (!at.is_empty())
            .then(|| format!("class {class} is strict and can starve {starves}: {}", some(&at)))
    });
    words.collect()
}

const WEIGHT: (f64, f64) = (0.4, 0.15);

/// A timeout shorter than full queues retransmits what is only late; few retries end a job at every hiccup.
fn timeouts(evidence: &Evidence<'_>, derived: &Derived) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    let rtt = derived.paths.iter().map(|path| path.base_rtt.as_us_f64()).fold(0.0, f64::max);
    let nic = fabric.nics.first()?;
    let first = nic.qp.first_timeout()?.as_us_f64();
    let patience = nic.qp.silence_limit()?.as_us_f64();
    let mut wrong = Vec::new();
    if first < 20.0 * rtt {
        wrong.push(format!(
            "a packet counts as lost after {}, {:.1} round trips",
            time(first),
            first / rtt
        ));
    }
    let goals = &evidence.setup.goals;
    let longest = nic.qp.timeout.as_us_f64();
    if longest * 1e-6 > goals.failure.pass {
        wrong.push(format!("a packet that is lost again is sent after {}", time(longest)));
    }
    let times = fabric.convergence;
    let outage = 2.0 * (times.carrier + times.withdraw).as_us_f64();
    if patience < outage {
        wrong.push(format!("a queue pair gives up after {} of silence", time(patience)));
    }
    if nic.qp.retry_limit < 3 {
        wrong.push(format!("{} retries", nic.qp.retry_limit));
    }
    let seen = match wrong.is_empty() {
        true => {
            format!("first timeout {}, a queue pair gives up after {}", time(first), time(patience))
        }
        false => wrong.join("; "),
    };
    let check = check("timeouts", "Timeouts outlast full queues and short outages")
        .done("compared timeout and retries of the NICs with the round trip and with outages")
        .about(Aspect::Resilience)
        .seen(
            seen,
            format!(
                "a timeout between 20 round trips and {}, and {} or more until a queue pair gives up, twice what \
                 routes take to follow a failure",
                time(goals.failure.pass * 1e6),
                time(outage)
            ),
        )
        .verdict(if wrong.is_empty() { Verdict::Pass } else { Verdict::Warn })
        .places((!wrong.is_empty()).then_some("transport.timeout"));
    Some(check.consider(advice::usual_recovery(evidence)))
}

/// A watchdog that acts on short pauses drops lossless packets in normal operation; one of seconds acts too late.
fn watchdog_times(evidence: &Evidence<'_>) -> Option<Check> {
    let switches = &evidence.setup.fabric.switches;
    let odd = |switch: &&Switch| {
        switch.watchdog.is_some_and(|dog| {
            let in_time = (Span::from_ms(20)..=Span::from_ms(1_000)).contains(&dog.detect);
            !in_time || dog.restore > Span::from_ms(5_000)
        })
    };
    let wrong: Vec<String> = switches.iter().filter(odd).map(|s| s.name.clone()).collect();
    let dog = switches.iter().find_map(|switch| switch.watchdog)?;
    let shown = switches.iter().find(odd).and_then(|switch| switch.watchdog).unwrap_or(dog);
    let check = check("watchdog-times", "The PFC watchdog acts on storms, and on nothing else")
        .done("looked at the times of every watchdog")
        .about(Aspect::Resilience)
        .seen(
            format!(
                "a queue is stuck after {}, and checked again after {}",
                shown.detect, shown.restore
            ),
            "20 ms to 1 s until a queue counts as stuck, and 5 s or less until it is tried again",
        )
        .verdict(if wrong.is_empty() { Verdict::Pass } else { Verdict::Warn })
        .places(wrong);
    let usual = Advice::change(
        "let the watchdog act after 200 ms",
        "[switch.watchdog]\nenabled = true\ndetect = \"200ms\"\nrestore = \"200ms\"",
    );
    Some(check.consider([usual]))
}

/// NICs whose slot or receive side is slower than their ports.
fn hosts(evidence: &Evidence<'_>) -> Option<Check> {
    let fabric: &Fabric = &evidence.setup.fabric;
    let slow = |nic: &&Nic| {
        let line = fabric.nic_rate(nic);
        let full = nic.qp.mtu + nic.qp.framing.header + nic.qp.framing.gap;
        nic.packet_rate.is_some_and(|limit| limit.packet_time() > line.time_for(full))
            || nic.receive.is_some_and(|limit| limit.rate < line)
            || nic.host.is_some_and(|host| host.send.rate < line || host.receive.rate < line)
    };
    let names: Vec<String> = fabric.nics.iter().filter(slow).map(|nic| nic.name.clone()).collect();
    let check = check("hosts", "Hosts keep up with their NICs")
        .done("compared slot, receive side and packet rate of every NIC with its ports")
        .seen(
            match names.len() {
                0 => "every NIC reaches memory as fast as its ports".to_owned(),
                number => {
                    format!("{number} of {} NICs are slower: {}", fabric.nics.len(), some(&names))
                }
            },
            "as fast as the ports: a slow receiver pauses the fabric",
        )
        .verdict(if names.is_empty() { Verdict::Pass } else { Verdict::Fail })
        .places(names);
    Some(check.consider(advice::limits(evidence)))
}
