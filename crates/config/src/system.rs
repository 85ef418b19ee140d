//! The seam between the model and the operating systems: how to recognise, read and write each.

pub use crate::system_id::SystemId;

use crate::device::Device;
use crate::place::FileId;

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

impl Rendered {
    /// The only file of a device: its name with an ending.
    pub(crate) fn only(device: &Device, ending: &str, text: String) -> Vec<Self> {
        vec![Self { name: format!("{}.{ending}", device.name), text }]
    }
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

    /// Words that stand in files of this system and rarely in others, each with its weight.
    fn marks(&self) -> &'static [(&'static str, u32)] {
        &[]
    }

    /// How much a text looks like this system's: 0 for not at all.
    fn likeness(&self, text: &str) -> u32 {
        self.marks().iter().filter(|(mark, _)| text.contains(mark)).map(|(_, weight)| weight).sum()
    }

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
