//! Juniper Junos on QFX, with braces or as `set` commands.
//!
//! A port's classifier sorts DSCPs into forwarding classes, which have a queue and, if they are
//! lossless, the priority of their pauses. A congestion notification profile says for which code
//! points a port pauses and how long its cable is; headroom follows from that. Thresholds of marking
//! are shares of what a queue may hold. The times of the watchdog are the box's.
//!
//! Forwarding classes have names, and the model has numbers: `best-effort` is 0, `TC3` is 3, a class
//! with a pause has the number of its priority, and any other that of its queue.

mod groups;
mod inherit;
mod parse;
mod policy;
mod render;
mod resolve;

use crate::device::{Device, Port};
use crate::place::Said;
use crate::qos::{Levels, Reaction, Wred};
use crate::system::{Cage, Input, Rendered, System, SystemId};
use crate::text::fit;
use crate::text::profiles::one_alpha;
use std::sync::Arc;
use xoff_fabric::model::WatchdogAction;
use xoff_fabric::rules::buffer;
use xoff_units::{Bytes, Ratio, Span};

/// Exponents of the shares that `dynamic-threshold` 0 to 10 stands for.
const ALPHA: (i32, i32) = (-7, 3);

/// Juniper Junos, in one of its two forms.
pub(crate) enum Junos {
    /// With braces, as `show configuration` prints it.
    Braces,
    /// As commands, as `show configuration | display set` prints it.
    Commands,
}

impl System for Junos {
    fn id(&self) -> SystemId {
        match self {
            Junos::Braces => SystemId::Junos,
            Junos::Commands => SystemId::JunosSet,
        }
    }

    fn marks(&self) -> &'static [(&'static str, u32)] {
        match self {
            Junos::Braces => &[
                ("class-of-service {", 30),
                ("congestion-notification-profile {", 30),
                ("forwarding-classes {", 20),
                ("scheduler-maps {", 20),
                ("enhanced-hash-key {", 20),
                ("\nsystem {", 10),
                ("\ninterfaces {", 10),
            ],
            Junos::Commands => &[
                ("set class-of-service forwarding-classes ", 30),
                ("set class-of-service congestion-notification-profile ", 30),
                ("set class-of-service classifiers ", 20),
                ("set class-of-service scheduler-maps ", 20),
                ("set forwarding-options enhanced-hash-key", 20),
                ("set system host-name ", 10),
                ("set interfaces et-", 10),
            ],
        }
    }

    fn parse(&self, input: &Input<'_>) -> Device {
        parse::parse(input, self.id())
    }

    fn fit(&self, device: &Device, limits: &mut Vec<String>) -> Device {
        let mut device = device.clone();
        fit::mtu_at_most(&mut device, Bytes::new(9216), limits);
        let shared = device.shared_buffer.get();
        let (mut sized, mut clamped) = (false, false);
        for port in device.ports.values_mut() {
            sized |= fill_levels(port, shared);
            clamped |= watchdog_times(port);
            if port.pfc.get().is_none_or(|set| set.is_empty()) {
                port.cable = Said::Absent;
            }
            port.balancing = Said::Absent;
            Arc::make_mut(&mut port.maps).pause_by_class();
        }
        if sized {
            limits.push("marking thresholds are shares of what a queue may hold".to_owned());
        }
        if clamped {
            limits.push("times of the watchdog are cut to what boxes take".to_owned());
        }
        one_alpha(&mut device, ALPHA, limits);
        fit::own_buffers(&mut device);
        fit::hash_by_default(&mut device);
        device
    }

    fn render(&self, device: &Device) -> Vec<Rendered> {
        let tree = render::tree(device);
        let (end, text) = match self {
            Junos::Braces => ("conf", tree.as_braces()),
            Junos::Commands => ("set", tree.as_commands()),
        };
        Rendered::only(device, end, text)
    }

    fn port_name(&self, cage: Cage) -> String {
        match cage.links {
            1 => format!("et-0/0/{}", cage.cage),
            _ => format!("et-0/0/{}:{}", cage.cage, cage.link),
        }
    }
}

/// Polls of the watchdog that make a queue stuck, and milliseconds between them: around what boxes have
/// by default, since no document at hand says how far they go.
fn polls(detect: Span) -> (u64, u64) {
    let ms = fit::millis(detect, 200, 10_000);
    let poll = (ms / 2).clamp(100, 1_000);
    (poll, (ms / poll).clamp(2, 10))
}

/// Times of the watchdog that a box takes; true if others were wanted.
fn watchdog_times(port: &mut Port) -> bool {
    let watchdog = &mut port.watchdog;
    if watchdog.on.get() != Some(true) {
        *watchdog = crate::qos::WatchdogSettings { on: watchdog.on, ..Default::default() };
        return false;
    }
    let wanted = *watchdog;
    watchdog.detect = watchdog.detect.map(|detect| {
        let (poll, count) = polls(detect);
        Span::from_ms(poll * count)
    });
    watchdog.restore = watchdog.restore.map(|span| Span::from_ms(fit::millis(span, 200, 10_000)));
    watchdog.reaction = watchdog.reaction.map(|reaction| match reaction {
        Reaction::Act(_) => reaction,
        Reaction::Alert => Reaction::Act(WatchdogAction::Drop),
    });
    *watchdog != wanted
}

/// Thresholds as shares in whole percent; true if sizes had to become shares.
fn fill_levels(port: &mut Port, shared: Option<Bytes>) -> bool {
    let limits: [Option<Bytes>; 8] = std::array::from_fn(|queue| limit(port, queue, shared));
    let mut changed = false;
    for (queue, limit) in Arc::make_mut(&mut port.queues).iter_mut().zip(limits) {
        let Some(wred) = queue.wred.get() else { continue };
        let levels = match wred.levels {
            Levels::Fill { min, max, pmax } => Some((fit::percent(min), fit::percent(max), pmax)),
            Levels::Sizes(ecn) => limit.filter(|limit| !limit.is_zero()).map(|limit| {
                changed = true;
                let share = |size: Bytes| fit::percent(Ratio::new(size.get(), limit.get()));
                (share(ecn.kmin), share(ecn.kmax), ecn.pmax)
            }),
            Levels::Counts { .. } => None,
        };
        queue.wred = match levels {
            Some((min, max, pmax)) => {
                let min = min.min(99);
                let max = max.max(min + 1);
                assert!(max <= 100, "a fill level of {max} percent");
                let fill = Levels::Fill {
                    min: Ratio::new(min, 100),
                    max: Ratio::new(max, 100),
                    pmax: Ratio::new(fit::percent(pmax), 100),
                };
                queue.wred.map(|wred| Wred { levels: fill, ..wred })
            }
            None => Said::Absent,
        };
    }
    changed
}

/// What a queue may hold: the point at which the buffer of its class pauses, with one port
/// congested, or all of the shared buffer.
fn limit(port: &Port, queue: usize, shared: Option<Bytes>) -> Option<Bytes> {
    let maps = &port.maps;
    let of_queue =
        |class: &usize| maps.class_to_queue[*class].get().map(|q| q.index()) == Some(queue);
    let class = (0..8).find(of_queue).unwrap_or(queue);
    let group = maps.class_to_group[class].get().map_or(class, |group| group.index());
    let settings = &port.groups[group];
    let Some(threshold) = settings.threshold.get() else { return shared };
    let reserved = settings.reserved.get().unwrap_or(Bytes::ZERO);
    Some(reserved + buffer::xoff(threshold, shared.unwrap_or(Bytes::ZERO), 1))
}

#[cfg(test)]
mod tests;
