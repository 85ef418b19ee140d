//! Rendered configurations as they are: what changes here changes on people's devices.

mod common;

use xoff_config::SystemId;
use xoff_config::device::Balancing;
use xoff_config::intent::{Choices, Intent};

/// One server with two NICs on a leaf, one spine above.
const SMALL: &str = "
[cluster]
gpus = 4
gpus-per-server = 2

[fabric]
kind = 'leaf-spine'
leaf = 'tomahawk-5'
leaves = 2
spines = 1
hosts-per-leaf = 2

[switch.watchdog]
detect = '200ms'
restore = '400ms'

[links.leaf-spine]
rate = '800Gbps'
length = '150m'
";

fn text(system: SystemId, name: &str) -> String {
    let choices = Choices { balancing: Balancing::Flowlet, ..Choices::all(system) };
    let intent = Intent::with(&common::setup(SMALL), choices);
    let device = intent.device(name).unwrap();
    let mut limits = Vec::new();
    let rendered = intent.files(device, &mut limits);
    let mut text = String::new();
    for file in rendered {
        text += &format!("=== {}\n{}", file.name, file.text);
    }
    for limit in limits {
        text += &format!("=== limit: {limit}\n");
    }
    text
}

#[test]
fn sonic() {
    insta::assert_snapshot!(text(SystemId::Sonic, "leaf0"));
}

#[test]
fn eos() {
    insta::assert_snapshot!(text(SystemId::Eos, "leaf0"));
}

#[test]
fn nx_os() {
    insta::assert_snapshot!(text(SystemId::NxOs, "leaf0"));
}

#[test]
fn cumulus() {
    insta::assert_snapshot!(text(SystemId::Cumulus, "leaf0"));
}

#[test]
fn cumulus_yaml() {
    insta::assert_snapshot!(text(SystemId::CumulusYaml, "leaf0"));
}

#[test]
fn junos() {
    insta::assert_snapshot!(text(SystemId::Junos, "leaf0"));
}

#[test]
fn junos_set() {
    insta::assert_snapshot!(text(SystemId::JunosSet, "leaf0"));
}

#[test]
fn os10() {
    insta::assert_snapshot!(text(SystemId::Os10, "leaf0"));
}

#[test]
fn picos() {
    insta::assert_snapshot!(text(SystemId::PicOs, "leaf0"));
}

#[test]
fn host() {
    insta::assert_snapshot!(text(SystemId::Eos, "server0"));
}
