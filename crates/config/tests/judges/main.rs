//! Other programs as judges of what is rendered: Arista's own generator, SONiC's and Juniper's YANG
//! models, NVIDIA's list of commands. Where they cannot be had the tests say so and are skipped.
//!
//! - EOS: `pip install pyavd`; `XOFF_PYTHON` names the interpreter that has it, otherwise `python3`.
//! - SONiC: `yanglint` (Debian's `libyang-tools`) and a folder with SONiC's models in
//!   `XOFF_SONIC_YANG`, which no registry has.
//! - Junos: `yanglint`, and a folder with Juniper's models for QFX in `XOFF_JUNOS_YANG`.
//! - NVUE: a file with its commands in `XOFF_NVUE_COMMANDS`.

#[path = "../common/mod.rs"]
mod common;
mod junos;
mod nvue;
mod sonic;

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use xoff_config::Device;
use xoff_config::device::Balancing;
use xoff_config::intent::{Choices, Intent};
use xoff_config::qos::Levels;
use xoff_config::system::SystemId;
use xoff_fabric::model::{Scheduling, Threshold};

fn leaf(system: SystemId) -> (Device, String) {
    let choices = Choices { balancing: Balancing::Flowlet, ..Choices::all(system) };
    let intent = Intent::with(&common::setup(common::POD), choices);
    let system = system.system();
    let device = system.fit(intent.device("leaf0").unwrap(), &mut Vec::new());
    let text = system.render(&device).remove(0).text;
    (device, text)
}

/// Statements with all that they stand below, so that their order does not matter.
fn statements(text: &str) -> BTreeSet<String> {
    let mut above: Vec<(usize, &str)> = Vec::new();
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let body = line.trim();
        if body.is_empty() || body.starts_with('!') || body.starts_with("hostname") {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        while above.last().is_some_and(|(at, _)| *at >= indent) {
            above.pop();
        }
        let path: Vec<&str> = above.iter().map(|(_, text)| *text).chain([body]).collect();
        found.insert(path.join(" / "));
        above.push((indent, body));
    }
    found
}

/// The structured model of Arista's generator for a device, as JSON.
fn structured(device: &Device, ours: &str) -> String {
    let mut profiles: Vec<(String, String)> = Vec::new();
    let mut interfaces = Vec::new();
    for (name, port) in &device.ports {
        let profile = ours.split(&format!("interface {name}\n")).nth(1).unwrap();
        let profile = profile.split("service-profile ").nth(1).unwrap().lines().next().unwrap();
        let mtu = port.mtu.get().unwrap().get();
        let peer = port.neighbour.value().unwrap();
        let described = format!("{} {}", peer.device, peer.port.as_deref().unwrap());
        interfaces.push(format!(
            "{{\"name\":\"{name}\",\"description\":\"{described}\",\"mtu\":{mtu},\"service_profile\":\"{profile}\"}}"
        ));
        if profiles.iter().any(|(known, _)| known == profile) {
            continue;
        }
        let mut queues = Vec::new();
        for (id, queue) in port.queues.iter().enumerate() {
            let mut fields = match queue.scheduling.get() {
                Some(Scheduling::Strict) => "\"priority\":\"priority strict\"".to_owned(),
                Some(Scheduling::Weighted(share)) => {
                    format!("\"priority\":\"no priority\",\"bandwidth_percent\":{share}")
                }
                None => continue,
            };
            if let Some(Levels::Sizes(ecn)) = queue.wred.get().map(|wred| wred.levels) {
                let _ = write!(
                    fields,
                    ",\"random_detect\":{{\"ecn\":{{\"threshold\":{{\"units\":\"kbytes\",\"min\":{},\"max\":{},\
                     \"max_probability\":{},\"weight\":0}}}}}}",
                    ecn.kmin.get() / 1000,
                    ecn.kmax.get() / 1000,
                    100 * ecn.pmax.numerator() / ecn.pmax.denominator()
                );
            }
            queues.push(format!("{{\"id\":{id},{fields}}}"));
        }
        let pfc: Vec<String> = port
            .pfc
            .get()
            .unwrap()
            .iter()
            .map(|priority| format!("{{\"priority\":{priority},\"no_drop\":true}}"))
            .collect();
        profiles.push((
            profile.to_owned(),
            format!(
                "{{\"name\":\"{profile}\",\"trust\":\"dscp\",\"priority_flow_control\":{{\"enabled\":true,\
                 \"priorities\":[{}],\"watchdog\":{{\"enabled\":true,\"action\":\"drop\",\"timer\":{{\
                 \"timeout\":\"0.2\",\"polling_interval\":\"0.1\",\"recovery_time\":\"0.4\",\"forced\":true}}}}}},\
                 \"uc_tx_queues\":[{}]}}",
                pfc.join(","),
                queues.join(",")
            ),
        ));
    }
    let port = device.ports.values().next().unwrap();
    let maps = &port.maps;
    let dscps = (0..8usize).map(|class| {
        let of_class =
            |dscp: &usize| maps.dscp_to_class[*dscp].get().map(|c| c.index()) == Some(class);
        let list: Vec<String> = (0..64).filter(of_class).map(|dscp| dscp.to_string()).collect();
        format!("\"{} to traffic-class {class}\"", list.join(" "))
    });
    let dscps: Vec<String> = dscps.collect();
    let queues: Vec<String> =
        (0..8).map(|class| format!("\"{class} to tx-queue {class}\"")).collect();
    let mut groups = Vec::new();
    for (id, group) in port.groups.iter().enumerate() {
        let (Some(reserved), Some(Threshold::Dynamic(alpha))) =
            (group.reserved.get(), group.threshold.get())
        else {
            continue;
        };
        groups.push(format!(
            "{{\"id\":{id},\"reserved\":{{\"unit\":\"bytes\",\"memory\":{}}},\"threshold\":\"{}/{}\"}}",
            reserved.get(),
            alpha.numerator(),
            alpha.denominator()
        ));
    }
    let profiles: Vec<String> = profiles.into_iter().map(|(_, profile)| profile).collect();
    format!(
        "{{\"hostname\":\"leaf0\",\"qos_profiles\":[{}],\"ethernet_interfaces\":[{}],\"qos\":{{\"map\":{{\
         \"dscp\":[{}],\"traffic_class\":[{}]}}}},\"platform\":{{\"trident\":{{\"mmu\":{{\"active_profile\":\
         \"ROCE\",\"headroom_pool\":{{\"unit\":\"bytes\",\"limit\":{}}},\"queue_profiles\":[{{\"name\":\"ROCE\",\
         \"ingress\":{{\"priority_groups\":[{}]}}}}]}}}}}},\"ip_hardware\":{{\"fib\":{{\
         \"load_balance_distribution\":{{\"dynamic\":{{\"enabled\":true}}}}}}}}}}",
        profiles.join(","),
        interfaces.join(","),
        dscps.join(","),
        queues.join(","),
        device.headroom_pool.get().unwrap().get(),
        groups.join(",")
    )
}

#[test]
fn arista_s_generator_says_the_same() {
    let (device, ours) = leaf(SystemId::Eos);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judges/eos.py");
    let python = env::var("XOFF_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let started = Command::new(&python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut judge) = started else {
        println!("SKIPPED: `{python}` is not installed");
        return;
    };
    // Without the generator nobody reads the model.
    let _ = judge.stdin.take().unwrap().write_all(structured(&device, &ours).as_bytes());
    let output = judge.wait_with_output().unwrap();
    if output.status.code() == Some(3) {
        println!("SKIPPED: pyavd is not installed for `{python}` (XOFF_PYTHON names another)");
        return;
    }
    assert!(output.status.success(), "the generator failed");
    let theirs = statements(&String::from_utf8_lossy(&output.stdout));
    let ours = statements(&ours);
    let only_ours: Vec<&String> = ours.difference(&theirs).collect();
    let only_theirs: Vec<&String> = theirs.difference(&ours).collect();
    assert!(only_ours.is_empty() && only_theirs.is_empty(), "{only_ours:#?}\n{only_theirs:#?}");
    println!("{} statements are the generator's", ours.len());
}
