//! [`Crowd`]: who uses which link, and how much of it.

use super::state::MemberId;
use crate::fluid::call::{Pull, Whole};
use crate::fluid::shares::LinkId;

#[derive(Debug, Default)]
struct OnLink {
    /// Of all its members together.
    pull: Pull,
    members: Vec<MemberId>,
}

/// All links that are in use.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    links: Vec<OnLink>,
}

impl Crowd {
    pub(super) fn enter(&mut self, id: MemberId, whole: &Whole) {
        for (link, pull) in whole.pulls() {
            let place = link.0 as usize;
            if self.links.len() <= place {
                self.links.resize_with(place + 1, OnLink::default);
            }
            let on = &mut self.links[place];
            on.pull.rate += pull.rate;
            on.pull.burst += pull.burst;
            on.members.push(id);
        }
    }

    pub(super) fn leave(&mut self, id: MemberId, whole: &Whole) {
        for (link, pull) in whole.pulls() {
            let on = &mut self.links[link.0 as usize];
            on.pull.rate -= pull.rate;
            on.pull.burst -= pull.burst;
            on.members.retain(|member| *member != id);
            if on.members.is_empty() {
                // Differences of many numbers are not exactly zero.
                on.pull = Pull::default();
            }
        }
    }

    /// Those who share a link that they crowd; nobody if they do not.
    pub(super) fn on(&self, link: LinkId, capacity: f64) -> &[MemberId] {
        match self.links.get(link.0 as usize) {
            Some(on) if on.members.len() > 1 && on.pull.crowds(capacity) => &on.members,
            _ => &[],
        }
    }
}
