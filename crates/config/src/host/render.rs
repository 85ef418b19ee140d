//! Writing the files of a host.

use super::NOT_READ;
use crate::device::{Device, Port};
use crate::number::Priority;
use crate::place::Said;
use crate::qos::Trust;
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
        file(".env", environment(device)),
        file("-check.sh", check(device)),
    ]
}

fn script(device: &Device) -> String {
    let mut text = format!(
        "#!/bin/sh\n# RoCE configuration of {}: run as root, at every boot\nset -eu\n",
        device.name
    );
    for (name, port) in &device.ports {
        nic(&mut text, name.as_str(), port);
    }
    let nccl = environment(device);
    for line in nccl.lines().filter(|line| !line.starts_with('#')) {
        let _ = writeln!(text, "# in the environment of jobs: {line}");
    }
    text
}

fn nic(text: &mut String, name: &str, port: &Port) {
    if let Some(peer) = port.neighbour.value() {
        let _ = writeln!(text, "# {name} to {}", peer.device);
    }
    let _ = writeln!(text, "DEV={name}");
    *text += "NET=$(ls /sys/class/infiniband/$DEV/device/net)\n";
    if let Some(mtu) = port.mtu.said() {
        let _ = writeln!(text, "ip link set dev $NET mtu {}", mtu.get());
    }
    if let Some(trust) = port.trust.said() {
        let word = if *trust == Trust::Pcp { "pcp" } else { "dscp" };
        let _ = writeln!(text, "mlnx_qos -i $NET --trust={word}");
    }
    for (dscp, class) in port.maps.dscp_to_class.iter().enumerate() {
        if let Some(class) = class.said() {
            let _ = writeln!(text, "mlnx_qos -i $NET --dscp2prio=set,{dscp},{class}");
        }
    }
    if let Some(priorities) = port.pfc.said() {
        let flags: Vec<&str> = Priority::all()
            .map(|priority| if priorities.has(priority) { "1" } else { "0" })
            .collect();
        let _ = writeln!(text, "mlnx_qos -i $NET --pfc={}", flags.join(","));
    }
    turns(text, port);
    if let Some(cable) = port.cable.said() {
        let metres = cable.as_mm().div_ceil(1000);
        let _ = writeln!(text, "mlnx_qos -i $NET --cable_len={metres}");
    }
    marks(text, port);
}

fn turns(text: &mut String, port: &Port) {
    if !port.queues.iter().any(|queue| queue.scheduling.is_said()) {
        return;
    }
    let turns = port.queues.map(|queue| queue.scheduling.get().unwrap_or(Scheduling::Strict));
    let kinds = turns.map(|turn| match turn {
        Scheduling::Strict => "strict",
        Scheduling::Weighted(_) => "ets",
    });
    let shares = turns.map(|turn| match turn {
        Scheduling::Strict => "0".to_owned(),
        Scheduling::Weighted(share) => share.to_string(),
    });
    let queues: Vec<String> = port
        .maps
        .class_to_queue
        .iter()
        .map(|queue| queue.get().map_or("0".to_owned(), |queue| queue.to_string()))
        .collect();
    let _ = writeln!(
        text,
        "mlnx_qos -i $NET --prio_tc={} --tsa={} --tcbw={}",
        queues.join(","),
        kinds.join(","),
        shares.join(",")
    );
}

fn marks(text: &mut String, port: &Port) {
    let nic = &port.nic;
    if let Some(dscp) = nic.data_dscp.said() {
        let tos = dscp.tos_with_ecn();
        let _ = writeln!(text, "echo {tos} > /sys/class/infiniband/$DEV/tc/1/traffic_class");
    }
    if let Some(dscp) = nic.cm_dscp.said() {
        let _ = writeln!(text, "cma_roce_tos -d $DEV -t {}", dscp.tos_with_ecn());
    }
    if let Some(dscp) = nic.cnp_dscp.said() {
        let _ = writeln!(text, "echo {dscp} > /sys/class/net/$NET/ecn/roce_np/cnp_dscp");
    }
    for (point, said) in [("roce_np", nic.notifies), ("roce_rp", nic.reacts)] {
        // All eight: what another setting switched on before would stay on.
        if let Some(set) = said.said() {
            for priority in Priority::all() {
                let on = u8::from(set.has(priority));
                let _ =
                    writeln!(text, "echo {on} > /sys/class/net/$NET/ecn/{point}/enable/{priority}");
            }
        }
    }
}

fn unit(host: &str) -> String {
    format!(
        "# {NOT_READ}\n[Unit]\nDescription=RoCE settings of the NICs\nAfter=network-online.target openibd.service\n\
         Wants=network-online.target\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\n\
         ExecStart={HOME}/{host}.sh\n\n[Install]\nWantedBy=multi-user.target\n"
    )
}

fn environment(device: &Device) -> String {
    let mut text = String::from("# environment of NCCL jobs\n");
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
    for name in device.ports.keys() {
        let _ = writeln!(text, "DEV={name}");
        text += "NET=$(ls /sys/class/infiniband/$DEV/device/net)\n\
                 echo \"nic $DEV $NET\"\n\
                 mlnx_qos -i $NET\n\
                 grep -H . /sys/class/net/$NET/mtu /sys/class/infiniband/$DEV/tc/1/traffic_class \\\n  \
                 /sys/class/net/$NET/ecn/roce_np/cnp_dscp \\\n  \
                 /sys/class/net/$NET/ecn/roce_[nr]p/enable/* || true\n\
                 echo \"cma_roce_tos $DEV $(cma_roce_tos -d $DEV)\"\n";
    }
    text
}
