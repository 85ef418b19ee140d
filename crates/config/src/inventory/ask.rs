//! What each system is asked: one table, and nothing in it changes a device.
//!
//! Commands are given to `ssh` as they stand here and run in whatever a user's login gives them: the command line
//! of a switch, or a shell. Pagers are off. Where a command has several forms, the next one is tried when a
//! device does not know the one before.

use crate::system_id::SystemId;

/// Something that a device is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// What it is about: `running`, `lldp`, `version` or `state`.
    pub what: &'static str,
    /// The command, then others to try where it is not known.
    pub commands: &'static [&'static str],
    /// What the command reads from its standard input.
    pub input: Option<&'static str>,
    /// How the file with the answer is called behind the device's name.
    pub ending: &'static str,
    /// Whether there is nothing to audit without the answer: the device failed.
    pub needed: bool,
    /// Whether the audit reads the answer; another one is marked, so that it is not taken for a strange configuration.
    pub read: bool,
}

impl Ask {
    /// What there is nothing to audit without.
    const fn running(commands: &'static [&'static str], ending: &'static str) -> Self {
        Self { what: "running", commands, input: None, ending, needed: true, read: true }
    }

    /// The neighbours of its ports.
    const fn lldp(commands: &'static [&'static str]) -> Self {
        let ending = ".lldp.txt";
        Self { what: "lldp", commands, input: None, ending, needed: false, read: true }
    }

    /// What people look up beside it.
    const fn version(commands: &'static [&'static str]) -> Self {
        let ending = ".version.txt";
        Self { what: "version", commands, input: None, ending, needed: false, read: false }
    }
}

const SONIC: [Ask; 3] = [
    // `sudo -n` asks for no password; what is saved is the last resort.
    Ask::running(
        &[
            "show runningconfiguration all",
            "sudo -n show runningconfiguration all",
            "cat /etc/sonic/config_db.json",
        ],
        ".json",
    ),
    Ask::lldp(&["show lldp table", "sudo -n show lldp table"]),
    Ask::version(&["show version"]),
];

const EOS: [Ask; 3] = [
    Ask::running(&["show running-config | no-more"], ".cfg"),
    Ask::lldp(&["show lldp neighbors detail | no-more"]),
    Ask::version(&["show version | no-more"]),
];

const NX_OS: [Ask; 3] = [
    Ask::running(&["terminal length 0 ; show running-config"], ".cfg"),
    Ask::lldp(&["terminal length 0 ; show lldp neighbors detail"]),
    Ask::version(&["terminal length 0 ; show version"]),
];

const CUMULUS: [Ask; 3] = [
    Ask::running(&["nv config show -o commands"], ".nv"),
    Ask::lldp(&["lldpctl -f json", "sudo -n lldpctl -f json"]),
    Ask::version(&["nv show system"]),
];

const JUNOS: [Ask; 3] = [
    // Groups are not expanded by the audit: the device does it. The login of root is a shell.
    Ask::running(
        &[
            "show configuration | display inheritance | display set | no-more",
            "cli -c \"show configuration | display inheritance | display set | no-more\"",
        ],
        ".set",
    ),
    Ask::lldp(&["show lldp neighbors | no-more", "cli -c \"show lldp neighbors | no-more\""]),
    Ask::version(&["show version | no-more", "cli -c \"show version | no-more\""]),
];

const OS10: [Ask; 3] = [
    Ask::running(&["show running-configuration | no-more"], ".cfg"),
    Ask::lldp(&["show lldp neighbors | no-more"]),
    Ask::version(&["show version | no-more"]),
];

const PIC_OS: [Ask; 3] = [
    // `display set` is there in the configuration mode only; entering it changes nothing.
    Ask::running(
        &["/pica/bin/pica_sh -c \"configure;show | display set\"", "show running-config | no-more"],
        ".set",
    ),
    Ask::lldp(&["/pica/bin/pica_sh -c \"show lldp neighbor\"", "show lldp neighbor"]),
    Ask::version(&["version", "show version"]),
];

const HOST: [Ask; 1] = [Ask {
    what: "state",
    commands: &["/bin/sh -s"],
    input: Some(include_str!("host.sh")),
    ending: ".txt",
    needed: true,
    read: true,
}];

/// What a system is asked, in this order.
pub fn asks(system: SystemId) -> &'static [Ask] {
    match system.family() {
        SystemId::Sonic => &SONIC,
        SystemId::Eos => &EOS,
        SystemId::NxOs => &NX_OS,
        SystemId::Cumulus | SystemId::CumulusYaml => &CUMULUS,
        SystemId::Junos | SystemId::JunosSet => &JUNOS,
        SystemId::Os10 => &OS10,
        SystemId::PicOs => &PIC_OS,
        SystemId::Host => &HOST,
    }
}

/// The systems that are collected from.
pub fn systems() -> impl Iterator<Item = SystemId> {
    super::names::COLLECTED.into_iter()
}
