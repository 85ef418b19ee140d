//! NICs of Broadcom and Intel: `dcb` of iproute2 for classes, turns and pauses, and each driver's configfs.
//!
//! Broadcom: what `bnxt_setupcc.sh` 236.1 does by default, file by file. Intel: the README of irdma; `dcb` stands for
//! the `lldptool` that it uses, over the same interface of the kernel.

use super::super::fit::queue_of;
use super::{dscps, kind, pauses, share, turns};
use crate::device::Port;
use crate::number::Class;
use crate::place::Said;
use crate::qos::Trust;
use std::fmt::Write;
use xoff_fabric::model::Scheduling;

/// Queues that an interface has, and whether a class can be in a queue of another number.
struct Shape {
    queues: usize,
    maps: bool,
}

const THOR: Shape = Shape { queues: 8, maps: true };
const E810: Shape = Shape { queues: 4, maps: false };

/// What the check script asks: what `dcb` prints names no interface, so the calls are printed, too.
macro_rules! dcb_check {
    ($more:literal) => {
        concat!(
            "for WHAT in pfc ets app; do\necho \"$ dcb $WHAT show dev $NET\"\ndcb $WHAT show dev $NET\ndone\n",
            "grep -H . /sys/class/net/$NET/mtu /sys/class/infiniband/$DEV/ports/1/gid_attrs/types/* 2>/dev/null || true\n",
            "mkdir -p /sys/kernel/config/rdma_cm/$DEV\n",
            "grep -H . /sys/kernel/config/rdma_cm/$DEV/ports/1/default_roce_tos || true\n",
            $more
        )
    };
}

pub(super) const CHECK_BROADCOM: &str = dcb_check!(
    "mkdir -p /sys/kernel/config/bnxt_re/$DEV\n\
     grep -H . /sys/kernel/config/bnxt_re/$DEV/ports/1/cc/ecn_* /sys/kernel/config/bnxt_re/$DEV/ports/1/cc/*_dscp || true\n\
     rmdir /sys/kernel/config/bnxt_re/$DEV\n"
);
pub(super) const CHECK_INTEL: &str = dcb_check!(
    "mkdir -p /sys/kernel/config/irdma/$DEV\n\
     grep -H . /sys/kernel/config/irdma/$DEV/roce_dcqcn_enable || true\n\
     rmdir /sys/kernel/config/irdma/$DEV\n"
);

pub(super) fn broadcom(text: &mut String, port: &Port) {
    qos(text, port, &THOR);
    let nic = &port.nic;
    let cc = "/sys/kernel/config/bnxt_re/$DEV/ports/1/cc";
    let set = [
        nic.data_dscp.is_said(),
        nic.cnp_dscp.is_said(),
        nic.notifies.is_said(),
        nic.reacts.is_said(),
    ];
    if set.contains(&true) {
        *text += "mkdir -p /sys/kernel/config/bnxt_re/$DEV\n";
        for (name, said) in [("ecn_marking", nic.notifies), ("ecn_enable", nic.reacts)] {
            if let Said::At(set, _) = said {
                let _ = writeln!(text, "echo {} > {cc}/{name}", u8::from(!set.is_empty()));
            }
        }
        for (name, said) in [("roce_dscp", nic.data_dscp), ("cnp_dscp", nic.cnp_dscp)] {
            if let Said::At(dscp, _) = said {
                let _ = writeln!(text, "echo {dscp} > {cc}/{name}");
            }
        }
        let _ = writeln!(text, "echo 1 > {cc}/apply");
        *text += "rmdir /sys/kernel/config/bnxt_re/$DEV\n";
    }
    connections(text, port);
}

pub(super) fn intel(text: &mut String, port: &Port) {
    if port.pfc.is_said() || port.trust.is_said() {
        // The firmware's own agent would take what the switch says instead.
        *text += "ethtool --set-priv-flags $NET fw-lldp-agent off\n";
    }
    qos(text, port, &E810);
    if let Said::At(set, _) = port.nic.reacts {
        *text += "mkdir -p /sys/kernel/config/irdma/$DEV\n";
        let on = u8::from(!set.is_empty());
        let _ = writeln!(text, "echo {on} > /sys/kernel/config/irdma/$DEV/roce_dcqcn_enable");
        // The driver does not unload while the folder is there.
        *text += "rmdir /sys/kernel/config/irdma/$DEV\n";
    }
    connections(text, port);
}

/// Connections of rdma_cm; the kernel's setting, and the same for all drivers.
pub(super) fn connections(text: &mut String, port: &Port) {
    if let Some(dscp) = port.nic.cm_dscp.said() {
        let tos = dscp.tos_with_ecn();
        *text += "mkdir -p /sys/kernel/config/rdma_cm/$DEV\n";
        let _ =
            writeln!(text, "echo {tos} > /sys/kernel/config/rdma_cm/$DEV/ports/1/default_roce_tos");
    }
}

fn qos(text: &mut String, port: &Port, shape: &Shape) {
    if port.trust.said() == Some(&Trust::Dscp) || dscps(port).next().is_some() {
        *text += "dcb app flush dev $NET\n";
        for (dscp, class) in dscps(port) {
            let _ = writeln!(text, "dcb app add dev $NET dscp-prio {dscp}:{class}");
        }
    }
    if let Some(turns) = turns(port) {
        let turns = &turns[..shape.queues];
        let list = |of: &dyn Fn(Scheduling) -> String| {
            let each =
                turns.iter().enumerate().map(|(queue, turn)| format!("{queue}:{}", of(*turn)));
            each.collect::<Vec<_>>().join(" ")
        };
        let queue =
            |class: Class| if shape.maps { queue_of(&port.maps, class) } else { class.get() & 3 };
        let map: Vec<String> =
            Class::all().map(|class| format!("{class}:{}", queue(class))).collect();
        let map = if shape.maps { format!(" prio-tc {}", map.join(" ")) } else { String::new() };
        let _ = writeln!(
            text,
            "dcb ets set dev $NET tc-tsa {} tc-bw {}{map}",
            list(&|turn| kind(turn).to_owned()),
            list(&|turn| share(turn).to_string()),
        );
    }
    if let Some(on) = pauses(port) {
        let list: Vec<String> = on
            .iter()
            .enumerate()
            .filter(|(_, on)| **on)
            .map(|(which, _)| format!(" {which}:on"))
            .collect();
        let _ = writeln!(text, "dcb pfc set dev $NET prio-pfc all:off{}", list.concat());
    }
}
