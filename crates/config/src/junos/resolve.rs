//! From names of forwarding classes to the model's numbers: what a port's classifier and pauses mean.

use super::parse::Bound;
use super::policy::{Pausing, Policies};
use crate::number::{Class, Group, Priorities, Priority, Queue};
use crate::place::{Place, Said};
use crate::qos::{Maps, Trust};
use std::collections::BTreeMap;

/// Classes by name, with their numbers.
pub(super) struct Resolved<'p> {
    policies: &'p Policies,
    numbers: BTreeMap<&'p str, Class>,
}

impl<'p> Resolved<'p> {
    pub(super) fn new(policies: &'p Policies, numbers: BTreeMap<&'p str, Class>) -> Self {
        Self { policies, numbers }
    }

    /// What a port trusts, and where its packets go.
    pub(super) fn maps(&self, bound: &Bound) -> (Said<Trust>, Maps) {
        let mut maps = Maps::default();
        if let Some((class, place)) = &bound.fixed
            && let Some(number) = self.numbers.get(class.as_str())
        {
            maps.dscp_to_class = [Said::At(*number, *place); 64];
        }
        let list = bound.classifier.as_ref();
        let list =
            list.and_then(|(name, place)| Some((self.policies.classifiers.get(name)?, place)));
        for (dscp, class, place) in list.into_iter().flat_map(|(list, _)| list) {
            let number = match self.numbers.get(class.as_str()) {
                Some(number) => Some(*number),
                None if class == "best-effort" => Class::new(0),
                None => None,
            };
            if let Some(number) = number {
                maps.dscp_to_class[dscp.index()] = Said::At(number, *place);
            }
        }
        maps.unmatched_in_class_0();
        for (name, number) in &self.numbers {
            if let Some(class) = self.policies.classes.get(*name) {
                maps.class_to_queue[number.index()] = class.queue;
            }
        }
        maps.pause_by_class();
        for (name, number) in &self.numbers {
            let class = self.policies.classes.get(*name);
            let Some((class, priority)) = class.and_then(|c| Some((c, c.pause.get()?))) else {
                continue;
            };
            let place = class.pause.place().unwrap_or(Place::INTENT);
            if let Some(group) = Group::new(number.get()) {
                maps.pfc_to_group[priority.index()] = Said::At(group, place);
            }
            let queue: Said<Queue> = maps.class_to_queue[number.index()];
            if let Some(queue) = queue.get() {
                maps.pfc_to_queue[priority.index()] = Said::Default(queue);
            }
        }
        let trust = match (list, bound.vlan, &bound.fixed) {
            (Some((_, place)), ..) => Said::At(Trust::Dscp, *place),
            (None, Some(place), _) => Said::At(Trust::Pcp, place),
            (None, None, Some((_, place))) => Said::At(Trust::Nothing, *place),
            (None, None, None) => Said::Default(Trust::Nothing),
        };
        (trust, maps)
    }

    /// The priorities a profile pauses: those of the classes that its code points are in.
    pub(super) fn pauses(&self, profile: &Pausing, maps: &Maps, bound: Place) -> Said<Priorities> {
        let of_class = |number: Class| {
            let named = self.numbers.iter().find(|(_, other)| **other == number)?;
            self.policies.classes.get(*named.0)?.pause.get()
        };
        // A class that may lose is not made lossless by a pause.
        let may_lose = |priority: Priority| {
            let mut own =
                self.policies.classes.values().filter(|c| c.pause.get() == Some(priority));
            own.next().is_some_and(|first| !first.lossless && own.all(|other| !other.lossless))
        };
        let mut set = Priorities::NONE;
        let mut first = None;
        for (dscp, place) in &profile.dscps {
            let class = maps.dscp_to_class[dscp.index()].get();
            if let Some(priority) = class.and_then(of_class).filter(|p| !may_lose(*p)) {
                set = set.with(priority);
                first = first.or(Some(*place));
            }
        }
        for (priority, place) in profile.priorities.iter().filter(|(p, _)| !may_lose(*p)) {
            set = set.with(*priority);
            first = first.or(Some(*place));
        }
        Said::At(set, first.unwrap_or(bound))
    }
}
