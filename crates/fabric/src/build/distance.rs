//! Headroom that no buffer holds: cables between sites have as much in flight as shallow silicon has
//! memory. The refusal says which port needs how much, and what would do.

use super::terms::Terms;
use super::wiring::Wiring;
use crate::catalogue::Silicon;
use crate::diagnostic::code;
use crate::document::{Report, Step, keys};
use crate::file::Kind;
use crate::model::{CLASSES, Model, PortId, Switch};
use xoff_units::{Bytes, Length, Rate, Ratio};

/// The ports of a switch that need most headroom, all alike.
struct Longest {
    port: PortId,
    /// Headroom of one class at such a port.
    each: Bytes,
    /// Ports and classes that need as much.
    count: u64,
}

impl Longest {
    fn of(fabric: &Model, switch: &Switch) -> Self {
        let all = switch.ports.clone().flat_map(|port| {
            let classes = fabric.ports[port as usize].classes;
            classes.map(|class| (class.headroom, PortId(port)))
        });
        let mut longest = Self { port: PortId(switch.ports.start), each: Bytes::ZERO, count: 0 };
        for (headroom, port) in all {
            if headroom > longest.each {
                longest = Self { port, each: headroom, count: 1 };
            } else if headroom == longest.each {
                longest.count += 1;
            }
        }
        longest
    }
}

/// Refuses the headroom of a switch that its buffer does not hold.
pub(super) fn refuse(
    terms: &Terms<'_>,
    wiring: &Wiring,
    fabric: &Model,
    index: usize,
    (headroom, reserved): (Bytes, Bytes),
    report: &mut Report<'_>,
) {
    let switch = &fabric.switches[index];
    let longest = Longest::of(fabric, switch);
    let cable = fabric.cable(longest.port);
    let over = match cable.length == Length::default() {
        true => format!("{} of delay", cable.delay),
        false => cable.length.to_string(),
    };
    let message = format!(
        "the {} ports of `{}` need {need} of headroom and {reserved} reserved, and its buffer \
         ({}) has {}: `{}` alone needs {} for each lossless class, {} over {over} with {} in flight \
         there and back",
        switch.ports.len(),
        switch.name,
        switch.silicon,
        switch.buffer,
        fabric.port_name(longest.port),
        readable(longest.each),
        cable.rate,
        readable(cable.rate.bytes_in(cable.delay * 2)),
        need = readable(headroom),
    );
    let tier = switch.tier.name();
    let link = wiring.links[fabric.ports[longest.port.index()].cable.index()].cable;
    let own: &[Step<'_>] = match terms.file.fabric.kind {
        Kind::Custom => keys!["link", link, "length"],
        _ => keys!["links", "leaf-spine", "length"],
    };
    let candidates = [
        keys!["pfc", "headroom"] as &[Step<'_>],
        own,
        keys!["links", "spine-core", "length"],
        keys!["links", "host", "length"],
        keys!["links", "length"],
        keys!["links", "delay"],
        keys!["switch", tier, "buffer"],
        keys!["switch", "buffer"],
        keys!["fabric", tier],
    ];
    let path = super::buffers::first_written(&candidates, report).to_vec();
    let help = cures(terms, fabric, switch, &longest, (headroom, reserved));
    report.error(code::HEADROOM, &path, message, help);
}

/// What would do, with figures.
fn cures(
    terms: &Terms<'_>,
    fabric: &Model,
    switch: &Switch,
    longest: &Longest,
    (headroom, reserved): (Bytes, Bytes),
) -> String {
    let mut cures = Vec::new();
    let deep = deep_enough(terms, fabric, switch, headroom + reserved);
    if !deep.is_empty() {
        cures.push(format!("silicon with that much ({})", deep.join(", ")));
    }
    // Headroom grows with distance and rate in nearly the same proportion.
    let alike = Bytes::new(longest.each.get().saturating_mul(longest.count));
    let others = headroom.saturating_sub(alike);
    let left = switch.buffer.saturating_sub(others).saturating_sub(reserved);
    let share = Ratio::new(left.get() / longest.count.max(1), longest.each.get().max(1));
    let cable = fabric.cable(longest.port);
    let (length, rate) = (share.of(cable.length.as_mm()), share.of(cable.rate.bps()));
    if length >= 1_000 {
        let length = Length::from_mm(rounded(length));
        let rate = Rate::from_bps(rounded(rate));
        cures.push(format!("cables of less than {length}, or links of less than {rate}"));
    } else {
        cures.push("shorter cables".to_owned());
    }
    let lossless = (0..CLASSES).filter(|&class| fabric.classes[class].lossless).count();
    if lossless > 1 {
        cures.push(format!("fewer than {lossless} lossless classes"));
    }
    cures.push("a shared `headroom-pool`".to_owned());
    cures.push(
        "a class that may lose packets (`lossless = false`) with `recovery = \"selective-repeat\"`"
            .to_owned(),
    );
    cures.join("; ")
}

/// A size in whole megabytes where it is large enough for that, rounded up.
fn readable(bytes: Bytes) -> Bytes {
    const MB: Bytes = Bytes::new(1_000_000);
    if bytes.get() < 10 * MB.get() { bytes } else { bytes.round_up_to(MB) }
}

/// Two digits are all that such an estimate is good for.
fn rounded(value: u64) -> u64 {
    let step = 10u64.pow(value.max(1).ilog10().saturating_sub(1));
    value / step * step
}

/// Real silicon with more buffer than that and enough ports for the same cables, the smallest first.
fn deep_enough(terms: &Terms<'_>, fabric: &Model, switch: &Switch, needed: Bytes) -> Vec<String> {
    let mut used = super::fit::PortUse::new();
    for port in switch.ports.clone() {
        *used.entry(fabric.cable(PortId(port)).rate).or_default() += 1;
    }
    let links: Vec<(Rate, u64)> = used.into_iter().collect();
    let fits = |silicon: &&Silicon| {
        !silicon.unlimited() && silicon.buffer > needed && super::fit::fits(silicon, &links)
    };
    let mut found: Vec<&Silicon> = terms.catalogue.silicon.values().filter(fits).collect();
    found.sort_by_key(|silicon| silicon.buffer);
    let name = |silicon: &&Silicon| format!("`{}` has {}", silicon.name, silicon.buffer);
    found.iter().take(2).map(name).collect()
}
