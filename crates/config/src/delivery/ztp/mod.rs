//! A bundle for zero-touch provisioning: every box finds its configuration by its serial number.
//!
//! Only the RoCE part is ours. It is put behind a base configuration that the owner gives; without one a
//! box would start with nothing but RoCE. What the mechanism of each system wants is from its maker's
//! documents, and no box has tried these files.

mod dhcp;
mod scripts;
pub mod serials;

pub use serials::Identity;

use super::NOT_READ;
use super::patches;
use crate::device::Device;
use crate::intent::Intent;
use crate::system::{Rendered, SystemId};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The folder of the bundle.
pub const FOLDER: &str = "ztp";

/// What a bundle is made of.
#[derive(Debug, Clone, Copy)]
pub struct Bundle<'a> {
    /// The devices.
    pub intent: &'a Intent,
    /// Which box is which switch.
    pub identities: &'a BTreeMap<String, Identity>,
    /// Base configurations by device, if there are any.
    pub base: Option<&'a BTreeMap<String, String>>,
    /// Where boxes load files from: an address without a slash at its end.
    pub server: &'a str,
}

/// Whether a system has a mechanism that is known here, and its folder.
const fn folder(system: SystemId) -> Option<&'static str> {
    match system {
        SystemId::Eos => Some("eos"),
        SystemId::NxOs => Some("nxos"),
        SystemId::Cumulus => Some("cumulus"),
        SystemId::Sonic => Some("sonic"),
        SystemId::Junos => Some("junos"),
        SystemId::CumulusYaml
        | SystemId::JunosSet
        | SystemId::Os10
        | SystemId::PicOs
        | SystemId::Host => None,
    }
}

impl Bundle<'_> {
    /// The files. `Err` has a sentence for every device that cannot be in the bundle.
    pub fn files(&self) -> Result<Vec<Rendered>, Vec<String>> {
        let mut files = Vec::new();
        let mut wrong = Vec::new();
        let mut systems = BTreeSet::new();
        for device in self.intent.devices.iter().filter(|device| !device.is_host()) {
            match self.device(device) {
                Ok(file) => {
                    systems.insert(device.system);
                    files.push(file);
                }
                Err(why) => wrong.push(why),
            }
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        files.extend(systems.iter().filter_map(|system| scripts::of(*system, self.server)));
        files.extend(dhcp::files(self, &systems));
        files.push(self.readme(&systems));
        for file in &mut files {
            file.name = format!("{FOLDER}/{}", file.name);
        }
        Ok(files)
    }

    /// The configuration of a box, under the name that it asks for.
    fn device(&self, device: &Device) -> Result<Rendered, String> {
        let (name, system) = (&device.name, device.system);
        let Some(folder) = folder(system) else {
            let cure = match system {
                SystemId::CumulusYaml => "; choose cumulus",
                SystemId::JunosSet => "; choose junos",
                _ => "",
            };
            return Err(format!("`{name}`: no provisioning of {system} is known here{cure}"));
        };
        let identity = self.identities.get(name).ok_or(format!("`{name}` has no serial number"))?;
        let by_mac = identity.mac.as_ref().filter(|_| system == SystemId::Junos);
        let Some(number) = identity.serial.as_ref().or(by_mac) else {
            return Err(format!(
                "`{name}`: {system} asks by serial number, and only its MAC is known"
            ));
        };
        let rendered = self.intent.files(device, &mut Vec::new());
        let own = rendered.first().map_or("", |file| file.text.as_str());
        let text = match self.base {
            None => own.to_owned(),
            Some(base) => {
                let base = base.get(name).ok_or(format!("`{name}` has no base configuration"))?;
                joined(system, base, own, device)
                    .map_err(|why| format!("the base configuration of `{name}`: {why}"))?
            }
        };
        let file = match system {
            SystemId::NxOs => format!("conf.{number}"),
            SystemId::Sonic => format!("{number}.json"),
            SystemId::Cumulus => format!("{number}.nv"),
            SystemId::Junos => format!("{}.conf", number.replace(':', "")),
            _ => format!("{number}.cfg"),
        };
        Ok(Rendered { name: format!("{folder}/{file}"), text })
    }

    fn readme(&self, systems: &BTreeSet<SystemId>) -> Rendered {
        let mut text = format!("<!-- {NOT_READ} -->\n# Zero-touch provisioning\n\n");
        text += "Serve this folder at the address that the scripts name, and merge what is in `dhcp` into the \
                 configuration of your\nDHCP server. No box has tried these files: try one first.\n\n";
        text += match self.base {
            Some(_) => {
                "Every configuration is the base configuration that was given, with the RoCE part of xoff behind \
                        it.\n\n"
            }
            None => {
                "**Every configuration is the RoCE part only**: a box that starts with it has no address and no \
                     routes. Give base\nconfigurations with `--base`.\n\n"
            }
        };
        for system in systems {
            let _ = writeln!(text, "- {system}: {}", scripts::note(*system));
        }
        Rendered { name: "README.md".to_owned(), text }
    }
}

/// The base configuration with ours behind it.
fn joined(system: SystemId, base: &str, own: &str, device: &Device) -> Result<String, String> {
    if system == SystemId::Sonic {
        let running = patches::read(base)?;
        let ports = device.ports.keys().map(|port| port.as_str()).collect();
        let all = patches::merge(&running, &patches::intended(device), &ports);
        return Ok(format!("{:#}\n", Value::Object(all)));
    }
    // Boxes print `end` behind their configuration, and read nothing after it.
    let trimmed = base.trim_end();
    let (base, end) = match trimmed.strip_suffix("end").filter(|rest| rest.ends_with('\n')) {
        Some(rest) => (rest.trim_end(), "end\n"),
        None => (trimmed, ""),
    };
    Ok(format!("{base}\n{own}{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::Choices;
    use xoff_fabric::load_fabric;

    const POD: &str = "[cluster]\ngpus = 16\n[fabric]\nkind = 'leaf-spine'\nleaf = 'tomahawk-5'\nleaves = 2\nspines = 1\n";

    fn intent(system: SystemId) -> Intent {
        Intent::with(&load_fabric(POD).into_result().unwrap(), Choices::all(system))
    }

    fn identities() -> BTreeMap<String, Identity> {
        let all = ["leaf0", "leaf1", "spine0"];
        let text = "leaf0,S0,00:00:00:00:00:01\nleaf1,S1\nspine0,S2\n";
        serials::read(text, &all).unwrap()
    }

    fn made(
        intent: &Intent,
        base: Option<&BTreeMap<String, String>>,
    ) -> Result<Vec<Rendered>, Vec<String>> {
        let identities = identities();
        Bundle { intent, identities: &identities, base, server: "http://192.0.2.1" }.files()
    }

    fn find<'a>(files: &'a [Rendered], name: &str) -> &'a str {
        let file = files.iter().find(|file| file.name == name);
        &file
            .unwrap_or_else(|| {
                panic!("{name} is not in {:?}", files.iter().map(|f| &f.name).collect::<Vec<_>>())
            })
            .text
    }

    #[test]
    fn every_system_finds_its_configuration_by_serial_number() {
        for (system, config, script) in [
            (SystemId::Eos, "ztp/eos/S0.cfg", "ztp/eos/bootstrap"),
            (SystemId::NxOs, "ztp/nxos/conf.S0", "ztp/nxos/poap.py"),
            (SystemId::Cumulus, "ztp/cumulus/S0.nv", "ztp/cumulus/cumulus-ztp"),
            (SystemId::Sonic, "ztp/sonic/S0.json", "ztp/sonic/ztp.json"),
            (SystemId::Junos, "ztp/junos/S0.conf", "ztp/dhcp/dhcpd.conf"),
        ] {
            let intent = intent(system);
            let files = made(&intent, None).unwrap();
            let own = intent.files(&intent.devices[0], &mut Vec::new()).remove(0).text;
            assert_eq!(find(&files, config), own);
            let script = find(&files, script);
            assert!(script.contains("192.0.2.1"), "{system}: {script}");
            let kea: Value = serde_json::from_str(find(&files, "ztp/dhcp/kea.json")).unwrap();
            assert!(kea["Dhcp4"]["reservations"][0]["hw-address"] == "00:00:00:00:00:01", "{kea}");
            assert!(find(&files, "ztp/README.md").contains("RoCE part only"));
        }
    }

    #[test]
    fn a_base_comes_first_and_its_end_last() {
        let intent = intent(SystemId::Eos);
        let base = ["leaf0", "leaf1", "spine0"]
            .map(|name| (name.to_owned(), "hostname x\n!\nend\n".to_owned()));
        let mut base = BTreeMap::from(base);
        let files = made(&intent, Some(&base)).unwrap();
        let text = find(&files, "ztp/eos/S0.cfg");
        assert!(text.starts_with("hostname x\n!\n! RoCE") && text.ends_with("!\nend\n"), "{text}");
        assert_eq!(text.matches("\nend\n").count(), 1);
        base.remove("leaf1");
        assert_eq!(made(&intent, Some(&base)).unwrap_err(), ["`leaf1` has no base configuration"]);
    }

    #[test]
    fn tables_of_sonic_are_merged_and_unknown_ways_refused() {
        let sonic = intent(SystemId::Sonic);
        let base =
            r#"{"PORT": {"Ethernet0": {"lanes": "1"}}, "DEVICE_METADATA": {"localhost": {}}}"#;
        let base = ["leaf0", "leaf1", "spine0"].map(|name| (name.to_owned(), base.to_owned()));
        let mut base = BTreeMap::from(base);
        let files = made(&sonic, Some(&base)).unwrap();
        let all: Value = serde_json::from_str(find(&files, "ztp/sonic/S0.json")).unwrap();
        assert_eq!(all["PORT"]["Ethernet0"]["lanes"], "1");
        assert!(all["PORT"]["Ethernet0"]["mtu"].is_string() && all["PORT_QOS_MAP"].is_object());
        base.insert("leaf0".to_owned(), "{\n,".to_owned());
        assert!(made(&sonic, Some(&base)).unwrap_err()[0].contains("line 2"));
        let other = intent(SystemId::JunosSet);
        assert!(made(&other, Some(&base)).unwrap_err()[0].contains("choose junos"));
    }
}
