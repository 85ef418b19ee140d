//! [`SystemId`]: which operating system a device runs.

use std::fmt;
use std::str::FromStr;

/// An operating system of switches in the form its configuration is written in, or a host. What is read
/// in one form is written in the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SystemId {
    /// SONiC, as `config_db.json`.
    Sonic,
    /// Arista EOS.
    Eos,
    /// Cisco NX-OS on Nexus 9000.
    NxOs,
    /// NVIDIA Cumulus Linux, as NVUE commands.
    Cumulus,
    /// NVIDIA Cumulus Linux, as the YAML of NVUE.
    CumulusYaml,
    /// Juniper Junos on QFX, with braces.
    Junos,
    /// Juniper Junos on QFX, as `set` commands.
    JunosSet,
    /// Dell SmartFabric OS10.
    Os10,
    /// FS PicOS.
    PicOs,
    /// A Linux host with NICs: a script, or what a check script reads back.
    Host,
}

impl SystemId {
    /// All systems.
    pub const ALL: [Self; 10] = [
        Self::Sonic,
        Self::Eos,
        Self::NxOs,
        Self::Cumulus,
        Self::CumulusYaml,
        Self::Junos,
        Self::JunosSet,
        Self::Os10,
        Self::PicOs,
        Self::Host,
    ];

    /// The name in files and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sonic => "sonic",
            Self::Eos => "eos",
            Self::NxOs => "nx-os",
            Self::Cumulus => "cumulus",
            Self::CumulusYaml => "cumulus-yaml",
            Self::Junos => "junos",
            Self::JunosSet => "junos-set",
            Self::Os10 => "os10",
            Self::PicOs => "picos",
            Self::Host => "host",
        }
    }

    /// The operating system, whatever form its configuration is written in.
    pub const fn family(self) -> Self {
        match self {
            Self::CumulusYaml => Self::Cumulus,
            Self::JunosSet => Self::Junos,
            other => other,
        }
    }
}

impl fmt::Display for SystemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SystemId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|id| id.name() == text);
        known.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|id| id.name()).collect();
            format!("there is no system `{text}`; known are {}", names.join(", "))
        })
    }
}
