//! What systems are called in inventories.

use crate::system_id::SystemId;

/// Names beside our own: what Ansible, Netmiko, NetBox and people write. In lower case, with `-` and `_` left out.
const NAMES: [(&str, SystemId); 45] = [
    ("arista.eos.eos", SystemId::Eos),
    ("arista.eos", SystemId::Eos),
    ("aristaeos", SystemId::Eos),
    ("arista", SystemId::Eos),
    ("cisco.nxos.nxos", SystemId::NxOs),
    ("cisco.nxos", SystemId::NxOs),
    ("cisconxos", SystemId::NxOs),
    ("nexus", SystemId::NxOs),
    ("junipernetworks.junos.junos", SystemId::Junos),
    ("junipernetworks.junos", SystemId::Junos),
    ("juniperjunos", SystemId::Junos),
    ("junosevo", SystemId::Junos),
    ("juniper", SystemId::Junos),
    ("dellemc.os10.os10", SystemId::Os10),
    ("dellemc.os10", SystemId::Os10),
    ("dellos10", SystemId::Os10),
    ("dellsmartfabricos10", SystemId::Os10),
    ("dellemc.enterprisesonic.sonic", SystemId::Sonic),
    ("dellemc.enterprisesonic", SystemId::Sonic),
    ("edgecore.sonic.sonic", SystemId::Sonic),
    ("sonic.sonic", SystemId::Sonic),
    ("dellsonic", SystemId::Sonic),
    ("sonicnos", SystemId::Sonic),
    ("nvidia.nvue.nvue", SystemId::Cumulus),
    ("nvidia.nvue.httpapi", SystemId::Cumulus),
    ("nvidia.nvue", SystemId::Cumulus),
    ("nvue", SystemId::Cumulus),
    ("cumuluslinux", SystemId::Cumulus),
    ("nvidiacumulus", SystemId::Cumulus),
    ("cumulusnvue", SystemId::Cumulus),
    ("pica8", SystemId::PicOs),
    ("pica8.picos.picos", SystemId::PicOs),
    ("fspicos", SystemId::PicOs),
    ("picos8", SystemId::PicOs),
    ("linux", SystemId::Host),
    ("ubuntu", SystemId::Host),
    ("ubuntulinux", SystemId::Host),
    ("debian", SystemId::Host),
    ("rhel", SystemId::Host),
    ("rocky", SystemId::Host),
    ("rockylinux", SystemId::Host),
    ("almalinux", SystemId::Host),
    ("sles", SystemId::Host),
    ("dgxos", SystemId::Host),
    ("server", SystemId::Host),
];

/// The systems that are collected from: those of configurations, each in one form.
pub(super) const COLLECTED: [SystemId; 8] = [
    SystemId::Sonic,
    SystemId::Eos,
    SystemId::NxOs,
    SystemId::Cumulus,
    SystemId::Junos,
    SystemId::Os10,
    SystemId::PicOs,
    SystemId::Host,
];

/// The system of that name, ours or another's; otherwise which names are known.
pub fn system_named(text: &str) -> Result<SystemId, String> {
    let plain = |text: &str| text.trim().to_ascii_lowercase().replace(['-', '_', ' '], "");
    let wanted = plain(text);
    let own = SystemId::ALL.into_iter().find(|id| plain(id.name()) == wanted);
    let other = || NAMES.iter().find(|(name, _)| *name == wanted).map(|(_, id)| *id);
    own.or_else(other).map(SystemId::family).ok_or_else(|| {
        let names: Vec<&str> = COLLECTED.iter().map(|id| id.name()).collect();
        format!(
            "known are {}, and what Ansible calls them (arista.eos.eos, cisco.nxos.nxos, \
             junipernetworks.junos.junos, dellemc.os10.os10, nvidia.nvue)",
            names.join(", ")
        )
    })
}
