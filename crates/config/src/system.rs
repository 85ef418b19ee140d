//! The seam between the model and the operating systems: how to recognise, read and write each.

use crate::device::Device;
use crate::place::FileId;
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

    /// How it is read and written.
    pub fn system(self) -> &'static dyn System {
        match self {
            Self::Sonic => &crate::sonic::Sonic,
            Self::Eos => &crate::eos::Eos,
            Self::NxOs => &crate::nxos::NxOs,
            Self::Cumulus => &crate::cumulus::Cumulus::Commands,
            Self::CumulusYaml => &crate::cumulus::Cumulus::Yaml,
            Self::Junos => &crate::junos::Junos::Braces,
            Self::JunosSet => &crate::junos::Junos::Commands,
            Self::Os10 => &crate::os10::Os10,
            Self::PicOs => &crate::picos::PicOs,
            Self::Host => &crate::host::Host,
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

    /// The system that a text most looks like, if it looks like any.
    pub fn recognise(text: &str) -> Option<Self> {
        let scored = Self::ALL.map(|id| (id.system().likeness(text), id));
        let best = scored.into_iter().max_by_key(|(score, id)| (*score, std::cmp::Reverse(*id)))?;
        (best.0 > 0).then_some(best.1)
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

/// A text to read.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Name of the device where the text says none: usually the file's name.
    pub name: &'a str,
    /// The file, for places.
    pub file: FileId,
    /// What is in it.
    pub text: &'a str,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Its name.
    pub name: String,
    /// What belongs into it.
    pub text: String,
}

/// A port of a switch that breaks its cages into links: which cage, which of its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cage {
    /// The cage, from 0.
    pub cage: u32,
    /// The link of the cage, from 0.
    pub link: u32,
    /// Links in the cage: 1 to 8.
    pub links: u32,
}

/// Something that a device is configured to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Marking of the lossless queue.
    Marking,
    /// The PFC watchdog.
    Watchdog,
    /// Dynamic load balancing.
    Balancing,
}

impl Topic {
    /// The word for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Topic::Marking => "ECN marking",
            Topic::Watchdog => "the PFC watchdog",
            Topic::Balancing => "dynamic load balancing",
        }
    }
}

/// An operating system.
///
/// The contract, tested for every system and random intents: `parse(render(d))` has the facts of
/// `fit(d)`, and knows every line of it.
pub trait System: Sync {
    /// Which one.
    fn id(&self) -> SystemId;

    /// How much a text looks like this system's: 0 for not at all.
    fn likeness(&self, text: &str) -> u32;

    /// The device that a text describes. Never fails: what is not understood is remarked.
    fn parse(&self, input: &Input<'_>) -> Device;

    /// The device as far as this system can say it: steps and ranges of values, things that are
    /// not configured. `limits` gets a sentence for each thing that had to change.
    fn fit(&self, device: &Device, limits: &mut Vec<String>) -> Device;

    /// The files that configure what is said of a device, and nothing else. The first one is the
    /// configuration proper. The device should be a fitting one; the same device gives the same
    /// bytes.
    fn render(&self, device: &Device) -> Vec<Rendered>;

    /// What this system has, and xoff knows no verified statement for: it is neither written nor
    /// missed.
    fn unsaid(&self) -> &'static [Topic] {
        &[]
    }

    /// The name of a port.
    fn port_name(&self, cage: Cage) -> String;
}
