//! NICs of AMD: `nicctl`, with the commands of AMD's guides for Pollara, which set all NICs of a host at once.

use super::dcb::connections;
use super::{dscps, pauses, turns};
use crate::device::Port;
use crate::number::{Class, Priority};
use crate::qos::Trust;
use std::fmt::Write;
use xoff_fabric::model::Scheduling;

/// What a strict priority may send, in Gb/s: the guides' value. Without one, a priority without a share is refused.
const STRICT_LIMIT: u32 = 10;

/// What the check script asks of each NIC; the rest is asked once.
pub(super) const CHECK: &str = "grep -H . /sys/class/net/$NET/mtu /sys/class/infiniband/$DEV/ports/1/gid_attrs/types/* 2>/dev/null || true\n\
    mkdir -p /sys/kernel/config/rdma_cm/$DEV\n\
    grep -H . /sys/kernel/config/rdma_cm/$DEV/ports/1/default_roce_tos || true\n";

/// What is set once, on all NICs.
pub(super) fn all(text: &mut String, port: &Port) {
    if let Some(trust) = port.trust.said() {
        let word = if *trust == Trust::Pcp { "pcp" } else { "dscp" };
        let _ = writeln!(text, "nicctl update qos --classification-type {word}");
    }
    if dscps(port).next().is_some() {
        *text += "nicctl update qos dscp-to-priority --dscp 0-63 --priority 0\n";
    }
    for class in Class::all() {
        let list: Vec<String> = dscps(port)
            .filter(|(_, own)| *own == class)
            .map(|(dscp, _)| dscp.to_string())
            .collect();
        if !list.is_empty() {
            let list = list.join(",");
            let _ = writeln!(
                text,
                "nicctl update qos dscp-to-priority --dscp {list} --priority {class}"
            );
        }
    }
    if let Some(on) = pauses(port) {
        *text += "nicctl update port --all --pause-type pfc --rx-pause enable --tx-pause enable\n";
        for priority in Priority::all() {
            let word = if on[priority.index()] { "enable" } else { "disable" };
            let _ = writeln!(text, "nicctl update qos pfc --priority {priority} --no-drop {word}");
        }
    }
    if let Some(turns) = turns(port) {
        let list = |of: &dyn Fn(usize, Scheduling) -> u32| {
            let each = turns.iter().enumerate().map(|(number, turn)| of(number, *turn).to_string());
            each.collect::<Vec<_>>().join(",")
        };
        let limit = |_, turn| if turn == Scheduling::Strict { STRICT_LIMIT } else { 0 };
        let _ = writeln!(
            text,
            "nicctl update qos scheduling --priority {} --dwrr {} --rate-limit {}",
            list(&|number, _| number as u32),
            list(&|_, turn| super::share(turn)),
            list(&limit),
        );
    }
}

/// What is set on one NIC.
pub(super) fn nic(text: &mut String, port: &Port) {
    if let Some(dscp) = port.nic.cnp_dscp.said() {
        let _ = writeln!(text, "nicctl update dcqcn -r $DEV -i 1 --cnp-dscp {dscp}");
    }
    connections(text, port);
}
