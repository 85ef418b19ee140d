//! An Ansible playbook that carries the rendered files to the devices: one leaf first, then one device
//! at a time, with a backup before each change.
//!
//! The playbook refers to the files beside it, so that what is audited is what is delivered. Only the
//! collections of the systems in use are needed.

mod tasks;

use super::{NOT_READ, is_plain};
use crate::device::Device;
use crate::intent::Intent;
use crate::system::{Rendered, SystemId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use xoff_fabric::model::{Fabric, Tier};

/// The folder of the playbook.
pub const FOLDER: &str = "ansible";

/// The playbook, its inventory, tasks for the systems in use, the collections it needs, and how it is
/// used. The first device whose name cannot stand in an inventory is an error.
pub fn files(intent: &Intent, fabric: &Fabric) -> Result<Vec<Rendered>, String> {
    let odd = intent.devices.iter().find(|device| !is_plain(&device.name));
    if let Some(device) = odd {
        return Err(format!(
            "`{}` is no name for a host of Ansible; use letters, digits, `.`, `_` and `-`",
            device.name
        ));
    }
    let systems: BTreeSet<SystemId> = intent.devices.iter().map(|device| device.system).collect();
    let file = |name: &str, text: String| Rendered { name: format!("{FOLDER}/{name}"), text };
    let mut files = vec![
        file("inventory.yml", inventory(intent, fabric)),
        file("deliver.yml", playbook(&systems)),
        file("README.md", readme(&systems)),
    ];
    let needed = requirements(&systems);
    if !needed.is_empty() {
        files.push(file("requirements.yml", needed));
    }
    for system in systems {
        let name = format!("tasks/{}.yml", tasks::stem(system));
        files.push(file(&name, format!("---\n# {NOT_READ}\n{}", tasks::of(system))));
    }
    Ok(files)
}

/// The leaf that is changed first.
fn canary(fabric: &Fabric) -> Option<&str> {
    let leaf = fabric.switches.iter().find(|switch| switch.tier == Tier::Leaf);
    leaf.or(fabric.switches.first()).map(|switch| switch.name.as_str())
}

/// Groups by tier, with the canary in one of its own, and by system.
fn inventory(intent: &Intent, fabric: &Fabric) -> String {
    let mut tiers: BTreeMap<&str, Vec<&Device>> = BTreeMap::new();
    let tier_of: BTreeMap<&str, Tier> =
        fabric.switches.iter().map(|switch| (switch.name.as_str(), switch.tier)).collect();
    let mut systems: BTreeMap<SystemId, Vec<&str>> = BTreeMap::new();
    for device in &intent.devices {
        let group = match tier_of.get(device.name.as_str()) {
            Some(Tier::Leaf) => "leaves",
            Some(Tier::Spine) => "spines",
            Some(Tier::Core) => "cores",
            None => "servers",
        };
        tiers.entry(group).or_default().push(device);
        systems.entry(device.system).or_default().push(&device.name);
    }
    let mut text = format!(
        "---\n# {NOT_READ}\n# Say how devices are reached in host_vars and group_vars beside this file:\n\
         # ansible_host, ansible_user and secrets are not xoff's to know.\nall:\n  children:\n"
    );
    if let Some(name) = canary(fabric) {
        let _ = write!(text, "    canary:\n      hosts:\n        {name}:\n");
    }
    let switches = ["leaves", "spines", "cores"].map(|tier| (tier, tiers.remove(tier)));
    let present: Vec<_> = switches.into_iter().filter_map(|(tier, d)| Some((tier, d?))).collect();
    if !present.is_empty() {
        text += "    switches:\n      children:\n";
    }
    for (tier, devices) in present {
        let _ = write!(text, "        {tier}:\n          hosts:\n");
        hosts(&mut text, "            ", &devices);
    }
    if let Some(servers) = tiers.remove("servers") {
        text += "    servers:\n      hosts:\n";
        hosts(&mut text, "        ", &servers);
    }
    for (system, names) in systems {
        let _ = write!(text, "    {}:\n      hosts:\n", tasks::group(system));
        for name in names {
            let _ = writeln!(text, "        {name}:");
        }
        text += "      vars:\n";
        let _ = writeln!(text, "        xoff_system: {}", tasks::stem(system));
        for (key, value) in tasks::connection(system) {
            let _ = writeln!(text, "        {key}: {value}");
        }
    }
    text
}

/// Devices, each with the file that is delivered to it.
fn hosts(text: &mut String, indent: &str, devices: &[&Device]) {
    for device in devices {
        let end = tasks::ending(device.system);
        let _ =
            writeln!(text, "{indent}{}:\n{indent}  xoff_file: {}{end}", device.name, device.name);
    }
}

fn playbook(systems: &BTreeSet<SystemId>) -> String {
    let mut text = format!("---\n# {NOT_READ}\n# Read README.md first.\n");
    let (hosts, switches): (Vec<SystemId>, Vec<SystemId>) =
        systems.iter().partition(|system| **system == SystemId::Host);
    let plays = [
        ("Deliver to the canary", "canary", "1", &switches),
        (
            "Deliver to the other switches",
            "switches:!canary",
            "\"{{ xoff_serial | default(1) }}\"",
            &switches,
        ),
        ("Deliver to the hosts", "servers", "\"{{ xoff_serial | default(1) }}\"", &hosts),
    ];
    for (name, pattern, serial, systems) in plays {
        if systems.is_empty() {
            continue;
        }
        let _ = write!(
            text,
            "\n- name: {name}\n  hosts: {pattern}\n  gather_facts: false\n  serial: {serial}\n  \
             any_errors_fatal: true\n  vars:\n    xoff_files: \"{{{{ playbook_dir }}}}/..\"\n    \
             # Outside the folder of configurations, which the audit reads.\n    \
             xoff_backup: \"{{{{ playbook_dir }}}}/../../xoff-backup\"\n  tasks:\n"
        );
        text += "    - name: Make a folder for the backups\n      ansible.builtin.file:\n        \
                 path: \"{{ xoff_backup }}\"\n        state: directory\n        mode: \"0700\"\n      \
                 delegate_to: localhost\n      run_once: true\n";
        for system in systems {
            let stem = tasks::stem(*system);
            let _ = write!(
                text,
                "    - name: Deliver to {stem}\n      ansible.builtin.import_tasks: tasks/{stem}.yml\n      \
                 when: xoff_system == '{stem}'\n"
            );
        }
    }
    text
}

fn requirements(systems: &BTreeSet<SystemId>) -> String {
    let needed: BTreeSet<&str> =
        systems.iter().flat_map(|system| tasks::collections(*system)).copied().collect();
    if needed.is_empty() {
        return String::new();
    }
    let mut text = format!("---\n# {NOT_READ}\ncollections:\n");
    for name in needed {
        let _ = writeln!(text, "  - name: {name}");
    }
    text
}

fn readme(systems: &BTreeSet<SystemId>) -> String {
    let mut text = format!("<!-- {NOT_READ} -->\n");
    text += "# Delivering these configurations\n\n\
             Only the RoCE part of each device is delivered; it is merged into what the device has.\n\n\
             1. `ansible-galaxy collection install -r requirements.yml`, if that file is here.\n\
             2. Say in `host_vars` and `group_vars` how devices are reached.\n\
             3. `ansible-playbook -i inventory.yml deliver.yml --check --diff` changes nothing.\n\
             4. `ansible-playbook -i inventory.yml deliver.yml --limit canary` changes one leaf. Wait, look at its\n   \
             counters, and run `xoff audit` on what it runs now.\n\
             5. `ansible-playbook -i inventory.yml deliver.yml` changes the rest, one device at a time;\n   \
             `-e xoff_serial=4` changes four at a time. The first failure stops it.\n\n\
             Before a device is changed, its configuration is copied to `../../xoff-backup`\n\
             (`-e xoff_backup=DIR` for another place).\n\n\
             | system | what `--check` shows | the way back |\n| --- | --- | --- |\n";
    for system in systems {
        let (check, back) = tasks::notes(*system);
        let _ = writeln!(text, "| {} | {check} | {back} |", tasks::stem(*system));
    }
    text += "\n`xoff config FABRIC --diff xoff-backup --rollback --out change` writes what would change against the \
             backups,\nand the statements of the way back.\n";
    text
}
