//! The templates of all systems.

use crate::case::Template;
use crate::{cumulus, eos, junos, nxos, os10, picos, sonic};
use xoff_config::SystemId;

/// The template of a system, where there is one.
pub(crate) fn template(system: SystemId) -> Option<Template> {
    match system {
        SystemId::Eos => Some(eos::TEMPLATE),
        SystemId::NxOs => Some(nxos::TEMPLATE),
        SystemId::Sonic => Some(sonic::TEMPLATE),
        SystemId::Cumulus | SystemId::CumulusYaml => Some(cumulus::TEMPLATE),
        SystemId::Junos | SystemId::JunosSet => Some(junos::TEMPLATE),
        SystemId::Os10 => Some(os10::TEMPLATE),
        SystemId::PicOs => Some(picos::TEMPLATE),
        SystemId::Host => None,
    }
}
