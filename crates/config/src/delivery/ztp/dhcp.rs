//! What a DHCP server has to say, for ISC's dhcpd, dnsmasq and Kea.

use super::{Bundle, NOT_READ, folder};
use crate::system::{Rendered, SystemId};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How boxes of a system name themselves in option 60, the option they want, and what it names.
const fn class(system: SystemId) -> Option<(&'static str, u8, &'static str)> {
    match system {
        SystemId::Eos => Some(("Arista", 67, "eos/bootstrap")),
        SystemId::NxOs => Some(("Cisco", 67, "nxos/poap.py")),
        SystemId::Cumulus => Some(("cumulus-linux", 239, "cumulus/cumulus-ztp")),
        SystemId::Sonic => Some(("SONiC-ZTP", 67, "sonic/ztp.json")),
        // By box, not by class.
        _ => None,
    }
}

pub(super) fn files(bundle: &Bundle<'_>, systems: &BTreeSet<SystemId>) -> Vec<Rendered> {
    let file = |name: &str, text: String| Rendered { name: format!("dhcp/{name}"), text };
    vec![
        file("dhcpd.conf", dhcpd(bundle, systems)),
        file("dnsmasq.conf", dnsmasq(bundle, systems)),
        file("kea.json", kea(bundle, systems)),
    ]
}

/// Boxes whose MAC address is known: name, address, and the file that Junos asks for.
fn boxes<'a>(bundle: &'a Bundle<'_>) -> impl Iterator<Item = (&'a str, &'a str, Option<String>)> {
    let known = |name: &str| bundle.identities.get(name);
    let devices = bundle.intent.devices.iter();
    devices.filter_map(move |device| {
        let identity = known(&device.name)?;
        let mac = identity.mac.as_deref()?;
        let number = identity.serial.as_deref().unwrap_or(mac).replace(':', "");
        let junos = device.system == SystemId::Junos;
        let file = junos.then(|| format!("junos/{number}.conf"));
        Some((device.name.as_str(), mac, file))
    })
}

fn host(server: &str) -> &str {
    let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
    rest.split(['/', ':']).next().unwrap_or(rest)
}

fn dhcpd(bundle: &Bundle<'_>, systems: &BTreeSet<SystemId>) -> String {
    let server = bundle.server;
    let mut text = format!("# {NOT_READ}\n# Merge into dhcpd.conf\n");
    if systems.contains(&SystemId::Cumulus) {
        text += "option cumulus-provision-url code 239 = text;\n";
    }
    if systems.contains(&SystemId::Junos) {
        text += "option space JUNOS;\noption JUNOS.config-file-name code 1 = text;\n\
                 option JUNOS.transfer-mode code 3 = text;\n\
                 option JUNOS-encapsulation code 43 = encapsulate JUNOS;\n";
        let _ = writeln!(
            text,
            "option JUNOS.transfer-mode \"http\";\noption tftp-server-name \"{}\";",
            host(server)
        );
    }
    for (name, option, path) in systems.iter().filter_map(|system| class(*system)) {
        let length = name.len();
        let option = if option == 239 { "cumulus-provision-url" } else { "bootfile-name" };
        let _ = write!(
            text,
            "if substring(option vendor-class-identifier, 0, {length}) = \"{name}\" {{\n  \
             option {option} \"{server}/{path}\";\n}}\n"
        );
    }
    for (name, mac, file) in boxes(bundle) {
        let _ = write!(
            text,
            "host {name} {{\n  hardware ethernet {mac};\n  option host-name \"{name}\";\n"
        );
        if let Some(file) = file {
            let _ = writeln!(text, "  option JUNOS.config-file-name \"{file}\";");
        }
        text += "}\n";
    }
    text
}

fn dnsmasq(bundle: &Bundle<'_>, systems: &BTreeSet<SystemId>) -> String {
    let server = bundle.server;
    let mut text = format!("# {NOT_READ}\n# Merge into dnsmasq.conf\n");
    for system in systems {
        let (Some((name, option, path)), Some(tag)) = (class(*system), folder(*system)) else {
            continue;
        };
        let _ = write!(
            text,
            "dhcp-vendorclass=set:{tag},{name}\ndhcp-option=tag:{tag},{option},\"{server}/{path}\"\n"
        );
    }
    for (name, mac, file) in boxes(bundle) {
        let _ = writeln!(text, "dhcp-host={mac},set:{name},{name}");
        if let Some(file) = file {
            let _ = writeln!(text, "dhcp-option=tag:{name},vendor:,1,\"{file}\"");
        }
    }
    text
}

fn kea(bundle: &Bundle<'_>, systems: &BTreeSet<SystemId>) -> String {
    let server = bundle.server;
    let mut classes = Vec::new();
    for system in systems {
        let (Some((name, option, path)), Some(tag)) = (class(*system), folder(*system)) else {
            continue;
        };
        let data = format!("{server}/{path}");
        let option = match option {
            239 => json!({"code": 239, "name": "cumulus-provision-url", "data": data}),
            _ => json!({"name": "boot-file-name", "data": data}),
        };
        let test = format!("substring(option[60].text,0,{}) == '{name}'", name.len());
        classes.push(json!({"name": tag, "test": test, "option-data": [option]}));
    }
    let reservations: Vec<Value> = boxes(bundle)
        .map(|(name, mac, file)| {
            let mut entry = json!({"hw-address": mac, "hostname": name});
            if let Some(file) = file {
                entry["option-data"] =
                    json!([{"space": "vendor-encapsulated-options-space", "code": 1, "data": file}]);
            }
            entry
        })
        .collect();
    let mut all = json!({"client-classes": classes, "reservations": reservations});
    if systems.contains(&SystemId::Cumulus) {
        let known = json!({"name": "cumulus-provision-url", "code": 239, "type": "string"});
        all["option-def"] = json!([known]);
    }
    format!("{:#}\n", json!({"Dhcp4": all}))
}
