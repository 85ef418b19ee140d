//! Whether the silicon has the ports that a wiring asks for.

use super::wiring::{End, Wiring};
use crate::catalogue::{Catalogue, Silicon};
use crate::diagnostic::code;
use crate::document::{Report, Step};
use crate::model::{Fabric, PortId, Tier};
use std::collections::BTreeMap;
use xoff_units::Rate;

/// Links of one rate on a switch.
pub(crate) type PortUse = BTreeMap<Rate, u64>;

/// Full-rate ports that these links take; `None` if a link is too fast for the silicon.
pub(crate) fn ports_needed(silicon: &Silicon, used: &PortUse) -> Option<u64> {
    let mut needed = 0;
    for (rate, count) in used {
        let split = silicon.split(*rate);
        if split == 0 {
            return None;
        }
        needed += count.div_ceil(u64::from(split));
    }
    Some(needed)
}

/// Whether these links fit.
pub(super) fn fits(silicon: &Silicon, links: &[(Rate, u64)]) -> bool {
    let mut used = PortUse::new();
    for (rate, count) in links {
        *used.entry(*rate).or_default() += count;
    }
    let total: u64 = used.values().sum();
    total <= u64::from(silicon.max_ports)
        && ports_needed(silicon, &used).is_some_and(|needed| needed <= u64::from(silicon.ports))
}

/// The smallest InfiniBand silicon on which the wiring of a fabric could run as it is; nothing if a
/// link is too fast for all of it, or a switch has too many.
pub fn infiniband_silicon<'a>(fabric: &Fabric, catalogue: &'a Catalogue) -> Option<&'a Silicon> {
    let uses: Vec<Vec<(Rate, u64)>> = fabric
        .switches
        .iter()
        .map(|switch| switch.ports.clone().map(|p| (fabric.cable(PortId(p)).rate, 1)).collect())
        .collect();
    let all = catalogue.silicon.values().filter(|silicon| silicon.infiniband);
    let fit = all.filter(|silicon| uses.iter().all(|links| fits(silicon, links)));
    fit.min_by_key(|silicon| silicon.capacity)
}

/// Reports every kind of switch that has too few ports for its busiest switch.
pub(super) fn check(wiring: &Wiring, report: &mut Report<'_>) {
    let mut used = vec![PortUse::new(); wiring.switches.len()];
    for link in &wiring.links {
        for end in link.ends {
            if let End::Switch(switch) = end {
                *used[switch as usize].entry(wiring.cables[link.cable].rate).or_default() += 1;
            }
        }
    }
    let mut reported = vec![false; wiring.switch_kinds.len()];
    for (index, switch) in wiring.switches.iter().enumerate() {
        let silicon = &wiring.switch_kinds[switch.kind].forwards;
        if reported[switch.kind] {
            continue;
        }
        let tier = wiring.tier(index as u32);
        if let Some((message, help)) = complaint(silicon, &switch.name, tier, &used[index]) {
            reported[switch.kind] = true;
            let path = [Step::Key("fabric"), Step::Key(tier.name())];
            let fallback = [Step::Key("fabric"), Step::Key("kind")];
            let written = report.document().get(&path).is_some();
            report.error(code::PORTS, if written { &path } else { &fallback }, message, help);
        }
    }
}

fn complaint(
    silicon: &Silicon,
    switch: &str,
    tier: Tier,
    used: &PortUse,
) -> Option<(String, String)> {
    let links: Vec<String> = used.iter().map(|(rate, count)| format!("{count} x {rate}")).collect();
    let links = links.join(" and ");
    let total: u64 = used.values().sum();
    let have = format!("{} x {}", silicon.ports, silicon.port_rate);
    let Some(needed) = ports_needed(silicon, used) else {
        let message = format!("`{switch}` needs {links}, and `{}` has {have}", silicon.name);
        return Some((message, "choose faster silicon or slower links".to_owned()));
    };
    if total > u64::from(silicon.max_ports) {
        let message = format!(
            "`{switch}` needs {total} ports ({links}), and `{}` has {} at most",
            silicon.name, silicon.max_ports
        );
        return Some((message, cure(tier).to_owned()));
    }
    if needed > u64::from(silicon.ports) && !silicon.unlimited() {
        let message = format!(
            "`{switch}` needs {needed} ports of {} for {links}, and `{}` has {}",
            silicon.port_rate, silicon.name, silicon.ports
        );
        return Some((message, cure(tier).to_owned()));
    }
    None
}

/// What leaves a switch of a tier with fewer links.
const fn cure(tier: Tier) -> &'static str {
    match tier {
        Tier::Core => {
            "use more core switches (`cores`), slower links, more oversubscription, or larger silicon"
        }
        Tier::Leaf | Tier::Spine => {
            "use fewer hosts per leaf, slower links, more oversubscription, a third tier, or larger silicon"
        }
    }
}
