//! The faults of a scenario against its fabric.

use super::scenario::Check;
use crate::document::{Step, keys};
use crate::model::{CLASSES, CableId, PortId};
use crate::scenario::{
    Degraded, Fault, LinkChoice, Miscabling, RouteChange, ServerDown, Setting, SwitchDown,
};
use xoff_units::{Ratio, Span};

/// A link that flaps more often makes a run that never ends.
const MOST_FLAPS: u32 = 10_000;

/// The slowest rate at which times still fit the clock.
const SLOWEST: xoff_units::Rate = xoff_units::Rate::from_bps(1_000_000);

impl Check<'_, '_, '_> {
    pub(super) fn fault(&mut self, index: usize, fault: &Fault) {
        let at = |key: &'static str| [Step::Key("fault"), Step::Index(index), Step::Key(key)];
        match fault {
            Fault::PauseStorm { nic, .. } => self.nic(&at("nic"), nic),
            Fault::SlowReceiver { nic, rate, .. } => {
                self.nic(&at("nic"), nic);
                if rate.bps() == 0 {
                    let help = "use kind `pause-storm` for a NIC that takes nothing";
                    self.impossible(&at("rate"), "a receiver of rate zero", help);
                }
            }
            Fault::LinkDown(fault) => {
                self.links(index, &fault.links);
            }
            Fault::LinkFlap(fault) => {
                self.links(index, &fault.links);
                self.flap(index, fault.period, fault.duty, fault.times);
            }
            Fault::LinkDegraded(fault) => {
                let cables = self.links(index, &fault.links);
                self.degraded(index, &fault.degraded, &cables);
            }
            Fault::SwitchDown(fault) => self.switch_down(index, fault),
            Fault::ServerDown(fault) => self.server_down(index, fault),
            Fault::RouteChange(fault) => self.route_change(index, fault),
            Fault::Setting(setting) => self.setting(index, setting),
            Fault::Miscabling(fault) => self.miscabling(index, fault),
        }
    }

    /// The links that may be meant.
    fn links(&mut self, index: usize, choice: &LinkChoice) -> Vec<CableId> {
        let candidates = choice.candidates(self.fabric);
        let named = choice.link.as_deref();
        let what =
            Choice { name: "link", plural: "links", like: "leaf1 spine2", most: candidates.len() };
        if !self.named_or_counted(index, &what, named, choice.count) {
            return Vec::new();
        }
        let Some(link) = named else { return candidates };
        match self.names.cable(link, choice.index) {
            Ok(cable) => vec![cable],
            Err(error) => {
                let parallel = self.names.cables(link).is_ok();
                let key = if parallel { "index" } else { "link" };
                self.name(keys!["fault", index, key], Some(error));
                Vec::new()
            }
        }
    }

    /// Whether exactly one of name and number is given, and the number can be.
    fn named_or_counted(
        &mut self,
        index: usize,
        what: &Choice,
        named: Option<&str>,
        count: Option<u32>,
    ) -> bool {
        let Choice { name, plural, like, most } = what;
        let (path, message, help) = match (named, count) {
            (Some(_), None) => return true,
            (None, Some(count)) if (1..=*most).contains(&(count as usize)) => return true,
            (Some(_), Some(_)) => (
                keys!["fault", index, "count"].to_vec(),
                format!("`{name}` and `count` both say which"),
                format!("keep `{name}`, or `count` for random ones"),
            ),
            (None, None) => (
                keys!["fault", index].to_vec(),
                format!("it does not say which {name}"),
                format!("give `{name} = \"{like}\"`, or `count = 1` for a random one"),
            ),
            (None, Some(count)) => (
                keys!["fault", index, "count"].to_vec(),
                format!("{plural} to draw: {count}"),
                format!("there are {most} to draw from, and at least one is needed"),
            ),
        };
        self.impossible(&path, message, &help);
        false
    }

    fn flap(&mut self, index: usize, period: Span, duty: Ratio, times: u32) {
        if period < Span::from_ns(2) {
            let message = format!("a link cannot go down every {period}");
            self.impossible(keys!["fault", index, "period"], message, "a period of 10ms is usual");
        }
        if duty.is_zero() || duty >= Ratio::ONE {
            let message = format!("a link that is down for {duty} of the time does not flap");
            let help = "give a share between 0 and 1, or use kind `link-down`";
            self.impossible(keys!["fault", index, "duty"], message, help);
        }
        if times == 0 || times > MOST_FLAPS {
            let message = format!("a link that goes down {times} times");
            self.impossible(keys!["fault", index, "times"], message, "give 1 to 10,000");
        }
    }

    fn degraded(&mut self, index: usize, fault: &Degraded, cables: &[CableId]) {
        if let Some(rate) = fault.rate {
            let least = cables.iter().map(|cable| self.fabric.cables[cable.index()].rate).min();
            let most = least.unwrap_or(rate);
            if rate > most || rate < SLOWEST {
                let message = format!("a link of {most} that is degraded to {rate}");
                let help = "give a lower rate than its own, 1Mbps or more";
                self.impossible(keys!["fault", index, "rate"], message, help);
            }
        }
        for (key, share) in [("bit-error-rate", fault.bit_error_rate), ("loss", fault.loss)] {
            if share > Ratio::ONE {
                let message = format!("`{key}` of {share} is more than everything");
                let help = "a share lies between 0 and 1, like 1e-5";
                self.impossible(keys!["fault", index, key], message, help);
            }
        }
        if *fault == Degraded::default() {
            let help = "give `rate`, `bit-error-rate` or `loss`";
            self.impossible(keys!["fault", index], "it does not say what is wrong", help);
        }
    }

    fn switch_down(&mut self, index: usize, fault: &SwitchDown) {
        if let Some(drain) = fault.drain.filter(|drain| *drain > fault.at) {
            let message = format!("a drain of {drain} would begin before the run does");
            let help = "let the switch go down later (`at`), or drain it for a shorter time";
            self.impossible(keys!["fault", index, "drain"], message, help);
        }
        let tier = fault.tier.map(|word| word.tier());
        let switches = self.fabric.switches.iter();
        let most = switches.filter(|s| tier.is_none_or(|tier| s.tier == tier)).count();
        let what = Choice { name: "switch", plural: "switches", like: "spine0", most };
        let named = fault.switch.as_deref();
        if self.named_or_counted(index, &what, named, fault.count)
            && let Some(name) = named
        {
            let error = self.names.switch(name).err();
            self.name(keys!["fault", index, "switch"], error);
        }
    }

    fn server_down(&mut self, index: usize, fault: &ServerDown) {
        let most = self.fabric.servers.len();
        let what = Choice { name: "server", plural: "servers", like: "server0", most };
        let named = fault.server.as_deref();
        if self.named_or_counted(index, &what, named, fault.count)
            && let Some(name) = named
        {
            let error = self.names.server(name).err();
            self.name(keys!["fault", index, "server"], error);
        }
    }

    fn route_change(&mut self, index: usize, fault: &RouteChange) {
        if let Err(error) = self.names.switch(&fault.switch) {
            return self.name(keys!["fault", index, "switch"], Some(error));
        }
        if let Some(to) = &fault.to {
            self.nic(keys!["fault", index, "to"], to);
        }
        let error = self.names.cables(&format!("{} {}", fault.switch, fault.via)).err();
        self.name(keys!["fault", index, "via"], error);
    }

    fn setting(&mut self, index: usize, setting: &Setting) {
        let class = setting.class.unwrap_or(self.fabric.data_class.0);
        self.class(keys!["fault", index, "class"], Some(class));
        let ports = self.setting_ports(index, setting);
        if usize::from(class) >= CLASSES {
            return;
        }
        if setting.alpha.is_some_and(Ratio::is_zero) {
            let message = "with alpha 0 every packet pauses the sender";
            self.impossible(keys!["fault", index, "alpha"], message, "1/8 is usual");
        }
        if setting.pmax.is_some_and(|p| p > Ratio::ONE) {
            let help = "pmax lies between 0 and 1, like 0.2 or \"20%\"";
            self.impossible(keys!["fault", index, "pmax"], "a probability above 1", help);
        }
        if setting.pfc.is_none() && setting.alpha.is_none() && !setting.marks() {
            let help = "give `pfc`, `alpha`, `kmin`, `kmax` or `pmax`";
            self.impossible(keys!["fault", index], "it sets nothing", help);
        }
        let rules = ports.iter().map(|port| &self.fabric.ports[port.index()].classes);
        let mut after =
            rules.filter_map(|classes| setting.applied(&classes[usize::from(class)]).ecn);
        if let Some(ecn) = after.find(|ecn| ecn.kmin > ecn.kmax) {
            let key = if setting.kmin.is_some() { "kmin" } else { "kmax" };
            let message = format!(
                "marking would start at {} (kmin) and be certain at {}",
                ecn.kmin, ecn.kmax
            );
            self.impossible(keys!["fault", index, key], message, "give both `kmin` and `kmax`");
        }
    }

    fn setting_ports(&mut self, index: usize, setting: &Setting) -> Vec<PortId> {
        match (&setting.switch, &setting.port) {
            (Some(_), Some(_)) | (None, None) => {
                let message = "either a switch or one of its ports is needed";
                let help = "give `switch = \"leaf1\"` or `port = \"leaf1 spine2\"`";
                self.impossible(keys!["fault", index], message, help);
                Vec::new()
            }
            (Some(_), None) | (None, Some(_)) => match self.names.setting_ports(setting) {
                Ok(ports) => ports,
                Err(error) => {
                    let key = if setting.switch.is_some() { "switch" } else { "port" };
                    self.name(keys!["fault", index, key], Some(error));
                    Vec::new()
                }
            },
        }
    }

    fn miscabling(&mut self, index: usize, fault: &Miscabling) {
        let path = [Step::Key("fault"), Step::Index(index), Step::Key("links")];
        let mut found = Vec::new();
        for (position, link) in fault.links.iter().enumerate() {
            match self.names.cable_ends(link) {
                Ok(ends) => found.push(ends),
                Err(error) => {
                    let path = [&path[..], &[Step::Index(position)]].concat();
                    self.name(&path, Some(error));
                }
            }
        }
        if let [a, b] = found[..]
            && let Err(reason) = self.fabric.can_swap(a, b)
        {
            self.impossible(&path, reason, "name two links of equal rate between other nodes");
        }
    }
}

/// What can be named or drawn.
struct Choice {
    name: &'static str,
    plural: &'static str,
    like: &'static str,
    most: usize,
}

#[cfg(test)]
mod tests;
