//! Names that mean the same: of devices with and without their domain, of ports written out or abbreviated.

use crate::system_id::SystemId;
use std::collections::BTreeMap;

/// A name in lower case, without a domain, a serial number in brackets, or a dot at its end.
pub(crate) fn bare(name: &str) -> String {
    let name = name.trim().trim_matches('"');
    let name = name.strip_suffix('.').filter(|name| !name.ends_with('.')).unwrap_or(name);
    let name = name.split_once('(').map_or(name, |(name, _)| name);
    name.to_ascii_lowercase()
}

/// The name without its domain; the name itself if it has none. `10.0.0.1` and `leaf1.2` have none.
fn short(name: &str) -> &str {
    match name.split_once('.') {
        Some((host, domain))
            if domain.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_address(name) =>
        {
            host
        }
        _ => name,
    }
}

/// Whether two names mean one device: `leaf1.example.net` is `leaf1`, and not `leaf1.example.org`.
pub fn same_device(a: &str, b: &str) -> bool {
    let (a, b) = (bare(a), bare(b));
    a == b || (short(&a) == short(&b) && (short(&a) == a || short(&b) == b))
}

/// Whether it is a MAC address, however it is written.
pub(crate) fn is_address(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_hexdigit).count();
    let others = text.chars().filter(|c| !c.is_ascii_hexdigit());
    digits == 12 && others.clone().all(|c| ":.-".contains(c)) && others.count() >= 2
}

/// Devices by name.
#[derive(Debug, Default)]
pub struct Names {
    full: BTreeMap<String, usize>,
    /// By name without domain; none where two devices have it.
    short: BTreeMap<String, Option<usize>>,
}

impl Names {
    /// Adds a device; the first of a name counts.
    pub fn add(&mut self, name: &str, index: usize) {
        let name = bare(name);
        if self.full.contains_key(&name) {
            return;
        }
        let known = self.short.entry(short(&name).to_owned());
        known.and_modify(|known| *known = None).or_insert(Some(index));
        self.full.insert(name, index);
    }

    /// The device that is meant, if it is only one.
    pub fn find(&self, name: &str) -> Option<usize> {
        let name = bare(name);
        // Tables cut names that are too long for their column.
        for mark in ["...", "…"] {
            if let Some(start) = name.strip_suffix(mark).filter(|start| start.len() > 2) {
                let mut all = self.full.range(start.to_owned()..);
                let first = all.next().filter(|(name, _)| name.starts_with(start))?;
                let more = all.next().is_some_and(|(name, _)| name.starts_with(start));
                return (!more).then_some(*first.1);
            }
        }
        if let Some(index) = self.full.get(&name) {
            return Some(*index);
        }
        let host = short(&name);
        if host != name {
            // With a domain: a device of another domain is another one.
            return self.full.get(host).copied();
        }
        *self.short.get(host)?
    }
}

/// Systems that write `Ethernet1/1` and abbreviate it.
const fn abbreviates(system: SystemId) -> bool {
    matches!(system, SystemId::Eos | SystemId::NxOs | SystemId::Os10)
}

/// What two names of one port have in common, on a device of that system. `Et1/1` and `Ethernet1/1` are one port on
/// EOS; on SONiC `eth0` and `Ethernet0` are two.
pub fn port_key(system: SystemId, name: &str) -> String {
    let name = name.trim().trim_matches('"').to_ascii_lowercase();
    if is_address(&name) {
        return name.chars().filter(char::is_ascii_hexdigit).collect();
    }
    // A logical interface is on the port of the same name.
    let family = system.family();
    let name = match name.rsplit_once('.') {
        Some((port, unit))
            if family != SystemId::PicOs && unit.bytes().all(|b| b.is_ascii_digit()) =>
        {
            port
        }
        _ => &name,
    };
    let split = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (word, number) = name.split_at(split);
    let word = word.trim_end();
    if abbreviates(family) && !word.is_empty() && "ethernet".starts_with(word) && !number.is_empty()
    {
        return format!("ethernet{number}");
    }
    format!("{word}{number}")
}
