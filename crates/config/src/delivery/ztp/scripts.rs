//! What a box runs or reads first, per system.

use super::NOT_READ;
use crate::system::{Rendered, SystemId};
use serde_json::json;

/// The script or list of a system.
pub(super) fn of(system: SystemId, server: &str) -> Option<Rendered> {
    let (name, text) = match system {
        SystemId::Eos => ("eos/bootstrap", EOS.replace("SERVER", server)),
        SystemId::NxOs => ("nxos/poap.py", POAP.replace("SERVER", server)),
        SystemId::Cumulus => ("cumulus/cumulus-ztp", CUMULUS.replace("SERVER", server)),
        SystemId::Sonic => ("sonic/ztp.json", sonic(server)),
        _ => return None,
    };
    Some(Rendered { name: name.to_owned(), text: text.replace("MARK", NOT_READ) })
}

/// What a reader has to know of a system's way.
pub(super) const fn note(system: SystemId) -> &'static str {
    match system {
        SystemId::Eos => {
            "DHCP option 67 names `eos/bootstrap`; the script loads `eos/SERIAL.cfg` as the startup configuration, and the \
             box restarts"
        }
        SystemId::NxOs => {
            "POAP loads `nxos/poap.py`, which loads `nxos/conf.SERIAL` and schedules it. POAP wants the MD5 sum of the \
             script in its second line: `sed '/^#md5sum/d' poap.py | md5sum`"
        }
        SystemId::Cumulus => {
            "DHCP option 239 names `cumulus/cumulus-ztp`; the script runs the commands of `cumulus/SERIAL.nv` and applies them"
        }
        SystemId::Sonic => {
            "DHCP option 67 names `sonic/ztp.json`, which loads `sonic/SERIAL.json` as `config_db.json`"
        }
        SystemId::Junos => {
            "DHCP option 43 names `junos/SERIAL.conf`; it is by MAC address, so every box needs a reservation"
        }
        _ => "no way is known here",
    }
}

const EOS: &str = "#!/usr/bin/env bash
# MARK
set -eu
serial=$(FastCli -p 15 -c 'show version' | sed -n 's/^Serial number: *//p')
curl -fsS -o /mnt/flash/startup-config.new \"SERVER/eos/$serial.cfg\"
mv /mnt/flash/startup-config.new /mnt/flash/startup-config
";

const POAP: &str = "#!/bin/env python3
#md5sum=\"\"
# MARK
import re

from cli import cli

serial = re.search(r'[Pp]rocessor [Bb]oard ID (\\S+)', cli('show version')).group(1)
cli('copy SERVER/nxos/conf.%s bootflash:conf.%s vrf management' % (serial, serial))
cli('copy bootflash:conf.%s scheduled-config' % serial)
";

const CUMULUS: &str = "#!/bin/bash
# CUMULUS-AUTOPROVISIONING
# MARK
set -eu
serial=$(decode-syseeprom | awk '/^Serial Number/ { print $NF }')
curl -fsS -o /tmp/xoff.nv \"SERVER/cumulus/$serial.nv\"
/bin/sh -e /tmp/xoff.nv
nv config apply -y
nv config save
";

fn sonic(server: &str) -> String {
    let source = json!({
        "prefix": format!("{server}/sonic/"),
        "identifier": "serial-number",
        "suffix": ".json"
    });
    let section = json!({
        "dynamic-url": {"source": source, "destination": "/etc/sonic/config_db.json"}
    });
    format!("{:#}\n", json!({"ztp": {"01-configdb-json": section}}))
}
