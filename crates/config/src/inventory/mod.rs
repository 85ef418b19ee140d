//! Which devices are collected from, and what each of them is asked.
//!
//! [`read`] takes an inventory in any of the forms people have: a TOML file of ours, an Ansible inventory
//! (INI or YAML), a list with a device on each line, CSV. What follows is the same for all: every device has
//! a name, an address and a system that is known. [`asks`] is the table of commands of each system,
//! [`redact`] masks secrets in what was answered.
//!
//! Nothing here opens a connection or a file. Everything that ends up among the arguments of `ssh` is checked in
//! [`fields`]: a name, an address or a user cannot become an option or a command of a shell.

mod ansible;
mod ask;
mod fields;
mod form;
mod names;
mod ours;
mod redact;
mod table;

pub use ask::{Ask, asks, systems};
pub use form::Form;
pub use names::system_named;
pub use redact::redact;

use crate::system_id::SystemId;
use fields::{Field, MOST_TARGETS, Raw};
use std::collections::BTreeMap;

/// What a file must contain in its first five lines for the audit to leave it alone.
pub const NOT_READ: &str = crate::host::NOT_READ;

/// A device to collect from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name: that of its files.
    pub name: String,
    /// Where it is reached: a name or an address.
    pub address: String,
    /// What it runs; of the systems that are written in two forms, the first.
    pub system: SystemId,
    /// The user to log in as; otherwise ssh's own choice.
    pub user: Option<String>,
    /// The port of its SSH server; otherwise ssh's own choice.
    pub port: Option<u16>,
    /// Hosts to go through, as `ssh -J` takes them.
    pub jump: Option<String>,
    /// The file of the private key.
    pub identity: Option<String>,
    /// The line of the inventory that names it.
    pub line: u32,
}

impl Target {
    /// The name up to its first dot, which is what the audit merges files of a host by.
    pub fn short_name(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }
}

/// Something about an inventory that is worth saying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The line, counted from 1; 0 is the file as a whole.
    pub line: u32,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub cure: String,
}

impl Mistake {
    fn new(line: u32, message: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { line, message: message.into(), cure: cure.into() }
    }
}

/// What devices have that the inventory says nothing about.
#[derive(Debug, Clone, Default)]
pub struct Defaults {
    /// What they run.
    pub system: Option<SystemId>,
    /// The user to log in as.
    pub user: Option<String>,
}

/// An inventory that can be used.
#[derive(Debug, Clone)]
pub struct Inventory {
    /// The form it was read in.
    pub form: Form,
    /// The devices in the order of the file.
    pub targets: Vec<Target>,
    /// What of the file is not used, in sentences.
    pub notes: Vec<String>,
}

/// What a reader of one form found.
#[derive(Debug, Default)]
struct Found {
    devices: Vec<Raw>,
    mistakes: Vec<Mistake>,
    notes: Vec<String>,
}

impl Found {
    fn mistake(&mut self, line: u32, message: impl Into<String>, cure: impl Into<String>) {
        self.mistakes.push(Mistake::new(line, message, cure));
    }

    /// Adds a device, or those that a range like `leaf[0:15]` stands for.
    fn device(&mut self, raw: Raw) {
        let room = MOST_TARGETS.saturating_sub(self.devices.len());
        match fields::expand(&raw.name, room) {
            Ok(names) => {
                let one = |name| Raw { name, ..raw.clone() };
                self.devices.extend(names.into_iter().map(one));
            }
            Err(message) => self.mistake(raw.line, message, "write names like leaf0 or leaf[0:15]"),
        }
    }
}

/// Reads an inventory; `name` is that of its file, whose ending may say the form.
pub fn read(name: &str, text: &str, defaults: &Defaults) -> Result<Inventory, Vec<Mistake>> {
    let form = Form::of(name, text).map_err(|mistake| vec![mistake])?;
    if let Some(Err((message, cure))) = defaults.user.as_deref().map(|user| Field::User.check(user))
    {
        return Err(vec![Mistake::new(0, message, cure)]);
    }
    let mut found = match form {
        Form::Ours => ours::read(text),
        Form::AnsibleIni => ansible::read_ini(text),
        Form::AnsibleYaml => ansible::read_yaml(text),
        Form::List => table::read_list(text),
        Form::Csv => table::read_csv(text),
    };
    let devices = std::mem::take(&mut found.devices);
    if devices.is_empty() && found.mistakes.is_empty() {
        found.mistake(0, format!("no device in this {form}"), form.example());
    }
    let mut first: BTreeMap<String, u32> = BTreeMap::new();
    let mut targets = Vec::with_capacity(devices.len());
    for raw in devices {
        // Names of hosts know no upper case, and neither do the files of some systems.
        let key = raw.name.to_ascii_lowercase();
        if let Some(line) = first.get(&key) {
            let message = format!("`{}` is there already, on line {line}", raw.name);
            found.mistake(raw.line, message, "give every device a name of its own");
            continue;
        }
        first.insert(key, raw.line);
        match target(&raw, defaults, form) {
            Ok(target) => targets.push(target),
            Err(mistakes) => found.mistakes.extend(mistakes),
        }
    }
    found.notes.extend(alike(&targets));
    if found.mistakes.is_empty() {
        return Ok(Inventory { form, targets, notes: found.notes });
    }
    found.mistakes.sort_by_key(|mistake| mistake.line);
    Err(found.mistakes)
}

/// A device whose every field can be used.
fn target(raw: &Raw, defaults: &Defaults, form: Form) -> Result<Target, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    let mut take = |field: Field| {
        let (text, line) = raw.fields.get(&field)?;
        match field.check(text) {
            Ok(value) => Some(value),
            Err((message, cure)) => {
                mistakes.push(Mistake::new(*line, format!("`{}`: {message}", raw.name), cure));
                None
            }
        }
    };
    let address = take(Field::Address);
    let user = take(Field::User).or_else(|| defaults.user.clone());
    let port = take(Field::Port).and_then(|port| port.parse().ok());
    let (jump, identity) = (take(Field::Jump), take(Field::Identity));
    let name = match fields::name(&raw.name) {
        Ok(name) => Some(name),
        Err((message, cure)) => {
            mistakes.push(Mistake::new(raw.line, message, cure));
            None
        }
    };
    let system = match raw.fields.get(&Field::System) {
        Some((text, line)) => system_named(text).map_err(|cure| {
            let message = format!("`{}`: there is no system `{}`", raw.name, text.escape_debug());
            Mistake::new(*line, message, cure)
        }),
        None => defaults.system.ok_or_else(|| {
            let message = format!("`{}`: what it runs is not said", raw.name);
            Mistake::new(raw.line, message, form.cure_for_system())
        }),
    };
    match (name, system) {
        (Some(name), Ok(system)) if mistakes.is_empty() => {
            let address = address.unwrap_or_else(|| name.clone());
            Ok(Target {
                name,
                address,
                system: system.family(),
                user,
                port,
                jump,
                identity,
                line: raw.line,
            })
        }
        (_, system) => {
            mistakes.extend(system.err());
            Err(mistakes)
        }
    }
}

/// Hosts that begin alike: the audit takes their files for those of one host.
fn alike(targets: &[Target]) -> Vec<String> {
    let mut hosts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for target in targets.iter().filter(|target| target.system == SystemId::Host) {
        // The audit knows a host by what it calls itself; an address says nothing of that.
        if target.name.parse::<std::net::IpAddr>().is_ok() {
            continue;
        }
        hosts.entry(target.short_name()).or_default().push(&target.name);
    }
    let several = hosts.into_iter().filter(|(_, names)| names.len() > 1);
    let note = |(short, names): (&str, Vec<&str>)| {
        format!(
            "{} hosts are called `{short}` up to the first dot ({}, {}…): collect them into folders of \
             their own, or the audit takes them for one",
            names.len(),
            names[0],
            names[1]
        )
    };
    several.map(note).collect()
}

/// Devices of a check list that the inventory lacks, in the order of the list. Names are compared up to their
/// first dot.
pub fn missing<'a>(targets: &[Target], wanted: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let there: std::collections::BTreeSet<String> =
        targets.iter().map(|target| target.short_name().to_ascii_lowercase()).collect();
    let short = |name: &str| name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    wanted.filter(|name| !there.contains(&short(name))).collect()
}

#[cfg(test)]
mod tests;
