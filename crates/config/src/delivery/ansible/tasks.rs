//! What is done to a device of each system.

use crate::system::SystemId;

/// The name of a system in files and variables.
pub(super) const fn stem(system: SystemId) -> &'static str {
    match system {
        SystemId::NxOs => "nxos",
        SystemId::CumulusYaml => "cumulus_yaml",
        SystemId::JunosSet => "junos_set",
        other => other.name(),
    }
}

/// The name of a system's group. No group may have the name of a host or a task.
pub(super) fn group(system: SystemId) -> String {
    format!("system_{}", stem(system))
}

/// The end of the file that configures a device.
pub(super) const fn ending(system: SystemId) -> &'static str {
    match system {
        SystemId::Sonic => ".json",
        SystemId::Eos | SystemId::NxOs | SystemId::Os10 => ".cfg",
        SystemId::Cumulus => ".nv",
        SystemId::CumulusYaml => ".yaml",
        SystemId::Junos => ".conf",
        SystemId::JunosSet => ".set",
        SystemId::PicOs => ".picos",
        SystemId::Host => ".sh",
    }
}

/// How devices of a system are reached.
pub(super) const fn connection(system: SystemId) -> &'static [(&'static str, &'static str)] {
    match system {
        SystemId::Eos => &[
            ("ansible_connection", "ansible.netcommon.network_cli"),
            ("ansible_network_os", "arista.eos.eos"),
            ("ansible_become", "true"),
            ("ansible_become_method", "enable"),
        ],
        SystemId::NxOs => &[
            ("ansible_connection", "ansible.netcommon.network_cli"),
            ("ansible_network_os", "cisco.nxos.nxos"),
        ],
        SystemId::Junos | SystemId::JunosSet => &[
            ("ansible_connection", "ansible.netcommon.netconf"),
            ("ansible_network_os", "junipernetworks.junos.junos"),
        ],
        SystemId::Os10 => &[
            ("ansible_connection", "ansible.netcommon.network_cli"),
            ("ansible_network_os", "dellemc.os10.os10"),
        ],
        SystemId::Sonic
        | SystemId::Cumulus
        | SystemId::CumulusYaml
        | SystemId::PicOs
        | SystemId::Host => &[("ansible_connection", "ansible.builtin.ssh")],
    }
}

/// Collections that are not part of Ansible itself.
pub(super) const fn collections(system: SystemId) -> &'static [&'static str] {
    match system {
        SystemId::Eos => &["ansible.netcommon", "arista.eos"],
        SystemId::NxOs => &["ansible.netcommon", "cisco.nxos"],
        SystemId::Junos | SystemId::JunosSet => &["ansible.netcommon", "junipernetworks.junos"],
        SystemId::Os10 => &["ansible.netcommon", "dellemc.os10"],
        SystemId::Sonic
        | SystemId::Cumulus
        | SystemId::CumulusYaml
        | SystemId::PicOs
        | SystemId::Host => &[],
    }
}

/// What a check run shows, and the way back.
pub(super) const fn notes(system: SystemId) -> (&'static str, &'static str) {
    match system {
        SystemId::Eos => (
            "the statements that would be entered",
            "`arista.eos.eos_config` with `src` of the backup and `replace: config`",
        ),
        SystemId::NxOs => (
            "the statements that would be entered",
            "`cisco.nxos.nxos_config` with the `.back` statements of `xoff config --rollback`",
        ),
        SystemId::Junos | SystemId::JunosSet => (
            "the difference that a commit would make",
            "`rollback 1` on the box; a commit that is not confirmed within ten minutes takes itself back",
        ),
        SystemId::Os10 => (
            "the statements that would be entered",
            "`dellemc.os10.os10_config` with the `.back` statements of `xoff config --rollback`",
        ),
        SystemId::Sonic => (
            "only that a file would be copied",
            "`config apply-patch` with the reverse patch of `xoff config --diff DIR --patches`",
        ),
        SystemId::Cumulus | SystemId::CumulusYaml => (
            "only that a file would be copied",
            "`nv config history`, then `nv config apply` of the revision before",
        ),
        SystemId::PicOs => ("nothing", "by hand: no collection is known here"),
        SystemId::Host => (
            "the files that would change",
            "copies with a date stand beside the files that were replaced; NICs forget at reboot",
        ),
    }
}

/// The tasks.
pub(super) fn of(system: SystemId) -> String {
    match system {
        SystemId::Eos => {
            merged("arista.eos.eos_config", "    replace: line\n    save_when: changed\n")
        }
        SystemId::NxOs => merged("cisco.nxos.nxos_config", "    save_when: changed\n"),
        SystemId::Os10 => merged("dellemc.os10.os10_config", "    save: true\n"),
        SystemId::Junos => junos("text"),
        SystemId::JunosSet => junos("set"),
        SystemId::Sonic => SONIC.to_owned(),
        SystemId::Cumulus => cumulus("/bin/sh -e /tmp/xoff-roce.nv", "nv"),
        SystemId::CumulusYaml => cumulus("nv config patch /tmp/xoff-roce.yaml", "yaml"),
        SystemId::PicOs => PICOS.to_owned(),
        SystemId::Host => HOST.to_owned(),
    }
}

/// Systems whose module merges statements and keeps a backup.
fn merged(module: &str, more: &str) -> String {
    format!(
        "- name: Merge the RoCE configuration
  {module}:
    src: \"{{{{ xoff_files }}}}/{{{{ xoff_file }}}}\"
{more}    backup: true
    backup_options:
      dir_path: \"{{{{ xoff_backup }}}}\"
      filename: \"{{{{ inventory_hostname }}}}.cfg\"
"
    )
}

fn junos(format: &str) -> String {
    format!(
        "- name: Load the RoCE configuration, to be confirmed within ten minutes
  junipernetworks.junos.junos_config:
    src: \"{{{{ xoff_files }}}}/{{{{ xoff_file }}}}\"
    src_format: {format}
    update: merge
    confirm: 10
    comment: RoCE configuration
    backup: true
    backup_options:
      dir_path: \"{{{{ xoff_backup }}}}\"
      filename: \"{{{{ inventory_hostname }}}}.conf\"

- name: Confirm it, if the box can still be reached
  junipernetworks.junos.junos_config:
    confirm_commit: true
  when: not ansible_check_mode
"
    )
}

/// Reads the running configuration with a command and keeps it.
macro_rules! backup {
    ($command:literal, $end:literal) => {
        concat!(
            "- name: Read the running configuration
  ansible.builtin.command: ",
            $command,
            "
  register: xoff_running
  changed_when: false
  check_mode: false

- name: Keep it
  ansible.builtin.copy:
    content: \"{{ xoff_running.stdout }}\"
    dest: \"{{ xoff_backup }}/{{ inventory_hostname }}.",
            $end,
            "\"
    mode: \"0600\"
  delegate_to: localhost
  become: false
  vars:
    ansible_connection: local
"
        )
    };
}

const SONIC: &str = concat!(
    backup!("show runningconfiguration all", "json"),
    "
- name: Copy the RoCE tables
  ansible.builtin.copy:
    src: \"{{ xoff_files }}/{{ xoff_file }}\"
    dest: /tmp/xoff-roce.json
    mode: \"0600\"

- name: Load them into the running configuration
  ansible.builtin.command: config load -y /tmp/xoff-roce.json
  become: true
  changed_when: true

- name: Keep them over a reboot
  ansible.builtin.command: config save -y
  become: true
  changed_when: true
"
);

fn cumulus(load: &str, end: &str) -> String {
    format!(
        "{}
- name: Copy the RoCE settings
  ansible.builtin.copy:
    src: \"{{{{ xoff_files }}}}/{{{{ xoff_file }}}}\"
    dest: /tmp/xoff-roce.{end}
    mode: \"0600\"

- name: Enter them in a new revision
  ansible.builtin.command: {load}
  become: true
  changed_when: true

- name: Apply the revision
  ansible.builtin.command: nv config apply -y
  become: true
  changed_when: true

- name: Keep it over a reboot
  ansible.builtin.command: nv config save
  become: true
  changed_when: true
",
        backup!("nv config show -o commands", "nv")
    )
}

const PICOS: &str = "- name: Name what is delivered by hand
  ansible.builtin.debug:
    msg: \"No collection for PicOS is known here: deliver {{ xoff_file }} by hand\"
";

const HOST: &str = "- name: Copy the script
  ansible.builtin.copy:
    src: \"{{ xoff_files }}/{{ xoff_file }}\"
    dest: \"/usr/local/sbin/{{ inventory_hostname }}.sh\"
    mode: \"0755\"
    backup: true
  become: true

- name: Copy the unit
  ansible.builtin.copy:
    src: \"{{ xoff_files }}/{{ inventory_hostname }}.service\"
    dest: /etc/systemd/system/xoff-roce.service
    mode: \"0644\"
    backup: true
  become: true

- name: Copy the environment of NCCL
  ansible.builtin.copy:
    src: \"{{ xoff_files }}/{{ inventory_hostname }}.env\"
    dest: /etc/xoff-nccl.env
    mode: \"0644\"
    backup: true
  become: true

- name: Run it now and at every boot
  ansible.builtin.systemd_service:
    name: xoff-roce.service
    daemon_reload: true
    enabled: true
    state: restarted
  become: true
  when: not ansible_check_mode
";
