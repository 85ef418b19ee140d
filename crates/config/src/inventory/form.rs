//! [`Form`]: which of the forms an inventory is written in.

use super::Mistake;
use std::fmt;

/// A form of inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// TOML of ours: `[[device]]`.
    Ours,
    /// Ansible's INI.
    AnsibleIni,
    /// Ansible's YAML.
    AnsibleYaml,
    /// A device on each line: its name and its system.
    List,
    /// Rows under headings, with commas, semicolons or tabs between them.
    Csv,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::Ours => "TOML inventory",
            Form::AnsibleIni => "Ansible inventory (INI)",
            Form::AnsibleYaml => "Ansible inventory (YAML)",
            Form::List => "list of devices",
            Form::Csv => "CSV inventory",
        })
    }
}

impl Form {
    /// The form of a file: as its ending says, else as it looks.
    pub(super) fn of(name: &str, text: &str) -> Result<Self, Mistake> {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let lines = || text.trim_start_matches('\u{feff}').lines().map(str::trim);
        let first = lines().find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
        if text.contains('\0') {
            let cure = "an inventory is TOML, an Ansible inventory, a list or CSV";
            return Err(Mistake::new(0, "this is not text", cure));
        }
        if first.is_some_and(|line| line.starts_with('{')) {
            let cure =
                "write it as YAML: ansible-inventory -i INVENTORY --list --yaml > inventory.yml";
            return Err(Mistake::new(0, "inventories in JSON are not read", cure));
        }
        let section = |line: &str| line.starts_with('[') && line.ends_with(']');
        Ok(match (ending.as_deref(), first) {
            (Some("toml"), _) => Self::Ours,
            (Some("yml" | "yaml"), _) => Self::AnsibleYaml,
            (Some("csv" | "tsv"), _) => Self::Csv,
            (Some("ini"), _) => Self::AnsibleIni,
            _ if lines().any(|line| line.starts_with("[[device]]")) => Self::Ours,
            (_, Some(line)) if line == "---" || line.ends_with(':') => Self::AnsibleYaml,
            _ if lines().any(section) => Self::AnsibleIni,
            _ if lines().any(|line| line.contains("ansible_") && line.contains('=')) => {
                Self::AnsibleIni
            }
            (_, Some(line)) if line.contains([',', ';', '\t']) => Self::Csv,
            _ => Self::List,
        })
    }

    /// The least that an inventory of this form has.
    pub(super) const fn example(self) -> &'static str {
        match self {
            Form::Ours => "add one: [[device]], name = \"leaf0\", system = \"eos\"",
            Form::AnsibleIni => {
                "add one: leaf0 ansible_host=10.0.0.10 ansible_network_os=arista.eos.eos"
            }
            Form::AnsibleYaml => {
                "add one below `hosts:` of a group: `leaf0:` with `ansible_host: 10.0.0.10`"
            }
            Form::List => "add one: leaf0 eos",
            Form::Csv => {
                "add a row below the headings, like name,address,system and leaf0,10.0.0.10,eos"
            }
        }
    }

    /// How the system of a device is said.
    pub(super) const fn cure_for_system(self) -> &'static str {
        match self {
            Form::Ours => {
                "add system = \"eos\" to it, to its group or to [defaults], or give --system"
            }
            Form::AnsibleIni | Form::AnsibleYaml => {
                "set ansible_network_os for it or its group (what group_vars say is written out by \
                 ansible-inventory -i INVENTORY --list --yaml), or give --system for all that say none"
            }
            Form::List => "write it behind the name, like leaf0 eos, or give --system",
            Form::Csv => "fill the column `system`, or give --system",
        }
    }
}
