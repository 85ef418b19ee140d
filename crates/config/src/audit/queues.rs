//! Egress queues: marking, notifications, turns.

use super::cure::Aspect;
use super::finding::{Collector, Fault};
use super::rule;
use super::scene::Site;
use crate::facts;
use crate::number::{Class, Dscp, Queue};
use crate::qos::{Levels, QueueSettings, Wred};
use crate::system::{SystemId, Topic};
use std::sync::LazyLock;
use xoff_fabric::catalogue::Catalogue;
use xoff_fabric::model::{Ecn, Scheduling, Threshold};
use xoff_fabric::rules::buffer;
use xoff_units::{Bytes, Rate};

pub(super) fn check(site: &Site<'_>, found: &mut Collector<'_>) {
    marking(site, found);
    notifications(site, found);
    turns(site, found);
    shares(site, found);
}

fn marking(site: &Site<'_>, found: &mut Collector<'_>) {
    let Some(queue) = site.data_queue().filter(|_| site.marking()) else { return };
    if !site.can_say(Topic::Marking) {
        return early_detection(site, found, queue);
    }
    let said = &site.port.queues[queue.index()].wred;
    let Some(wred) = said.get() else {
        if turns_moved(site) {
            return;
        }
        let fault =
            Fault::new(&rule::ECN_MISSING, format!("queue {queue} of RDMA data does not mark"))
                .at(site.port.place)
                .cured_by(Aspect::Marking);
        return found.port(site, fault);
    };
    if !wred.marks {
        let message = format!("queue {queue} of RDMA data drops where it should mark");
        let fault = Fault::new(&rule::ECN_OFF, message).at(said.place()).cured_by(Aspect::Marking);
        return found.port(site, fault);
    }
    if !out_of_range(site, found, queue, &wred) && !above_xoff(site, found, queue, &wred) {
        marking_drift(site, found, queue, &wred);
    }
}

/// Random early detection of a system of which it is not known how it marks: held against other ports only.
fn early_detection(site: &Site<'_>, found: &mut Collector<'_>, queue: Queue) {
    let own = site.port.queues[queue.index()].wred.get();
    let meant = site.meant.and_then(|meant| meant.queues[queue.index()].wred.get());
    match (own, meant) {
        (Some(wred), meant) => {
            if !out_of_range(site, found, queue, &wred) && meant.is_some() {
                marking_drift(site, found, queue, &wred);
            }
        }
        (None, Some(meant)) if !turns_moved(site) => {
            let instead = site.instead(&format!("queue {queue} wred"), facts::wred(&meant));
            let message = format!("queue {queue} has no random early detection; {instead}");
            let fault = Fault::new(&rule::ECN_MISSING, message).at(site.port.place);
            found.port(site, fault.cured_by(Aspect::Marking));
        }
        (None, _) => {}
    }
}

/// Thresholds that mark nothing, or of which the upper is below the lower one: wrong whatever others have.
fn out_of_range(site: &Site<'_>, found: &mut Collector<'_>, queue: Queue, wred: &Wred) -> bool {
    let (kmin, kmax, crossed, pmax) = match wred.levels {
        Levels::Sizes(Ecn { kmin, kmax, pmax }) => {
            (kmin.to_string(), kmax.to_string(), kmax < kmin, pmax)
        }
        Levels::Fill { min, max, pmax } => (min.to_string(), max.to_string(), max < min, pmax),
        Levels::Counts { min, max, pmax } => (min.to_string(), max.to_string(), max < min, pmax),
    };
    let (rule, message) = if crossed {
        let message = format!("queue {queue} marks from {kmin} to {kmax}, which is less");
        (&rule::ECN_RANGE, message)
    } else if pmax.is_zero() {
        let message = format!("queue {queue} marks with a probability of 0 up to {kmax}");
        (&rule::PMAX_ZERO, message)
    } else {
        return false;
    };
    let place = site.port.queues[queue.index()].wred.place();
    found.port(site, Fault::new(rule, message).at(place).cured_by(Aspect::Marking));
    true
}

/// Whether a queue is marked only after a single ingress that feeds it is paused, at the best XOFF point that
/// the buffer allows. Then it depends on how many ingresses feed it.
fn above_xoff(site: &Site<'_>, found: &mut Collector<'_>, queue: Queue, wred: &Wred) -> bool {
    let Some(ecn) = wred.levels.sizes(None) else { return false };
    let Some((limits, known)) = pause_limits(site) else { return false };
    let (reserved, threshold, shared) = limits;
    let paused_at = |ingresses| reserved + buffer::xoff(threshold, shared, ingresses);
    let xoff = paused_at(1);
    let intended = site.meant.and_then(|m| m.queues[queue.index()].wred.get());
    let most = (site.device.ports.len() as u64).saturating_sub(1).max(1);
    // The fabric file was warned about its own values when it was read. What a whole fleet has alike depends on its traffic, unless no
    // traffic at all makes a queue as long.
    let never = || buffer::ingresses_to_fill(ecn.kmin, limits, most).is_none();
    let meant = intended == Some(*wred) && (site.scene.intent.is_some() || !never());
    if ecn.kmax <= xoff || meant || (!known && !never()) {
        return false;
    }
    let place = site.port.queues[queue.index()].wred.place();
    let (what, length) = match ecn.kmin >= xoff {
        true => ("starts", ecn.kmin),
        false => ("is certain", ecn.kmax),
    };
    let when = match buffer::ingresses_to_fill(length, limits, most) {
        Some((count, each)) => {
            format!("marks come first only where {count} ingresses, paused at {each} each, feed it")
        }
        None => {
            let each = paused_at(most);
            format!("not even {most} ingresses, paused at {each} each, fill it so far")
        }
    };
    let when = match known {
        true => when,
        false => format!("{when}, were its buffer the largest of any switch known ({shared})"),
    };
    let message = format!(
        "marking {what} at {length}, and an ingress that feeds the queue alone is paused at {xoff}: {when}"
    );
    let fault = Fault::new(&rule::ECN_ABOVE_XOFF, message).at(place).cured_by(Aspect::Marking);
    found.port(site, fault);
    true
}

/// The largest buffer that ports of a switch share: deeper ones have virtual output queues.
static LARGEST: LazyLock<Bytes> = LazyLock::new(|| {
    let all = Catalogue::built_in().silicon;
    let shared =
        all.values().filter(|one| one.voq.is_none() && !one.infiniband && !one.unlimited());
    shared.map(|one| one.buffer).max().unwrap_or(Bytes::ZERO)
});

/// Reserved buffer, threshold and shared buffer of the class of RDMA data, as far as they are known, and whether the last is: if
/// not, it is no larger than any shared buffer.
fn pause_limits(site: &Site<'_>) -> Option<((Bytes, Threshold, Bytes), bool)> {
    let group = site.port.maps.group_of(site.agreement().data_dscp?)?;
    let own = &site.port.groups[group.index()];
    let meant = site.intended.map(|port| &port.groups[group.index()]);
    let threshold = own.threshold.get().or_else(|| meant?.threshold.get())?;
    let reserved = own.reserved.get().or_else(|| meant?.reserved.get()).unwrap_or(Bytes::ZERO);
    let intended = site.scene.intended(site.index);
    let shared = site.device.shared_buffer.get();
    let shared = shared.or_else(|| intended?.shared_buffer.get());
    let known = shared.is_some() || matches!(threshold, Threshold::Static(_));
    // What shares nothing pauses where it says, and the size of a shared buffer is no part of most configurations.
    let shared = match known {
        true => shared.unwrap_or(Bytes::ZERO),
        false => *LARGEST,
    };
    Some(((reserved, threshold, shared), known))
}

fn marking_drift(site: &Site<'_>, found: &mut Collector<'_>, queue: Queue, wred: &Wred) {
    let place = site.port.queues[queue.index()].wred.place();
    let usual = site.meant.and_then(|meant| meant.queues[queue.index()].wred.get());
    let Some(meant) = usual.filter(|meant| !close(wred, meant)) else {
        return copied(site, found, queue, wred);
    };
    // Thresholds of another speed are a mistake of their own kind.
    let (rule, about) = match other_speed(site, queue, wred) {
        Some(rate) => (&rule::ECN_SPEED, format!(", which is for {rate}")),
        None => (&rule::ECN_DRIFT, String::new()),
    };
    let instead = site.instead(&format!("queue {queue} wred"), facts::wred(&meant));
    let message = format!("queue {queue} {}{about}; {instead}", facts::wred(wred));
    found.port(site, Fault::new(rule, message).at(place).cured_by(Aspect::Marking));
}

/// Equal within what units and rounding do.
pub(super) fn close(a: &Wred, b: &Wred) -> bool {
    if a.marks != b.marks {
        return false;
    }
    let percent = crate::text::fit::percent;
    let (a, b) = match (a.levels, b.levels) {
        (Levels::Sizes(a), Levels::Sizes(b)) => (a, b),
        // Systems take whole percents of a queue.
        (Levels::Fill { min, max, pmax }, Levels::Fill { min: low, max: high, pmax: other }) => {
            let near = |x, y| percent(x).abs_diff(percent(y)) <= 1;
            return near(min, low) && near(max, high) && percent(pmax) == percent(other);
        }
        (Levels::Counts { .. }, Levels::Counts { .. }) => return a == b,
        _ => return false,
    };
    let near = |x: Bytes, y: Bytes| {
        let (low, high) = (x.min(y).get(), x.max(y).get());
        high - low <= high / 40
    };
    let Ecn { kmin, kmax, pmax } = a;
    near(kmin, b.kmin) && near(kmax, b.kmax) && percent(pmax) == percent(b.pmax)
}

/// Another speed for which these are the thresholds.
fn other_speed(site: &Site<'_>, queue: Queue, wred: &Wred) -> Option<Rate> {
    let same = |wanted: Option<Wred>| wanted.is_some_and(|wanted| close(wred, &wanted));
    let intended = site.scene.fitted(site.index).into_iter().flat_map(|d| d.ports.values());
    let mut rates = intended
        .filter(|port| same(port.queues[queue.index()].wred.get()))
        .filter_map(|port| port.rate.get());
    let meant = rates.find(|rate| Some(*rate) != site.rate());
    let usual = || {
        let mut speeds = site.scene.usual_speeds(site.device.system);
        let other = speeds
            .find(|(rate, queues)| *rate != site.rate() && same(queues[queue.index()].wred.get()));
        other.and_then(|(rate, _)| rate)
    };
    meant.or_else(usual)
}

/// Without an intent: thresholds that a whole fabric has for several speeds. No device is wrong for that.
fn copied(site: &Site<'_>, found: &mut Collector<'_>, queue: Queue, wred: &Wred) {
    if site.scene.intent.is_some() {
        return;
    }
    let faster = other_speed(site, queue, wred).zip(site.rate());
    let Some((faster, rate)) = faster.filter(|(faster, rate)| faster > rate) else { return };
    found.note(format!(
        "{} switches mark alike at {rate} and at {faster} ({}): a threshold is a queueing time, and what is right \
         for one speed is early or late for the other",
        site.device.system,
        facts::wred(wred)
    ));
}

fn notifications(site: &Site<'_>, found: &mut Collector<'_>) {
    let maps = &site.port.maps;
    let agreement = site.agreement();
    let (Some(cnp), Some(data)) = (agreement.cnp_dscp, agreement.data_dscp) else { return };
    if !agreement.cnp_apart {
        return;
    }
    let (Some(queue), Some(data_queue)) = (maps.queue_of(cnp), maps.queue_of(data)) else { return };
    let said = &maps.dscp_to_class[cnp.index()];
    let class = said.get().map_or(0, Class::index);
    let places = said.place().into_iter().chain(maps.class_to_queue[class].place());
    let meant = site.meant.and_then(|m| m.maps.queue_of(cnp));
    if queue == data_queue {
        let message = format!("CNPs (DSCP {cnp}) wait in queue {queue} with RDMA data");
        let fault = Fault::new(&rule::CNP_CLASS, message).at(places).cured_by(Aspect::Maps);
        return found.port(site, fault);
    }
    let turn = &site.port.queues[queue.index()].scheduling;
    let wanted = site.meant.map(|m| &m.queues).and_then(|q| q[meant?.index()].scheduling.get());
    let strict_meant = wanted.is_none_or(|turn| turn == Scheduling::Strict);
    let others = shares_queue(site, cnp, queue);
    // Another strict queue that they have for themselves serves them as well.
    let alone = !others && turn.get() == Some(Scheduling::Strict);
    let moved = meant.is_some_and(|meant| meant != queue) && !alone;
    if moved || (meant.is_none() && others) {
        let message = format!("CNPs (DSCP {cnp}) wait in queue {queue} with other traffic");
        let fault = Fault::new(&rule::CNP_TURN, message).at(places).cured_by(Aspect::Maps);
        found.port(site, fault);
    } else if strict_meant && turn.get() != Some(Scheduling::Strict) {
        let message = format!("queue {queue} of CNPs is not strict");
        let fault = Fault::new(&rule::CNP_TURN, message)
            .at(turn.place().or(site.port.place))
            .cured_by(Aspect::Turns);
        found.port(site, fault);
    }
}

/// Whether best effort waits in this queue, too.
fn shares_queue(site: &Site<'_>, cnp: Dscp, queue: Queue) -> bool {
    Dscp::new(0).is_some_and(|zero| zero != cnp && site.port.maps.queue_of(zero) == Some(queue))
}

/// Strict queues that were meant to have a weight, or that carry best effort.
fn turns(site: &Site<'_>, found: &mut Collector<'_>) {
    let cnp = site.agreement().cnp_dscp.and_then(|dscp| site.port.maps.queue_of(dscp));
    let data = site.data_queue();
    for queue in Queue::all() {
        let turn = &site.port.queues[queue.index()].scheduling;
        let strict = turn.get() == Some(Scheduling::Strict);
        let meant = site.meant.and_then(|m| m.queues[queue.index()].scheduling.get());
        let best_effort =
            Dscp::new(0).and_then(|zero| site.port.maps.queue_of(zero)) == Some(queue);
        let wrong = match meant {
            Some(meant) => meant != Scheduling::Strict,
            None => best_effort && Some(queue) != data,
        };
        if strict && wrong && (Some(queue) != cnp || Some(queue) == data) {
            let message = format!("queue {queue} is strict and was not meant to be");
            let fault = Fault::new(&rule::STRICT, message)
                .at(turn.place().or(site.port.place))
                .cured_by(Aspect::Turns);
            found.port(site, fault);
        }
    }
}

/// Whether a queue has the share of the link that it is meant to have, whatever the numbers are.
pub(super) fn same_share(site: &Site<'_>, about: &str) -> bool {
    let number = about.split(' ').nth(1).and_then(|number| number.parse::<usize>().ok());
    let (Some(number), Some(meant)) = (number, site.meant) else { return false };
    let share = |queues: &[QueueSettings; 8]| {
        let total: u64 = queues.iter().filter_map(weight_of).sum();
        Some((weight_of(&queues[number])? * 100).checked_div(total).unwrap_or(0))
    };
    let both = share(&site.port.queues).zip(share(&meant.queues));
    both.is_some_and(|(own, meant)| own.abs_diff(meant) <= 3)
}

fn weight_of(queue: &QueueSettings) -> Option<u64> {
    match queue.scheduling.get()? {
        Scheduling::Weighted(weight) => Some(weight.into()),
        Scheduling::Strict => None,
    }
}

/// Whether the turns of queues follow from their classes, and the classes are in other queues than
/// meant: then the weights are where the classes went, and that is reported already.
fn turns_moved(site: &Site<'_>) -> bool {
    let by_class = matches!(site.device.system.family(), SystemId::Junos | SystemId::PicOs);
    let meant = |class: usize| match site.meant {
        Some(meant) => meant.maps.class_to_queue[class].get(),
        None => Queue::new(class as u8),
    };
    let moved = |class: usize| site.port.maps.class_to_queue[class].get() != meant(class);
    by_class && (0..Class::COUNT).any(moved)
}

/// Weights that do not add up, or that are not the intent's.
pub(super) fn shares(site: &Site<'_>, found: &mut Collector<'_>) {
    if turns_moved(site) {
        return;
    }
    let weights = || {
        let queues = Queue::all().zip(site.port.queues.iter());
        queues.filter_map(|(queue, settings)| match settings.scheduling.get()? {
            Scheduling::Weighted(weight) => Some((queue, weight, settings.scheduling.place())),
            Scheduling::Strict => None,
        })
    };
    let sum: u64 = weights().map(|(_, weight, _)| u64::from(weight)).sum();
    // The weights of SONiC and PicOS are relative; the others are percentages. `mlnx_qos` and NVUE refuse what is
    // not 100, others share out what is left.
    let relative = matches!(site.device.system, SystemId::Sonic | SystemId::PicOs);
    let exact = matches!(site.device.system.family(), SystemId::Host | SystemId::Cumulus);
    let wrong = sum > 100 || (exact && sum < 100 && sum > 0);
    if !relative && wrong {
        let places = weights().filter_map(|(_, _, place)| place);
        let message = format!("the weights add up to {sum}%");
        let fault = Fault::new(&rule::SHARES, message).at(places).cured_by(Aspect::Turns);
        return found.port(site, fault);
    }
    let Some(meant) = site.meant.map(|meant| &meant.queues) else { return };
    let total: u64 = meant.iter().filter_map(weight_of).sum();
    let same = |(own, meant): (&QueueSettings, &QueueSettings)| {
        weight_of(own).is_some() == weight_of(meant).is_some()
    };
    // A queue that became strict changes all shares, and has a rule of its own.
    if !site.port.queues.iter().zip(meant.iter()).all(same) {
        return;
    }
    for (queue, weight, place) in weights() {
        let share = (u64::from(weight) * 100).checked_div(sum).unwrap_or(0);
        let wanted = weight_of(&meant[queue.index()]).unwrap_or(0) * 100;
        let wanted = wanted.checked_div(total).unwrap_or(0);
        if share.abs_diff(wanted) > 3 {
            let instead = site.instead(&format!("queue {queue} turn"), format!("{wanted}%"));
            let message = format!("queue {queue} has {share}% of the link; {instead}");
            let fault = Fault::new(&rule::SHARE_DRIFT, message).at(place).cured_by(Aspect::Turns);
            found.port(site, fault);
        }
    }
}
