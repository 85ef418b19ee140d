//! Headroom, watchdog and MTU of a port.

use super::cure::Aspect;
use super::finding::{Collector, Fault};
use super::rule;
use super::scene::Site;
use crate::number::Group;
use crate::qos::Reaction;
use crate::system::Topic;
use xoff_fabric::model::Threshold;
use xoff_fabric::rules::{packet, pause};
use xoff_units::{Bytes, Length, Rate, Ratio, Span};

pub(super) fn check(site: &Site<'_>, found: &mut Collector<'_>) {
    let lossless = site.lossless().is_some_and(|set| !set.is_empty());
    let pauses = site.port.pfc.get().is_some_and(|set| !set.is_empty());
    if !lossless || !pauses {
        return;
    }
    let Some(dscp) = site.agreement().data_dscp else { return };
    let Some(group) = site.port.maps.group_of(dscp) else { return };
    headroom(site, found, group);
    share(site, found, group);
    cable(site, found);
    pool(site, found);
}

fn headroom(site: &Site<'_>, found: &mut Collector<'_>, group: Group) {
    let own = &site.port.groups[group.index()].headroom;
    let meant = site.meant.and_then(|m| m.groups[group.index()].headroom.get());
    let needed = site.wire.and_then(|(wire, side)| wire.headroom[side]);
    let needed = needed.or_else(|| in_flight(site));
    let Some(given) = own.get() else {
        // A system that sizes headroom itself says nothing, and the intent knows it.
        let usual = site.scene.sized.contains(&site.device.system);
        let some = meant.is_some_and(|meant| !meant.is_zero());
        let others = some || (site.scene.intent.is_none() && usual);
        if others {
            let message = format!("priority group {group} of RDMA data has no headroom");
            let fault = Fault::new(&rule::HEADROOM_MISSING, message)
                .at(site.port.place)
                .cured_by(Aspect::Buffers);
            found.port(site, fault);
        }
        return;
    };
    // None in so many words, where the cable needs some or others have it.
    let wanted = needed.is_some() || meant.is_none_or(|meant| !meant.is_zero());
    if given.is_zero() && wanted {
        let message = format!("priority group {group} of RDMA data has no headroom");
        let fault = Fault::new(&rule::HEADROOM_MISSING, message).at(own.place());
        return found.port(site, fault.cured_by(Aspect::Buffers));
    }
    let short = |wanted: Bytes| {
        let message = format!("headroom of {given} for a cable that needs {wanted}");
        Fault::new(&rule::HEADROOM_SMALL, message).at(own.place()).cured_by(Aspect::Buffers)
    };
    match (needed, meant) {
        (Some(needed), _) if given < needed => found.port(site, short(needed)),
        (_, Some(meant)) if given < meant => found.port(site, short(meant).warning()),
        _ => {}
    }
}

/// Without an intent: what the said cable holds both ways, what the peer may still send, and a
/// packet at each end. Less cannot be enough.
fn in_flight(site: &Site<'_>) -> Option<Bytes> {
    let (rate, cable) = (site.rate()?, site.port.cable.get()?);
    let mtu = site.port.mtu.get().unwrap_or(site.agreement().packet);
    Some(bytes_of(rate, cable) + mtu + mtu)
}

fn bytes_of(rate: Rate, cable: Length) -> Bytes {
    rate.bytes_in(cable.propagation() * 2 + pause::response_time(rate))
}

/// The cable that the device believes in is shorter than the real one.
fn cable(site: &Site<'_>, found: &mut Collector<'_>) {
    let own = &site.port.cable;
    let real = site.intended.and_then(|port| port.cable.get());
    let real = real.or_else(|| site.wire.and_then(|(wire, _)| wire.length));
    let (Some(believed), Some(real)) = (own.get(), real) else { return };
    if believed < real {
        let how = if own.is_said() { "" } else { " by default" };
        let message =
            format!("headroom is sized for {believed}{how}, and the cable is {real} long");
        let fault = Fault::new(&rule::HEADROOM_SMALL, message)
            .at(own.place().or(site.port.pfc.place()))
            .cured_by(Aspect::Buffers);
        found.port(site, fault);
    }
}

/// The pool of a system that has headroom in one piece.
fn pool(site: &Site<'_>, found: &mut Collector<'_>) {
    let Some(meant) = site.scene.fitted(site.index).and_then(|d| d.headroom_pool.get()) else {
        return;
    };
    let own = &site.device.headroom_pool;
    // One word per device is enough: it is said at its first port.
    if site.device.ports.keys().next() != Some(site.name) {
        return;
    }
    let fault = match own.get() {
        // What the box takes when nothing is said is its own.
        None => {
            let message = format!("no headroom pool; {meant} is meant");
            Fault::new(&rule::HEADROOM_MISSING, message).warning()
        }
        Some(given) if given < meant => {
            let message = format!("a headroom pool of {given}; {meant} is meant");
            Fault::new(&rule::HEADROOM_SMALL, message).at(own.place())
        }
        Some(_) => return,
    };
    found.device(site.index, fault.cured_by(Aspect::Buffers));
}

pub(super) fn watchdog(site: &Site<'_>, found: &mut Collector<'_>) {
    let pauses = site.port.pfc.get().is_some_and(|set| !set.is_empty());
    if !site.watchdog() || !pauses || !site.can_say(Topic::Watchdog) {
        return;
    }
    let watchdog = &site.port.watchdog;
    // A watchdog that looks at what is meant to pause is right where something else pauses.
    if watchdog.on.said() == Some(&false) && site.lossless() != site.port.pfc.get() {
        return;
    }
    if watchdog.on.get() != Some(true) {
        let fault = Fault::new(&rule::WATCHDOG, "no watchdog ends a pause that does not end")
            .at(watchdog.on.place().or(site.port.place))
            .cured_by(Aspect::Watchdog);
        found.port(site, fault);
    } else if watchdog.reaction.get() == Some(Reaction::Alert) {
        let fault = Fault::new(&rule::WATCHDOG_ALERT, "the watchdog only raises an alert")
            .at(watchdog.reaction.place())
            .cured_by(Aspect::Watchdog);
        found.port(site, fault);
    } else if let Some(detect) = watchdog.detect.get().filter(|detect| *detect >= SLOW) {
        let meant = site.intended.and_then(|port| port.watchdog.detect.get());
        if site.scene.intent.is_some() && meant.is_some_and(|meant| meant >= detect) {
            return;
        }
        let message = format!("the watchdog waits {detect} before it ends a pause");
        let fault = Fault::new(&rule::WATCHDOG_SLOW, message)
            .at(watchdog.detect.place())
            .cured_by(Aspect::Watchdog);
        found.port(site, fault);
    }
}

/// A share of the buffer that no box is run with: a priority group that may take all of it, or next to nothing.
fn share(site: &Site<'_>, found: &mut Collector<'_>, group: Group) {
    let own = &site.port.groups[group.index()].threshold;
    let Some(Threshold::Dynamic(alpha)) = own.get() else { return };
    let meant = site.meant.and_then(|m| m.groups[group.index()].threshold.get());
    let usual = alpha >= Ratio::new(1, 256) && alpha <= Ratio::new(16, 1);
    if usual || (site.scene.intent.is_some() && meant == own.get()) {
        return;
    }
    let message = format!("an alpha of {alpha} for the buffer of RDMA data");
    let fault = Fault::new(&rule::ALPHA_RANGE, message).at(own.place()).cured_by(Aspect::Buffers);
    found.port(site, fault);
}

/// A watchdog that waits so long lets a storm stop the fabric first.
const SLOW: Span = Span::from_ms(1000);

pub(super) fn mtu(site: &Site<'_>, found: &mut Collector<'_>) {
    let own = &site.port.mtu;
    let Some(mtu) = own.get() else { return };
    let needed = site.agreement().packet;
    if mtu < needed {
        let message = format!("an MTU of {} for RDMA packets of {}", mtu.get(), needed.get());
        let fault = Fault::new(&rule::MTU_SMALL, message).at(own.place()).cured_by(Aspect::Mtu);
        return found.port(site, fault);
    }
    let Some(meant) = site.meant.and_then(|m| m.mtu.get()) else { return };
    // Whether a system counts Ethernet's own bytes makes no difference to RoCE.
    if mtu.get().abs_diff(meant.get()) > packet::ETHERNET.get() {
        let message = format!("an MTU of {}; {}", mtu.get(), site.instead("mtu", meant.get()));
        found.port(
            site,
            Fault::new(&rule::MTU_DRIFT, message).at(own.place()).cured_by(Aspect::Mtu),
        );
    }
}
