//! What profiles and modes come to at every port, with what the box does where nothing is said.

use super::{Bound, GLOBAL, Parser, Pausing, Profiles};
use crate::cumulus::buffers::Buffers;
use crate::cumulus::{
    USUAL_CABLE, USUAL_MARKING, USUAL_MTU, USUAL_POLL_MS, USUAL_ROBUSTNESS, roce,
};
use crate::device::{Balancing, Device, Port, Remark, RemarkKind};
use crate::number::{Class, Dscp, Priorities, Queue};
use crate::place::Said;
use crate::qos::{GroupSettings, Maps, QueueSettings, Reaction, Trust};
use crate::text::notes::share;
use crate::text::profiles::lossless;
use xoff_fabric::model::{Scheduling, WatchdogAction};
use xoff_units::{Bytes, Span};

impl Parser {
    pub(super) fn finish(mut self) -> Device {
        self.device.balancing = self.device.balancing.or_default(Balancing::Hash);
        self.device.tunnels = self.vxlan.settled();
        if self.roce_off {
            self.roce = None;
        }
        let poll = self.poll.get().unwrap_or(USUAL_POLL_MS);
        let robustness = self.robustness.get().unwrap_or(USUAL_ROBUSTNESS);
        let detect = Span::from_ms(poll * robustness);
        let detect = match self.poll.place().or(self.robustness.place()) {
            Some(place) => Said::At(detect, place),
            None => Said::Default(detect),
        };
        let names: Vec<String> = self.device.ports.keys().map(ToString::to_string).collect();
        let (mut maps_known, mut queues_known) = (Vec::new(), Vec::new());
        let mut groups_known = Vec::new();
        for name in names {
            let bound = self.bound.remove(&name).unwrap_or_default();
            self.undefined(&bound);
            let (trust, maps) = self.maps(&bound);
            let queues = self.queues(&bound);
            let pausing = self.pausing_of(&bound);
            let tunnelled = self.vxlan.carries(&name);
            let port = self.device.port(&name);
            port.tunnelled = Said::Default(tunnelled);
            port.trust = trust;
            port.maps = share(&mut maps_known, maps);
            port.queues = share(&mut queues_known, queues);
            port.pfc = pausing.priorities.or_default(Priorities::NONE);
            if port.pfc.get().is_some_and(|set| !set.is_empty()) {
                port.cable = pausing.cable.or_default(USUAL_CABLE);
            }
            port.mtu = port.mtu.or_default(USUAL_MTU);
            let groups = groups(port, &self.buffers, self.roce.is_some());
            port.groups = share(&mut groups_known, groups);
            port.watchdog.on = port.watchdog.on.or_default(false);
            if port.watchdog.on.get() == Some(true) {
                port.watchdog.detect = detect;
                port.watchdog.reaction = Said::Default(Reaction::Act(WatchdogAction::Drop));
            }
            port.balancing = port.balancing.or_default(false);
        }
        self.device.own = self.buffers.shares;
        self.device.remarks = self.notes.remarks;
        self.device
    }

    /// Remarks profiles that are bound and not defined: the box refuses them.
    fn undefined(&mut self, bound: &Bound) {
        let lines = [
            missing(&self.mapping, &bound.mapping),
            missing(&self.scheduler, &bound.scheduler),
            missing(&self.congestion, &bound.congestion),
            missing(&self.pfc, &bound.pfc),
        ];
        for line in lines.into_iter().flatten() {
            // One line may bind many ports.
            let remark = Remark { place: self.notes.line(line), kind: RemarkKind::Undefined };
            if !self.notes.remarks.contains(&remark) {
                self.notes.remarks.push(remark);
            }
        }
    }

    fn maps(&self, bound: &Bound) -> (Said<Trust>, Maps) {
        let mut maps = Maps::default();
        let mapping = pick(&self.mapping, &bound.mapping);
        // The mode of RoCE stands for the profile for all: a profile of its own says everything itself.
        let mode = self.roce.filter(|_| is_global(&bound.mapping));
        let mut trust = Said::Default(if mode.is_some() { Trust::Both } else { Trust::Pcp });
        if let Some(mapping) = mapping {
            if mapping.trust.is_said() {
                trust = mapping.trust;
            }
            maps.dscp_to_class = mapping.classes;
        }
        maps.class_to_queue = self.queue_mapping;
        if let Some((mode, place)) = self.roce {
            mode.fill_queues(place, &mut maps);
        }
        if let Some((mode, place)) = mode {
            mode.fill_classes(place, &mut maps);
        }
        for dscp in Dscp::all() {
            if let Some(class) = Class::new(dscp.get() >> 3) {
                let entry = &mut maps.dscp_to_class[dscp.index()];
                *entry = entry.or_default(class);
            }
        }
        for (number, entry) in (0u8..).zip(&mut maps.class_to_queue) {
            if let Some(queue) = Queue::new(number) {
                *entry = entry.or_default(queue);
            }
        }
        maps.pause_by_class();
        (trust, maps)
    }

    fn queues(&self, bound: &Bound) -> [QueueSettings; 8] {
        let mut queues = [QueueSettings::default(); 8];
        let congestion = pick(&self.congestion, &bound.congestion);
        match self.roce {
            Some((mode, place)) => {
                queues = mode.queues(place);
                for queue in &mut queues {
                    if !is_global(&bound.scheduler) {
                        queue.scheduling = Said::Absent;
                    }
                    if !is_global(&bound.congestion) {
                        queue.wred = Said::Absent;
                    }
                }
            }
            // The profile for all marks queue 0 until it says something else.
            None if bound.congestion.is_none() && congestion.is_none() => {
                queues[0].wred = Said::Default(USUAL_MARKING);
            }
            None => {}
        }
        if let Some(turns) = pick(&self.scheduler, &bound.scheduler) {
            for (queue, (strict, share)) in queues.iter_mut().zip(turns) {
                queue.scheduling = match (*strict, *share) {
                    (Said::At(true, place), _) => Said::At(Scheduling::Strict, place),
                    (_, Said::At(share, place)) => Said::At(Scheduling::Weighted(share), place),
                    _ => queue.scheduling,
                };
            }
        }
        if let Some(markings) = congestion {
            for (queue, marking) in queues.iter_mut().zip(markings) {
                if let Some(said) = marking.settle() {
                    queue.wred = said;
                }
            }
        }
        queues
    }

    fn pausing_of(&self, bound: &Bound) -> Pausing {
        let mut pausing = pick(&self.pfc, &bound.pfc).copied().unwrap_or_default();
        if pausing.off {
            pausing.priorities = pausing.priorities.map(|_| Priorities::NONE);
        }
        let mode = self.roce.filter(|_| is_global(&bound.pfc));
        if let (Some((mode, place)), Said::Absent) = (mode, pausing.priorities)
            && let Some(priorities) = mode.pauses()
        {
            pausing.priorities = Said::At(priorities, place);
            if let Said::Absent = pausing.cable {
                pausing.cable = self.roce_cable.or_default(roce::USUAL_CABLE);
            }
        }
        pausing
    }
}

/// Groups that pause: their threshold is the box's. Without a lossless pool they have no headroom.
fn groups(port: &Port, buffers: &Buffers, roce: bool) -> [GroupSettings; 8] {
    let mut groups = [GroupSettings::default(); 8];
    for group in lossless(port) {
        groups[group].threshold = buffers.threshold;
        if let (false, false, Some(place)) = (roce, buffers.has_lossless(), port.pfc.place()) {
            groups[group].headroom = Said::At(Bytes::ZERO, place);
        }
    }
    groups
}

/// The profile a port is bound to, or the one for all.
fn pick<'a, T>(profiles: &'a Profiles<T>, bound: &Option<(String, u32)>) -> Option<&'a T> {
    match bound {
        Some((name, _)) => profiles.get(name),
        None => profiles.get(GLOBAL),
    }
}

/// Whether the profile for all holds.
fn is_global(bound: &Option<(String, u32)>) -> bool {
    bound.as_ref().is_none_or(|(name, _)| name == GLOBAL)
}

/// The line that binds a profile which is not defined. The one for all is there by itself.
fn missing<T>(profiles: &Profiles<T>, bound: &Option<(String, u32)>) -> Option<u32> {
    let (name, line) = bound.as_ref()?;
    (name != GLOBAL && !profiles.contains_key(name)).then_some(*line)
}
