//! [`Part`]: what a change of a fabric file is about, and [`Rights`], who may approve it.
//!
//! Two texts are compared value by value, not line by line: comments and the order of keys are no
//! change. A key that is not known here belongs to [`Part::Other`], which only `everything` covers.

use super::record::Approval;
use std::collections::BTreeSet;
use std::fmt;
use toml::{Table, Value};

/// A part of a fabric file that a role may have the right to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// ECN, PFC, headroom, buffers, watchdog.
    Thresholds,
    /// Traffic classes: DSCP, queues, schedulers, tenants.
    Classes,
    /// GPUs, switches, cables, routes.
    Topology,
    /// NICs, queue pairs, congestion control, MTU.
    Hosts,
    /// How flows are spread over equal paths.
    Balancing,
    /// Anything else: the catalogue, profiles, goals.
    Other,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 6] = [
        Part::Thresholds,
        Part::Classes,
        Part::Topology,
        Part::Hosts,
        Part::Balancing,
        Part::Other,
    ];

    /// Its name in a file of approvers.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Thresholds => "thresholds",
            Part::Classes => "classes",
            Part::Topology => "topology",
            Part::Hosts => "hosts",
            Part::Balancing => "balancing",
            Part::Other => "other",
        }
    }

    /// All parts: what a first approval is of.
    pub fn all() -> BTreeSet<Part> {
        Self::ALL.into_iter().collect()
    }

    /// The part that a key belongs to; `None` for a key that only says whom the others are about.
    fn of(path: &[&str]) -> Option<Part> {
        let (first, rest) = path.split_first()?;
        let next = rest.first().copied().unwrap_or_default();
        Some(match *first {
            "pfc" | "ecn" | "credits" => Part::Thresholds,
            "traffic" | "tenant" => Part::Classes,
            "class" => Self::of_class(next),
            "node" if next == "buffer" => Part::Thresholds,
            "cluster" | "fabric" | "links" | "link" | "node" | "route" => Part::Topology,
            "switch" if matches!(next, "leaf" | "spine" | "core") => {
                Self::of_switch(rest.get(1..).unwrap_or_default())
            }
            "switch" => Self::of_switch(rest),
            "device" if matches!(next, "name" | "names") => return None,
            "device" => Self::of_switch(rest),
            "host" if matches!(next, "servers" | "nics") => return None,
            "nic" | "host" => match (next, rest.get(1).copied().unwrap_or_default()) {
                ("dscp", _) => Part::Classes,
                ("receive", "buffer" | "xoff" | "xon") => Part::Thresholds,
                _ => Part::Hosts,
            },
            "transport" => Part::Hosts,
            _ => Part::Other,
        })
    }

    /// The part of a key of a switch, a tier or a single device.
    fn of_switch(path: &[&str]) -> Part {
        match path.first().copied().unwrap_or_default() {
            "buffer" | "cell" | "headroom-pool" | "watchdog" | "pfc" | "ecn" => Part::Thresholds,
            "class" => Self::of_class(path.get(1).copied().unwrap_or_default()),
            "discipline" | "trimming" => Part::Classes,
            "balancing" | "hash" => Part::Balancing,
            "silicon" | "forwarding" | "latency" | "aggregation" => Part::Topology,
            "mtu" => Part::Hosts,
            _ => Part::Other,
        }
    }

    fn of_class(key: &str) -> Part {
        match key {
            "alpha" | "egress-alpha" | "egress-delay" | "reserved" | "ecn" => Part::Thresholds,
            "id" | "name" | "dscp" | "lossless" | "scheduling" => Part::Classes,
            _ => Part::Other,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a role may approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rights {
    /// Any change.
    Everything,
    /// Changes of these parts and no others.
    Of(BTreeSet<Part>),
}

impl Rights {
    /// What of a change they do not cover.
    pub fn missing(&self, changed: &BTreeSet<Part>) -> Vec<Part> {
        match self {
            Rights::Everything => Vec::new(),
            Rights::Of(parts) => changed.difference(parts).copied().collect(),
        }
    }
}

/// Which parts a record changes against an earlier one; everything, if there is none.
pub fn changed(before: Option<&Approval>, after: &Approval) -> BTreeSet<Part> {
    let Some(before) = before else { return Part::all() };
    let mut parts = of_texts(&before.fabric, &after.fabric);
    if before.balancing != after.balancing {
        parts.insert(Part::Balancing);
    }
    parts
}

/// Which parts differ between the texts of two fabric files; everything, if one cannot be read.
fn of_texts(before: &str, after: &str) -> BTreeSet<Part> {
    if before == after {
        return BTreeSet::new();
    }
    let (Ok(before), Ok(after)) = (before.parse::<Table>(), after.parse::<Table>()) else {
        return Part::all();
    };
    let mut parts = BTreeSet::new();
    tables(&mut parts, &mut Vec::new(), &before, &after);
    parts
}

fn tables<'a>(
    parts: &mut BTreeSet<Part>,
    path: &mut Vec<&'a str>,
    before: &'a Table,
    after: &'a Table,
) {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for key in keys {
        path.push(key);
        values(parts, path, before.get(key), after.get(key));
        path.pop();
    }
}

fn values<'a>(
    parts: &mut BTreeSet<Part>,
    path: &mut Vec<&'a str>,
    before: Option<&'a Value>,
    after: Option<&'a Value>,
) {
    match (before, after) {
        (Some(Value::Table(before)), Some(Value::Table(after))) => {
            tables(parts, path, before, after);
        }
        (Some(before), Some(after)) if before == after => {}
        (Some(Value::Array(before)), Some(Value::Array(after)))
            if before.iter().chain(after).all(Value::is_table) =>
        {
            for at in 0..before.len().max(after.len()) {
                entries(parts, path, before.get(at), after.get(at));
            }
        }
        _ => {
            for value in before.into_iter().chain(after) {
                whole(parts, path, value);
            }
        }
    }
}

/// Entries at the same place of an array of tables. Those that are about something else are
/// different as a whole, even where their values are the same: they move to another device or class.
fn entries<'a>(
    parts: &mut BTreeSet<Part>,
    path: &mut Vec<&'a str>,
    before: Option<&'a Value>,
    after: Option<&'a Value>,
) {
    const ABOUT: [&str; 8] = ["id", "name", "names", "servers", "nics", "ends", "at", "to"];
    let about = |value: Option<&'a Value>| {
        let table = value.and_then(Value::as_table);
        ABOUT.map(|key| table.and_then(|table| table.get(key)))
    };
    if about(before) == about(after) {
        return values(parts, path, before, after);
    }
    for value in before.into_iter().chain(after) {
        whole(parts, path, value);
    }
}

/// Everything in a value.
fn whole<'a>(parts: &mut BTreeSet<Part>, path: &mut Vec<&'a str>, value: &'a Value) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                path.push(key);
                whole(parts, path, value);
                path.pop();
            }
        }
        Value::Array(list) if list.iter().any(Value::is_table) => {
            list.iter().for_each(|value| whole(parts, path, value));
        }
        _ => parts.extend(Part::of(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(before: &str, after: &str) -> String {
        let forth = of_texts(before, after);
        assert_eq!(
            forth,
            of_texts(after, before),
            "a change and its way back are of the same parts"
        );
        let names: Vec<&str> = forth.into_iter().map(Part::name).collect();
        names.join(" ")
    }

    #[test]
    fn a_change_is_of_the_parts_whose_values_differ() {
        let base = "[fabric]\nkind = 'rail'\n[ecn]\nkmin = '100KB'\n";
        assert_eq!(names(base, base), "");
        let text = "# new\n[ecn]\nkmin = \"100KB\"\n[fabric]\nkind='rail'\n";
        assert_eq!(names(base, text), "", "comments, quotes and order are no change");
        let cases = [
            ("ecn.kmin = '1KB'", "thresholds"),
            ("pfc.alpha = 1", "thresholds"),
            ("switch.buffer = '1MB'", "thresholds"),
            ("switch.leaf.pfc.alpha = 1", "thresholds"),
            ("switch.watchdog.enabled = true", "thresholds"),
            ("nic.receive.xoff = '1KB'", "thresholds"),
            ("class = [{ id = 3, alpha = 1 }]", "thresholds classes"),
            ("switch.leaf.class = [{ id = 3, dscp = [1] }]", "classes"),
            ("traffic.data = 4", "classes"),
            ("tenant = [{ name = 'a' }]", "classes"),
            ("nic.dscp.cnp = 4", "classes"),
            ("cluster.gpus = 8", "topology"),
            ("links.host.length = '1m'", "topology"),
            ("node = [{ name = 'a', buffer = '1MB' }]", "thresholds topology"),
            ("transport.congestion = { kind = 'swift' }", "hosts"),
            ("switch.mtu = '1KB'", "hosts"),
            ("switch.hash.seed = 1", "balancing"),
            ("switch.spine.balancing.kind = 'spray'", "balancing"),
            ("device = [{ name = 'leaf0', pfc = { alpha = 1 } }]", "thresholds"),
            ("host = [{ servers = [1], dscp = { data = 1 } }]", "classes"),
            ("profile = 'htsim'", "other"),
            ("catalogue.silicon.mine.buffer = '1MB'", "other"),
            ("goals.survive = 1", "other"),
            ("switch.unheard-of = 1", "other"),
            ("class = [{ unheard-of = 1 }]", "other"),
            ("unheard-of = 1", "other"),
            ("pfc = {}", ""),
        ];
        for (text, parts) in cases {
            assert_eq!(names("", text), parts, "{text}");
        }
        assert_eq!(names(base, "not toml ["), names("not toml [", base));
        assert_eq!(of_texts(base, "not toml ["), Part::all());
    }

    /// The entry of a device that becomes that of another one moves all of its rules.
    #[test]
    fn an_entry_about_another_device_is_different_as_a_whole() {
        let text = |name: &str, alpha: u8| {
            format!("[[device]]\nname = '{name}'\npfc.alpha = {alpha}\nhash.seed = 1\n")
        };
        assert_eq!(names(&text("leaf0", 1), &text("leaf0", 2)), "thresholds");
        assert_eq!(names(&text("leaf0", 1), &text("leaf1", 1)), "thresholds balancing");
        let two = format!("{}{}", text("leaf0", 1), text("leaf1", 1));
        assert_eq!(names(&text("leaf0", 1), &two), "thresholds balancing");
        let class = |id: u8| format!("[[class]]\nid = {id}\nalpha = 1\n");
        assert_eq!(names(&class(3), &class(4)), "thresholds classes");
    }

    #[test]
    fn rights_cover_what_they_name() {
        let of = |parts: &[Part]| Rights::Of(parts.iter().copied().collect());
        let changed = BTreeSet::from([Part::Thresholds, Part::Topology]);
        assert_eq!(of(&[Part::Thresholds]).missing(&changed), [Part::Topology]);
        assert!(of(&[Part::Thresholds, Part::Topology]).missing(&changed).is_empty());
        assert!(Rights::Everything.missing(&Part::all()).is_empty());
        let named: Vec<Part> = Part::ALL.into_iter().filter(|part| *part != Part::Other).collect();
        assert_eq!(of(&named).missing(&Part::all()), [Part::Other]);
    }
}
