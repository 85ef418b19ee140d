//! `[[device]]`: single switches that differ from the others of their tier.

use super::switches::{self, SwitchKind};
use super::wiring::Wiring;
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::{DeviceEntry, FabricFile};
use crate::suggest;
use std::collections::BTreeMap;

/// Gives the switches that entries are about kinds of their own.
pub(super) fn apply(wiring: &mut Wiring, file: &FabricFile, report: &mut Report<'_>) {
    if file.devices.is_empty() {
        return;
    }
    let mut entries: Vec<Vec<usize>> = vec![Vec::new(); wiring.switches.len()];
    for (index, entry) in file.devices.iter().enumerate() {
        check(index, entry, report);
        for switch in named(wiring, index, entry, report) {
            // A switch that is named twice in one entry is meant once.
            if entries[switch].last() != Some(&index) {
                entries[switch].push(index);
            }
        }
    }
    let mut kinds: BTreeMap<(usize, Vec<usize>), usize> = BTreeMap::new();
    for (switch, entries) in entries.into_iter().enumerate().filter(|(_, own)| !own.is_empty()) {
        let before = wiring.switches[switch].kind;
        let next = wiring.switch_kinds.len();
        let kind = *kinds.entry((before, entries.clone())).or_insert(next);
        if kind == next {
            let mut own = wiring.switch_kinds[before].clone();
            for &index in &entries {
                change(&mut own, index, &file.devices[index], report);
            }
            own.devices = entries;
            wiring.switch_kinds.push(own);
        }
        wiring.switches[switch].kind = kind;
    }
}

/// The switches that an entry is about, in order.
fn named(
    wiring: &Wiring,
    index: usize,
    entry: &DeviceEntry,
    report: &mut Report<'_>,
) -> Vec<usize> {
    let mut found = Vec::new();
    let one = entry.name.iter().map(|name| (None, name));
    let several = entry.names.iter().enumerate().map(|(position, name)| (Some(position), name));
    for (position, pattern) in one.chain(several) {
        let before = found.len();
        let known = wiring.switches.iter().enumerate();
        found.extend(known.filter(|(_, s)| matches(pattern.trim(), &s.name)).map(|(at, _)| at));
        if found.len() > before {
            continue;
        }
        let path: &[_] = match position {
            Some(position) => keys!["device", index, "names", position],
            None => keys!["device", index, "name"],
        };
        let (message, help) = unknown(wiring, pattern.trim());
        report.error(code::UNKNOWN_NAME, path, message, help);
    }
    if entry.name.is_none() && entry.names.is_empty() {
        report.error(
            code::MISSING_KEY,
            keys!["device", index],
            "it does not say which switches differ",
            "give `name = \"spine3\"`, or `names = [\"leaf0\", \"spine*\"]`",
        );
    }
    found.sort_unstable();
    found
}

fn unknown(wiring: &Wiring, pattern: &str) -> (String, String) {
    let host = wiring.nics.iter().any(|nic| nic.name == pattern)
        || wiring.servers.iter().any(|server| server.name == pattern);
    if host {
        let message = format!("`{pattern}` is not a switch");
        return (message, "servers and NICs that differ are listed as [[host]]".to_owned());
    }
    // Names of a large fabric are too many to compare with all.
    let names = wiring.switches.iter().map(|switch| switch.name.as_str()).take(2_000);
    match pattern.contains('*') {
        true => {
            let first = wiring.switches.first().map_or("leaf0", |switch| switch.name.as_str());
            let message = format!("no switch has a name like `{pattern}`");
            (message, format!("`*` stands for anything: switches have names like `{first}`"))
        }
        false => (format!("there is no switch `{pattern}`"), suggest::help(pattern, names)),
    }
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    // Taking the first place where a part fits leaves most for the others.
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(end)
}

/// An entry that changes nothing is a mistake.
fn check(index: usize, entry: &DeviceEntry, report: &mut Report<'_>) {
    let rules = &entry.rules;
    let silent = entry.watchdog.is_none()
        && entry.hash.is_none()
        && rules.ecn.is_none()
        && rules.pfc.is_none()
        && rules.classes.is_empty();
    if silent {
        report.error(
            code::MISSING_KEY,
            keys!["device", index],
            "it does not say what differs",
            "give `ecn`, `pfc`, `class`, `watchdog` or `hash`",
        );
    }
}

/// What an entry changes of the switch itself; its rules follow with those of its ports.
fn change(kind: &mut SwitchKind, index: usize, entry: &DeviceEntry, report: &mut Report<'_>) {
    if let Some(watchdog) = &entry.watchdog {
        kind.watchdog = switches::watchdog(watchdog);
    }
    if let Some(hash) = &entry.hash {
        kind.fields = hash.fields.as_deref().map_or(kind.fields, switches::hash_fields);
        kind.seed = hash.seed.map_or(kind.seed, switches::fixed_seed);
    }
    let wrong =
        [("hash", switches::wrong_hash(kind)), ("watchdog", switches::wrong_watchdog(kind))];
    for (key, (message, help)) in wrong.into_iter().filter_map(|(key, found)| Some((key, found?))) {
        // Only what the entry itself says: the tier's mistakes are reported there.
        if report.document().get(keys!["device", index, key]).is_some() {
            report.error(code::IMPOSSIBLE, keys!["device", index, key], message, help);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name) in [
            ("spine3", "spine3"),
            ("spine*", "spine3"),
            ("spine*", "spine"),
            ("*", "leaf0"),
            ("*0", "leaf10"),
            ("l*f*0", "leaf10"),
            ("a*b*b", "abb"),
            ("**", "x"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("spine", "spine3"),
            ("spine*", "leaf3"),
            ("*1", "leaf10"),
            ("a*b*b", "ab"),
            ("", "leaf0"),
            ("ab*b", "ab"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
