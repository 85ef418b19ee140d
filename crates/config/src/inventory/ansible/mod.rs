//! Ansible inventories: groups, what they say of connections, and who wins.
//!
//! A variable of a host beats that of its groups, a group beats those it is a child of, and among groups of the same
//! depth the last by name wins, as in Ansible. `group_vars` and `host_vars` beside an inventory are not read:
//! `ansible-inventory --list --yaml` writes an inventory that has them.

mod ini;
mod yaml;

pub(super) use ini::read as read_ini;
pub(super) use yaml::read as read_yaml;

use super::Found;
use super::fields::{self, Field, MOST_TARGETS, Raw, shown};
use std::collections::{BTreeMap, BTreeSet};

/// Groups are not nested deeper.
const DEEPEST: u32 = 64;

/// What matters here of the variables of a host or group.
#[derive(Debug, Clone, Default)]
struct Vars {
    fields: BTreeMap<Field, (String, u32)>,
    /// `ansible_connection`.
    connection: Option<String>,
}

impl Vars {
    fn extend(&mut self, other: &Self) {
        self.fields.extend(other.fields.clone());
        self.connection = other.connection.clone().or_else(|| self.connection.take());
    }
}

#[derive(Debug, Default)]
struct Group {
    vars: Vars,
    parents: BTreeSet<String>,
}

#[derive(Debug)]
struct Host {
    line: u32,
    vars: Vars,
    groups: BTreeSet<String>,
}

/// An inventory as it is read.
#[derive(Debug, Default)]
struct Tree {
    found: Found,
    groups: BTreeMap<String, Group>,
    /// Names in the order of the file.
    order: Vec<String>,
    hosts: BTreeMap<String, Host>,
    /// Variables of connections that are not used, and how often they are set.
    unused: BTreeMap<String, usize>,
}

impl Tree {
    fn group(&mut self, name: &str) -> &mut Group {
        self.groups.entry(name.to_owned()).or_default()
    }

    /// Makes one group the child of another.
    fn child(&mut self, parent: &str, child: &str) {
        self.group(parent);
        self.group(child).parents.insert(parent.to_owned());
    }

    /// Adds hosts to a group; a name may stand for a range of them. What was said of them before stays.
    fn hosts(&mut self, group: &str, name: &str, line: u32, vars: &Vars) {
        self.group(group);
        let room = MOST_TARGETS.saturating_sub(self.order.len()).max(1);
        let names = match fields::expand(name, room) {
            Ok(names) => names,
            Err(message) => {
                let cure = "write names like leaf0 or leaf[0:15]";
                return self.found.mistake(line, message, cure);
            }
        };
        for name in names {
            if !self.hosts.contains_key(&name) {
                self.order.push(name.clone());
            }
            let new = || Host { line, vars: Vars::default(), groups: BTreeSet::new() };
            let host = self.hosts.entry(name).or_insert_with(new);
            host.vars.extend(vars);
            host.groups.insert(group.to_owned());
        }
    }

    /// Takes note of a variable.
    fn variable(&mut self, vars: &mut Vars, key: &str, value: &str, line: u32) {
        let field = match key {
            "ansible_host" | "ansible_ssh_host" => Field::Address,
            "ansible_user" | "ansible_ssh_user" => Field::User,
            "ansible_port" | "ansible_ssh_port" => Field::Port,
            "ansible_network_os" => Field::System,
            "ansible_ssh_private_key_file" | "ansible_private_key_file" => Field::Identity,
            "ansible_ssh_common_args" | "ansible_ssh_extra_args" => {
                match jump(value) {
                    Some(hop) => drop(vars.fields.insert(Field::Jump, (hop, line))),
                    None => *self.unused.entry(key.to_owned()).or_default() += 1,
                }
                return;
            }
            "ansible_connection" => {
                vars.connection = Some(value.trim().to_ascii_lowercase());
                return;
            }
            key if key.starts_with("ansible_") => {
                *self.unused.entry(key.to_owned()).or_default() += 1;
                return;
            }
            // A site's own, which say nothing of connections.
            _ => return,
        };
        if value.contains("{{") {
            let message = format!("{key} is a template: `{}`", shown(value));
            return self.found.mistake(line, message, "write out what it stands for");
        }
        if !value.trim().is_empty() {
            vars.fields.insert(field, (value.trim().to_owned(), line));
        }
    }

    fn finish(mut self) -> Found {
        let Some(depths) = self.depths() else { return self.found };
        let mut known: BTreeMap<BTreeSet<String>, Vars> = BTreeMap::new();
        let mut other_ports = 0usize;
        for name in &self.order {
            let host = &self.hosts[name];
            let shared = known
                .entry(host.groups.clone())
                .or_insert_with(|| inherited(&self.groups, &depths, &host.groups));
            let mut vars = shared.clone();
            vars.extend(&host.vars);
            // The port of an interface that is not SSH.
            let elsewhere = ["httpapi", "netconf", "grpc", "gnmi", "restconf"];
            let connection = vars.connection.as_deref().unwrap_or("");
            if elsewhere.iter().any(|kind| connection.ends_with(kind)) {
                other_ports += usize::from(vars.fields.remove(&Field::Port).is_some());
            }
            let mut raw = Raw::new(name.clone(), host.line);
            raw.fields = vars.fields;
            self.found.devices.push(raw);
        }
        if other_ports > 0 {
            self.found.notes.push(format!(
                "ansible_port of {other_ports} devices belongs to another connection than ssh and is not used"
            ));
        }
        if !self.unused.is_empty() {
            let each = |(name, count): (&String, &usize)| format!("{} ({count})", shown(name));
            let all: Vec<String> = self.unused.iter().take(12).map(each).collect();
            let more = if self.unused.len() > 12 { ", …" } else { "" };
            self.found.notes.push(format!(
                "variables of connections that are not used (passwords never are): {}{more}",
                all.join(", ")
            ));
        }
        self.found
    }

    /// How deep each group is below `all`, by its longest way; nothing where groups are their own children.
    fn depths(&mut self) -> Option<BTreeMap<String, u32>> {
        self.group("all");
        let mut depths: BTreeMap<String, u32> = BTreeMap::new();
        let mut waiting: BTreeMap<&str, usize> =
            self.groups.iter().map(|(name, group)| (name.as_str(), group.parents.len())).collect();
        let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, group) in &self.groups {
            for parent in &group.parents {
                children.entry(parent).or_default().push(name);
            }
        }
        let mut open: Vec<&str> =
            waiting.iter().filter(|(_, parents)| **parents == 0).map(|(name, _)| *name).collect();
        while let Some(name) = open.pop() {
            // Everything is below `all`, said or not.
            let own = depths.entry(name.to_owned()).or_insert(u32::from(name != "all"));
            let below = *own + 1;
            for child in children.get(name).into_iter().flatten() {
                let depth = depths.entry((*child).to_owned()).or_default();
                *depth = below.max(*depth);
                if let Some(parents) = waiting.get_mut(child) {
                    *parents -= 1;
                    if *parents == 0 {
                        open.push(child);
                    }
                }
            }
        }
        let stuck = waiting.iter().find(|(_, parents)| **parents > 0).map(|(name, _)| shown(name));
        let deep = depths.values().any(|depth| *depth > DEEPEST);
        let message = match stuck {
            Some(name) => format!("group `{name}` is a child of itself, or below one that is"),
            None if deep => format!("groups are nested deeper than {DEEPEST}"),
            None => return Some(depths),
        };
        self.found.mistake(0, message, "take one of the `children` away");
        None
    }
}

/// What a host gets from its groups and those above them.
fn inherited(
    groups: &BTreeMap<String, Group>,
    depths: &BTreeMap<String, u32>,
    direct: &BTreeSet<String>,
) -> Vars {
    let mut all: BTreeSet<&str> = BTreeSet::from(["all"]);
    let mut open: Vec<&str> = direct.iter().map(String::as_str).collect();
    while let Some(name) = open.pop() {
        if all.insert(name)
            && let Some(group) = groups.get(name)
        {
            open.extend(group.parents.iter().map(String::as_str));
        }
    }
    let mut sorted: Vec<&str> = all.into_iter().collect();
    sorted.sort_by_key(|name| (depths.get(*name).copied().unwrap_or(0), *name));
    let mut vars = Vars::default();
    for group in sorted.into_iter().filter_map(|name| groups.get(name)) {
        vars.extend(&group.vars);
    }
    vars
}

/// The jump host in arguments of ssh: `-J bastion` or `-o ProxyJump=bastion`.
fn jump(arguments: &str) -> Option<String> {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let words: Vec<&str> = words.iter().map(|word| word.trim_matches(['"', '\''])).collect();
    match words[..] {
        ["-J", hop] => Some(hop.to_owned()),
        ["-o", option] => option.strip_prefix("ProxyJump=").map(str::to_owned),
        ["-o", "ProxyJump", hop] => Some(hop.to_owned()),
        [word] => {
            let hop = word.strip_prefix("-oProxyJump=").or_else(|| word.strip_prefix("-J"));
            hop.filter(|hop| !hop.is_empty()).map(str::to_owned)
        }
        _ => None,
    }
}
