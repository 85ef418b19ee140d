//! PFC and ECN settings that are wrong at a port, or change while the run goes on.

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::fault::change::ActiveSetting;
use crate::id::Slot;
use crate::switch::buffer::Profile;

impl<Q: EventQueue> Engine<'_, Q> {
    /// A setting comes into force, or goes out of it.
    pub(crate) fn change_setting(&mut self, active: ActiveSetting, begins: bool) {
        if !self.net.credits.is_empty() {
            // PFC and ECN do nothing there.
            return;
        }
        let (ports, class) = (active.ports.clone(), active.class);
        if begins {
            self.faults.settings.push(active);
        } else {
            self.faults.settings.retain(|other| other.number != active.number);
        }
        for &port in ports.iter() {
            self.set_rules(Slot::new(port, class));
        }
    }

    /// Gives a port and class the rules of the fabric with all that is set besides.
    pub(crate) fn set_rules(&mut self, slot: Slot) {
        let (port, class) = (slot.port(), slot.class().index());
        let mut rules = self.fabric.ports[port.index()].classes[class];
        if let Some(level) = self.net.adaptation.level(slot) {
            rules.ecn = rules.ecn.map(|ecn| level.applied(ecn));
        }
        let mut lossless = rules.lossless;
        let own =
            |other: &&ActiveSetting| other.class.index() == class && other.ports.contains(&port);
        for active in self.faults.settings.iter().filter(own) {
            rules = active.setting.applied(&rules);
            lossless = lossless && active.setting.pfc.unwrap_or(true);
        }
        let profile = Profile::new(&rules, lossless);
        let here = &mut self.net.ports[port];
        let calm = &mut self.net.switches[here.switch()].shared.calm;
        *calm = (*calm).max(profile.calm());
        let known = self.net.profiles.iter().position(|other| *other == profile);
        let index = known.unwrap_or(self.net.profiles.len());
        if known.is_none() {
            self.net.profiles.push(profile);
        }
        let lane = here.lane(slot.class());
        lane.profile = index as u32;
        lane.kmin = if self.fabric.marking.at_enqueue { u32::MAX } else { profile.kmin };
        self.set_obedience(slot, lossless);
    }

    /// A port where PFC is off for a class neither asks for pauses nor obeys them.
    fn set_obedience(&mut self, slot: Slot, lossless: bool) {
        let protected = self.net.links.protected() & slot.bit() != 0;
        let deaf = &mut self.net.links[slot.port()].deaf;
        if lossless || !protected {
            *deaf &= !slot.bit();
            return;
        }
        *deaf |= slot.bit();
        if self.net.ports[slot.port()].xoff & slot.bit() != 0 {
            self.ask_resume(slot);
        }
        if self.resume_class(slot) {
            self.kick(slot.port());
        }
    }
}
