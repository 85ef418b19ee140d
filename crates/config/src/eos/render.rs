//! Writing EOS configuration.

use crate::device::{Balancing, Device, Port};
use crate::number::{Class, Priorities};
use crate::place::Said;
use crate::qos::{Levels, Maps, QueueSettings, Reaction, Trust, WatchdogSettings};
use crate::text::fit;
use crate::text::notes::{as_seconds, sized};
use crate::text::ports::description;
use crate::text::profiles::{Names, joined, leads_to, number_of, said_queues};
use std::fmt::Write;
use xoff_fabric::model::{Scheduling, Threshold};

/// What a `qos profile` says.
#[derive(Clone, PartialEq)]
pub(crate) struct Profile {
    pub(crate) trust: Option<Trust>,
    pub(crate) pfc: Option<Priorities>,
    pub(crate) watchdog: WatchdogSettings,
    pub(crate) queues: [QueueSettings; 8],
}

impl Profile {
    pub(crate) fn of(port: &Port) -> Self {
        Self {
            trust: port.trust.said().copied(),
            pfc: port.pfc.said().copied().filter(|set| !set.is_empty()),
            watchdog: port.watchdog,
            queues: *port.queues,
        }
    }

    pub(crate) fn says_anything(&self) -> bool {
        self.trust.is_some()
            || self.pfc.is_some()
            || self.watchdog.on.said() == Some(&true)
            || self.queues.iter().any(QueueSettings::is_said)
    }
}

pub(super) fn render(device: &Device) -> String {
    let mut text =
        format!("! RoCE configuration of {} for Arista EOS, to be merged\n", device.name);
    buffers(&mut text, device);
    let names = Names::of(device.part, "-");
    let mut profiles = Vec::new();
    let mut ports = String::new();
    for (name, port) in &device.ports {
        let profile = Profile::of(port);
        let number = profile.says_anything().then(|| number_of(&mut profiles, &profile));
        if number.is_none() && !port.mtu.is_said() {
            continue;
        }
        if let Some(peer) = leads_to(port) {
            let _ = writeln!(ports, "! to {peer}");
        }
        let _ = writeln!(ports, "interface {name}");
        if let Some(text) = description(port).filter(|_| !device.part.is_partial()) {
            let _ = writeln!(ports, "   description {text}");
        }
        if let Some(mtu) = port.mtu.said() {
            let _ = writeln!(ports, "   mtu {}", mtu.get());
        }
        if let Some(number) = number {
            let _ = writeln!(ports, "   service-profile {}", names.name(number));
        }
        ports += "!\n";
    }
    for (number, profile) in profiles.iter().enumerate() {
        write_profile(&mut text, &names.name(number), profile);
    }
    // Profiles first: an interface cannot refer to what is not there.
    text += &ports;
    maps(&mut text, device);
    if device.balancing.said().is_some_and(|balancing| *balancing != Balancing::Hash) {
        text += "! flows move to the less loaded of equal paths\n";
        text += "ip hardware fib load-balance distribution dynamic\n!\n";
    }
    text
}

fn buffers(text: &mut String, device: &Device) {
    let groups = device.ports.values().next().map(|port| &port.groups);
    let mut lines = String::new();
    for (number, group) in groups.into_iter().flat_map(|groups| groups.iter().enumerate()) {
        if let Some(reserved) = group.reserved.said() {
            let _ = writeln!(
                lines,
                "   ingress priority-group {number} reserved bytes {}",
                reserved.get()
            );
        }
        if let Some(Threshold::Dynamic(alpha)) = group.threshold.said() {
            let share = match alpha.denominator() {
                1 => alpha.numerator().to_string(),
                below => format!("{}/{below}", alpha.numerator()),
            };
            let _ = writeln!(lines, "   ingress priority-group {number} threshold {share}");
        }
    }
    if !lines.is_empty() {
        *text += "! reservation and dynamic threshold (alpha) of the lossless priority groups\n";
        let _ = write!(text, "platform trident mmu queue profile ROCE\n{lines}!\n");
        *text += "platform trident mmu queue profile ROCE apply\n!\n";
    }
    if let Some(pool) = device.headroom_pool.said() {
        *text += "! headroom of all ports for what arrives after a pause\n";
        let _ = writeln!(text, "platform trident mmu headroom-pool limit bytes {}\n!", pool.get());
    }
}

fn write_profile(text: &mut String, name: &str, profile: &Profile) {
    let _ = writeln!(text, "qos profile {name}");
    if let Some(trust) = profile.trust {
        let word = if trust.reads_dscp() { "dscp" } else { "cos" };
        let _ = writeln!(text, "   qos trust {word}");
    }
    if let Some(priorities) = profile.pfc {
        *text += "   priority-flow-control on\n";
        for priority in priorities.iter() {
            let _ = writeln!(text, "   priority-flow-control priority {priority} no-drop");
        }
    }
    watchdog(text, &profile.watchdog);
    for (number, queue) in said_queues(&profile.queues) {
        write_queue(text, number, queue);
    }
    *text += "!\n";
}

fn watchdog(text: &mut String, watchdog: &WatchdogSettings) {
    if watchdog.on.said() != Some(&true) {
        return;
    }
    *text += "   priority-flow-control pause watchdog\n";
    let (low, high) = super::WATCHDOG_MS;
    let ms = |span| fit::millis(span, low, high);
    if let (Some(detect), Some(restore)) = (watchdog.detect.get(), watchdog.restore.get()) {
        let detect = ms(detect);
        // Polled twice within the time that makes a queue stuck.
        let poll = (detect / 2).max(5);
        let _ = writeln!(
            text,
            "   priority-flow-control pause watchdog port timer timeout {} polling-interval {} \
             recovery-time {} forced",
            as_seconds(detect),
            as_seconds(poll),
            as_seconds(ms(restore))
        );
    }
    if let Some(reaction) = watchdog.reaction.get() {
        let word = if reaction == Reaction::Alert { "notify-only" } else { "drop" };
        let _ = writeln!(text, "   priority-flow-control pause watchdog port action {word}");
    }
}

fn write_queue(text: &mut String, number: usize, queue: &QueueSettings) {
    let _ = writeln!(text, "   !\n   uc-tx-queue {number}");
    match queue.scheduling.said() {
        Some(Scheduling::Strict) => *text += "      priority strict\n",
        Some(Scheduling::Weighted(share)) => {
            let _ = writeln!(text, "      no priority\n      bandwidth percent {share}");
        }
        None => {}
    }
    let Some(wred) = queue.wred.said() else { return };
    let Levels::Sizes(ecn) = wred.levels else { return };
    let (verb, probability) =
        if wred.marks { ("ecn", "max-mark-probability") } else { ("drop", "drop-probability") };
    let _ = writeln!(
        text,
        "      random-detect {verb} minimum-threshold {} maximum-threshold {} {probability} {} \
         weight 0",
        sized(ecn.kmin),
        sized(ecn.kmax),
        fit::percent(ecn.pmax)
    );
}

/// The maps are the box's: those of the first port that has any.
fn maps(text: &mut String, device: &Device) {
    let said = |maps: &Maps| {
        maps.dscp_to_class.iter().any(Said::is_said)
            || maps.class_to_queue.iter().any(Said::is_said)
    };
    let Some(maps) = device.ports.values().map(|port| &port.maps).find(|maps| said(maps)) else {
        return;
    };
    for class in Class::all() {
        let dscps = joined(maps.dscps_of(class), " ");
        if !dscps.is_empty() {
            let _ = writeln!(text, "qos map dscp {dscps} to traffic-class {class}");
        }
    }
    for (class, queue) in Class::all().zip(&maps.class_to_queue) {
        if let Some(queue) = queue.said() {
            let _ = writeln!(text, "qos map traffic-class {class} to tx-queue {queue}");
        }
    }
    *text += "!\n";
}
