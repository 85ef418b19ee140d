//! NICs of NVIDIA: `mlnx_qos`, `cma_roce_tos` and sysfs of MLNX_OFED.

use super::super::fit::queue_of;
use super::{dscps, kind, pauses, share, turns};
use crate::device::Port;
use crate::number::{Class, Priority};
use crate::qos::Trust;
use std::fmt::Write;

/// What the check script asks.
pub(super) const CHECK: &str = "mlnx_qos -i $NET\n\
    grep -H . /sys/class/net/$NET/mtu /sys/class/infiniband/$DEV/tc/1/traffic_class \\\n  \
    /sys/class/net/$NET/ecn/roce_np/cnp_dscp \\\n  \
    /sys/class/infiniband/$DEV/ports/1/gid_attrs/types/* \\\n  \
    /sys/class/net/$NET/ecn/roce_[nr]p/enable/* 2>/dev/null || true\n\
    echo \"cma_roce_tos $DEV $(cma_roce_tos -d $DEV)\"\n";

pub(super) fn nic(text: &mut String, port: &Port) {
    if let Some(trust) = port.trust.said() {
        let word = if *trust == Trust::Pcp { "pcp" } else { "dscp" };
        let _ = writeln!(text, "mlnx_qos -i $NET --trust={word}");
    }
    for (dscp, class) in dscps(port) {
        let _ = writeln!(text, "mlnx_qos -i $NET --dscp2prio=set,{dscp},{class}");
    }
    if let Some(on) = pauses(port) {
        let flags: Vec<&str> = on.iter().map(|on| if *on { "1" } else { "0" }).collect();
        let _ = writeln!(text, "mlnx_qos -i $NET --pfc={}", flags.join(","));
    }
    if let Some(turns) = turns(port) {
        let queues: Vec<String> =
            Class::all().map(|class| queue_of(&port.maps, class).to_string()).collect();
        let kinds = turns.map(kind);
        let shares = turns.map(|turn| share(turn).to_string());
        let _ = writeln!(
            text,
            "mlnx_qos -i $NET --prio_tc={} --tsa={} --tcbw={}",
            queues.join(","),
            kinds.join(","),
            shares.join(",")
        );
    }
    if let Some(cable) = port.cable.said() {
        let metres = cable.as_mm().div_ceil(1000);
        let _ = writeln!(text, "mlnx_qos -i $NET --cable_len={metres}");
    }
    marks(text, port);
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
