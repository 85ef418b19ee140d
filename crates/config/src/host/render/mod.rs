//! Writing the files of a host.

mod amd;
mod dcb;
mod nvidia;

use super::NOT_READ;
use super::fit::maker;
use crate::device::{Device, Maker, Port};
use crate::number::{Class, Priority};
use crate::place::Said;
use crate::system::Rendered;
use std::fmt::Write;
use xoff_fabric::model::Scheduling;

/// Where the files belong on the host.
const HOME: &str = "/usr/local/sbin";

pub(super) fn render(device: &Device) -> Vec<Rendered> {
    let name = &device.name;
    let file = |end: &str, text| Rendered { name: format!("{name}{end}"), text };
    vec![
        file(".sh", script(device)),
        file(".service", unit(name)),
        file("@.service", unit_of_nic(name)),
        file(".rules", rule(name)),
        file(".env", environment(device)),
        file("-check.sh", check(device)),
    ]
}

/// What a shell needs to know before it meets `$NET`.
pub(crate) const INTERFACE: &str = "NET=$(ls /sys/class/infiniband/$DEV/device/net)\n";

/// One NIC after the other, each in a shell of its own: a failure ends the settings of that NIC, not those of the
/// next. With an argument only the NIC of that name is set.
fn script(device: &Device) -> String {
    // A part without NICs is about jobs alone, and is nothing to run.
    if device.part.is_partial() && device.ports.is_empty() {
        return of_jobs(device);
    }
    let mut text = format!(
        "#!/bin/sh\n# RoCE configuration of {}: run as root, at every boot\nfailed=0\n",
        device.name
    );
    let all =
        |(name, port): (&crate::device::PortName, &Port)| maker(name.as_str(), port) == Maker::Amd;
    if let Some((_, port)) = device.ports.iter().find(|(name, port)| all((name, port))) {
        block(&mut text, |text| amd::all(text, port));
    }
    for (name, port) in &device.ports {
        if let Some(peer) = port.neighbour.value() {
            let _ = writeln!(text, "# {name} to {}", peer.device);
        }
        let _ = writeln!(text, "DEV={name}");
        block(&mut text, |text| {
            *text += "[ \"${1:-$DEV}\" = \"$DEV\" ] || exit 0\n";
            *text += INTERFACE;
            if let Some(mtu) = port.mtu.said() {
                let _ = writeln!(text, "ip link set dev $NET mtu {}", mtu.get());
            }
            match maker(name.as_str(), port) {
                Maker::Nvidia => nvidia::nic(text, port),
                Maker::Broadcom => dcb::broadcom(text, port),
                Maker::Intel => dcb::intel(text, port),
                Maker::Amd => amd::nic(text, port),
            }
        });
    }
    text += &of_jobs(device);
    text += "exit $failed\n";
    text
}

/// The environment of jobs, as comments of a script.
fn of_jobs(device: &Device) -> String {
    let nccl = environment(device);
    let lines = nccl.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| format!("# in the environment of jobs: {line}\n")).collect()
}

/// Commands that end at the first that fails. A list with `||` would not: there `set -e` has no effect.
fn block(text: &mut String, inside: impl FnOnce(&mut String)) {
    *text += "(\nset -eu\n";
    inside(text);
    *text += ")\n[ $? -eq 0 ] || failed=1\n";
}

/// The turns of queues: kinds, and shares of those that have one.
fn turns(port: &Port) -> Option<[Scheduling; 8]> {
    let said = port.queues.iter().any(|queue| queue.scheduling.is_said());
    said.then(|| port.queues.map(|queue| queue.scheduling.get().unwrap_or(Scheduling::Strict)))
}

fn kind(turn: Scheduling) -> &'static str {
    match turn {
        Scheduling::Strict => "strict",
        Scheduling::Weighted(_) => "ets",
    }
}

fn share(turn: Scheduling) -> u32 {
    match turn {
        Scheduling::Strict => 0,
        Scheduling::Weighted(share) => share,
    }
}

/// DSCPs that are said, and their classes.
fn dscps(port: &Port) -> impl Iterator<Item = (usize, Class)> + '_ {
    let all = port.maps.dscp_to_class.iter().enumerate();
    all.filter_map(|(dscp, class)| class.said().map(|class| (dscp, *class)))
}

/// The priorities, each with whether it pauses.
fn pauses(port: &Port) -> Option<[bool; 8]> {
    let set = *port.pfc.said()?;
    let mut on = [false; 8];
    Priority::all().for_each(|which| on[which.index()] = set.has(which));
    Some(on)
}

fn unit(host: &str) -> String {
    format!(
        "# {NOT_READ}\n[Unit]\nDescription=RoCE settings of the NICs\nAfter=network-online.target openibd.service\n\
         Wants=network-online.target\n\n[Service]\nType=oneshot\n\
         ExecStart={HOME}/{host}.sh\n\n[Install]\nWantedBy=multi-user.target\n"
    )
}

/// Started by the rule below: drivers forget all settings when they are loaded again.
fn unit_of_nic(host: &str) -> String {
    format!(
        "# {NOT_READ}\n[Unit]\nDescription=RoCE settings of %i\n\n[Service]\nType=oneshot\n\
         ExecStart={HOME}/{host}.sh %i\n"
    )
}

fn rule(host: &str) -> String {
    format!(
        "# {NOT_READ}\n# Belongs into /etc/udev/rules.d: an RDMA device that appears is set again.\n\
         ACTION==\"add|move\", SUBSYSTEM==\"infiniband\", TAG+=\"systemd\", ENV{{SYSTEMD_WANTS}}+=\"{host}@%k.service\"\n"
    )
}

fn environment(device: &Device) -> String {
    let mut text = format!("# environment of NCCL jobs on {}\n", device.name);
    if let Said::At(class, _) = device.nccl.traffic_class {
        let _ = writeln!(text, "NCCL_IB_TC={class}");
    }
    if let Said::At(index, _) = device.nccl.gid_index {
        let _ = writeln!(text, "NCCL_IB_GID_INDEX={index}");
    }
    text
}

/// Prints what the auditor reads.
fn check(device: &Device) -> String {
    let mut text = format!(
        "#!/bin/sh\n# Prints the RoCE settings of {} for `xoff audit`\n# {NOT_READ}\necho \"hostname $(hostname)\"\n",
        device.name
    );
    text += "env | grep ^NCCL_ || true\n";
    if device.ports.iter().any(|(name, port)| maker(name.as_str(), port) == Maker::Amd) {
        text += "nicctl show qos\nnicctl show dcqcn\n";
    }
    for (name, port) in &device.ports {
        let _ = writeln!(text, "DEV={name}");
        text += "NET=$(ls /sys/class/infiniband/$DEV/device/net)\necho \"nic $DEV $NET\"\n";
        text += match maker(name.as_str(), port) {
            Maker::Nvidia => nvidia::CHECK,
            Maker::Broadcom => dcb::CHECK_BROADCOM,
            Maker::Intel => dcb::CHECK_INTEL,
            Maker::Amd => amd::CHECK,
        };
    }
    text
}
