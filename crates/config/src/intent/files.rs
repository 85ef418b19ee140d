//! The files that make a device what it is meant to be, and what they promise.

use super::Intent;
use crate::device::{Device, PortName};
use crate::facts::Facts;
use crate::place::FileId;
use crate::system::{Input, Rendered};
use std::collections::BTreeSet;

impl Intent {
    /// The files that configure a device of the intent, as far as its system can say it. `limits` gets
    /// a sentence for each thing that it cannot.
    pub fn files(&self, device: &Device, limits: &mut Vec<String>) -> Vec<Rendered> {
        let system = device.system.system();
        let meant = system.fit(device, limits);
        let files = system.render(&meant);
        assert_complete(&meant, device, &files);
        if self.named.contains(&device.name) {
            limits.extend(foreign_names(&meant, &files));
        } else {
            debug_assert_eq!(read_back(&meant, &files), [""; 0], "{} is not as meant", device.name);
        }
        files
    }
}

/// Panics if a port is missing from the configuration.
fn assert_complete(meant: &Device, device: &Device, files: &[Rendered]) {
    assert!(meant.ports.keys().eq(device.ports.keys()), "fitting {} lost a port", device.name);
    let names: BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names.len(), files.len(), "two files of {} have one name", device.name);
    let proper = files.first().expect("a system that writes no file");
    let words = words(&proper.text);
    // A port of which nothing is said is not written.
    let said = meant.ports.iter().filter(|(_, port)| port.mtu.is_said());
    let missing = said.map(|(name, _)| name).find(|name| !words.contains(name.as_str()));
    assert_eq!(missing, None, "a port of {} is not in {}", device.name, proper.name);
}

/// What a system does not understand of names that a fabric file gives its ports: they are another system's, or mean
/// something else to it.
fn foreign_names(meant: &Device, files: &[Rendered]) -> Option<String> {
    const SHOWN: usize = 4;
    let read = read(meant, files.first()?);
    // A port of which nothing is said is not written.
    let said = meant.ports.iter().filter(|(_, port)| port.mtu.is_said()).map(|(name, _)| name);
    let lost: Vec<&PortName> = said.filter(|name| !read.ports.contains_key(name)).collect();
    let mut names: Vec<String> = lost.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if lost.len() > SHOWN {
        names.push(format!("{} more", lost.len() - SHOWN));
    }
    if lost.is_empty() {
        if read_back(meant, files).is_empty() {
            return None;
        }
        names.push(format!("one of `{}` is not the name of a port", meant.name));
    }
    let names = names.join(", ");
    Some(format!(
        "the fabric file names ports as this system does not: {names}; write names as its \
         configuration does"
    ))
}

fn read(meant: &Device, proper: &Rendered) -> Device {
    let input = Input { name: &meant.name, file: FileId(0), text: &proper.text };
    meant.system.system().parse(&input)
}

/// What could be names of ports.
fn words(text: &str) -> BTreeSet<&str> {
    let inside = |c: char| c.is_ascii_alphanumeric() || "/_.:-".contains(c);
    let words = text.split(|c: char| !inside(c));
    // A key of YAML ends in a colon.
    words.map(|word| word.trim_end_matches(':')).collect()
}

/// How the configuration differs from the device when it is read.
fn read_back(meant: &Device, files: &[Rendered]) -> Vec<String> {
    let Some(proper) = files.first() else { return vec!["no file".to_owned()] };
    let read = read(meant, proper);
    let remark = |remark: &crate::device::Remark| {
        format!("line {}: {}", remark.place.first, remark.kind.name())
    };
    let differences = Facts::of(meant).differences(&Facts::of(&read));
    let differences = differences.iter().map(|difference| format!("{difference:?}"));
    read.remarks.iter().map(remark).chain(differences).collect()
}

/// Panics if a device, a port or a cable of the fabric is missing from an intent, or is there twice.
pub(super) fn assert_whole(intent: &Intent, fabric: &xoff_fabric::model::Fabric) {
    let (switches, servers) = (fabric.switches.len(), fabric.servers.len());
    assert_eq!(intent.devices.len(), switches + servers, "a device for each switch and server");
    assert_eq!(intent.links.len(), fabric.cables.len(), "a link for each cable");
    let ports = intent.devices.iter().map(|device| device.ports.len());
    assert_eq!(ports.sum::<usize>(), fabric.ports.len(), "two ports of a device have one name");
    debug_assert!(each_port_once(intent), "a port with more than one cable, or none");
}

fn each_port_once(intent: &Intent) -> bool {
    let names: BTreeSet<&str> = intent.devices.iter().map(|device| device.name.as_str()).collect();
    // A file may give two servers one name; then ends of links do not say which.
    if names.len() < intent.devices.len() {
        return true;
    }
    let ends = intent.links.iter().flat_map(|link| &link.ends);
    let ends: BTreeSet<(&str, &PortName)> =
        ends.map(|end| (end.device.as_str(), &end.port)).collect();
    let ports = intent.devices.iter();
    let mut ports = ports.flat_map(|d| d.ports.keys().map(|port| (d.name.as_str(), port)));
    ends.len() == 2 * intent.links.len() && ports.all(|port| ends.contains(&port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::Choices;
    use crate::system::SystemId;
    use xoff_fabric::load_fabric;

    const POD: &str = "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";

    #[test]
    fn a_port_that_is_not_written_is_found() {
        let setup = load_fabric(POD).into_result().unwrap();
        for system in SystemId::ALL.into_iter().filter(|id| *id != SystemId::Host) {
            let intent = Intent::with(&setup, Choices::all(system));
            let leaf = intent.device("leaf0").unwrap();
            let mut files = intent.files(leaf, &mut Vec::new());
            let last = leaf.ports.keys().next_back().unwrap().as_str();
            files[0].text = files[0].text.replace(last, "nothing");
            let meant = system.system().fit(leaf, &mut Vec::new());
            let check = || assert_complete(&meant, leaf, &files);
            assert!(std::panic::catch_unwind(check).is_err(), "{system}");
            assert_ne!(read_back(&meant, &files), [""; 0], "{system}");
        }
    }
}
