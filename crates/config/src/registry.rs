//! Which system is read and written by which module.

use crate::system::System;
use crate::system_id::SystemId;
use crate::{cumulus, eos, host, junos, nxos, os10, picos, sonic};

/// Likeness below which a text is no system's.
const LEAST_LIKENESS: u32 = 10;

impl SystemId {
    /// How it is read and written.
    pub fn system(self) -> &'static dyn System {
        match self {
            Self::Sonic => &sonic::Sonic,
            Self::Eos => &eos::Eos,
            Self::NxOs => &nxos::NxOs,
            Self::Cumulus => &cumulus::Cumulus::Commands,
            Self::CumulusYaml => &cumulus::Cumulus::Yaml,
            Self::Junos => &junos::Junos::Braces,
            Self::JunosSet => &junos::Junos::Commands,
            Self::Os10 => &os10::Os10,
            Self::PicOs => &picos::PicOs,
            Self::Host => &host::Host,
        }
    }

    /// The system that a text most looks like, if it looks enough like any: one weak mark may stand in any text.
    pub fn recognise(text: &str) -> Option<Self> {
        let scored = Self::ALL.map(|id| (id.system().likeness(text), id));
        let best = scored.into_iter().max_by_key(|(score, id)| (*score, std::cmp::Reverse(*id)))?;
        (best.0 >= LEAST_LIKENESS).then_some(best.1)
    }
}
